//! Random tables against an ordered map of versions.

use super::*;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// User key → sqn → kind and value: what a table holds, in another shape.
type Model = BTreeMap<Vec<u8>, Versions>;
type Versions = BTreeMap<u64, (Kind, Vec<u8>)>;

fn users() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(0u8..3, 0..4),
        vec(prop_oneof![Just(0u8), Just(0xff)], 0..20),
        "user[0-9]{1,3}".prop_map(String::into_bytes)
    ]
}

fn models() -> impl Strategy<Value = Model> {
    let value = prop_oneof![vec(any::<u8>(), 0..30), vec(Just(b'v'), 0..200)];
    let version = (prop_oneof![3 => Just(Kind::Put), 1 => Just(Kind::Delete)], value);
    btree_map(users(), btree_map(1u64..30, version, 1..8), 1..40)
}

fn options() -> impl Strategy<Value = TableOptions> {
    let compression = prop_oneof![Just(Compression::None), Just(Compression::Lz4)];
    (compression, 1usize..6, prop_oneof![Just(64usize), Just(1), Just(1_000)], prop_oneof![Just(0u32), Just(10)])
        .prop_map(|(compression, restart_interval, block_bytes, filter_bits_per_key)| TableOptions {
            compression,
            restart_interval,
            block_bytes,
            filter_bits_per_key,
            ..TableOptions::default()
        })
}

fn entries(model: &Model) -> Entries {
    let versions = |(user, versions): (&Vec<u8>, &Versions)| {
        let encode =
            |(sqn, (kind, value)): (&u64, &(Kind, Vec<u8>))| (key::encode(user, Sqn(*sqn), *kind), value.clone());
        versions.iter().rev().map(encode).collect::<Vec<_>>()
    };
    model.iter().flat_map(versions).collect()
}

proptest! {
    #[test]
    fn get_finds_the_newest_visible_version_at_any_sqn(
        model in models(), options in options(), others in vec(users(), 0..10), cache in prop_oneof![Just(0u64), Just(300), Just(1 << 20)],
    ) {
        let (files, _) = written(&entries(&model), options);
        let table = open(&files, cache).unwrap();
        for user in model.keys().chain(&others) {
            for at in 0..31 {
                let found = table.get(user, Sqn(at)).unwrap().map(|found| (found.sqn, found.kind, found.value.to_vec()));
                let newest = model.get(user).and_then(|versions| versions.range(..=at).next_back());
                prop_assert_eq!(found, newest.map(|(sqn, (kind, value))| (Sqn(*sqn), *kind, value.clone())));
            }
        }
    }

    #[test]
    fn iterators_agree_with_the_list(
        model in models(), options in options(), targets in vec((users(), 0u64..31), 1..20), bulk: bool,
    ) {
        let entries = entries(&model);
        let table = table(&entries, options);
        let mut iter = table.iter(if bulk { ReadMode::Bulk } else { ReadMode::Normal });
        prop_assert!(!iter.valid());
        prop_assert_eq!(&forward(&mut iter).unwrap(), &entries);
        prop_assert_eq!(&backward(&mut iter).unwrap(), &entries);
        let own = model.keys().take(10).map(|user| (user.clone(), 7));
        for (user, sqn) in targets.into_iter().chain(own) {
            let target = key::seek_key(&user, Sqn(sqn));
            let split = entries.partition_point(|(key, _)| key::compare(key, &target).is_lt());
            iter.seek(&target).unwrap();
            for expected in entries[split..].iter().take(20) {
                prop_assert!(iter.valid());
                prop_assert_eq!((iter.key(), iter.value()), (&expected.0[..], &expected.1[..]));
                iter.next().unwrap();
            }
            prop_assert!(split + 20 < entries.len() || !iter.valid());
            iter.seek_before(&target).unwrap();
            for expected in entries[..split].iter().rev().take(20) {
                prop_assert!(iter.valid());
                prop_assert_eq!((iter.key(), iter.value()), (&expected.0[..], &expected.1[..]));
                iter.prev().unwrap();
            }
            prop_assert!(split > 20 || !iter.valid());
        }
    }

    #[test]
    fn a_sound_table_verifies_and_its_properties_are_a_recount(model in models(), options in options()) {
        let entries = entries(&model);
        let table = table(&entries, options);
        let mut visited = vec![];
        let findings = table.verify(FilterKey::WholeKey, &mut |key, value| visited.push((key.to_vec(), value.to_vec())));
        prop_assert_eq!(findings, vec![]);
        prop_assert_eq!(&visited, &entries);
        let properties = table.properties();
        let sqns = || entries.iter().map(|(key, _)| key::sqn(key));
        prop_assert_eq!(properties.entries, entries.len() as u64);
        prop_assert_eq!(Some(properties.min_sqn), sqns().min());
        prop_assert_eq!(Some(properties.max_sqn), sqns().max());
        prop_assert_eq!(properties.deletes, model.values().flat_map(|v| v.values()).filter(|v| v.0 == Kind::Delete).count() as u64);
        prop_assert_eq!(Some(&properties.smallest), entries.first().map(|entry| &entry.0));
        prop_assert_eq!(Some(&properties.largest), entries.last().map(|entry| &entry.0));
    }
}

#[test]
fn a_put_wins_over_a_delete_of_the_same_sqn() {
    let entries = vec![put(b"k", 3, b"entry"), (key::encode(b"k", Sqn(3), Kind::Delete), vec![])];
    let found = table(&entries, tiny()).get(b"k", Sqn(3)).unwrap().unwrap();
    assert_eq!((found.kind, &*found.value), (Kind::Put, &b"entry"[..]));
}
