//! Counters of what the database did since it was opened.

use crate::env::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// One relaxed addition each.
        #[derive(Debug, Default)]
        pub(super) struct Counters {
            $(pub $name: Counter,)*
        }
    };
}

counters!(
    writes,
    write_groups,
    flushes,
    flush_written_bytes,
    compactions,
    compaction_read_bytes,
    compaction_written_bytes,
    tables_moved,
    write_stalls,
    write_stall_micros,
    versions_superseded,
    versions_dropped,
    stale_entries_removed,
);

/// A number that only rises.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
