//! The query that users build.

use super::collection::{Collection, no_index};
use super::snapshots::Snapshot;
use crate::base::error::{Error, Result};
use crate::base::value::Value;
use crate::query::types::{Order, Read, Row};
use crate::query::{QueryView, RowStream, lookup_bounds, range_bounds};
use std::fmt;
use std::ops::{Bound, RangeBounds};

/// A query by attribute. Set what is wanted, then run it with [`Query::keys`], [`Query::rows`] or [`Query::count`].
///
/// Answers are exact: a record is returned if and only if its newest version at the query's snapshot has the attribute value, and with
/// a limit K in newest order the K matching records of largest sequence number are returned.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = sidekey::Db::open(dir.path().join("db"), Default::default())?;
/// use sidekey::{IndexSpec, Order, Read, Value};
/// let quakes = db.collection("quakes")?;
/// quakes.create_index(IndexSpec::new("by_mag", "$.mag"))?;
/// quakes.put("a", r#"{"mag": 5.6, "place": "Vanuatu"}"#)?;
/// quakes.put("b", r#"{"mag": 1.7, "place": "Boron"}"#)?;
/// quakes.put("c", r#"{"mag": 5.0, "place": "Vanj"}"#)?;
///
/// let strong = quakes.range("by_mag", Value::from(5)..);
/// assert_eq!(strong.clone().keys()?, [b"c", b"a"]); // by magnitude
/// assert_eq!(strong.clone().order(Order::Newest).limit(1).keys()?, [b"c"]);
/// assert_eq!(strong.clone().count()?, 2);
/// for row in strong.reverse().rows(Read::Attributes)? {
///     println!("{:?}", row?.attributes); // [("$.mag", 5.6)], then [("$.mag", 5)]
/// }
/// # Ok::<(), sidekey::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Query {
    collection: Collection,
    index: String,
    what: What,
    order: Order,
    reverse: bool,
    limit: Option<usize>,
    snapshot: Option<Snapshot>,
}

#[derive(Clone, Debug)]
enum What {
    Value(Value),
    Range(Bound<Value>, Bound<Value>),
}

impl Query {
    pub(super) fn lookup(collection: Collection, index: &str, value: Value) -> Self {
        Self::new(collection, index, What::Value(value), Order::Newest)
    }

    pub(super) fn range(collection: Collection, index: &str, range: &impl RangeBounds<Value>) -> Self {
        let what = What::Range(range.start_bound().cloned(), range.end_bound().cloned());
        Self::new(collection, index, what, Order::Attribute)
    }

    fn new(collection: Collection, index: &str, what: What, order: Order) -> Self {
        Self { collection, index: index.to_owned(), what, order, reverse: false, limit: None, snapshot: None }
    }

    /// Returns at most so many rows; all without it.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets the order: newest first, by attribute and then key, or (look-ups only) by key.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Turns the whole order round.
    pub fn reverse(mut self) -> Self {
        self.reverse = !self.reverse;
        self
    }

    /// Asks as of a snapshot.
    pub fn at(mut self, snapshot: &Snapshot) -> Self {
        self.snapshot = Some(snapshot.clone());
        self
    }

    /// The primary keys, in order, as one list. Reads records only to validate entries that may be stale.
    pub fn keys(self) -> Result<Vec<Vec<u8>>> {
        self.rows(Read::Keys)?.map(|row| row.map(|r| r.key)).collect()
    }

    /// How many rows there are. Reads no records but to validate; memory does not grow with the count.
    pub fn count(mut self) -> Result<u64> {
        if self.limit.is_none() {
            // The order does not matter, and index order needs no memory.
            self.order = Order::Attribute;
        }
        self.rows(Read::Keys)?.try_fold(0, |n, row| row.map(|_| n + 1))
    }

    /// The rows, in order. By attribute or key they are read as the iterator goes on; newest first they are collected before the first is
    /// returned, so that without a limit all of them are in memory.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such index, if the snapshot is older than the index, or for [`Order::Key`] over a
    /// range; [`Error::Busy`] if the index is not ready.
    pub fn rows(self, read: Read) -> Result<Rows> {
        if self.order == Order::Key && matches!(self.what, What::Range(..)) {
            return Err(Error::invalid(
                "order 'key' is for look-ups of one value; a range comes by attribute or newest first",
            ));
        }
        let handle = &self.collection.handle;
        let inner = &handle.inner;
        inner.check_open()?;
        let core = &self.collection.core;
        // Pinned before the sqn is taken (TREE-1).
        let view = core.view();
        let at = match &self.snapshot {
            Some(snapshot) => snapshot.checked_sqn(handle)?,
            None => inner.visible(),
        };
        let index = view.set.named(&self.index).ok_or_else(|| no_index(core, &view.set, &self.index))?;
        let range = match &self.what {
            What::Value(value) => lookup_bounds(index.incarnation, value)?,
            What::Range(low, high) => range_bounds(index.incarnation, &(low.clone(), high.clone()))?,
        };
        let counters = inner.query_counters.clone();
        let query = QueryView::new(view.superversion.clone(), at, view.set.clone(), index, counters)?;
        let stream = RowStream::start(query, range, self.order, self.reverse, self.limit, read)?;
        Ok(Rows { stream, _held: (self.collection.clone(), self.snapshot.clone()) })
    }
}

/// The rows of a query. After an error it ends.
pub struct Rows {
    stream: RowStream,
    _held: (Collection, Option<Snapshot>),
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        self.stream.next()
    }
}
