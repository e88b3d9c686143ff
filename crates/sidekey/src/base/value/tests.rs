use super::*;
use crate::base::error::ErrorKind;
use proptest::prelude::*;

/// Numbers where encodings go wrong, if they do: around powers of two, extremes, subnormals, both zeros.
fn edge_floats() -> Vec<f64> {
    let mut all = vec![0.0, -0.0, 0.5, 1.0, 1.5, f64::MIN_POSITIVE, 5e-324, 1e-310, f64::MAX, f64::INFINITY, 1e300];
    for power in [52, 53, 54, 62, 63, 64, 65] {
        let f = 2f64.powi(power);
        all.extend([f.next_down().next_down(), f.next_down(), f, f.next_up(), f.next_up().next_up()]);
    }
    all.iter().flat_map(|f| [*f, -*f]).collect()
}

fn edge_integers() -> Vec<i128> {
    let mut all = vec![];
    for power in [0, 1, 52, 53, 54, 55, 62, 63, 64] {
        for delta in [-1025, -1024, -1023, -3, -2, -1, 0, 1, 2, 3, 1023, 1024, 1025] {
            all.extend([(1i128 << power) + delta, -(1i128 << power) + delta]);
        }
    }
    all
}

fn integer_value(n: i128) -> Option<Value> {
    i64::try_from(n).map(Value::Int).or_else(|_| u64::try_from(n).map(Value::UInt)).ok()
}

/// Any number that can be stored, drawn mostly from the edges.
fn numbers() -> impl Strategy<Value = Value> {
    let edges: Vec<Value> = edge_integers().into_iter().filter_map(integer_value).collect();
    prop_oneof![
        4 => prop::sample::select(edges),
        4 => prop::sample::select(edge_floats()).prop_map(Value::Float),
        1 => any::<i64>().prop_map(Value::Int),
        1 => any::<u64>().prop_map(Value::UInt),
        1 => (-4i64..4).prop_map(Value::Int),
        1 => (0u64..4).prop_map(Value::UInt),
        1 => (-8i32..8).prop_map(|n| Value::Float(f64::from(n) / 2.0)),
        2 => any::<u64>().prop_map(|bits| Value::Float(f64::from_bits(bits)))
            .prop_filter("NaN", |v| !matches!(v, Value::Float(f) if f.is_nan())),
    ]
}

fn short_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 0x61, 0xfe, 0xff]), 0..6)
}

/// Any value that can be stored.
pub(crate) fn values() -> impl Strategy<Value = Value> {
    let text = prop::collection::vec(prop::sample::select(vec!['\0', '\u{1}', 'a', 'b', '\u{ff}', '\u{10ffff}']), 0..6);
    prop_oneof![
        1 => any::<bool>().prop_map(Value::Bool),
        6 => numbers(),
        1 => prop_oneof![any::<i64>(), -2i64..2].prop_map(Value::Timestamp),
        3 => text.prop_map(|chars| Value::String(chars.into_iter().collect())),
        3 => short_bytes().prop_map(Value::Bytes),
    ]
}

pub(crate) fn encoded(value: &Value) -> Vec<u8> {
    let mut out = vec![];
    value.encode(&mut out).unwrap();
    out
}

/// Exact comparison of finite numbers without the code under test: as integers scaled by a power of two.
fn exact(value: &Value) -> Option<(i128, i32)> {
    match value {
        Value::Int(n) => Some(((*n).into(), 0)),
        Value::UInt(n) => Some(((*n).into(), 0)),
        Value::Float(f) if f.is_finite() && (f.abs() >= 2f64.powi(-40) || *f == 0.0) && f.abs() < 2f64.powi(70) => {
            let scaled = f * 2f64.powi(52);
            (scaled.fract() == 0.0 && scaled.abs() < 2f64.powi(126)).then_some((scaled as i128, 52))
        }
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn memcmp_of_encodings_is_the_order_of_values(a in values(), b in values(), x in short_bytes(), y in short_bytes()) {
        let (mut ea, mut eb) = (encoded(&a), encoded(&b));
        prop_assert_eq!(ea.cmp(&eb), a.cmp(&b), "{} {}", a, b);
        if a != b {
            ea.extend(x);
            eb.extend(y);
            prop_assert_eq!(ea.cmp(&eb), a.cmp(&b), "{} {} with bytes behind", a, b);
        }
    }

    #[test]
    fn numbers_compare_by_mathematical_value(a in numbers(), b in numbers()) {
        if let (Some((m, i)), Some((n, j))) = (exact(&a), exact(&b)) {
            let scale = |n: i128, by: i32| n.checked_mul(1i128 << (52 - by));
            if let (Some(m), Some(n)) = (scale(m, i), scale(n, j)) {
                prop_assert_eq!(a.cmp(&b), m.cmp(&n), "{} {}", a, b);
            }
        }
    }

    #[test]
    fn the_order_is_transitive(a in values(), b in values(), c in values()) {
        let mut all = [a, b, c];
        all.sort();
        prop_assert!(all[0] <= all[1] && all[1] <= all[2] && all[0] <= all[2]);
    }

    #[test]
    fn decoding_gives_back_the_value_and_its_length(value in values(), suffix in short_bytes()) {
        let mut bytes = encoded(&value);
        let len = bytes.len();
        bytes.extend(suffix);
        let (back, used) = Value::decode(&bytes).unwrap();
        prop_assert_eq!(&back, &value);
        prop_assert_eq!(used, len);
        prop_assert_eq!(encoded_len(&bytes).unwrap(), len);
        for cut in 0..len {
            prop_assert!(Value::decode(&bytes[..cut]).is_err());
            prop_assert!(encoded_len(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn any_bytes_decode_to_a_canonical_value_or_damage(
        tag in prop::sample::select(vec![0x10u8, 0x11, 0x20, 0x30, 0x40, 0x50, 0x12]), body in prop_oneof![short_bytes(), any::<Vec<u8>>()],
    ) {
        let bytes = [&[tag][..], &body].concat();
        if let Ok((value, len)) = Value::decode(&bytes) {
            prop_assert_eq!(&encoded(&value)[..], &bytes[..len]);
            prop_assert_eq!(encoded_len(&bytes).unwrap(), len);
        }
    }

    #[test]
    fn any_number_bits_decode_to_a_canonical_value_or_damage(value in numbers(), flip in any::<u8>(), tail: [u8; 2]) {
        let mut bytes = encoded(&value)[..9].to_vec();
        bytes[1] ^= flip;
        bytes.extend(tail);
        if let Ok((value, len)) = Value::decode(&bytes) {
            prop_assert_eq!(&encoded(&value)[..], &bytes[..len]);
        }
    }

    #[test]
    fn json_form_round_trips(value in values()) {
        prop_assert_eq!(Value::from_json(&value.to_json()), Some(value.clone()));
        let text = value.to_json().to_string();
        prop_assert_eq!(Value::from_json(&serde_json::from_str(&text).unwrap()), Some(value), "{}", text);
    }
}

#[test]
fn every_pair_of_edge_numbers_is_ordered_and_exact() {
    let mut all: Vec<Value> = edge_integers().into_iter().filter_map(integer_value).collect();
    all.extend(edge_floats().into_iter().map(Value::Float));
    for a in &all {
        assert_eq!(&Value::decode(&encoded(a)).unwrap().0, a);
        for b in &all {
            assert_eq!(encoded(a).cmp(&encoded(b)), a.cmp(b), "{a} {b}");
            if let (Some(m), Some(n)) = (a.integer(), b.integer()) {
                assert_eq!(encoded(a).cmp(&encoded(b)), m.cmp(&n), "{a} {b}");
            }
        }
    }
}

#[test]
fn encodings_keep_their_golden_bytes() {
    let cases: [(Value, &[u8]); 16] = [
        (false.into(), &[0x10]),
        (true.into(), &[0x11]),
        (0.into(), &[0x20, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        ((-0.0).into(), &[0x20, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        (1.into(), &[0x20, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0]),
        (1.0.into(), &[0x20, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0]),
        ((-1).into(), &[0x20, 0x40, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ((1i64 << 53).into(), &[0x20, 0xc3, 0x40, 0, 0, 0, 0, 0, 0, 0, 0]),
        (((1i64 << 53) + 1).into(), &[0x20, 0xc3, 0x40, 0, 0, 0, 0, 0, 0, 0, 1]),
        ((-(1i64 << 53) - 1).into(), &[0x20, 0x3c, 0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0, 1]),
        (u64::MAX.into(), &[0x20, 0xc3, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x07, 0xff]),
        (f64::INFINITY.into(), &[0x20, 0xff, 0xf0, 0, 0, 0, 0, 0, 0]),
        (Value::Timestamp(1), &[0x30, 0x80, 0, 0, 0, 0, 0, 0, 1]),
        ("".into(), &[0x40, 0, 1]),
        ("a\0b".into(), &[0x40, 0x61, 0, 0xff, 0x62, 0, 1]),
        ((&[0xffu8, 0][..]).into(), &[0x50, 0xff, 0, 0xff, 0, 1]),
    ];
    for (value, bytes) in cases {
        assert_eq!(encoded(&value), bytes, "{value}");
    }
}

#[test]
fn decoded_numbers_take_the_narrowest_integer_kind() {
    let kind = |value: Value| Value::decode(&encoded(&value)).unwrap().0;
    assert!(matches!(kind(Value::Float(3.0)), Value::Int(3)));
    assert!(matches!(kind(Value::UInt(7)), Value::Int(7)));
    assert!(matches!(kind(Value::UInt(1 << 63)), Value::UInt(n) if n == 1 << 63));
    assert!(matches!(kind(Value::Float(-(2f64.powi(63)))), Value::Int(i64::MIN)));
    assert!(matches!(kind(Value::Float(2f64.powi(64))), Value::Float(_)));
    assert!(matches!(kind(Value::Float(0.5)), Value::Float(f) if f == 0.5));
}

#[test]
fn forms_that_no_encoder_writes_are_damage() {
    let what = |bytes: &[u8]| Value::decode(bytes).unwrap_err().what;
    assert_eq!(what(&[]), "attribute ends early");
    assert_eq!(what(&[0x00]), "unknown attribute type");
    assert_eq!(what(&[0x20, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), "attribute is a negative zero");
    assert_eq!(what(&[0x20, 0xff, 0xf8, 0, 0, 0, 0, 0, 0]), "attribute is NaN");
    assert_eq!(what(&[0x20, 0x00, 0x00, 0, 0, 0, 0, 0, 0]), "attribute is NaN");
    let remainder = "attribute has a remainder that its number does not allow";
    assert_eq!(what(&[0x20, 0xc3, 0x40, 0, 0, 0, 0, 0, 0, 0, 2]), remainder);
    // Minus 2^53: its upper neighbour is one away. Minus 2^63 - 2,048: no integer kind reaches there.
    assert_eq!(what(&[0x20, 0x3c, 0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 1]), remainder);
    assert_eq!(what(&[0x20, 0x3c, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0, 1]), remainder);
    assert_eq!(what(&[0x40, 0x61, 0, 2]), "unknown escape in an attribute");
    assert_eq!(what(&[0x40, 0x61, 0]), "attribute ends early");
    assert_eq!(what(&[0x40, 0xff, 0, 1]), "attribute of type string is not UTF-8");
    let long = [&[0x50u8][..], &[0x61; MAX_ENCODED_ATTRIBUTE], &[0, 1]].concat();
    assert_eq!(what(&long), "attribute is over the limit of its length");
}

#[test]
fn nan_and_oversized_values_are_refused_and_leave_the_buffer_alone() {
    let mut out = vec![7];
    let nan = Value::Float(f64::NAN).encode(&mut out).unwrap_err();
    assert_eq!(nan.kind(), ErrorKind::InvalidArgument);
    let fits = Value::Bytes(vec![0; (MAX_ENCODED_ATTRIBUTE - 3) / 2]);
    assert_eq!(encoded(&fits).len(), MAX_ENCODED_ATTRIBUTE - 1);
    let long = Value::String("a".repeat(MAX_ENCODED_ATTRIBUTE - 2)).encode(&mut out).unwrap_err();
    assert_eq!(long.kind(), ErrorKind::InvalidArgument);
    assert!(long.to_string().contains("4097") && long.to_string().contains("4096"), "{long}");
    assert_eq!(out, [7]);
    assert_eq!(encoded(&Value::String("a".repeat(MAX_ENCODED_ATTRIBUTE - 3))).len(), MAX_ENCODED_ATTRIBUTE);
}

#[test]
fn json_compounds_and_null_are_no_scalars() {
    for text in ["null", "[1]", "{}", r#"{"hex":"0"}"#, r#"{"hex":"zz"}"#, r#"{"hex":"00","x":1}"#, r#"{"a":1}"#] {
        assert_eq!(Value::from_json(&serde_json::from_str(text).unwrap()), None, "{text}");
    }
    assert_eq!(Value::Bytes(vec![0, 0xff]).to_json().to_string(), r#"{"hex":"00ff"}"#);
    assert_eq!(Value::from_json(&serde_json::json!({"hex": "00FF"})), Some(Value::Bytes(vec![0, 0xff])));
}

#[test]
fn values_print_as_a_reader_would_write_them() {
    let all = [1.into(), 2.0.into(), "a\"".into(), (&b"\x01\xff"[..]).into(), Value::Timestamp(5), true.into()];
    let text: Vec<String> = all.iter().map(Value::to_string).collect();
    assert_eq!(text, ["1", "2.0", "\"a\\\"\"", "0x01ff", "timestamp(5)", "true"]);
}
