//! Records with indexes, as RocksDB's users keep them: a column family for each index, one batch for a record and its entries.
//!
//! An index key is attribute, inverted write number, primary key; the numbers are big-endian, so that the newest records of a value come
//! first. The record has its write number before it: it finds the entry that a write replaces and, read the other way, tells whether an
//! entry still holds.
//!
//! Threads: writers take turns, from the number of a write to its batch.

use super::open::{ATTRIBUTE_BYTES, INDEXES, RECORDS, Stores, notes, version};
use crate::failure::{Failure, Result};
use crate::records::attributes_of;
use crate::systems::{IndexSetup, IndexedSystem, Maintenance, Settings};
use rocksdb::{ColumnFamily, DBPinnableSlice, ReadOptions, WriteBatch, WriteOptions};
use std::path::Path;
use std::sync::Mutex;

/// Bytes of a write number.
const NUMBER_BYTES: usize = 8;
/// Where the primary key begins in an index key.
const KEY_AT: usize = ATTRIBUTE_BYTES + NUMBER_BYTES;
/// Records that are read at once.
const READ_TOGETHER: usize = 64;

/// RocksDB with a column family of records and one for each index.
pub struct IndexedRocksDb {
    stores: Stores,
    setup: IndexSetup,
    /// The number of the next write.
    next: Mutex<u64>,
    read: ReadOptions,
    write: WriteOptions,
}

/// Entries of an index that have been read, and whose records have not.
#[derive(Default)]
struct Entries {
    keys: Vec<u8>,
    /// Where each primary key ends, and the write that the entry is of.
    ends: Vec<(usize, u64)>,
}

impl Entries {
    fn push(&mut self, number: u64, key: &[u8]) {
        self.keys.extend_from_slice(key);
        self.ends.push((self.keys.len(), number));
    }

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, _)| {
            let key = &self.keys[start..end];
            start = end;
            key
        })
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.ends.clear();
    }
}

fn malformed(what: &str) -> Failure {
    Failure::store("read RocksDB", format!("{what} is malformed"))
}

/// The write number at the head of `bytes`, and what follows it.
fn split_number(bytes: &[u8]) -> Result<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<NUMBER_BYTES>().ok_or_else(|| malformed("a record"))?;
    Ok((u64::from_be_bytes(*number), rest))
}

fn set_entry_key(attribute: u64, number: u64, key: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&attribute.to_be_bytes());
    out.extend_from_slice(&(!number).to_be_bytes());
    out.extend_from_slice(key);
}

impl IndexedRocksDb {
    fn family(&self, name: &str) -> Result<&ColumnFamily> {
        self.stores.db.cf_handle(name).ok_or_else(|| Failure::usage(format!("there is no column family {name}")))
    }

    fn index(&self, index: usize) -> Result<&ColumnFamily> {
        let name = INDEXES.get(index).ok_or_else(|| Failure::usage(format!("there is no attribute a{index}")))?;
        self.family(name)
    }

    fn pinned(&self, key: &[u8]) -> Result<Option<DBPinnableSlice<'_>>> {
        self.stores.db.get_pinned_opt(key, &self.read).map_err(|e| Failure::store("get from RocksDB", e))
    }

    /// Adds to `batch` that the entries of the record under `key`, if there is one, go.
    fn remove_old(&self, batch: &mut WriteBatch, key: &[u8], entry: &mut Vec<u8>) -> Result<()> {
        let Some(old) = self.pinned(key)? else { return Ok(()) };
        let (number, record) = split_number(&old)?;
        let attributes = attributes_of(record).ok_or_else(|| malformed("a record"))?;
        for (i, attribute) in attributes.into_iter().enumerate().take(self.setup.indexes) {
            set_entry_key(attribute, number, key, entry);
            // No entry is written twice, so that one deletion meets one write and both go.
            batch.single_delete_cf(self.index(i)?, &entry);
        }
        Ok(())
    }

    /// Shows those of the entries that hold, at most `limit`, and returns how many. Reads their records in one go.
    fn show(
        &self,
        entries: &Entries,
        limit: usize,
        records: bool,
        visit: &mut impl FnMut(&[u8], Option<&[u8]>),
    ) -> Result<usize> {
        let family = self.family(RECORDS)?;
        let found = self.stores.db.batched_multi_get_cf_opt(family, entries.keys(), false, &self.read);
        let mut shown = 0;
        for ((record, key), &(_, number)) in found.into_iter().zip(entries.keys()).zip(&entries.ends) {
            let record = record.map_err(|e| Failure::store("get from RocksDB", e))?;
            let Some(record) = record else { continue };
            let (written, record) = split_number(&record)?;
            if written == number && shown < limit {
                visit(key, records.then_some(record));
                shown += 1;
            }
        }
        Ok(shown)
    }
}

impl IndexedSystem for IndexedRocksDb {
    fn version() -> String {
        version()
    }

    fn supports(_: Maintenance) -> bool {
        true
    }

    fn notes(settings: &Settings, setup: &IndexSetup) -> Vec<String> {
        let mut notes = notes(settings);
        notes.push(
            "RocksDB: an index is a column family with the newest record of a value first, and filters of its values"
                .to_owned(),
        );
        notes.push(match setup.maintenance {
            Maintenance::Validated => "RocksDB: entries of replaced records stay for ever".to_owned(),
            Maintenance::Synchronous => "RocksDB: entries of replaced records go by single deletions".to_owned(),
        });
        notes
    }

    fn open(dir: &Path, settings: &Settings, setup: &IndexSetup) -> Result<Self> {
        let stores = Stores::open(dir, settings, setup.indexes)?;
        // RocksDB counts every operation, and a write is at least one: no number that was given out is above its count.
        let next = Mutex::new(stores.db.latest_sequence_number() + 1);
        Ok(Self { stores, setup: *setup, next, read: ReadOptions::default(), write: WriteOptions::default() })
    }

    fn upsert(&self, key: &[u8], record: &[u8], attributes: &[u64; 4]) -> Result<()> {
        let mut next = self.next.lock().map_err(|_| Failure::store("write RocksDB", "a thread panicked in it"))?;
        let number = *next;
        let mut batch = WriteBatch::with_capacity_bytes(record.len() + 64 * (1 + 2 * self.setup.indexes));
        let mut bytes = Vec::with_capacity(NUMBER_BYTES + record.len().max(key.len() + KEY_AT));
        if self.setup.maintenance == Maintenance::Synchronous && self.setup.indexes > 0 {
            self.remove_old(&mut batch, key, &mut bytes)?;
        }
        for (i, attribute) in attributes.iter().enumerate().take(self.setup.indexes) {
            set_entry_key(*attribute, number, key, &mut bytes);
            batch.put_cf(self.index(i)?, &bytes, b"");
        }
        bytes.clear();
        bytes.extend_from_slice(&number.to_be_bytes());
        bytes.extend_from_slice(record);
        batch.put(key, &bytes);
        self.stores.written.count_batch(batch.size_in_bytes());
        self.stores.db.write_opt(batch, &self.write).map_err(|e| Failure::store("write RocksDB", e))?;
        *next = number + 1;
        Ok(())
    }

    fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Result<bool> {
        let Some(found) = self.pinned(key)? else { return Ok(false) };
        record.clear();
        record.extend_from_slice(split_number(&found)?.1);
        Ok(true)
    }

    fn newest(
        &self,
        index: usize,
        value: u64,
        limit: usize,
        records: bool,
        mut visit: impl FnMut(&[u8], Option<&[u8]>),
    ) -> Result<usize> {
        let asks_records = records || self.setup.maintenance == Maintenance::Validated;
        let mut read = ReadOptions::default();
        read.set_prefix_same_as_start(true);
        let mut iterator = self.stores.db.raw_iterator_cf_opt(self.index(index)?, read);
        let mut entries = Entries::default();
        let mut rows = 0;
        iterator.seek(value.to_be_bytes());
        while rows < limit {
            let entry = iterator.key();
            if let Some(entry) = entry {
                let (_, rest) = entry.split_at_checked(ATTRIBUTE_BYTES).ok_or_else(|| malformed("an index key"))?;
                let (inverted, key) = split_number(rest)?;
                if asks_records {
                    entries.push(!inverted, key);
                } else {
                    visit(key, None);
                    rows += 1;
                }
            }
            let at_end = entry.is_none();
            if asks_records && (at_end || entries.ends.len() == READ_TOGETHER.min(limit - rows)) {
                rows += self.show(&entries, limit - rows, records, &mut visit)?;
                entries.clear();
            }
            if at_end {
                break;
            }
            iterator.next();
        }
        iterator.status().map_err(|e| Failure::store("query RocksDB", e))?;
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
