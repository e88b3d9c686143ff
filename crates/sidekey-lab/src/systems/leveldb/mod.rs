//! LevelDB, built from source in release mode.
//!
//! It comes from the crate `leveldb-sys` and not from Debian's `libleveldb-dev`, which is built with assertions on and without a
//! hardware checksum: with a small cache that one spends two thirds more instructions on the same work.
//!
//! Owns: the settings in LevelDB's terms, the count of what was logged. Depends on: `store.cc`, through [`foreign`].
//! Threads: LevelDB has one of its own, for flush and compaction together.

mod foreign;
#[cfg(test)]
mod tests;

use super::{Settings, System};
use crate::failure::{Failure, Result};
use foreign::{Options, Store};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// LevelDB, reading its tables into the block cache; or, if `MAPPED`, through memory maps, which is its default: then the block cache
/// holds next to nothing and the page cache, which no setting limits, takes its place.
pub struct LevelDb<const MAPPED: bool = false> {
    store: Store,
    logged_bytes: AtomicU64,
}

/// LevelDB with memory-mapped tables, for orientation only.
pub type MappedLevelDb = LevelDb<true>;

/// What the log adds to a write of one operation: a record's header of 7 bytes, a batch's of 12, its kind.
const LOG_OVERHEAD_BYTES: usize = 7 + 12 + 1;

/// Bytes of a length in the log.
fn length_bytes(length: usize) -> usize {
    (usize::BITS - (length | 1).leading_zeros()).div_ceil(7) as usize
}

impl<const MAPPED: bool> LevelDb<MAPPED> {
    fn count_logged(&self, parts: &[&[u8]]) {
        let bytes: usize = parts.iter().map(|part| length_bytes(part.len()) + part.len()).sum();
        self.logged_bytes.fetch_add((LOG_OVERHEAD_BYTES + bytes) as u64, Ordering::Relaxed);
    }
}

impl<const MAPPED: bool> System for LevelDb<MAPPED> {
    fn version() -> String {
        let (major, minor) = foreign::version();
        format!("LevelDB {major}.{minor}")
    }

    fn notes(settings: &Settings) -> Vec<String> {
        let mut notes = vec![
            "LevelDB: one thread does both flush and compaction, and there are at most two memtables".to_owned(),
            "LevelDB: the first sorted level has 10 MiB and level 0 starts a compaction at 4 tables, whatever the settings".to_owned(),
            "LevelDB: written bytes of tables are rounded to a MiB a level".to_owned(),
        ];
        if MAPPED {
            notes.push(format!(
                "LevelDB mmap: for orientation only: tables are read through the page cache, not the cache of {} MiB",
                settings.cache_bytes >> 20
            ));
        }
        notes
    }

    fn open(dir: &Path, settings: &Settings) -> Result<Self> {
        let options = Options {
            cache_bytes: settings.cache_bytes,
            write_buffer_bytes: settings.memtable_bytes,
            file_bytes: settings.table_bytes,
            block_bytes: u64::from(settings.block_bytes),
            filter_bits: settings.filter_bits.try_into().map_err(|_| Failure::usage("too many filter bits"))?,
            mapped: MAPPED.into(),
        };
        let store = Store::open(dir.as_os_str().as_bytes(), &options).map_err(|e| Failure::store("open LevelDB", e))?;
        Ok(Self { store, logged_bytes: AtomicU64::new(0) })
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.count_logged(&[key, value]);
        self.store.put(key, value).map_err(|e| Failure::store("put into LevelDB", e))
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.count_logged(&[key]);
        self.store.delete(key).map_err(|e| Failure::store("delete from LevelDB", e))
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let show = |found: &[u8]| {
            value.clear();
            value.extend_from_slice(found);
        };
        self.store.get(key, show).map_err(|e| Failure::store("get from LevelDB", e))
    }

    fn scan(&self, start: &[u8], limit: usize, mut visit: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        let failed = |e| Failure::store("scan LevelDB", e);
        if limit == 0 {
            return Ok(0);
        }
        let mut iterator = self.store.iterate();
        let mut rows = 0;
        let mut row = iterator.seek(start).map_err(failed)?;
        while let Some((key, value)) = row {
            visit(key, value);
            rows += 1;
            if rows == limit {
                break;
            }
            row = iterator.next().map_err(failed)?;
        }
        Ok(rows)
    }

    fn settle(&self) -> Result<()> {
        self.store.settle();
        Ok(())
    }

    fn written_bytes(&self) -> Option<u64> {
        let tables = compacted_mib(&self.store.property("leveldb.stats")?)? << 20;
        Some(self.logged_bytes.load(Ordering::Relaxed) + tables)
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

/// MiB written to tables, from LevelDB's own statistics: after three lines of head, a line for each level ends in them.
fn compacted_mib(statistics: &str) -> Option<u64> {
    let levels = statistics.lines().skip(3).filter(|line| !line.trim().is_empty());
    levels.map(|line| line.split_whitespace().nth(5)?.parse::<u64>().ok()).sum()
}
