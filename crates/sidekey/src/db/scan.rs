//! Scans over the primary tree.

use super::collection::{Collection, View};
use super::snapshots::Snapshot;
use crate::base::error::Result;
use crate::base::ids::{Sqn, TreeKind};
use crate::index::set::decode_record;
use crate::table::ReadMode;
use crate::tree::{KeyRange, VisibleIter};
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// The records of a key range, in key order. It holds its view from its creation on: later writes are not seen, and writers are not held up.
///
/// It is an [`Iterator`] over copies of keys and values, and, for whoever only looks at them, a cursor that lends them: [`Scan::advance`].
/// After an error it ends.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = sidekey::Db::open(dir.path().join("db"), Default::default())?;
/// let stock = db.collection("stock")?;
/// for (item, count) in [("bolts", "7"), ("nails", "100"), ("screws", "12")] {
///     stock.put(item, count)?;
/// }
/// let mut bytes = 0;
/// let mut scan = stock.scan("b".."o");
/// while scan.advance()? {
///     bytes += scan.key().len() + scan.value().len();
/// }
/// assert_eq!(bytes, 5 + 1 + 5 + 3);
///
/// let items: Vec<Vec<u8>> = stock.scan::<&str>(..).map(|record| Ok(record?.0)).collect::<Result<_, sidekey::Error>>()?;
/// assert_eq!(items, [&b"bolts"[..], b"nails", b"screws"]);
/// # Ok::<(), sidekey::Error>(())
/// ```
pub struct Scan {
    collection: Collection,
    range: KeyRange,
    backward: bool,
    snapshot: Option<Snapshot>,
    /// What the cursor is to read, pinned at creation, so that writes made before the first record is asked for are not seen.
    pinned: Option<Result<(Arc<View>, Sqn)>>,
    /// None before the first step, and after an error.
    cursor: Option<VisibleIter>,
    /// Where the value stands in the stored record, behind its header; none if there is no current record.
    value_start: Option<usize>,
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
        let scan =
            Self { collection, range, backward: false, snapshot: None, pinned: None, cursor: None, value_start: None };
        scan.restart()
    }

    /// Goes from the largest key to the smallest, from the start.
    pub fn reverse(mut self) -> Self {
        self.backward = !self.backward;
        self.restart()
    }

    /// Reads as the snapshot sees it, from the start.
    pub fn at(mut self, snapshot: &Snapshot) -> Self {
        self.snapshot = Some(snapshot.clone());
        self.restart()
    }

    /// Goes to the first or next record; false at the end. [`Scan::key`] and [`Scan::value`] lend it until the next call. Allocates nothing per
    /// record.
    pub fn advance(&mut self) -> Result<bool> {
        let stepped = self.step();
        self.value_start = match &stepped {
            Ok(start) => *start,
            Err(_) => {
                self.cursor = None;
                None
            }
        };
        Ok(stepped?.is_some())
    }

    /// Makes [`Scan::advance`] go to the first record at or after `key` (in reverse: at or before it) next, within the range and in the same view.
    /// Cheaper than another scan.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = sidekey::Db::open(dir.path().join("db"), Default::default())?;
    /// let words = db.collection("words")?;
    /// for word in ["bat", "bee", "cat", "cow"] {
    ///     words.put(word, "")?;
    /// }
    /// let mut scan = words.scan::<&str>(..);
    /// for (letter, first) in [("c", "cat"), ("b", "bat")] {
    ///     scan.seek(letter)?;
    ///     assert!(scan.advance()? && scan.key() == first.as_bytes());
    /// }
    /// # Ok::<(), sidekey::Error>(())
    /// ```
    pub fn seek(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        self.value_start = None;
        let sought =
            self.begin().and_then(|()| self.cursor.as_mut().map_or(Ok(()), |cursor| cursor.seek(key.as_ref())));
        if sought.is_err() {
            self.cursor = None;
        }
        sought
    }

    /// The current record's key; empty if there is no current record.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match &self.cursor {
            Some(cursor) if self.value_start.is_some() => cursor.key(),
            _ => &[],
        }
    }

    /// The current record's value; empty if there is no current record.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match (&self.cursor, self.value_start) {
            (Some(cursor), Some(start)) => cursor.value().get(start..).unwrap_or_default(),
            _ => &[],
        }
    }

    fn restart(mut self) -> Self {
        (self.cursor, self.value_start) = (None, None);
        self.pinned = Some(self.pin());
        self
    }

    fn pin(&self) -> Result<(Arc<View>, Sqn)> {
        let handle = &self.collection.handle;
        handle.inner.check_open()?;
        // Pinned before the sqn is taken (TREE-1).
        let view = self.collection.core.view();
        let at = match &self.snapshot {
            Some(snapshot) => snapshot.checked_sqn(handle)?,
            None => handle.inner.visible(),
        };
        Ok((view, at))
    }

    /// Makes the cursor, if that is still to be done.
    #[inline]
    fn begin(&mut self) -> Result<()> {
        if self.pinned.is_some() { self.make_cursor() } else { Ok(()) }
    }

    #[cold]
    fn make_cursor(&mut self) -> Result<()> {
        if let Some(pinned) = self.pinned.take() {
            let (view, at) = pinned?;
            let input = view.superversion.tree(TreeKind::Primary).within(&self.range, ReadMode::Normal);
            self.cursor = Some(VisibleIter::new(input, self.range.clone(), at, self.backward));
        }
        Ok(())
    }

    /// To the next record; where its value starts.
    #[inline]
    fn step(&mut self) -> Result<Option<usize>> {
        self.begin()?;
        let Some(cursor) = &mut self.cursor else { return Ok(None) };
        if !cursor.advance()? {
            return Ok(None);
        }
        let stored = cursor.value();
        Ok(Some(stored.len() - decode_record(stored)?.1.len()))
    }
}

impl Iterator for Scan {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(true) => Some(Ok((self.key().to_vec(), self.value().to_vec()))),
            Ok(false) => None,
            Err(e) => Some(Err(e)),
        }
    }
}
