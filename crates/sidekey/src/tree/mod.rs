//! One LSM-tree: memtables and a version, read as one; the superversion of a collection's two trees.
//!
//! Owns: [`Superversion`], immutable. Depends on version, memtable, table, iter, env, base. Threads: read by any; replaced as a whole by the
//! database.
//!
//! - TREE-1: a reader pins a superversion first and takes its sqn afterwards; the other order would lose versions that a compaction drops in
//!   between.
//! - TREE-2: both trees of a collection switch memtables together and are flushed in one edit, oldest first, so components of a tree are ordered in
//!   time for every key.

mod superversion;
mod visible;

pub(crate) use superversion::{MemPair, Record, Superversion, TreeView};
pub(crate) use visible::{KeyRange, VisibleIter};
