//! Settings: plain data, checked in one place.

use crate::base::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// When an acknowledged write is made durable against power loss. A process that dies loses nothing under any of them.
///
/// Under each of them a power cut takes at most the newest writes: what is left is all writes up to some moment, batches whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SyncPolicy {
    /// When the operating system, a flush, a write with [`crate::WriteOptions::sync`], [`crate::Db::sync`] or [`crate::Db::close`] does
    /// it.
    Never,
    /// By a thread that syncs every so many milliseconds (1 to 60,000): a power cut takes at most the writes of about that time.
    EveryMs(u64),
    /// Before the write is acknowledged. Writers that wait at the same time share one sync.
    Always,
}

/// How blocks of tables are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompressionSetting {
    /// Not at all.
    None,
    /// LZ4, where it saves at least an eighth of the block.
    Lz4,
}

/// The settings of a database. None is structural: each may differ from one opening to the next. They are checked when a database is
/// opened with them.
///
/// ```
/// use sidekey::{Settings, SyncPolicy};
/// let mut settings = Settings::default();
/// settings.sync = SyncPolicy::EveryMs(100);
/// settings.memory_budget_bytes = 64 << 20;
/// assert!(settings.check().is_ok());
/// # assert_eq!(Settings::from_json(r#"{"memory_budget_bytes": 67108864, "sync": {"every_ms": 100}}"#)?, settings);
/// # Ok::<(), sidekey::Error>(())
/// ```
///
/// In text form (scripts, the command line) a setting is named like its field: `{"memtable_bytes": 1048576, "sync": "always"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// Whether a missing database is created (default true).
    pub create_if_missing: bool,
    /// When writes become durable against power loss (default [`SyncPolicy::Never`]).
    pub sync: SyncPolicy,
    /// Bytes for the block cache, the indexes and filters of open tables ([`crate::TreeStats::pinned_bytes`]) and the memtables of one
    /// collection together (default 256 MiB; at least 64 KiB). The block cache gets what those memtables (`memtable_bytes` times
    /// `memtables_max`) and the tables leave, at least an eighth. An index build sorts in a quarter of it.
    ///
    /// Not covered: the memtables of further collections, what batches and answers hold, the buffers of flush and compaction.
    pub memory_budget_bytes: u64,
    /// Bytes of a collection's memtables (both trees) at which they are switched for new ones and flushed (default 16 MiB; at least 256).
    pub memtable_bytes: u64,
    /// Memtables of a collection, the active one included, before its writers wait for a flush (default 3; 2 to 64).
    pub memtables_max: u32,
    /// Target size of a table file in bytes (default 32 MiB; at least 256).
    pub table_bytes: u64,
    /// Target size of a data block in bytes before compression (default 4,096; 16 to 1 MiB).
    pub block_bytes: u32,
    /// Block compression (default LZ4).
    pub compression: CompressionSetting,
    /// Bits per key of the tables' filters, 0 for none (default 10; at most 64).
    pub filter_bits_per_key: u32,
    /// Tables in level 0 of a tree at which they are compacted (default 4; 1 to 64).
    pub level0_tables: u32,
    /// Tables in level 0 of a tree at which writers wait for compaction (default 20; more than `level0_tables`).
    pub level0_tables_max: u32,
    /// Bytes of the first sorted level, below which no further level is opened (default 128 MiB; at least 256).
    pub level_base_bytes: u64,
    /// How much larger each level is than the one above (default 10; 2 to 100).
    pub level_ratio: u32,
    /// Bytes of a log segment at which the next one is begun (default 64 MiB; at least 256).
    pub wal_segment_bytes: u64,
    /// Bytes of log that are kept before the collection with the oldest unflushed write is flushed (default 512 MiB).
    pub wal_retained_bytes: u64,
    /// Bytes of manifest at which it is rewritten as one snapshot (default 1 MiB; at least 256).
    pub manifest_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            create_if_missing: true,
            sync: SyncPolicy::Never,
            memory_budget_bytes: 256 * MIB,
            memtable_bytes: 16 * MIB,
            memtables_max: 3,
            table_bytes: 32 * MIB,
            block_bytes: 4096,
            compression: CompressionSetting::Lz4,
            filter_bits_per_key: 10,
            level0_tables: 4,
            level0_tables_max: 20,
            level_base_bytes: 128 * MIB,
            level_ratio: 10,
            wal_segment_bytes: 64 * MIB,
            wal_retained_bytes: 512 * MIB,
            manifest_bytes: MIB,
        }
    }
}

impl Settings {
    /// Sizes so small that a few operations flush, compact, rotate and rewrite everything: for tests.
    pub fn tiny() -> Self {
        Self {
            memory_budget_bytes: 64 << 10,
            memtable_bytes: 1024,
            table_bytes: 1024,
            block_bytes: 64,
            level0_tables: 2,
            level0_tables_max: 6,
            level_base_bytes: 2048,
            level_ratio: 3,
            wal_segment_bytes: 2048,
            wal_retained_bytes: 16 << 10,
            manifest_bytes: 1024,
            ..Self::default()
        }
    }

    /// Settings from their text form, a JSON object; names that do not exist are refused.
    pub fn from_json(text: &str) -> Result<Self> {
        let settings: Self = serde_json::from_str(text).map_err(|e| Error::invalid(format!("settings: {e}")))?;
        settings.check()?;
        Ok(settings)
    }

    /// Refuses what is out of range, naming the setting and its range.
    pub fn check(&self) -> Result<()> {
        let range = |name: &str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(Error::invalid(format!("setting {name} is {value}; it must lie between {low} and {high}")))
            }
        };
        const LARGE: u64 = 1 << 40;
        range("memory_budget_bytes", self.memory_budget_bytes, 64 << 10, LARGE)?;
        range("memtable_bytes", self.memtable_bytes, 256, 4 << 30)?;
        range("memtables_max", self.memtables_max.into(), 2, 64)?;
        range("table_bytes", self.table_bytes, 256, 4 << 30)?;
        range("block_bytes", self.block_bytes.into(), 16, 1 << 20)?;
        range("filter_bits_per_key", self.filter_bits_per_key.into(), 0, 64)?;
        range("level0_tables", self.level0_tables.into(), 1, 64)?;
        range("level0_tables_max", self.level0_tables_max.into(), u64::from(self.level0_tables) + 1, 1024)?;
        range("level_base_bytes", self.level_base_bytes, 256, LARGE)?;
        range("level_ratio", self.level_ratio.into(), 2, 100)?;
        range("wal_segment_bytes", self.wal_segment_bytes, 256, 4 << 30)?;
        range("wal_retained_bytes", self.wal_retained_bytes, 1024, LARGE)?;
        range("manifest_bytes", self.manifest_bytes, 256, 1 << 30)?;
        if let SyncPolicy::EveryMs(ms) = self.sync {
            range("sync.every_ms", ms, 1, 60_000)?;
        }
        Ok(())
    }

    /// Bytes left for the block cache when so many are pinned by tables' indexes and filters.
    pub(crate) fn cache_bytes(&self, pinned: u64) -> u64 {
        let memtables = self.memtable_bytes.saturating_mul(self.memtables_max.into());
        let taken = memtables.saturating_add(pinned);
        self.memory_budget_bytes.saturating_sub(taken).max(self.memory_budget_bytes / 8)
    }
}
