//! What is equal for all stores of a run, and printed with its result.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

const MIB: u64 = 1 << 20;

/// How much of the data the stores' caches hold. Results of different regimes are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// Every store's cache is larger than the data.
    Warm,
    /// Every store's block cache has 128 MiB, whatever the data.
    #[value(name = "128m")]
    #[serde(rename = "128m")]
    Mib128,
}

impl Regime {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Mib128 => "128m",
        }
    }
}

/// The settings of a run, for every store alike. No compression; checksums verified on every read from a file; one thread for
/// compactions and one for flushes; the log on, without syncs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The regime that the sizes follow from.
    pub regime: Regime,
    /// Block cache, in bytes.
    pub cache_bytes: u64,
    /// Size at which a memtable is flushed, in bytes.
    pub memtable_bytes: u64,
    /// Memtables before writers wait, the active one included.
    pub memtables_max: u32,
    /// Target size of a table file, in bytes.
    pub table_bytes: u64,
    /// Target size of a data block, in bytes.
    pub block_bytes: u32,
    /// Size of the first sorted level, in bytes.
    pub level_base_bytes: u64,
    /// Tables in level 0 that start a compaction.
    pub level0_tables: u32,
    /// Bits per key of the filters.
    pub filter_bits: u32,
}

impl Settings {
    /// The settings for a regime and about `data_bytes` of keys and values.
    pub fn new(regime: Regime, data_bytes: u64) -> Self {
        let (cache_bytes, memtable_bytes) = match regime {
            // Three times the data: a cache in shards must not fill one of them, and versions wait for their compaction.
            Regime::Warm => ((3 * data_bytes).max(1024 * MIB).next_multiple_of(MIB), 64 * MIB),
            Regime::Mib128 => (128 * MIB, 16 * MIB),
        };
        Self {
            regime,
            cache_bytes,
            memtable_bytes,
            memtables_max: 3,
            table_bytes: memtable_bytes,
            block_bytes: 4096,
            level_base_bytes: 4 * memtable_bytes,
            level0_tables: 4,
            filter_bits: 10,
        }
    }

    /// The memory that a store may use under these settings: its cache and all its memtables.
    pub fn budget_bytes(&self) -> u64 {
        self.cache_bytes + self.memtable_bytes * u64::from(self.memtables_max)
    }
}

/// How a store keeps its indexes in step with the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Maintenance {
    /// A write reads nothing: old entries stay, and a query asks the record whether an entry still holds.
    Validated,
    /// A write reads the version that it replaces and deletes that version's entries.
    Synchronous,
}

impl Maintenance {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Validated => "validated",
            Self::Synchronous => "synchronous",
        }
    }
}

/// The indexes of an [`super::IndexedSystem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSetup {
    /// How many of the four attributes are indexed: the first so many.
    pub indexes: usize,
    /// How the indexes follow the records.
    pub maintenance: Maintenance,
}
