//! The loops: what is made ready, what runs, and what it has to come to.

use crate::material::{self, Key, RECORDS};
use sidekey::{Collection, Db, Maintenance, Result, Target};
use std::ops::RangeInclusive;

/// Entries that a seek is followed by: the field's `seekrandom` with 50 nexts.
const NEXTS: usize = 50;
const RUNS: u64 = 8;

/// A loop.
#[derive(Clone, Copy)]
pub(crate) struct HotLoop {
    /// Names it in the baseline: renamed, it is another loop.
    pub name: &'static str,
    /// What its instructions are divided by.
    pub operations: u64,
    pub prepare: fn(u64) -> Result<Ready>,
}

/// A loop about to run.
pub(crate) struct Ready {
    pub db: Db,
    pub run: Box<dyn FnMut() -> Result<u64>>,
    /// What `run` returns if it did its work.
    pub answer: u64,
    /// How many blocks it may load.
    pub blocks: RangeInclusive<u64>,
}

const NONE: RangeInclusive<u64> = 0..=0;
const ANY: RangeInclusive<u64> = 0..=u64::MAX;

pub(crate) const LOOPS: &[HotLoop] = &[
    HotLoop { name: "put", operations: 4_000, prepare: put },
    HotLoop { name: "put_4_validated", operations: 2_000, prepare: |n| put_indexed(n, Maintenance::Validated) },
    HotLoop { name: "put_4_synchronous", operations: 2_000, prepare: |n| put_indexed(n, Maintenance::Synchronous) },
    HotLoop { name: "get_memtable", operations: 4_000, prepare: get_memtable },
    HotLoop { name: "get_hit", operations: 4_000, prepare: get_hit },
    HotLoop { name: "get_miss", operations: 4_000, prepare: get_miss },
    HotLoop { name: "seek_50", operations: 200, prepare: seek },
    HotLoop { name: "merge_8", operations: RECORDS, prepare: merge },
    HotLoop { name: "block_load", operations: 2_000, prepare: block_load },
    HotLoop { name: "flush", operations: RECORDS, prepare: flush },
    HotLoop { name: "compact_8", operations: RECORDS, prepare: compact },
];

/// Puts over a full memtable, half of them of new keys. The log is written as well, to memory.
fn put(operations: u64) -> Result<Ready> {
    let (db, records) = material::in_memory(material::settings())?;
    let mut numbers = material::Numbers(11);
    let writes: Vec<(Key, Vec<u8>)> = (0..operations)
        .map(|i| {
            let record = numbers.below(RECORDS);
            (if i % 2 == 0 { material::key(record) } else { material::absent_key(record) }, material::value(i))
        })
        .collect();
    let run = move || {
        for (key, value) in &writes {
            records.put(key, value)?;
        }
        Ok(0)
    };
    Ok(Ready { db, run: Box::new(run), answer: 0, blocks: NONE })
}

/// Replaces records that have four index entries each by others with four entries each. All are in the memtables.
fn put_indexed(operations: u64, maintenance: Maintenance) -> Result<Ready> {
    let (db, records) = material::indexed(maintenance)?;
    let mut numbers = material::Numbers(13);
    let count = RECORDS / 4;
    for record in material::shuffled(count) {
        records.put(material::key(record), material::document(&mut numbers))?;
    }
    let writes: Vec<(Key, String)> =
        (0..operations).map(|_| (material::key(numbers.below(count)), material::document(&mut numbers))).collect();
    let run = move || {
        for (key, value) in &writes {
            records.put(key, value)?;
        }
        Ok(0)
    };
    Ok(Ready { db, run: Box::new(run), answer: 0, blocks: NONE })
}

fn get_memtable(operations: u64) -> Result<Ready> {
    let (db, records) = material::in_memory(material::settings())?;
    let keys = material::chosen(operations).into_iter().map(material::key).collect();
    Ok(gets(db, records, keys, operations, NONE))
}

fn get_hit(operations: u64) -> Result<Ready> {
    let (db, records) = material::compacted(material::settings())?;
    let keys = material::chosen(operations).into_iter().map(material::key).collect();
    warm(gets(db, records, keys, operations, NONE))
}

/// Absent keys that lie between present ones: the filter turns nearly all of them away.
fn get_miss(operations: u64) -> Result<Ready> {
    let (db, records) = material::compacted(material::settings())?;
    let keys = material::chosen(operations).into_iter().map(material::absent_key).collect();
    warm(gets(db, records, keys, 0, NONE))
}

/// Gets with a cache that is too small for a block: each reads, checks and parses one.
fn block_load(operations: u64) -> Result<Ready> {
    let mut settings = material::settings();
    // The least there is. The memtables take all of it, and the cache gets the eighth that it always has, 8 KiB in 16 parts.
    settings.memory_budget_bytes = 64 << 10;
    let (db, records) = material::compacted(settings)?;
    let keys = material::chosen(operations).into_iter().map(material::key).collect();
    // A key at a block's edge may take a second one.
    Ok(gets(db, records, keys, operations, operations..=operations + operations / 10))
}

/// Gets of keys, which answer how many there were.
fn gets(db: Db, records: Collection, keys: Vec<Key>, answer: u64, blocks: RangeInclusive<u64>) -> Ready {
    let run = move || {
        let mut found = 0;
        for key in &keys {
            found += u64::from(records.get(key)?.is_some());
        }
        Ok(found)
    };
    Ready { db, run: Box::new(run), answer, blocks }
}

/// Runs a loop of reads once before it is measured, so that all it needs is in the cache.
fn warm(mut ready: Ready) -> Result<Ready> {
    (ready.run)()?;
    Ok(ready)
}

/// Iterators placed at a present key and moved on 50 times.
fn seek(operations: u64) -> Result<Ready> {
    let (db, records) = material::compacted(material::settings())?;
    let last = RECORDS - NEXTS as u64 - 1;
    let keys: Vec<Key> =
        material::chosen(operations).into_iter().map(|record| material::key(record.min(last))).collect();
    let run = move || {
        let mut entries = 0;
        for key in &keys {
            for entry in records.scan::<&Key>(key..).take(1 + NEXTS) {
                entry?;
                entries += 1;
            }
        }
        Ok(entries)
    };
    warm(Ready { db, run: Box::new(run), answer: operations * (1 + NEXTS as u64), blocks: NONE })
}

/// A scan of everything over eight tables of level 0 that overlap.
fn merge(operations: u64) -> Result<Ready> {
    let (db, records) = material::overlapping(RUNS)?;
    let run = move || {
        let mut entries = 0;
        for entry in records.scan::<Key>(..) {
            entry?;
            entries += 1;
        }
        Ok(entries)
    };
    warm(Ready { db, run: Box::new(run), answer: operations, blocks: NONE })
}

/// A full memtable into a table.
fn flush(_: u64) -> Result<Ready> {
    let (db, _) = material::in_memory(material::settings())?;
    let flushed = db.clone();
    let run = move || flushed.flush(Target::All).map(|()| flushed.stats().flushes);
    Ok(Ready { db, run: Box::new(run), answer: 1, blocks: ANY })
}

/// Eight tables of level 0 that overlap into one of the last level.
fn compact(_: u64) -> Result<Ready> {
    let (db, _) = material::overlapping(RUNS)?;
    let compacted = db.clone();
    let run = move || compacted.compact(Target::Primary).map(|()| compacted.stats().compactions);
    Ok(Ready { db, run: Box::new(run), answer: 1, blocks: ANY })
}
