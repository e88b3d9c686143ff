use super::*;
use crate::base::ids::TreeKind;
use crate::base::value::Value;
use crate::version::fixture::{TableDir, Version};

const VALIDATED: u32 = 1;
const EXACT: u32 = 2;
const DROPPED: u32 = 3;

fn entry(incarnation: u32, pk: &str) -> Vec<u8> {
    let (mut attribute, mut key) = (vec![], vec![]);
    Value::from(5).encode(&mut attribute).unwrap();
    index_key::encode_into(&mut key, Incarnation(incarnation), &attribute, pk.as_bytes());
    key
}

fn version(pk: &str, sqn: u64, kind: Kind) -> Version {
    (pk.as_bytes().to_vec(), sqn, kind, vec![0, 0, 0])
}

/// A filter over a primary tree of two levels: `a` put at 3, 5 and 9; `b` put at 4 and deleted at 8; `c` put at 6; nothing of `d`.
fn filter(stripes: &[u64], flushed: u64, blind_floor: u64) -> StaleFilter {
    let dir = TableDir::new();
    let put = |pk, sqn| version(pk, sqn, Kind::Put);
    let above = dir.table(TreeKind::Primary, &[put("a", 9), version("b", 8, Kind::Delete)]);
    let below = dir.table(TreeKind::Primary, &[put("a", 3), put("a", 5), put("b", 4), put("c", 6)]);
    let primary = Arc::new(TreeVersion::default().with(&[], &[(0, above), (6, below)]));
    let live = BTreeMap::from([(Incarnation(VALIDATED), Liveness::Validate), (Incarnation(EXACT), Liveness::Exact)]);
    StaleFilter::new(live, primary, stripes.iter().map(|s| Sqn(*s)).collect(), Sqn(flushed), Sqn(blind_floor))
}

fn keeps(filter: &mut StaleFilter, pk: &str, sqn: u64) -> bool {
    filter.keep_entry(&entry(VALIDATED, pk), Sqn(sqn)).unwrap()
}

#[test]
fn without_snapshots_only_entries_of_newest_puts_stay() {
    let mut f = filter(&[20], 20, 20);
    assert!(keeps(&mut f, "a", 9) && keeps(&mut f, "c", 6));
    assert!(!keeps(&mut f, "a", 5) && !keeps(&mut f, "a", 3), "overwritten");
    assert!(!keeps(&mut f, "b", 4), "deleted");
    assert!(!keeps(&mut f, "d", 2), "its tombstone is gone already");
}

#[test]
fn the_oldest_reader_that_may_see_an_entry_decides() {
    let mut f = filter(&[20, 5, 7], 20, 20);
    assert!(keeps(&mut f, "a", 5), "the snapshot at 5 sees it");
    assert!(!keeps(&mut f, "a", 3), "hidden from the snapshot at 5, so from all later readers");
    assert!(keeps(&mut f, "b", 4), "deleted after the snapshots");
    let mut f = filter(&[20, 2], 20, 20);
    assert!(!keeps(&mut f, "a", 3), "the snapshot at 2 is older than the entry");
}

#[test]
fn what_no_blind_version_may_have_outdated_stays_unasked() {
    let mut f = filter(&[20], 20, 5);
    assert!(keeps(&mut f, "a", 5), "VAL-2");
    assert!(!keeps(&mut f, "a", 3));
}

#[test]
fn a_table_with_a_blind_version_above_an_entry_is_asked_for_its_key() {
    let dir = TableDir::new();
    let blind = (b"a".to_vec(), 9, Kind::Put, vec![1, 0, 0]);
    let above = dir.table(TreeKind::Primary, &[blind, version("b", 10, Kind::Put)]);
    let below = dir.table(TreeKind::Primary, &[version("a", 3, Kind::Put), version("b", 4, Kind::Put)]);
    let primary = Arc::new(TreeVersion::default().with(&[], &[(0, above), (6, below)]));
    assert!(primary.may_outdate(b"a", Sqn(3)) && !primary.may_outdate(b"a", Sqn(9)));
    let live = BTreeMap::from([(Incarnation(VALIDATED), Liveness::Validate)]);
    let mut f = StaleFilter::new(live, primary, vec![Sqn(20)], Sqn(20), Sqn::ZERO);
    assert!(!keeps(&mut f, "a", 3), "overwritten blindly");
    assert!(keeps(&mut f, "a", 9));
}

#[test]
fn entries_of_versions_that_only_memory_holds_stay() {
    // VAL-3: the record of an entry at 12 may be in a memtable.
    let mut f = filter(&[20], 11, 20);
    assert!(keeps(&mut f, "d", 12) && !keeps(&mut f, "d", 11));
}

#[test]
fn entries_of_exact_indexes_stay_and_those_of_dropped_ones_go_by_key() {
    let mut f = filter(&[20], 20, 20);
    assert!(f.keep_entry(&entry(EXACT, "a"), Sqn(5)).unwrap());
    assert!(f.keep_key(&entry(EXACT, "a")) && f.keep_key(&entry(VALIDATED, "a")));
    assert!(!f.keep_key(&entry(DROPPED, "a")) && !f.keep_key(b"abc"));
}

#[test]
fn a_key_that_is_none_is_an_error() {
    let mut f = filter(&[20], 20, 20);
    assert!(f.keep_entry(&[0, 0, 0, 1, 0x99], Sqn(1)).is_err());
}
