//! Gathers the statistics.

use super::collection::CollectionCore;
use super::inner::Inner;
use super::stats::{CollectionStats, IndexStats, Stats, TreeStats};
use crate::base::ids::TreeKind;
use crate::env::sync::atomic::Ordering;
use crate::version::{LEVELS, TreeVersion};

impl Inner {
    /// See [`crate::Db::stats`].
    pub fn statistics(&self) -> Stats {
        let (segments, retained) = self.log.retained();
        let (held, oldest) = {
            let snapshots = self.snapshots.lock();
            (snapshots.values().sum::<usize>(), snapshots.keys().next().map(|s| s.0))
        };
        let cache = self.cache.statistics();
        let c = &self.counters;
        Stats {
            visible_sqn: self.visible().0,
            durable_sqn: self.log.durable().0,
            snapshots: held as u64,
            oldest_snapshot_sqn: oldest,
            writes: c.writes.get(),
            write_groups: c.write_groups.get(),
            wal_written_bytes: self.log.written_bytes.load(Ordering::Relaxed),
            wal_syncs: self.log.syncs.load(Ordering::Relaxed),
            wal_retained_bytes: retained,
            wal_segments: segments,
            recovery_cut_bytes: self.recovery_cut_bytes.load(Ordering::Relaxed),
            flushes: c.flushes.get(),
            flush_written_bytes: c.flush_written_bytes.get(),
            compactions: c.compactions.get(),
            compaction_read_bytes: c.compaction_read_bytes.get(),
            compaction_written_bytes: c.compaction_written_bytes.get(),
            tables_moved: c.tables_moved.get(),
            write_stalls: c.write_stalls.get(),
            write_stall_micros: c.write_stall_micros.get(),
            cache_hits: cache.hits,
            cache_misses: cache.misses,
            cache_capacity_bytes: self.settings.cache_bytes(self.pinned_bytes()),
            versions_superseded: c.versions_superseded.get(),
            versions_dropped: c.versions_dropped.get(),
            stale_entries_removed: c.stale_entries_removed.get(),
            stale_entries_met: self.query_counters.stale.load(Ordering::Relaxed),
            validations: self.query_counters.validations.load(Ordering::Relaxed),
            collections: self.all_collections().iter().map(|core| collection_stats(core)).collect(),
        }
    }
}

fn collection_stats(core: &CollectionCore) -> CollectionStats {
    let view = core.view();
    let sv = &view.superversion;
    let indexes = view.set.indexes.iter().map(|i| IndexStats {
        name: i.info.spec.name.clone(),
        attribute: i.info.spec.attribute.clone(),
        maintenance: i.info.spec.maintenance.to_string(),
        state: i.info.state.to_string(),
    });
    CollectionStats {
        name: core.name.clone(),
        primary: tree_stats(sv.version(TreeKind::Primary)),
        index: tree_stats(sv.version(TreeKind::Index)),
        memtable_bytes: sv.memtables().map(|m| m.memory_bytes() as u64).sum(),
        memtables: sv.memtables().count() as u64,
        opaque_values: core.opaque_values.load(Ordering::Relaxed),
        indexes: indexes.collect(),
    }
}

fn tree_stats(version: &TreeVersion) -> TreeStats {
    TreeStats {
        level_tables: (0..LEVELS).map(|l| version.level(l).len() as u64).collect(),
        level_bytes: (0..LEVELS).map(|l| version.level_bytes(l)).collect(),
        entries: version.tables().map(|t| t.meta.entries).sum(),
        deletes: version.tables().map(|t| t.meta.deletes).sum(),
        pinned_bytes: version.tables().map(|t| t.table.memory_bytes() as u64).sum(),
    }
}
