//! A list of writes that become visible and durable together.

use super::Collection;
use crate::base::key::Kind;

/// Writes over any collections of one database, applied atomically by [`crate::Db::write`]: readers, snapshots and recovery after a
/// crash see all of them or none. Several writes of one key collapse to the last.
///
/// Keys and values together have at most 1 GiB; limits are checked when the batch is written.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = sidekey::Db::open(dir.path().join("db"), Default::default())?;
/// use sidekey::Batch;
/// let (orders, stock) = (db.collection("orders")?, db.collection("stock")?);
/// let mut batch = Batch::new();
/// batch.put(&orders, "order-1", r#"{"item": "nails", "count": 30}"#).put(&stock, "nails", "70");
/// batch.delete(&stock, "rivets");
/// let sqn = db.write(batch)?;
/// assert_eq!(db.visible_sqn(), sqn);
/// # Ok::<(), sidekey::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) ops: Vec<BatchOp>,
    pub(super) bytes: usize,
}

#[derive(Debug)]
pub(super) struct BatchOp {
    pub collection: Collection,
    pub kind: Kind,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a put.
    pub fn put(&mut self, collection: &Collection, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> &mut Self {
        self.push(collection, Kind::Put, key.into(), value.into())
    }

    /// Adds a delete.
    pub fn delete(&mut self, collection: &Collection, key: impl Into<Vec<u8>>) -> &mut Self {
        self.push(collection, Kind::Delete, key.into(), Vec::new())
    }

    fn push(&mut self, collection: &Collection, kind: Kind, key: Vec<u8>, value: Vec<u8>) -> &mut Self {
        self.bytes += key.len() + value.len();
        self.ops.push(BatchOp { collection: collection.clone(), kind, key, value });
        self
    }

    /// Writes in the batch.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Bytes of keys and values.
    pub fn size_bytes(&self) -> usize {
        self.bytes
    }
}
