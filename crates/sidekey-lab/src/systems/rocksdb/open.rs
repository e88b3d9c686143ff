//! How RocksDB is opened, settled and closed.
//!
//! Left at RocksDB's defaults, which its users keep: index and filter blocks beside the cache, all tables open, the newest table format,
//! XXH3 checksums verified on every read from a file, levels sized from the last one up. Statistics are off, as they are by default.

use super::written::Written;
use crate::failure::{Failure, Result};
use crate::systems::Settings;
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBCompressionType, InfoLogger, LogLevel, Options,
    SliceTransform, WaitForCompactOptions,
};
use std::path::Path;

/// The column family of the records.
pub(super) const RECORDS: &str = "default";
/// Those of the indexes on `a0` to `a3`.
pub(super) const INDEXES: [&str; 4] = ["by_a0", "by_a1", "by_a2", "by_a3"];

/// Bytes of an attribute at the head of an index key.
pub(super) const ATTRIBUTE_BYTES: usize = 8;

/// An open database and what it has written.
pub(super) struct Stores {
    pub db: DB,
    pub written: Written,
}

pub(super) fn version() -> String {
    // The crate's version after the plus sign is that of the RocksDB inside; there is no call that returns it.
    "RocksDB 11.8.1".to_owned()
}

pub(super) fn notes(settings: &Settings) -> Vec<String> {
    vec![
        "RocksDB: HyperClockCache; indexes and filters of open tables are beside it; XXH3 checksums of blocks; built for SSE 4.2".to_owned(),
        format!("RocksDB: levels are sized from the last one up, the smallest of at least {} MiB", settings.level_base_bytes >> 20),
    ]
}

/// What a column family holds.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Records,
    /// Keys that begin with an attribute, looked for by it.
    Index,
}

fn column_family(settings: &Settings, cache: &Cache, content: Content) -> Options {
    let mut tables = BlockBasedOptions::default();
    tables.set_block_cache(cache);
    tables.set_block_size(settings.block_bytes as usize);
    tables.set_bloom_filter(f64::from(settings.filter_bits), false);
    let mut options = Options::default();
    if content == Content::Index {
        // Filters of attributes, not of whole keys: nobody asks for a whole key of an index.
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(ATTRIBUTE_BYTES));
        tables.set_whole_key_filtering(false);
    }
    options.set_block_based_table_factory(&tables);
    options.set_compression_type(DBCompressionType::None);
    options.set_write_buffer_size(settings.memtable_bytes as usize);
    options.set_max_write_buffer_number(settings.memtables_max as i32);
    options.set_target_file_size_base(settings.table_bytes);
    options.set_max_bytes_for_level_base(settings.level_base_bytes);
    options.set_level_zero_file_num_compaction_trigger(settings.level0_tables as i32);
    options
}

fn database(settings: &Settings, cache: &Cache, written: &Written) -> Options {
    let mut options = column_family(settings, cache, Content::Records);
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    // One of them flushes, the other compacts.
    options.set_max_background_jobs(2);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    let written = written.clone();
    options.set_info_logger(InfoLogger::new_callback_logger(LogLevel::Info, move |_, line| written.count_event(line)));
    options
}

impl Stores {
    /// Opens or creates the database with so many indexes.
    pub fn open(dir: &Path, settings: &Settings, indexes: usize) -> Result<Self> {
        // Without a lock, and what RocksDB recommends: a tenth less than with the LRU cache for reads that find their blocks.
        let cache = Cache::new_hyper_clock_cache(settings.cache_bytes as usize, 0);
        let written = Written::default();
        // Every family with its options: `DB::open_cf` would give those of the indexes RocksDB's defaults, without filters.
        let records = ColumnFamilyDescriptor::new(RECORDS, column_family(settings, &cache, Content::Records));
        let index = |name: &&str| ColumnFamilyDescriptor::new(*name, column_family(settings, &cache, Content::Index));
        let families = std::iter::once(records).chain(INDEXES.iter().take(indexes).map(index));
        let db = DB::open_cf_descriptors(&database(settings, &cache, &written), dir, families)
            .map_err(|e| Failure::store("open RocksDB", e))?;
        Ok(Self { db, written })
    }

    pub fn settle(&self) -> Result<()> {
        let mut options = WaitForCompactOptions::default();
        options.set_flush(true);
        self.db.wait_for_compact(&options).map_err(|e| Failure::store("compact RocksDB", e))
    }

    pub fn close(&self) {
        self.db.cancel_all_background_work(true);
    }
}
