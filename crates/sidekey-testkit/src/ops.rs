//! Operations of a random list, and their text as a script (see [`crate::script`]) so that a failure can be replayed by hand.

mod text;

pub use crate::model::{Order, Predicate, Write};
pub use text::script_of;

use std::ops::Bound;

/// The attribute paths that operation lists may index; an operation names one by its place.
pub const PATHS: [&str; 3] = ["$.a", "$.b.c", "$.l[0]"];

/// What flush and compact work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Both trees.
    All,
    /// The primary trees.
    Primary,
    /// The index trees.
    Indexes,
}

/// How much of each record a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Keys only.
    Keys,
    /// Also the attributes.
    Attributes,
    /// Also the value.
    Records,
}

/// A query by attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Which collection.
    pub collection: usize,
    /// Which of [`PATHS`].
    pub path: usize,
    /// Which values.
    pub predicate: Predicate,
    /// The order.
    pub order: Order,
    /// Whether the order is turned round.
    pub reverse: bool,
    /// How many rows at most.
    pub limit: Option<usize>,
    /// How much of each record.
    pub depth: Depth,
    /// At which snapshot; the head where none is named or it is not held.
    pub at: Option<u8>,
}

/// One operation. Slots name what is held open; what one of them held before is released.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields' names say all, and the variants are documented")]
pub enum Op {
    /// One put or delete; durable before it is acknowledged if `sync`.
    Write { write: Write, sync: bool },
    /// Several at once.
    Batch { writes: Vec<Write>, sync: bool },
    /// A put that applies if the key's presence is as told.
    PutIf { write: Write, present: bool },
    /// A point read.
    Get { collection: usize, key: Vec<u8>, at: Option<u8> },
    /// A range of keys.
    Scan {
        collection: usize,
        low: Bound<Vec<u8>>,
        high: Bound<Vec<u8>>,
        reverse: bool,
        limit: Option<usize>,
        at: Option<u8>,
    },
    /// A query by attribute.
    Query(Ask),
    /// The number of its rows.
    Count(Ask),
    /// Takes a snapshot into a slot.
    Snapshot(u8),
    /// Releases it.
    Release(u8),
    /// Starts an iterator over a collection, kept in a slot over what follows.
    IteratorOpen { slot: u8, collection: usize, reverse: bool },
    /// Reads some records from it.
    IteratorRead { slot: u8, records: usize },
    /// Flushes.
    Flush(Part),
    /// Merges everything down to one place.
    Compact(Part),
    /// Creates an index on a path.
    CreateIndex { collection: usize, path: usize },
    /// Drops it.
    DropIndex { collection: usize, path: usize },
    /// Makes everything durable.
    Sync,
    /// Closes and opens.
    Reopen,
    /// Makes everything durable, cuts the power, opens what is left.
    PowerCut { seed: u64 },
    /// Asks for findings; there must be none.
    Verify,
}

impl Op {
    /// The kind's name, for figures.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Write { write, .. } if write.value.is_none() => "delete",
            Op::Write { .. } => "put",
            Op::Batch { .. } => "batch",
            Op::PutIf { .. } => "put_if",
            Op::Get { .. } => "get",
            Op::Scan { .. } => "scan",
            Op::Query(_) => "query",
            Op::Count(_) => "count",
            Op::Snapshot(_) => "snapshot",
            Op::Release(_) => "release",
            Op::IteratorOpen { .. } | Op::IteratorRead { .. } => "iterator",
            Op::Flush(_) => "flush",
            Op::Compact(_) => "compact",
            Op::CreateIndex { .. } => "create_index",
            Op::DropIndex { .. } => "drop_index",
            Op::Sync => "sync",
            Op::Reopen => "reopen",
            Op::PowerCut { .. } => "power_cut",
            Op::Verify => "verify",
        }
    }
}

/// The name of a collection of an operation list.
pub fn collection_name(collection: usize) -> String {
    format!("c{collection}")
}

/// The name of the index on a path.
pub fn index_name(path: usize) -> String {
    format!("by_{path}")
}
