//! The index workloads: upserts with secondary indexes, and queries by attribute.
//!
//! Owns: the operations and their order, the model of what queries must return. Depends on: the traits of [`crate::systems`], records,
//! meters. Threads: none.
//!
//! IDX-1: what a query must return is worked out before it is measured; one query in 16 is compared row by row and record by record, and of
//! all the rows are counted.
//! IDX-2: before the queries every record and every index entry is read once, not measured.

mod expected;
mod run;
#[cfg(test)]
mod tests;

pub use run::run;

use crate::systems::IndexSetup;
use serde::{Deserialize, Serialize};

/// A workload on indexed records; they run in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Upserts, half of new keys and half of keys that are there.
    Upsert,
    /// The primary keys of the 10 newest records of a value.
    Newest10Keys,
    /// The 10 newest records of a value.
    Newest10Records,
    /// The same records by their primary keys, a get each: what newest-10 with records is measured against.
    Gets10,
    /// The primary keys of all records of a value.
    AllMatches,
}

impl Workload {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Upsert => "upsert",
            Self::Newest10Keys => "newest10-keys",
            Self::Newest10Records => "newest10-records",
            Self::Gets10 => "gets10",
            Self::AllMatches => "all-matches",
        }
    }
}

/// What a child process does with indexed records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexPlan {
    /// The indexes.
    pub setup: IndexSetup,
    /// Upserts; about half as many records are there in the end.
    pub upserts: u64,
    /// Bytes of a record.
    pub record_bytes: usize,
    /// Records of each attribute value, about.
    pub matches: u64,
    /// Seed of keys, attributes and the order of operations.
    pub seed: u64,
}

impl IndexPlan {
    /// How the results of this plan are told from those with other indexes.
    pub fn setup_name(&self) -> String {
        setup_name(&self.setup)
    }
}

/// `0`, or number and maintenance of the indexes: without an index the maintenance says nothing.
pub fn setup_name(setup: &IndexSetup) -> String {
    match setup.indexes {
        0 => "0".to_owned(),
        indexes => format!("{indexes} {}", setup.maintenance.name()),
    }
}
