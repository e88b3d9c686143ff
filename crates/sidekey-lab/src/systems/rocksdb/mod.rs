//! RocksDB, built from source in release mode: a plain store, and one with indexes in column families.
//!
//! Owns: the run's settings in RocksDB's terms, and what RocksDB writes. Depends on: the crate `rocksdb`. `.cargo/config.toml` lets its
//! build use the processor's checksum instruction.
//! Threads: one of RocksDB's own for flushes, one for compactions.

mod indexed;
mod open;
#[cfg(test)]
mod tests;
mod written;

pub use indexed::IndexedRocksDb;

use super::{Settings, System};
use crate::failure::{Failure, Result};
use open::{Stores, version};
use rocksdb::{ReadOptions, WriteOptions};
use std::path::Path;

/// RocksDB, one column family.
pub struct RocksDb {
    stores: Stores,
    read: ReadOptions,
    write: WriteOptions,
}

impl System for RocksDb {
    fn version() -> String {
        version()
    }

    fn notes(settings: &Settings) -> Vec<String> {
        open::notes(settings)
    }

    fn open(dir: &Path, settings: &Settings) -> Result<Self> {
        let stores = Stores::open(dir, settings, 0)?;
        Ok(Self { stores, read: ReadOptions::default(), write: WriteOptions::default() })
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.stores.written.count_put(key, value);
        self.stores.db.put_opt(key, value, &self.write).map_err(|e| Failure::store("put into RocksDB", e))
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.stores.written.count_delete(key);
        self.stores.db.delete_opt(key, &self.write).map_err(|e| Failure::store("delete from RocksDB", e))
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let found =
            self.stores.db.get_pinned_opt(key, &self.read).map_err(|e| Failure::store("get from RocksDB", e))?;
        if let Some(found) = &found {
            value.clear();
            value.extend_from_slice(found);
        }
        Ok(found.is_some())
    }

    fn scan(&self, start: &[u8], limit: usize, mut visit: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        if limit == 0 {
            return Ok(0);
        }
        let mut iterator = self.stores.db.raw_iterator();
        let mut rows = 0;
        iterator.seek(start);
        while let Some((key, value)) = iterator.item() {
            visit(key, value);
            rows += 1;
            if rows == limit {
                return Ok(rows);
            }
            iterator.next();
        }
        iterator.status().map_err(|e| Failure::store("scan RocksDB", e))?;
        Ok(rows)
    }

    fn settle(&self) -> Result<()> {
        self.stores.settle()
    }

    fn written_bytes(&self) -> Option<u64> {
        Some(self.stores.written.bytes())
    }

    fn close(self) -> Result<()> {
        self.stores.close();
        Ok(())
    }
}
