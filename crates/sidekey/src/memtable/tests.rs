mod oracle;
mod threads;

use super::*;
use crate::base::key;
use crate::iter::MergeIter;
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

/// The plain skip list: a memtable that never rotates.
fn plain_list() -> TieredMemtable {
    TieredMemtable::rotating_at(usize::MAX, usize::MAX, Lookups::Few)
}

/// A memtable that rotates every few of the small entries made here; `expected` bytes too few make it chain maps.
fn rotating(rotate_bytes: usize, expected: usize, lookups: Lookups) -> TieredMemtable {
    TieredMemtable::rotating_at(rotate_bytes, expected, lookups)
}

fn merged<M: Memtable>(table: &Arc<M>) -> MergeIter<M::Iter> {
    MergeIter::new(table.cursors())
}

fn shapes() -> impl Strategy<Value = TieredMemtable> {
    let lookups = prop_oneof![3 => Just(Lookups::Many), 1 => Just(Lookups::Few)];
    (prop_oneof![Just(1usize), 30..1000usize], prop_oneof![Just(0usize), 100..10_000usize], lookups)
        .prop_map(|(rotate_bytes, expected, lookups)| rotating(rotate_bytes, expected, lookups))
}

fn agrees_with_a_sorted_map<M: Memtable>(
    table: M,
    entries: &[Entry],
    probes: &[(Vec<u8>, u64)],
) -> Result<(), TestCaseError> {
    let table = Arc::new(table);
    let plain = fill(&*table, entries);
    prop_assert_eq!(table.len(), plain.len());
    prop_assert_eq!(table.is_empty(), plain.is_empty());
    prop_assert_eq!(table.max_sqn(), entries.iter().map(|e| e.sqn).max().unwrap_or(Sqn::ZERO));

    cursor_agrees(&mut merged(&table), &plain, probes)?;
    for (user_key, at) in probes {
        let newest = plain.iter().find_map(|(k, v)| {
            let (user, sqn, kind) = key::decode(&k.0)?;
            (user == user_key && sqn.0 <= *at).then_some(Found { sqn, kind, value: v })
        });
        prop_assert_eq!(table.get(user_key, Sqn(*at)), newest);
    }
    // All of it in one run from here on.
    cursor_agrees(&mut table.iter(), &plain, probes)?;
    cursor_agrees(&mut merged(&table), &plain, probes)
}

fn cursor_agrees(iter: &mut impl SortedIter, plain: &Plain, probes: &[(Vec<u8>, u64)]) -> Result<(), TestCaseError> {
    prop_assert!(!iter.valid());
    iter.seek_to_first().unwrap();
    prop_assert_eq!(forward(iter), pairs(plain.iter()));
    iter.seek_to_last().unwrap();
    prop_assert_eq!(backward(iter), pairs(plain.iter()));
    for (user_key, at) in probes {
        let target = Ordered(key::seek_key(user_key, Sqn(*at)));
        iter.seek(&target.0).unwrap();
        prop_assert_eq!(forward(iter), pairs(plain.range(target.clone()..)));
        iter.seek_before(&target.0).unwrap();
        prop_assert_eq!(backward(iter), pairs(plain.range(..target)));
    }
    Ok(())
}

proptest! {
    #[test]
    fn memtable_agrees_with_a_sorted_map(
        table in shapes(), entries in entries(), probes in proptest::collection::vec((user_keys(), 0u64..21), 0..12),
    ) {
        agrees_with_a_sorted_map(table, &entries, &probes)?;
    }

    #[test]
    fn plain_list_agrees_with_a_sorted_map(
        entries in entries(), probes in proptest::collection::vec((user_keys(), 0u64..21), 0..12),
    ) {
        agrees_with_a_sorted_map(plain_list(), &entries, &probes)?;
    }

    #[test]
    fn oracle_agrees_with_a_sorted_map(
        entries in entries(), probes in proptest::collection::vec((user_keys(), 0u64..21), 0..12),
    ) {
        agrees_with_a_sorted_map(Oracle::default(), &entries, &probes)?;
    }

    #[test]
    fn memtable_and_plain_list_agree_with_another_skip_list(table in shapes(), entries in entries()) {
        let (table, plain, other) = (Arc::new(table), Arc::new(plain_list()), SkipMap::new());
        for e in &entries {
            table.insert(&e.user_key, e.sqn, e.kind, &e.value);
            plain.insert(&e.user_key, e.sqn, e.kind, &e.value);
            other.get_or_insert(Ordered(key::encode(&e.user_key, e.sqn, e.kind)), e.value.clone());
            prop_assert_eq!(table.get(&e.user_key, e.sqn), plain.get(&e.user_key, e.sqn));
        }
        prop_assert_eq!(table.memory_bytes(), plain.memory_bytes());
        let theirs: Vec<_> = other.iter().map(|e| (e.key().clone(), e.value().clone())).collect();
        for mut iter in [merged(&table), merged(&plain)] {
            iter.seek_to_first().unwrap();
            prop_assert_eq!(&forward(&mut iter), &theirs);
        }
    }

    #[test]
    fn a_cursor_shows_what_was_inserted_before_it_whatever_comes_after(
        table in shapes(), entries in entries(), cut in 0usize..120,
    ) {
        let (before, after) = entries.split_at(cut.min(entries.len()));
        let table = Arc::new(table);
        let plain = fill(&*table, before);
        let (mut cursors, mut iter) = (merged(&table), table.iter());
        fill(&*table, after);
        iter.seek_to_first().unwrap();
        prop_assert_eq!(forward(&mut iter), pairs(plain.iter()));
        cursors.seek_to_first().unwrap();
        let seen: Plain = forward(&mut cursors).into_iter().collect();
        prop_assert!(plain.iter().all(|(k, v)| seen.get(k) == Some(v)));
        cursors.seek_to_last().unwrap();
        prop_assert_eq!(backward(&mut cursors).into_iter().collect::<Plain>(), seen);
    }

    #[test]
    fn prefixes_after_any_bytes_keep_the_order_of_keys(common in user_keys(), a in user_keys(), b in user_keys()) {
        if a < b {
            prop_assert!(entry::prefix_after(&common, &a) <= entry::prefix_after(&common, &b));
        }
    }
}

#[test]
fn ascending_descending_and_mixed_runs_keep_the_order() {
    let table = Arc::new(rotating(3000, 200_000, Lookups::Many));
    let up = 0..3000u64;
    let down = (3000..6000u64).rev();
    let mixed = (0..3000u64).map(|i| 6000 + i * 1_103 % 3000);
    for (sqn, n) in up.chain(down).chain(mixed).enumerate() {
        table.insert(&n.to_be_bytes(), Sqn(sqn as u64), Kind::Put, &n.to_le_bytes());
    }
    assert!(table.cursors().len() > 2);
    let mut iter = merged(&table);
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
    for table in [plain_list(), rotating(1, 0, Lookups::Many), rotating(1, 0, Lookups::Few)] {
        table.insert(b"k", Sqn(1), Kind::Put, b"first");
        let before = (table.len(), table.memory_bytes());
        table.insert(b"k", Sqn(1), Kind::Put, b"second");
        assert_eq!((table.len(), table.memory_bytes()), before);
        assert_eq!(table.get(b"k", Sqn::MAX).unwrap().value, b"first");
    }
}

#[test]
fn memory_is_counted_alike_on_every_run_and_covers_the_entries() {
    let count = || {
        let table = TieredMemtable::new(1 << 20, Lookups::Many);
        assert_eq!(table.memory_bytes(), 0);
        for i in 0..5000u32 {
            table.insert(&i.to_be_bytes(), Sqn(u64::from(i)), Kind::Put, &[7; 100]);
        }
        (table.memory_bytes(), table.reserved_bytes())
    };
    let (counted, reserved) = count();
    assert_eq!(count(), (counted, reserved));
    assert_eq!(counted, 5000 * (8 + 4 + key::TRAILER + 100 + 32));
    assert!(reserved < counted * 3 / 2, "{reserved} for {counted}");
}

#[test]
fn a_memtable_of_half_a_mebibyte_has_one_part_and_a_small_one_eight_and_more_merged() {
    let fill = |expected, bytes: usize| {
        let table = Arc::new(TieredMemtable::new(expected, Lookups::Many));
        for i in 0..bytes as u64 / 120 {
            table.insert(&(i * 7919 % 10_007).to_be_bytes(), Sqn(i), Kind::Put, &[7; 96]);
        }
        table.cursors().len()
    };
    assert_eq!(fill(64 << 20, 512 << 10), 1);
    assert_eq!(fill(64 << 20, 513 << 10), 2);
    // Fifteen lists: of eight, four, two and one.
    assert_eq!(fill(12_000, 15 * 12 * 120), 4);
}

#[test]
fn more_keys_than_were_expected_are_all_found() {
    let table = rotating(600, 1000, Lookups::Many);
    let key = |n: u64| (n * 12_347 % 20_011).to_be_bytes();
    for n in 0..20_000u64 {
        table.insert(&key(n), Sqn(n), Kind::Put, &n.to_le_bytes());
    }
    assert!(table.has_map());
    for n in 0..20_000u64 {
        let value = &n.to_le_bytes()[..];
        assert_eq!(table.get(&key(n), Sqn::MAX), Some(Found { sqn: Sqn(n), kind: Kind::Put, value }));
        assert_eq!(table.get(&key(n)[..7], Sqn::MAX), None);
    }
}

#[test]
fn ascending_keys_need_no_map_and_get_one_with_the_first_list_that_goes_back() {
    let table = rotating(600, 100_000, Lookups::Many);
    let holds = |keys: std::ops::Range<u64>| {
        for n in keys {
            assert_eq!(table.get(&n.to_be_bytes(), Sqn::MAX).map(|f| f.sqn), Some(Sqn(n)));
            assert_eq!(table.get(&(n << 8 | 1).to_be_bytes()[1..], Sqn::MAX), None);
        }
    };
    let insert = |n: u64| table.insert(&n.to_be_bytes(), Sqn(n), Kind::Put, b"");
    (1000..4000).for_each(insert);
    assert!(!table.has_map());
    holds(1000..4000);
    (0..100).for_each(insert);
    assert!(table.has_map());
    holds(0..100);
    holds(1000..4000);
}

#[test]
fn blind_versions_are_remembered_by_their_largest_sqn() {
    let table = plain_list();
    assert_eq!(table.max_blind_sqn(), Sqn::ZERO);
    table.note_blind(Sqn(7));
    table.note_blind(Sqn(5));
    assert_eq!(table.max_blind_sqn(), Sqn(7));
}

#[test]
fn a_target_too_short_for_a_key_sorts_before_all() {
    for table in [plain_list(), rotating(1, 0, Lookups::Many)] {
        let table = Arc::new(table);
        table.insert(b"", Sqn::MAX, Kind::Put, b"");
        let mut iter = merged(&table);
        for target in [&b""[..], b"\xff\xff"] {
            iter.seek(target).unwrap();
            assert!(iter.valid());
            iter.seek_before(target).unwrap();
            assert!(!iter.valid());
        }
    }
}

#[test]
fn a_cursor_outlives_its_owner() {
    for table in [plain_list(), rotating(1, 0, Lookups::Many)] {
        let table = Arc::new(table);
        table.insert(b"key", Sqn(1), Kind::Put, b"value");
        let mut iter = merged(&table);
        drop(table);
        iter.seek_to_last().unwrap();
        assert_eq!((key::user_key(iter.key()), iter.value()), (&b"key"[..], &b"value"[..]));
    }
}
