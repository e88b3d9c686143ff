use super::*;
use crate::base::value::tests::values;
use proptest::prelude::*;

fn bound() -> impl Strategy<Value = Bound<Value>> {
    prop_oneof![values().prop_map(Bound::Included), values().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
}

/// The order of types, as VALUE-1 has it.
fn type_of(value: &Value) -> u8 {
    match value {
        Value::Bool(_) => 0,
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => 1,
        Value::Timestamp(_) => 2,
        Value::String(_) => 3,
        Value::Bytes(_) => 4,
    }
}

/// Whether a value is asked for, by plain comparison.
fn wanted(range: &(Bound<Value>, Bound<Value>), value: &Value) -> bool {
    let one_type = match range {
        (Bound::Unbounded, Bound::Included(v) | Bound::Excluded(v))
        | (Bound::Included(v) | Bound::Excluded(v), Bound::Unbounded) => type_of(v) == type_of(value),
        _ => true,
    };
    let above = match &range.0 {
        Bound::Included(low) => value >= low,
        Bound::Excluded(low) => value > low,
        Bound::Unbounded => true,
    };
    let below = match &range.1 {
        Bound::Included(high) => value <= high,
        Bound::Excluded(high) => value < high,
        Bound::Unbounded => true,
    };
    one_type && above && below
}

fn holds(range: &KeyRange, key: &[u8]) -> bool {
    !range.is_empty() && *key >= range.start[..] && range.end.as_ref().is_none_or(|end| *key < end[..])
}

fn key(incarnation: u32, value: &Value, pk: &[u8]) -> Vec<u8> {
    let mut key = prefix_of(Incarnation(incarnation), value).unwrap();
    key.extend_from_slice(pk);
    key
}

fn pks() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![proptest::collection::vec(any::<u8>(), 1..4), Just(vec![0]), Just(vec![0xff; 3])]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_range_holds_exactly_the_keys_whose_values_lie_in_it(
        low in bound(), high in bound(), value in values(), pk in pks(),
    ) {
        let range = (low, high);
        let found = range_bounds(Incarnation(7), &range).unwrap();
        prop_assert_eq!(holds(&found, &key(7, &value, &pk)), wanted(&range, &value));
        // Never the neighbours' keys.
        prop_assert!(!holds(&found, &key(6, &value, &pk)) && !holds(&found, &key(8, &value, &pk)));
    }

    #[test]
    fn the_ends_of_a_range_are_cut_where_they_stand(value in values(), pk in pks()) {
        for (low, high, inside) in [
            (Bound::Included(value.clone()), Bound::Included(value.clone()), true),
            (Bound::Excluded(value.clone()), Bound::Included(value.clone()), false),
            (Bound::Included(value.clone()), Bound::Excluded(value.clone()), false),
            (Bound::Excluded(value.clone()), Bound::Excluded(value.clone()), false),
            (Bound::Unbounded, Bound::Included(value.clone()), true),
            (Bound::Included(value.clone()), Bound::Unbounded, true),
            (Bound::Excluded(value.clone()), Bound::Unbounded, false),
        ] {
            let found = range_bounds(Incarnation(7), &(low, high)).unwrap();
            prop_assert_eq!(holds(&found, &key(7, &value, &pk)), inside);
        }
    }

    #[test]
    fn a_look_up_holds_the_keys_of_its_value_alone(asked in values(), value in values(), pk in pks()) {
        let found = lookup_bounds(Incarnation(7), &asked).unwrap();
        prop_assert!(holds(&found, &key(7, &asked, &pk)));
        prop_assert_eq!(holds(&found, &key(7, &value, &pk)), asked == value);
    }
}

#[test]
fn what_cannot_be_stored_cannot_be_asked_for() {
    for value in [Value::Float(f64::NAN), Value::from("x".repeat(4094)), Value::Bytes(vec![0; 2047])] {
        assert!(lookup_bounds(Incarnation(1), &value).is_err());
        assert!(range_bounds(Incarnation(1), &(value.clone()..)).is_err());
        assert!(range_bounds(Incarnation(1), &(..=value)).is_err());
    }
    assert!(lookup_bounds(Incarnation(1), &Value::from("x".repeat(4093))).is_ok());
}
