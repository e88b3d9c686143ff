//! Checking: is everything on disk and in memory as it must be?
//!
//! Owns nothing. Reads raw structures (memtables, tables, the manifest's lists) and never the query path, so that a fault of that path cannot hide
//! one here. Depends on index (definitions), tree, version, iter, table, wal (file names), base. Takes no lock; the caller pins the state. Changes
//! nothing and reports everything it finds.
//!
//! The rules are those of TESTING.md: V1 files and tables, V2 completeness, V3 soundness, V5 counts, V6 frontiers, V7 index states.

mod entries;
mod files;
pub mod finding;
mod in_order;
mod records;
#[cfg(test)]
mod tests;

pub(crate) use entries::{check_entries, count_raw};
pub(crate) use files::{check_directory, check_tables};
pub(crate) use records::check_records;

use crate::index::set::IndexSet;
use crate::tree::Superversion;
use finding::Finding;

/// What is checked: one collection, pinned.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub collection: &'a str,
    pub superversion: &'a Superversion,
    pub set: &'a IndexSet,
}

impl Subject<'_> {
    fn finding(&self, rule: &'static str, what: String) -> Finding {
        Finding { rule, collection: self.collection.to_owned(), what }
    }
}
