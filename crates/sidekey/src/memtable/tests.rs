mod oracle;
mod threads;

use super::*;
use crate::base::key;
use crossbeam_skiplist::SkipMap;
use oracle::{Oracle, Ordered};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Entry {
    user_key: Vec<u8>,
    sqn: Sqn,
    kind: Kind,
    value: Vec<u8>,
}

/// Few distinct bytes, lengths around the prefix of 8: equal, nested and zero-padded prefixes are common.
fn user_keys() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0u8), Just(1), Just(0xff)];
    prop_oneof![
        proptest::collection::vec(byte.clone(), 0..3),
        proptest::collection::vec(byte, 0..3).prop_map(|tail| [&b"common-"[..], &tail].concat()),
        (0u32..50).prop_map(|n| n.to_be_bytes().to_vec()),
    ]
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let kind = prop_oneof![3 => Just(Kind::Put), 1 => Just(Kind::Delete)];
    let value = prop_oneof![
        9 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => any::<u8>().prop_map(|b| vec![b; 3000]),
    ];
    let entry = (user_keys(), 0u64..20, kind, value).prop_map(|(user_key, sqn, kind, value)| Entry {
        user_key,
        sqn: Sqn(sqn),
        kind,
        value,
    });
    proptest::collection::vec(entry, 0..120)
}

type Plain = BTreeMap<Ordered, Vec<u8>>;

fn fill<M: Memtable>(table: &M, entries: &[Entry]) -> Plain {
    let mut plain = Plain::new();
    for e in entries {
        let half = e.value.len() / 2;
        table.insert_parts(&e.user_key, e.sqn, e.kind, [&e.value[..half], &e.value[half..]]);
        plain.entry(Ordered(key::encode(&e.user_key, e.sqn, e.kind))).or_insert_with(|| e.value.clone());
    }
    plain
}

fn forward(iter: &mut impl SortedIter) -> Vec<(Ordered, Vec<u8>)> {
    let mut seen = vec![];
    while iter.valid() {
        seen.push((Ordered(iter.key().to_vec()), iter.value().to_vec()));
        iter.next().unwrap();
    }
    seen
}

fn backward(iter: &mut impl SortedIter) -> Vec<(Ordered, Vec<u8>)> {
    let mut seen = vec![];
    while iter.valid() {
        seen.push((Ordered(iter.key().to_vec()), iter.value().to_vec()));
        iter.prev().unwrap();
    }
    seen.reverse();
    seen
}

fn pairs<'a>(range: impl Iterator<Item = (&'a Ordered, &'a Vec<u8>)>) -> Vec<(Ordered, Vec<u8>)> {
    range.map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn agrees_with_a_sorted_map<M: Memtable + Default>(
    entries: &[Entry],
    probes: &[(Vec<u8>, u64)],
) -> Result<(), TestCaseError> {
    let table = Arc::new(M::default());
    let plain = fill(&*table, entries);
    prop_assert_eq!(table.len(), plain.len());
    prop_assert_eq!(table.is_empty(), plain.is_empty());
    prop_assert_eq!(table.max_sqn(), entries.iter().map(|e| e.sqn).max().unwrap_or(Sqn::ZERO));

    let mut iter = table.iter();
    prop_assert!(!iter.valid());
    iter.seek_to_first().unwrap();
    prop_assert_eq!(forward(&mut iter), pairs(plain.iter()));
    iter.seek_to_last().unwrap();
    prop_assert_eq!(backward(&mut iter), pairs(plain.iter()));

    for (user_key, at) in probes {
        let newest = plain.iter().find_map(|(k, v)| {
            let (user, sqn, kind) = key::decode(&k.0)?;
            (user == user_key && sqn.0 <= *at).then_some(Found { sqn, kind, value: v })
        });
        prop_assert_eq!(table.get(user_key, Sqn(*at)), newest);
        let target = Ordered(key::seek_key(user_key, Sqn(*at)));
        iter.seek(&target.0).unwrap();
        prop_assert_eq!(forward(&mut iter), pairs(plain.range(target.clone()..)));
        iter.seek_before(&target.0).unwrap();
        prop_assert_eq!(backward(&mut iter), pairs(plain.range(..target)));
    }
    Ok(())
}

proptest! {
    #[test]
    fn skip_list_agrees_with_a_sorted_map(
        entries in entries(), probes in proptest::collection::vec((user_keys(), 0u64..21), 0..12),
    ) {
        agrees_with_a_sorted_map::<SkipList>(&entries, &probes)?;
    }

    #[test]
    fn oracle_agrees_with_a_sorted_map(
        entries in entries(), probes in proptest::collection::vec((user_keys(), 0u64..21), 0..12),
    ) {
        agrees_with_a_sorted_map::<Oracle>(&entries, &probes)?;
    }

    #[test]
    fn skip_list_agrees_with_another_skip_list(entries in entries()) {
        let (table, other) = (Arc::new(SkipList::new()), SkipMap::new());
        for e in &entries {
            table.insert(&e.user_key, e.sqn, e.kind, &e.value);
            other.get_or_insert(Ordered(key::encode(&e.user_key, e.sqn, e.kind)), e.value.clone());
        }
        let mut iter = table.iter();
        iter.seek_to_first().unwrap();
        let theirs: Vec<_> = other.iter().map(|e| (e.key().clone(), e.value().clone())).collect();
        prop_assert_eq!(forward(&mut iter), theirs);
    }
}

#[test]
fn ascending_descending_and_mixed_runs_keep_the_order() {
    let table = Arc::new(SkipList::new());
    let up = 0..3000u64;
    let down = (3000..6000u64).rev();
    let mixed = (0..3000u64).map(|i| 6000 + i * 1_103 % 3000);
    for (sqn, n) in up.chain(down).chain(mixed).enumerate() {
        table.insert(&n.to_be_bytes(), Sqn(sqn as u64), Kind::Put, &n.to_le_bytes());
    }
    let mut iter = table.iter();
    iter.seek_to_first().unwrap();
    for n in 0..9000u64 {
        assert_eq!(key::user_key(iter.key()), n.to_be_bytes());
        assert_eq!(iter.value(), n.to_le_bytes());
        iter.next().unwrap();
    }
    assert!(!iter.valid());
}

#[test]
fn inserting_an_internal_key_again_changes_nothing() {
    let table = Arc::new(SkipList::new());
    table.insert(b"k", Sqn(1), Kind::Put, b"first");
    let before = (table.len(), table.memory_bytes());
    table.insert(b"k", Sqn(1), Kind::Put, b"second");
    assert_eq!((table.len(), table.memory_bytes()), before);
    assert_eq!(table.get(b"k", Sqn::MAX).unwrap().value, b"first");
}

#[test]
fn memory_is_counted_alike_on_every_run_and_covers_the_entries() {
    let count = || {
        let table = SkipList::new();
        assert_eq!(table.memory_bytes(), 0);
        for i in 0..1000u32 {
            table.insert(&i.to_be_bytes(), Sqn(u64::from(i)), Kind::Put, &[7; 100]);
        }
        (table.memory_bytes(), table.reserved_bytes())
    };
    let (used, reserved) = count();
    assert_eq!(count(), (used, reserved));
    assert!(used >= 1000 * (4 + key::TRAILER + 100 + 16 + 8), "{used}");
    assert!(used <= 1000 * (112 + 16 + 16), "a tower has 4/3 links on average: {used}");
    assert!(reserved >= used && reserved < used * 2, "{reserved} for {used}");
}

#[test]
fn blind_versions_are_remembered_by_their_largest_sqn() {
    let table = SkipList::new();
    assert_eq!(table.max_blind_sqn(), Sqn::ZERO);
    table.note_blind(Sqn(7));
    table.note_blind(Sqn(5));
    assert_eq!(table.max_blind_sqn(), Sqn(7));
}

#[test]
fn a_target_too_short_for_a_key_sorts_before_all() {
    let table = Arc::new(SkipList::new());
    table.insert(b"", Sqn::MAX, Kind::Put, b"");
    let mut iter = table.iter();
    for target in [&b""[..], b"\xff\xff"] {
        iter.seek(target).unwrap();
        assert!(iter.valid());
        iter.seek_before(target).unwrap();
        assert!(!iter.valid());
    }
}

#[test]
fn a_cursor_outlives_its_owner() {
    let table = Arc::new(SkipList::new());
    table.insert(b"key", Sqn(1), Kind::Put, b"value");
    let mut iter = table.iter();
    drop(table);
    iter.seek_to_last().unwrap();
    assert_eq!((key::user_key(iter.key()), iter.value()), (&b"key"[..], &b"value"[..]));
}
