//! A heap of cursors that yields the entries of all of them in order.
//!
//! ITER-3: among equal internal keys the source that was given first comes first; sources are given youngest first.

use crate::base::error::Result;
use crate::base::iter::SortedIter;
use crate::base::key;
use crate::base::planted::{Fault, planted};
use std::cmp::Ordering;

/// Merges sources of one type (an enum where they differ; there is no dynamic dispatch per entry).
#[derive(Debug)]
pub(crate) struct MergeIter<I> {
    sources: Vec<I>,
    /// Positions of valid sources, a binary heap: the next entry's source is first.
    heap: Vec<usize>,
    backward: bool,
}

impl<I: SortedIter> MergeIter<I> {
    pub fn new(sources: Vec<I>) -> Self {
        Self { heap: Vec::with_capacity(sources.len()), sources, backward: false }
    }

    /// Whether source `a` comes before source `b`.
    #[inline]
    fn before(&self, a: usize, b: usize) -> bool {
        let order = key::compare(self.sources[a].key(), self.sources[b].key());
        match if self.backward { order.reverse() } else { order } {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => (a < b) != self.backward,
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut first = at;
            if left < self.heap.len() && self.before(self.heap[left], self.heap[first]) {
                first = left;
            }
            if right < self.heap.len() && self.before(self.heap[right], self.heap[first]) {
                first = right;
            }
            if first == at {
                return;
            }
            self.heap.swap(at, first);
            at = first;
        }
    }

    fn position_all(&mut self, backward: bool, mut seek: impl FnMut(&mut I) -> Result<()>) -> Result<()> {
        self.backward = backward;
        self.heap.clear();
        for source in &mut self.sources {
            seek(source)?;
        }
        self.heap.extend((0..self.sources.len()).filter(|n| self.sources[*n].valid()));
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
        Ok(())
    }

    #[inline]
    fn advance(&mut self, step: impl FnOnce(&mut I) -> Result<()>) -> Result<()> {
        let Some(&top) = self.heap.first() else { return Ok(()) };
        if let Err(e) = step(&mut self.sources[top]) {
            self.heap.clear();
            return if planted(Fault::ErrorEndsMerge) { Ok(()) } else { Err(e) };
        }
        if !self.sources[top].valid() {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }
}

impl<I: SortedIter> SortedIter for MergeIter<I> {
    #[inline]
    fn valid(&self) -> bool {
        !self.heap.is_empty()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.sources[self.heap[0]].key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.sources[self.heap[0]].value()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.position_all(false, I::seek_to_first)
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.position_all(false, |s| s.seek(target))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.advance(I::next)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.position_all(true, I::seek_to_last)
    }

    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        self.position_all(true, |s| s.seek_before(target))
    }

    fn prev(&mut self) -> Result<()> {
        self.advance(I::prev)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Error;
    use crate::base::ids::Sqn;
    use crate::base::key::Kind;
    use proptest::prelude::*;

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

    fn lists() -> impl Strategy<Value = Vec<Vec<(u8, u8)>>> {
        proptest::collection::vec(proptest::collection::vec((0u8..6, 0u8..6), 0..8), 0..6)
    }

    fn build(lists: &[Vec<(u8, u8)>]) -> (Vec<List>, Entries) {
        let mut all = vec![];
        let mut sources = vec![];
        for (n, list) in lists.iter().enumerate() {
            let mut entries: Vec<_> =
                list.iter().map(|(k, s)| (key::encode(&[*k], Sqn(u64::from(*s)), Kind::Put), vec![n as u8])).collect();
            entries.sort_by(|a, b| key::compare(&a.0, &b.0));
            entries.dedup_by(|a, b| a.0 == b.0);
            all.extend(entries.iter().cloned());
            sources.push(List { entries, at: None, fail_at: None });
        }
        all.sort_by(|a, b| key::compare(&a.0, &b.0));
        (sources, all)
    }

    proptest! {
        #[test]
        fn merging_equals_sorting_in_both_directions(lists in lists(), target in 0u8..7) {
            let (sources, all) = build(&lists);
            let target = key::seek_key(&[target], Sqn(3));
            let mut merged = MergeIter::new(sources);
            let mut seen = vec![];
            merged.seek_to_first().unwrap();
            while merged.valid() {
                seen.push((merged.key().to_vec(), merged.value().to_vec()));
                merged.next().unwrap();
            }
            prop_assert_eq!(&seen, &all);
            let mut back = vec![];
            merged.seek_to_last().unwrap();
            while merged.valid() {
                back.push((merged.key().to_vec(), merged.value().to_vec()));
                merged.prev().unwrap();
            }
            back.reverse();
            prop_assert_eq!(&back, &all);
            merged.seek(&target).unwrap();
            let first = all.iter().find(|e| key::compare(&e.0, &target).is_ge());
            prop_assert_eq!(merged.valid().then(|| merged.key().to_vec()), first.map(|e| e.0.clone()));
            merged.seek_before(&target).unwrap();
            let last = all.iter().rfind(|e| key::compare(&e.0, &target).is_lt());
            prop_assert_eq!(merged.valid().then(|| merged.key().to_vec()), last.map(|e| e.0.clone()));
        }
    }

    #[test]
    fn an_error_in_one_source_ends_the_merge_with_that_error() {
        let (mut sources, _) = build(&[vec![(0, 1), (2, 1)], vec![(1, 1), (3, 1)]]);
        sources[0].fail_at = Some(1);
        let mut merged = MergeIter::new(sources);
        merged.seek_to_first().unwrap();
        assert!(merged.next().is_err());
        assert!(!merged.valid());
    }
}
