//! Seeded databases, keys and values for the loops. The shapes are those of the field's `db_bench`: 16-byte decimal keys, values of
//! 100 bytes, no compression.

use sidekey::env::{Env, MemoryFs};
use sidekey::{Collection, CompressionSetting, Db, IndexSpec, Maintenance, Result, Settings, Target};
use std::sync::Arc;

/// Records of a database that is read. About 2.5 MB: enough for hundreds of blocks, small enough to be made under callgrind in seconds.
pub(crate) const RECORDS: u64 = 20_000;

const VALUE_BYTES: usize = 100;

/// The attributes that an indexed record has, each with an index of its own.
const ATTRIBUTES: [&str; 4] = ["city", "age", "plan", "score"];

pub(crate) type Key = [u8; 16];

/// Numbers that are the same in every run: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
pub(crate) struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// The key of a record. Only even numbers are written, so that there is an absent key beside each.
pub(crate) fn key(record: u64) -> Key {
    decimal(2 * record)
}

pub(crate) fn absent_key(record: u64) -> Key {
    decimal(2 * record + 1)
}

fn decimal(mut number: u64) -> Key {
    let mut key = [b'0'; 16];
    for digit in key.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    key
}

/// Bytes that do not compress, different for each record.
pub(crate) fn value(record: u64) -> Vec<u8> {
    let mut numbers = Numbers(record);
    (0..VALUE_BYTES).map(|_| numbers.below(256) as u8).collect()
}

/// A record with the four attributes, of about 100 bytes too.
pub(crate) fn document(numbers: &mut Numbers) -> String {
    let (city, age, plan, score) = (numbers.below(500), numbers.below(100), numbers.below(5), numbers.below(1_000_000));
    format!(
        r#"{{"city":"town-{city:03}","age":{age},"plan":"plan-{plan}","score":{score}.5,"note":"{:032x}"}}"#,
        numbers.below(u64::MAX)
    )
}

/// Settings under which nothing is flushed or compacted unless a loop asks for it, with a cache that holds everything.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.compression = CompressionSetting::None;
    settings.memtable_bytes = 64 << 20;
    settings.level0_tables = 64;
    settings.level0_tables_max = 128;
    settings
}

/// An empty database with one collection.
pub(crate) fn empty(settings: Settings) -> Result<(Db, Collection)> {
    let db = Db::open_in(Env::deterministic(Arc::new(MemoryFs::new()), 1), "counts", settings)?;
    let records = db.collection("records")?;
    Ok((db, records))
}

/// An empty database with an index on each attribute.
pub(crate) fn indexed(maintenance: Maintenance) -> Result<(Db, Collection)> {
    let (db, records) = empty(settings())?;
    for attribute in ATTRIBUTES {
        records.create_index(IndexSpec::new(attribute, format!("$.{attribute}")).maintenance(maintenance))?;
    }
    Ok((db, records))
}

/// All records, put in a random order, in the memtable.
pub(crate) fn in_memory(settings: Settings) -> Result<(Db, Collection)> {
    let (db, records) = empty(settings)?;
    for record in shuffled(RECORDS) {
        records.put(key(record), value(record))?;
    }
    Ok((db, records))
}

/// All records in the last level.
pub(crate) fn compacted(settings: Settings) -> Result<(Db, Collection)> {
    let (db, records) = in_memory(settings)?;
    db.compact(Target::All)?;
    Ok((db, records))
}

/// All records in so many tables of level 0. Each record is in one of them, by chance: all tables span nearly all keys, and stretches
/// from one table are short.
pub(crate) fn overlapping(tables: u64) -> Result<(Db, Collection)> {
    let (db, records) = empty(settings())?;
    for table in 0..tables {
        let mut numbers = Numbers(3);
        for record in 0..RECORDS {
            if numbers.below(tables) == table {
                records.put(key(record), value(record))?;
            }
        }
        db.flush(Target::All)?;
    }
    let made = db.stats().collections.iter().filter_map(|c| c.primary.level_tables.first().copied()).sum::<u64>();
    assert_eq!(made, tables, "each flush leaves a table in level 0");
    Ok((db, records))
}

/// The numbers below `limit`, each once, in a random order.
pub(crate) fn shuffled(limit: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..limit).collect();
    let mut numbers = Numbers(5);
    for at in (1..order.len()).rev() {
        order.swap(at, numbers.below(at as u64 + 1) as usize);
    }
    order
}

/// So many records by chance, some of them several times.
pub(crate) fn chosen(count: u64) -> Vec<u64> {
    let mut numbers = Numbers(7);
    (0..count).map(|_| numbers.below(RECORDS)).collect()
}
