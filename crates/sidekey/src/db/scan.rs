//! Scans over the primary tree.

use super::collection::Collection;
use super::snapshots::Snapshot;
use crate::base::error::Result;
use crate::base::ids::TreeKind;
use crate::index::set::decode_record;
use crate::table::ReadMode;
use crate::tree::{KeyRange, VisibleIter};
use std::fmt;
use std::ops::{Bound, RangeBounds};

/// An iterator over keys and values in key order. It holds its view from its creation on: later writes are not seen, and writers are
/// not held up.
///
/// After an error it ends.
pub struct Scan {
    collection: Collection,
    range: KeyRange,
    backward: bool,
    snapshot: Option<Snapshot>,
    state: State,
}

/// A view is pinned at creation, so that writes made before the first record is asked for are not seen.
enum State {
    Fresh(Result<VisibleIter>),
    Running(VisibleIter),
    Ended,
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan").field("collection", &self.collection.name()).finish_non_exhaustive()
    }
}

/// The half-open form of a range of byte keys: the successor of a key is the key with a zero byte behind it.
fn key_range<K: AsRef<[u8]>>(range: &impl RangeBounds<K>) -> KeyRange {
    let after = |k: &K| {
        let mut next = k.as_ref().to_vec();
        next.push(0);
        next
    };
    KeyRange {
        start: match range.start_bound() {
            Bound::Included(k) => k.as_ref().to_vec(),
            Bound::Excluded(k) => after(k),
            Bound::Unbounded => vec![],
        },
        end: match range.end_bound() {
            Bound::Included(k) => Some(after(k)),
            Bound::Excluded(k) => Some(k.as_ref().to_vec()),
            Bound::Unbounded => None,
        },
    }
}

impl Scan {
    pub(super) fn new<K: AsRef<[u8]>>(collection: Collection, range: &impl RangeBounds<K>) -> Self {
        let range = key_range(range);
        let mut scan = Self { collection, range, backward: false, snapshot: None, state: State::Ended };
        scan.state = State::Fresh(scan.pin());
        scan
    }

    /// Goes from the largest key to the smallest.
    pub fn reverse(mut self) -> Self {
        self.backward = !self.backward;
        self.state = State::Fresh(self.pin());
        self
    }

    /// Reads as the snapshot sees it.
    pub fn at(mut self, snapshot: &Snapshot) -> Self {
        self.snapshot = Some(snapshot.clone());
        self.state = State::Fresh(self.pin());
        self
    }

    fn pin(&self) -> Result<VisibleIter> {
        let handle = &self.collection.handle;
        handle.inner.check_open()?;
        let view = self.collection.core.view();
        let at = match &self.snapshot {
            Some(snapshot) => snapshot.checked_sqn(handle)?,
            None => handle.inner.visible(),
        };
        let input = view.superversion.tree(TreeKind::Primary).iter(ReadMode::Normal);
        Ok(VisibleIter::new(input, self.range.clone(), at, self.backward))
    }

    fn step(iter: &mut VisibleIter) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        if !iter.advance()? {
            return Ok(None);
        }
        let (_, value) = decode_record(iter.value())?;
        Ok(Some((iter.key().to_vec(), value.to_vec())))
    }
}

impl Iterator for Scan {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut iter = match std::mem::replace(&mut self.state, State::Ended) {
            State::Ended => return None,
            State::Fresh(Err(e)) => return Some(Err(e)),
            State::Fresh(Ok(iter)) | State::Running(iter) => iter,
        };
        match Self::step(&mut iter) {
            Ok(Some(record)) => {
                self.state = State::Running(iter);
                Some(Ok(record))
            }
            Ok(None) => None,
            Err(e) => Some(Err(e)),
        }
    }
}
