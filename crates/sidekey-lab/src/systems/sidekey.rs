//! Sidekey through its public interface.

use super::{IndexSetup, IndexedSystem, Maintenance, Settings, System};
use crate::failure::{Failure, Result};
use sidekey::{Collection, CompressionSetting, Db, IndexSpec, Order, Read, Target};
use std::path::Path;

/// The names of the indexes on `a0` to `a3`.
const INDEXES: [&str; 4] = ["by_a0", "by_a1", "by_a2", "by_a3"];

/// A database with one collection.
pub struct Sidekey {
    db: Db,
    records: Collection,
}

impl Sidekey {
    fn create(dir: &Path, settings: &Settings) -> Result<Self> {
        let db = Db::open(dir, native(settings)).map_err(|e| Failure::store("open Sidekey", e))?;
        let records = db.collection("default").map_err(|e| Failure::store("create the collection", e))?;
        Ok(Self { db, records })
    }

    fn settle_all(&self) -> Result<()> {
        self.db.flush(Target::All).map_err(|e| Failure::store("flush Sidekey", e))?;
        while self.db.background_step().map_err(|e| Failure::store("compact Sidekey", e))? {}
        Ok(())
    }

    fn written(&self) -> u64 {
        let stats = self.db.stats();
        stats.wal_written_bytes + stats.flush_written_bytes + stats.compaction_written_bytes
    }

    fn read(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let copy = |found: &[u8]| {
            value.clear();
            value.extend_from_slice(found);
        };
        let found = self.records.get_with(key, copy).map_err(|e| Failure::store("get from Sidekey", e))?;
        Ok(found.is_some())
    }

    fn end(&self) -> Result<()> {
        self.db.close().map_err(|e| Failure::store("close Sidekey", e))
    }
}

/// The run's settings in Sidekey's own.
fn native(settings: &Settings) -> sidekey::Settings {
    let mut native = sidekey::Settings::default();
    native.compression = CompressionSetting::None;
    native.memory_budget_bytes = settings.budget_bytes();
    native.memtable_bytes = settings.memtable_bytes;
    native.memtables_max = settings.memtables_max;
    native.table_bytes = settings.table_bytes;
    native.block_bytes = settings.block_bytes;
    native.level_base_bytes = settings.level_base_bytes;
    native.level0_tables = settings.level0_tables;
    native.filter_bits_per_key = settings.filter_bits;
    native
}

fn version() -> String {
    format!("Sidekey {}", env!("CARGO_PKG_VERSION"))
}

fn budget_note() -> String {
    "Sidekey: the budget covers indexes and filters of open tables too, which the peers keep beside their caches"
        .to_owned()
}

impl System for Sidekey {
    fn version() -> String {
        version()
    }

    fn notes(_: &Settings) -> Vec<String> {
        vec![budget_note()]
    }

    fn open(dir: &Path, settings: &Settings) -> Result<Self> {
        Self::create(dir, settings)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.records.put(key, value).map(drop).map_err(|e| Failure::store("put into Sidekey", e))
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.records.delete(key).map(drop).map_err(|e| Failure::store("delete from Sidekey", e))
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.read(key, value)
    }

    fn scan(&self, start: &[u8], limit: usize, mut visit: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        let mut rows = 0;
        let mut scan = self.records.scan(start..);
        while rows < limit && scan.advance().map_err(|e| Failure::store("scan Sidekey", e))? {
            visit(scan.key(), scan.value());
            rows += 1;
        }
        Ok(rows)
    }

    fn settle(&self) -> Result<()> {
        self.settle_all()
    }

    fn written_bytes(&self) -> Option<u64> {
        Some(self.written())
    }

    fn close(self) -> Result<()> {
        self.end()
    }
}

/// A collection with composite indexes.
pub struct IndexedSidekey(Sidekey);

impl IndexedSystem for IndexedSidekey {
    fn version() -> String {
        version()
    }

    fn supports(_: Maintenance) -> bool {
        true
    }

    fn notes(_: &Settings, _: &IndexSetup) -> Vec<String> {
        vec![budget_note()]
    }

    fn open(dir: &Path, settings: &Settings, setup: &IndexSetup) -> Result<Self> {
        let store = Sidekey::create(dir, settings)?;
        let maintenance = match setup.maintenance {
            Maintenance::Validated => sidekey::Maintenance::Validated,
            Maintenance::Synchronous => sidekey::Maintenance::Synchronous,
        };
        for (i, name) in INDEXES.iter().enumerate().take(setup.indexes) {
            let spec = IndexSpec::new(*name, format!("$.a{i}")).maintenance(maintenance);
            store.records.create_index(spec).map_err(|e| Failure::store("create an index", e))?;
        }
        Ok(Self(store))
    }

    fn upsert(&self, key: &[u8], record: &[u8], _: &[u64; 4]) -> Result<()> {
        System::put(&self.0, key, record)
    }

    fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Result<bool> {
        self.0.read(key, record)
    }

    fn newest(
        &self,
        index: usize,
        value: u64,
        limit: usize,
        records: bool,
        mut visit: impl FnMut(&[u8], Option<&[u8]>),
    ) -> Result<usize> {
        let failed = |e| Failure::store("query Sidekey", e);
        let name = INDEXES.get(index).ok_or_else(|| Failure::usage(format!("there is no attribute a{index}")))?;
        let mut query = self.0.records.lookup(name, value);
        query = if limit == usize::MAX { query.order(Order::Attribute) } else { query.limit(limit) };
        let mut rows = 0;
        for row in query.rows(if records { Read::Records } else { Read::Keys }).map_err(failed)? {
            let row = row.map_err(failed)?;
            visit(&row.key, row.value.as_deref());
            rows += 1;
        }
        Ok(rows)
    }

    fn settle(&self) -> Result<()> {
        self.0.settle_all()
    }

    fn written_bytes(&self) -> Option<u64> {
        Some(self.0.written())
    }

    fn close(self) -> Result<()> {
        self.0.end()
    }
}
