//! The stores under test, behind two traits, so that every workload is written once and runs the same for all.
//!
//! A store is used the way its own users use it: its default write path (a log, no sync per write), its own threads, checksums
//! verified. What must be equal for a comparison is in [`Settings`]; what a store cannot set, it says in [`System::notes`].
//!
//! Threads: a store is shared by reference between a writing and a reading thread.
//!
//! SYS-1: a method does the whole operation before it returns; nothing is left to a later call, so that its cost is counted where it arises.
//! SYS-2: [`System::settle`] returns when flush and compaction have nothing left to do.
//! SYS-3: visitors get the store's own bytes, uncopied where the store can; copying is a cost of the store only if it cannot.

#[cfg(feature = "leveldb")]
pub mod leveldb;
pub mod name;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
pub mod settings;
pub mod sidekey;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(test)]
mod tests;

pub use name::SystemName;
pub use settings::{IndexSetup, Maintenance, Regime, Settings};

use crate::failure::Result;
use std::path::Path;

/// A plain key-value store, open in a directory of its own.
pub trait System: Sized + Sync {
    /// Its name and version, for example `RocksDB 10.4.2`.
    fn version() -> String;

    /// What a reader of the result should know about how `settings` are met, a line each; empty if there is nothing.
    fn notes(settings: &Settings) -> Vec<String>;

    /// Opens or creates the store in `dir`, which exists and holds nothing else.
    fn open(dir: &Path, settings: &Settings) -> Result<Self>;

    /// Writes a record: logged, not synced.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Deletes a record, there or not: logged, not synced.
    fn delete(&self, key: &[u8]) -> Result<()>;

    /// Reads a record. `value` is overwritten (a store that returns its own vector may replace it); false if there is none.
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool>;

    /// Seeks to the first key that is not below `start`, steps over at most `limit` entries in key order, and shows each. Returns how
    /// many there were. Of one moment: later writes are not seen.
    fn scan(&self, start: &[u8], limit: usize, visit: impl FnMut(&[u8], &[u8])) -> Result<usize>;

    /// Flushes, and waits until compaction has nothing left to do.
    fn settle(&self) -> Result<()>;

    /// Bytes written since the opening to log, flushed tables and compacted tables, as the store counts them; `None` if it does not
    /// count all three.
    fn written_bytes(&self) -> Option<u64>;

    /// Closes the store; what is left to clean up is cleaned up.
    fn close(self) -> Result<()>;
}

/// A store that keeps records under primary keys with secondary indexes on their attributes, the way its users do.
///
/// A record is JSON as [`crate::records`] makes it, with the attributes `a0` to `a3`, unsigned numbers; index `i` is on `a{i}`, and
/// [`IndexSetup::indexes`] says how many there are. "Newest" means written last.
pub trait IndexedSystem: Sized + Sync {
    /// Its name and version, for example `SQLite 3.50.2`.
    fn version() -> String;

    /// Whether it has this kind of maintenance.
    fn supports(maintenance: Maintenance) -> bool;

    /// What a reader of the result should know about how the settings are met and the indexes kept, a line each.
    fn notes(settings: &Settings, setup: &IndexSetup) -> Vec<String>;

    /// Opens or creates the store in `dir`, which exists and holds nothing else.
    fn open(dir: &Path, settings: &Settings, setup: &IndexSetup) -> Result<Self>;

    /// Puts the record, new or in the place of an older one, with its index entries; all of it or nothing. `attributes` are the
    /// values of `a0` to `a3` in `record`, for stores whose users would have them at hand. Logged, not synced.
    fn upsert(&self, key: &[u8], record: &[u8], attributes: &[u64; 4]) -> Result<()>;

    /// Reads a record by its primary key, as [`System::get`] does.
    fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Result<bool>;

    /// Shows the `limit` newest records whose newest version has `value` in attribute `a{index}`, the newest first; with
    /// `usize::MAX`, all of them, in any order. `visit` gets the primary key, and the record if `records`. Returns how many there were.
    fn newest(
        &self,
        index: usize,
        value: u64,
        limit: usize,
        records: bool,
        visit: impl FnMut(&[u8], Option<&[u8]>),
    ) -> Result<usize>;

    /// Flushes, and waits until compaction has nothing left to do (a store without either: a checkpoint of its log).
    fn settle(&self) -> Result<()>;

    /// See [`System::written_bytes`].
    fn written_bytes(&self) -> Option<u64>;

    /// See [`System::close`].
    fn close(self) -> Result<()>;
}
