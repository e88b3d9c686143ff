//! Statistics: what the database holds and what it did since it was opened.

use serde::Serialize;

/// Counters and sizes; the unit is the last word of a name, a plain count where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Largest sequence number that readers see.
    pub visible_sqn: u64,
    /// Largest sequence number known to be durable.
    pub durable_sqn: u64,
    /// Open snapshots.
    pub snapshots: u64,
    /// The sequence number of the oldest open snapshot: versions that it sees are kept.
    pub oldest_snapshot_sqn: Option<u64>,
    /// Operations that were written.
    pub writes: u64,
    /// Groups that they were written in: one log record each.
    pub write_groups: u64,
    /// Bytes appended to the log.
    pub wal_written_bytes: u64,
    /// Syncs of log segments.
    pub wal_syncs: u64,
    /// Bytes of the log segments that are kept.
    pub wal_retained_bytes: u64,
    /// Log segments that are kept.
    pub wal_segments: u64,
    /// Bytes that opening cut off the log's end: writes that were being made, or were not durable, when a power cut or kill came.
    pub recovery_cut_bytes: u64,
    /// Memtable pairs written to tables.
    pub flushes: u64,
    /// Bytes of the tables that flushes wrote.
    pub flush_written_bytes: u64,
    /// Compactions that wrote tables.
    pub compactions: u64,
    /// Bytes of the tables that compactions read.
    pub compaction_read_bytes: u64,
    /// Bytes of the tables that compactions wrote.
    pub compaction_written_bytes: u64,
    /// Tables that changed their level without being rewritten.
    pub tables_moved: u64,
    /// Writes that had to wait for a flush or a compaction.
    pub write_stalls: u64,
    /// How long they waited, in microseconds.
    pub write_stall_micros: u64,
    /// Blocks found in the block cache.
    pub cache_hits: u64,
    /// Blocks that had to be read.
    pub cache_misses: u64,
    /// What the memory budget leaves the block cache.
    pub cache_capacity_bytes: u64,
    /// Versions that a compaction found overwritten.
    pub versions_superseded: u64,
    /// Versions that a compaction removed for good.
    pub versions_dropped: u64,
    /// Entries that index compaction removed because the primary no longer had their version.
    pub stale_entries_removed: u64,
    /// Index entries that a query found stale.
    pub stale_entries_met: u64,
    /// Primary look-ups made to validate index entries.
    pub validations: u64,
    /// Each collection, in the order of their creation.
    pub collections: Vec<CollectionStats>,
}

/// One collection's share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CollectionStats {
    /// The collection's name.
    pub name: String,
    /// The tree of its records.
    pub primary: TreeStats,
    /// The tree of its index entries.
    pub index: TreeStats,
    /// Bytes in its memtables.
    pub memtable_bytes: u64,
    /// Memtable pairs, the active one included.
    pub memtables: u64,
    /// Records written whose value was not JSON although the collection has an attribute.
    pub opaque_values: u64,
    /// Its indexes.
    pub indexes: Vec<IndexStats>,
}

/// One tree's tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TreeStats {
    /// Tables of each level, level 0 first.
    pub level_tables: Vec<u64>,
    /// Bytes of each level, level 0 first.
    pub level_bytes: Vec<u64>,
    /// Versions in tables, old ones and tombstones included.
    pub entries: u64,
    /// Tombstones or deletes in tables.
    pub deletes: u64,
    /// Memory that open tables keep for indexes and filters.
    pub pinned_bytes: u64,
}

/// One index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexStats {
    /// The index's name.
    pub name: String,
    /// The JSON path of its attribute.
    pub attribute: String,
    /// Its maintenance.
    pub maintenance: String,
    /// Its state.
    pub state: String,
}
