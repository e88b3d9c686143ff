use super::*;
use crate::base::error::ErrorKind;
use crate::base::value::Value;
use crate::index::path::Step;
use proptest::prelude::*;
use serde_json::Value as Json;
use std::collections::BTreeSet;

fn extractor(paths: &[&str]) -> Extractor {
    let attribute = |(id, path): (u32, &&str)| {
        let path = JsonPath::parse(path).unwrap();
        (AttributeId(id), path.clone(), path.is_multi())
    };
    Extractor::new((0..).zip(paths).map(attribute)).unwrap()
}

/// The values by attribute, or none if opaque.
fn try_extract(paths: &[&str], value: &[u8]) -> Result<Option<Vec<(u32, Value)>>> {
    let mut out = Extracted::default();
    extractor(paths).extract(value, &mut out)?;
    assert!(out.attributes.is_sorted_by(|a, b| a < b), "strictly ascending (EXT-3)");
    assert!(!out.opaque || out.attributes.is_empty());
    let decode = |(id, bytes): (AttributeId, Vec<u8>)| {
        let (value, used) = Value::decode(&bytes).unwrap();
        assert_eq!(used, bytes.len());
        (id.0, value)
    };
    Ok((!out.opaque).then(|| out.attributes.into_iter().map(decode).collect()))
}

fn extract(paths: &[&str], value: &str) -> Option<Vec<(u32, Value)>> {
    try_extract(paths, value.as_bytes()).unwrap()
}

fn one(path: &str, value: &str) -> Vec<Value> {
    extract(&[path], value).expect("JSON").into_iter().map(|(_, value)| value).collect()
}

/// What a path yields, by the plainest means.
fn oracle(json: &Json, steps: &[Step], found: &mut BTreeSet<Vec<u8>>) {
    match (steps.split_first(), json) {
        (None, Json::Object(_)) => {}
        (None, scalar) => {
            if let Some(value) = Value::from_json(scalar) {
                let mut out = vec![];
                value.encode(&mut out).unwrap();
                found.insert(out);
            }
        }
        (Some((Step::Field(name), rest)), Json::Object(fields)) => {
            fields.get(name).into_iter().for_each(|json| oracle(json, rest, found));
        }
        (Some((Step::Index(n), rest)), Json::Array(elements)) => {
            elements.get(*n as usize).into_iter().for_each(|json| oracle(json, rest, found));
        }
        (Some((Step::Each, rest)), Json::Array(elements)) => elements.iter().for_each(|json| oracle(json, rest, found)),
        _ => {}
    }
}

/// Documents as text: with duplicate and escaped keys, white space, and all kinds of leaves.
fn documents(leaves: Vec<&'static str>) -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(leaves).prop_map(str::to_owned);
    let key = prop::sample::select(vec![r#""a""#, r#""a""#, r#""b""#, r#""\u0061""#, r#" "c d" "#, r#""""#, r#""\n""#]);
    leaf.prop_recursive(5, 48, 6, move |inner| {
        let fields = prop::collection::vec((key.clone(), inner.clone()), 0..6);
        prop_oneof![
            3 => fields.prop_map(|fields| {
                let text: Vec<String> = fields.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
                format!("{{{}}}", text.join(","))
            }),
            2 => prop::collection::vec(inner, 0..5).prop_map(|elements| format!("[ {} ]\n", elements.join(" , "))),
        ]
    })
}

fn plain_leaves() -> Vec<&'static str> {
    vec![
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "1.0",
        "1e0",
        "-1.5",
        "9007199254740993",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "1.7094670717829486e174",
        "0.1",
        "\"\"",
        "\"x\"",
        r#""\u0000\n\"""#,
        "\"é\"",
        r#""\ud83d\ude00""#,
    ]
}

/// Leaves that JSON's grammar allows and the parser refuses to deliver.
fn awkward_leaves() -> Vec<&'static str> {
    let mut all = plain_leaves();
    all.extend(["1e999", "-1e999", "123456789e400", r#""\ud800""#, r#""x\udc00y""#]);
    all
}

fn paths() -> impl Strategy<Value = Vec<JsonPath>> {
    let step = prop::sample::select(vec![
        Step::Field("a".into()),
        Step::Field("a".into()),
        Step::Field("b".into()),
        Step::Field("c d".into()),
        Step::Field("\n".into()),
        Step::Index(0),
        Step::Index(1),
        Step::Index(3),
        Step::Each,
        Step::Each,
    ]);
    let path = prop::collection::vec(step, 0..4).prop_map(|mut steps| {
        let mut seen = false;
        steps.retain(|step| *step != Step::Each || !std::mem::replace(&mut seen, true));
        let text: String = steps
            .iter()
            .map(|step| match step {
                Step::Field(name) => format!("[{}]", serde_json::to_string(name).unwrap()),
                Step::Index(n) => format!("[{n}]"),
                Step::Each => "[*]".into(),
            })
            .collect();
        JsonPath::parse(&format!("${text}")).unwrap()
    });
    prop::collection::vec(path, 1..8)
}

fn compile(paths: &[JsonPath]) -> Extractor {
    let attribute = |(id, path): (u32, &JsonPath)| (AttributeId(id * 3), path.clone(), path.is_multi());
    Extractor::new((0..).zip(paths).map(attribute)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn extraction_agrees_with_walking_the_parsed_document(paths in paths(), texts in prop::collection::vec(documents(plain_leaves()), 1..4)) {
        let extractor = compile(&paths);
        let mut out = Extracted::default(); // shared, so that nothing may be left over from the record before
        for text in texts {
            let json: Json = serde_json::from_str(&text).unwrap();
            let mut expected = vec![];
            for (id, path) in (0..).zip(&paths) {
                let mut found = BTreeSet::new();
                oracle(&json, path.steps(), &mut found);
                expected.extend(found.into_iter().map(|bytes| (AttributeId(id * 3), bytes)));
            }
            extractor.extract(text.as_bytes(), &mut out).unwrap();
            prop_assert!(!out.opaque);
            prop_assert_eq!(&out.attributes, &expected, "{}", text);
        }
    }

    #[test]
    fn a_path_yields_the_same_whatever_else_is_asked_for(
        paths in paths(), text in documents(awkward_leaves()), cut: prop::sample::Index, junk: bool,
    ) {
        let mut value = text.into_bytes();
        if junk {
            let at = cut.index(value.len());
            value[at] = [b'}', b',', 0x01, 0xff, b'"', b'1'][at % 6];
        }
        let mut all = Extracted::default();
        compile(&paths).extract(&value, &mut all).unwrap();
        for (id, path) in (0..).zip(&paths) {
            let mut alone = Extracted::default();
            Extractor::new([(AttributeId(id * 3), path.clone(), path.is_multi())]).unwrap().extract(&value, &mut alone).unwrap();
            let of_id: Vec<_> = all.attributes.iter().filter(|(other, _)| other.0 == id * 3).cloned().collect();
            prop_assert_eq!(alone.opaque, all.opaque);
            prop_assert_eq!(alone.attributes, of_id);
        }
    }

    #[test]
    fn any_bytes_are_extracted_or_opaque(value: Vec<u8>) {
        let mut out = Extracted::default();
        extractor(&["$", "$.a", "$[*]"]).extract(&value, &mut out).unwrap();
        prop_assert_eq!(out.opaque, serde_json::from_slice::<Json>(&value).is_err());
    }
}

#[test]
fn the_last_duplicate_key_counts_at_every_level() {
    assert_eq!(one("$.a", r#"{"a":1,"a":2}"#), [2.into()]);
    assert_eq!(one("$.a", r#"{"a":1,"\u0061":null}"#), []);
    assert_eq!(one("$.a.b", r#"{"a":{"b":1},"x":0,"a":{"c":2}}"#), []);
    assert_eq!(one("$.a[*]", r#"{"a":[1,2],"a":[3]}"#), [3.into()]);
    assert_eq!(one("$.a[*].b", r#"{"a":[{"b":1,"b":2},{"b":3,"b":[]},{"b":4}]}"#), [2.into(), 4.into()]);
    let both = extract(&["$.a", "$.b"], r#"{"b":9,"a":1,"b":8,"a":2}"#).unwrap();
    assert_eq!(both, [(0, 2.into()), (1, 8.into())]);
}

#[test]
fn null_missing_objects_and_arrays_yield_nothing() {
    for value in
        ["{}", r#"{"a":null}"#, r#"{"a":{}}"#, r#"{"a":[1]}"#, r#"{"a":{"hex":"00"}}"#, "[]", "1", "null", r#"{"A":1}"#]
    {
        assert_eq!(one("$.a", value), [], "{value}");
    }
    assert_eq!(one("$.a[*]", r#"{"a":1}"#), []);
    assert_eq!(one("$.a[0]", r#"{"a":{"0":1}}"#), []);
    assert_eq!(one("$.a.b", r#"{"a":"b"}"#), []);
}

#[test]
fn places_are_reached_by_every_kind_of_step() {
    assert_eq!(one("$", " 7 "), [7.into()]);
    assert_eq!(one("$[1].x", r#"[{"x":1},{"x":2}]"#), [2.into()]);
    assert_eq!(one("$['odd name']", r#"{"odd name":true}"#), [true.into()]);
    assert_eq!(one("$[*]", r#"[3,"a",null,[4],{"b":5},3.0,true]"#), [true.into(), 3.into(), "a".into()]);
    let value = r#"{"l":[{"x":1,"y":2},{"x":3},{"x":4}]}"#;
    let meeting = extract(&["$.l[*].x", "$.l[0].x", "$.l[0].y", "$.l[2].x", "$.l[1]"], value).unwrap();
    assert_eq!(meeting, [(0, 1.into()), (0, 3.into()), (0, 4.into()), (1, 1.into()), (2, 2.into()), (3, 4.into())]);
    let twice = extract(&["$.a", "$.a", "$.a.b"], r#"{"a":5}"#).unwrap();
    assert_eq!(twice, [(0, 5.into()), (1, 5.into())]);
}

#[test]
fn many_fields_of_one_object_are_told_apart() {
    let names: Vec<String> = (0..150).map(|i| format!("$.f{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut fields: Vec<String> = (0..150).rev().map(|i| format!("\"f{i}\":{i}")).collect();
    fields.push("\"f70\":-70".into());
    let found = extract(&names, &format!("{{{}}}", fields.join(","))).unwrap();
    let expected: Vec<(u32, Value)> = (0..150).map(|i| (i, if i == 70 { -70 } else { i64::from(i) }.into())).collect();
    assert_eq!(found, expected);
}

#[test]
fn numbers_are_exact_or_round_as_promised() {
    assert_eq!(one("$", "18446744073709551615"), [u64::MAX.into()]);
    assert_eq!(one("$", "-9223372036854775808"), [i64::MIN.into()]);
    assert_eq!(one("$", "9007199254740993"), [9007199254740993i64.into()]);
    assert_eq!(one("$", "18446744073709551616"), [2f64.powi(64).into()]);
    assert_eq!(one("$", "-9223372036854775809"), [(-(2f64.powi(63))).into()]);
    assert_eq!(one("$", "1e999"), [f64::INFINITY.into()]);
    assert_eq!(one("$", "-0.0"), [0.into()]);
}

#[test]
fn numbers_are_correctly_rounded_also_where_another_path_leads_on() {
    let text = "1.7094670717829486e174";
    let exact: Value = text.parse::<f64>().unwrap().into();
    assert_eq!(extract(&["$.a", "$.a.b"], &format!("{{\"a\":{text}}}")).unwrap(), [(0, exact.clone())]);
    assert_eq!(one("$.a", &format!("{{\"a\":{text}}}")), [exact]);
}

#[test]
fn what_the_parser_refuses_to_deliver_does_not_hide_other_attributes() {
    let value = r#"{"n":1e999,"s":"\ud800","k":{"\ud800":1,"x":2},"a":1}"#;
    assert_eq!(one("$.a", value), [1.into()]);
    let found = extract(&["$.a", "$.n", "$.s", "$.n.x", "$.s[0]", "$.k.x"], value).unwrap();
    assert_eq!(found, [(0, 1.into()), (1, f64::INFINITY.into()), (5, 2.into())]);
}

#[test]
fn values_that_are_not_json_are_opaque() {
    let cases: [&[u8]; 13] = [
        b"",
        b"abc",
        b"{",
        b"{\"a\":1}x",
        b"{\"a\":1} {}",
        b"{\"a\":1,}",
        b"[1,]",
        b"{\"a\":01}",
        b"{\"x\":\"\xff\"}",
        b"{\"x\":\"\x01\"}",
        b"\xef\xbb\xbf{}",
        b"{\"a\":1 \"b\":2}",
        b"NaN",
    ];
    for value in cases {
        assert_eq!(try_extract(&["$.a"], value).unwrap(), None, "{value:?}");
        assert_eq!(try_extract(&["$.zzz[0].y", "$.x"], value).unwrap(), None, "{value:?}");
    }
}

#[test]
fn without_attributes_nothing_is_parsed() {
    let mut out = Extracted { opaque: true, ..Default::default() };
    extractor(&[]).extract(b"not json", &mut out).unwrap();
    assert!(!out.opaque && out.attributes.is_empty());
}

#[test]
fn a_million_levels_of_nesting_do_not_overflow_the_stack() {
    const DEPTH: usize = 1_000_000;
    let arrays = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let objects = format!("{}1{}", "{\"a\":".repeat(DEPTH), "}".repeat(DEPTH));
    let deepest = format!("${}", ".a".repeat(32));
    for (deep, path) in
        [(&arrays, "$.a"), (&objects, "$.a"), (&arrays, "$.a[*]"), (&arrays, "$.a[0]"), (&objects, &deepest)]
    {
        assert_eq!(one("$.b", &format!("{{\"skipped\":{deep},\"b\":1}}")), [1.into()]);
        let value = format!("{{\"a\":{deep},\"b\":1}}");
        assert_eq!(extract(&["$.b", path], &value).unwrap(), [(0, 1.into())]);
        assert_eq!(
            extract(&["$.b", path], &value.replace("\"b\":1", "\"b\":1,\"c\":1e999,\"a\":{}")).unwrap(),
            [(0, 1.into())]
        );
    }
    assert_eq!(extract(&["$.a"], &"[".repeat(DEPTH)), None);
}

#[test]
fn a_path_of_full_depth_is_reached() {
    let value = format!("{}1{}", "{\"a\":".repeat(32), "}".repeat(32));
    assert_eq!(one(&format!("${}", ".a".repeat(32)), &value), [1.into()]);
    let awkward = format!("{}1e999{}", "{\"a\":".repeat(31), "}".repeat(31));
    assert_eq!(one(&format!("${}", ".a".repeat(32)), &awkward), []);
}

#[test]
fn an_oversized_value_is_refused_unless_a_duplicate_replaces_it() {
    let long = "x".repeat(MAX_ENCODED_ATTRIBUTE - 2);
    let error = try_extract(&["$.b", "$.a['c d']"], format!(r#"{{"a":{{"c d":"{long}"}}}}"#).as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        error.to_string(),
        "the value at $.a['c d'] takes 4097 bytes encoded, over the limit of 4096 for an attribute"
    );
    assert_eq!(one("$.a", &format!(r#"{{"a":"{long}","a":1}}"#)), [1.into()]);
    assert_eq!(one("$.b", &format!(r#"{{"a":"{long}","b":1}}"#)), [1.into()]);
    assert_eq!(one("$.a", &format!(r#"{{"a":"{}"}}"#, &long[1..])), [Value::from(&long[1..])]);
    // Escapes count as what they stand for.
    assert_eq!(one("$.a", &format!(r#"{{"a":"{}"}}"#, "\\u0041".repeat(4000))), [Value::from("A".repeat(4000))]);
}

#[test]
fn at_most_1024_distinct_values_of_a_path_are_taken() {
    let list = |numbers: &mut dyn Iterator<Item = usize>| {
        let text: Vec<String> = numbers.map(|n| n.to_string()).collect();
        format!("[{}]", text.join(","))
    };
    let full = list(&mut (0..MAX_ELEMENTS));
    assert_eq!(one("$[*]", &full).len(), MAX_ELEMENTS);
    let repeated = list(&mut (0..100_000).map(|n| n % MAX_ELEMENTS));
    assert_eq!(one("$[*]", &repeated).len(), MAX_ELEMENTS);
    for n in [MAX_ELEMENTS + 1, 100_000] {
        let over = list(&mut (0..n));
        let error = try_extract(&["$.x", "$.l[*]"], format!(r#"{{"l":{over},"x":1}}"#).as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.to_string(), "path $.l[*] yields more than 1024 distinct values, the limit for one record");
        let replaced = extract(&["$.x", "$.l[*]"], &format!(r#"{{"l":{over},"x":1,"l":[7]}}"#)).unwrap();
        assert_eq!(replaced, [(0, 1.into()), (1, 7.into())]);
    }
    // The limit is each path's own.
    assert_eq!(extract(&["$[*]", "$[0]", "$[*]"], &full).unwrap().len(), 2 * MAX_ELEMENTS + 1);
}

#[test]
fn buffers_are_used_again_and_nothing_is_left_over_after_an_error() {
    let extractor = extractor(&["$.a", "$.l[*]"]);
    let mut out = Extracted::default();
    extractor.extract(br#"{"a":"first","l":["x","y"]}"#, &mut out).unwrap();
    let buffers: BTreeSet<*const u8> = out.attributes.iter().map(|(_, bytes)| bytes.as_ptr()).collect();
    extractor.extract(br#"{"a":"other","l":["y","z"]}"#, &mut out).unwrap();
    assert_eq!(buffers, out.attributes.iter().map(|(_, bytes)| bytes.as_ptr()).collect());
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(5000));
    extractor.extract(long.as_bytes(), &mut out).unwrap_err();
    assert!(out.attributes.is_empty());
    extractor.extract(b"{}", &mut out).unwrap();
    assert!(out.attributes.is_empty() && !out.opaque);
}

#[test]
fn definitions_that_contradict_themselves_are_refused() {
    let define =
        |path: &str, multi| Extractor::new([(AttributeId(1), JsonPath::parse(path).unwrap(), multi)]).unwrap_err();
    assert_eq!(define("$.a", true).to_string(), "path $.a has no [*], so it cannot be multi-valued");
    assert_eq!(define("$.a[*]", false).to_string(), "path $.a[*] has a [*], so it must be declared multi-valued");
    let path = JsonPath::parse("$.a").unwrap();
    let twice = Extractor::new([(AttributeId(1), path.clone(), false), (AttributeId(1), path, false)]).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Internal);
}
