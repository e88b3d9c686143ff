//! Merging against sorting.

use super::*;
use crate::base::error::Error;
use crate::base::ids::Sqn;
use crate::base::key::Kind;
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// A sorted list; fails at one position if told to.
struct List {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    at: Option<usize>,
    fail_at: Option<usize>,
}

impl List {
    fn to(&mut self, at: Option<usize>) -> Result<()> {
        self.at = None;
        if at.is_some() && at == self.fail_at {
            return Err(Error::internal("planned"));
        }
        self.at = at.filter(|n| *n < self.entries.len());
        Ok(())
    }
}

impl SortedIter for List {
    fn valid(&self) -> bool {
        self.at.is_some()
    }
    fn key(&self) -> &[u8] {
        &self.entries[self.at.unwrap()].0
    }
    fn value(&self) -> &[u8] {
        &self.entries[self.at.unwrap()].1
    }
    fn seek_to_first(&mut self) -> Result<()> {
        self.to(Some(0))
    }
    fn seek(&mut self, target: &[u8]) -> Result<()> {
        let at = self.entries.partition_point(|e| key::compare(&e.0, target).is_lt());
        self.to(Some(at))
    }
    fn next(&mut self) -> Result<()> {
        self.to(self.at.map(|n| n + 1))
    }
    fn seek_to_last(&mut self) -> Result<()> {
        self.to(self.entries.len().checked_sub(1))
    }
    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        let at = self.entries.partition_point(|e| key::compare(&e.0, target).is_lt());
        self.to(at.checked_sub(1))
    }
    fn prev(&mut self) -> Result<()> {
        self.to(self.at.and_then(|n| n.checked_sub(1)))
    }
}

type Numbers = Vec<Vec<(u8, u8)>>;

fn lists(keys: u8, len: usize) -> impl Strategy<Value = Numbers> {
    let entry = (0..keys, 0u8..6);
    proptest::collection::vec(proptest::collection::vec(entry, 0..len), 0..9)
}

/// Ways of making a user key of a number, each hard on a window in its own way.
const SHAPES: [fn(u8) -> Vec<u8>; 6] = [
    |n| vec![n],
    // A long common start, and what differs at the very end.
    |n| format!("{:016}", u64::from(n) * 37).into_bytes(),
    // What differs is early, and keys are long.
    |n| format!("{:016x}{:016x}", xxh3_64(&[n]), xxh3_64(&[n, n])).into_bytes(),
    // Keys of two parts, of which either may be what differs.
    |n| format!("tenant-{:08}/item-{:08}", n / 16, n % 16).into_bytes(),
    // Each key the start of the next.
    |n| vec![0; usize::from(n)],
    |n| [vec![0xff; usize::from(n / 16)], vec![n % 16 + 0xf0]].concat(),
];

fn build(lists: &Numbers, user: fn(u8) -> Vec<u8>) -> (Vec<List>, Entries) {
    let mut all = vec![];
    let mut sources = vec![];
    for (n, list) in lists.iter().enumerate() {
        let mut entries: Vec<_> =
            list.iter().map(|(k, s)| (key::encode(&user(*k), Sqn(u64::from(*s)), Kind::Put), vec![n as u8])).collect();
        entries.sort_by(|a, b| key::compare(&a.0, &b.0));
        entries.dedup_by(|a, b| a.0 == b.0);
        all.extend(entries.iter().cloned());
        sources.push(List { entries, at: None, fail_at: None });
    }
    all.sort_by(|a, b| key::compare(&a.0, &b.0));
    (sources, all)
}

/// Reads everything in both directions, and from a target on.
fn check(lists: &Numbers, user: fn(u8) -> Vec<u8>, target: u8) -> Result<(), TestCaseError> {
    let (sources, all) = build(lists, user);
    let target = key::seek_key(&user(target), Sqn(3));
    let mut merged = MergeIter::new(sources);
    let mut seen = vec![];
    merged.seek_to_first().unwrap();
    while merged.valid() {
        seen.push((merged.key().to_vec(), merged.value().to_vec()));
        merged.next().unwrap();
    }
    prop_assert_eq!(&seen, &all);
    seen.clear();
    merged.seek_to_last().unwrap();
    while merged.valid() {
        seen.push((merged.key().to_vec(), merged.value().to_vec()));
        merged.prev().unwrap();
    }
    seen.reverse();
    prop_assert_eq!(&seen, &all);
    let cut = all.partition_point(|e| key::compare(&e.0, &target).is_lt());
    merged.seek(&target).unwrap();
    for expected in &all[cut..] {
        prop_assert!(merged.valid());
        prop_assert_eq!(merged.key(), &expected.0[..]);
        merged.next().unwrap();
    }
    prop_assert!(!merged.valid());
    merged.seek_before(&target).unwrap();
    for expected in all[..cut].iter().rev() {
        prop_assert!(merged.valid());
        prop_assert_eq!(merged.key(), &expected.0[..]);
        merged.prev().unwrap();
    }
    prop_assert!(!merged.valid());
    Ok(())
}

proptest! {
    #[test]
    fn merging_few_keys_equals_sorting_in_both_directions(lists in lists(6, 8), target in 0u8..7) {
        check(&lists, SHAPES[0], target)?;
    }

    #[test]
    fn merging_keys_of_any_shape_equals_sorting(lists in lists(255, 80), shape in 0..SHAPES.len(), target: u8) {
        check(&lists, SHAPES[shape], target)?;
    }
}

#[test]
fn an_error_in_one_source_ends_the_merge_with_that_error() {
    let (mut sources, _) = build(&vec![vec![(0, 1), (2, 1)], vec![(1, 1), (3, 1)]], SHAPES[0]);
    sources[0].fail_at = Some(1);
    let mut merged = MergeIter::new(sources);
    merged.seek_to_first().unwrap();
    assert!(merged.next().is_err());
    assert!(!merged.valid());
}
