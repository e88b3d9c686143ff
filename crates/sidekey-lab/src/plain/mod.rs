//! The field's workloads on a plain key-value store.
//!
//! Owns: the workloads by name, keys and values, the model of what must be in the store, the loops. Depends on: the traits of
//! [`crate::systems`], the meters.
//! Threads: readwhilewriting has a writer beside the reader; everything else runs in the caller's.
//!
//! PLN-1: what a measured loop does beside calling the store is the same for every store, and checking is done after the loop, on counts
//! and sums, and within it for one operation in 64.
//! PLN-2: whenever a database is given up, all of it is read and compared with the model.
//! PLN-3: between writes and the reads that follow, all of the database is read once, not measured: no read workload pays for another's blocks.

pub mod data;
mod model;
mod run;
#[cfg(test)]
mod tests;
mod while_writing;

pub use run::run;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A workload, by the name that LevelDB's `db_bench` made common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Workload {
    /// An empty store gets every key, in key order
    FillSeq,
    /// An empty store gets as many writes to random keys as there are keys (about 63 % of the keys are there then)
    FillRandom,
    /// As many writes to random keys again
    Overwrite,
    /// Reads of random keys, there or not
    ReadRandom,
    /// Reads of keys that are not there, between those that may be
    ReadMissing,
    /// Seeks to a random key and steps over 50 more, a tenth as often
    SeekRandom,
    /// Reads everything in key order; an operation is a row
    ReadSeq,
    /// Reads of random keys while another thread writes at a fixed rate; the reader's processor time counts
    ReadWhileWriting,
    /// Deletes random keys, as many as there are keys
    DeleteRandom,
}

impl Workload {
    /// All of them, in the order in which they run by default.
    pub const ALL: [Self; 9] = [
        Self::FillSeq,
        Self::FillRandom,
        Self::Overwrite,
        Self::ReadRandom,
        Self::ReadMissing,
        Self::SeekRandom,
        Self::ReadSeq,
        Self::ReadWhileWriting,
        Self::DeleteRandom,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::FillSeq => "fillseq",
            Self::FillRandom => "fillrandom",
            Self::Overwrite => "overwrite",
            Self::ReadRandom => "readrandom",
            Self::ReadMissing => "readmissing",
            Self::SeekRandom => "seekrandom",
            Self::ReadSeq => "readseq",
            Self::ReadWhileWriting => "readwhilewriting",
            Self::DeleteRandom => "deleterandom",
        }
    }

    /// Whether it measures reads.
    pub fn reads(self) -> bool {
        match self {
            Self::FillSeq | Self::FillRandom | Self::Overwrite | Self::DeleteRandom => false,
            Self::ReadRandom | Self::ReadMissing | Self::SeekRandom | Self::ReadSeq | Self::ReadWhileWriting => true,
        }
    }

    /// Whether it begins with an empty store.
    pub fn starts_empty(self) -> bool {
        matches!(self, Self::FillSeq | Self::FillRandom)
    }
}

/// What a child process does with a plain store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlainPlan {
    /// Workloads, in order. Before the first that does not start empty, a fillrandom is made that is not measured.
    pub workloads: Vec<Workload>,
    /// Number of keys.
    pub records: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Writes a second of readwhilewriting's writer.
    pub write_rate: u64,
    /// Seed of keys and values.
    pub seed: u64,
}
