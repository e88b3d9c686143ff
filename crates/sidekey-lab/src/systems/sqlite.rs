//! SQLite, the system's library: records in a table, an index of the database for each attribute.
//!
//! Owns: the schema and the statements. The table has integer row ids, since a row of 1,000 bytes does not fit an inner page of a
//! table without them; the indexes hold attribute, order of writing and primary key, so that a query for keys reads nothing else.
//! Threads: none; the connection is behind a lock.

#[cfg(test)]
mod tests;

use super::{IndexSetup, IndexedSystem, Maintenance, Settings};
use crate::failure::{Failure, Result};
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;
use std::sync::Mutex;

/// Where the newest write's number, plus one, is found when a database is opened again.
const NEXT: &str = "SELECT coalesce(max(seq), 0) + 1 FROM records";
const GET: &str = "SELECT record FROM records WHERE key = ?1";
const UPSERT: &str = "INSERT INTO records (key, seq, a0, a1, a2, a3, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                      ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, a0 = excluded.a0, a1 = excluded.a1, a2 = excluded.a2, \
                      a3 = excluded.a3, record = excluded.record";

/// A database with one table.
pub struct IndexedSqlite(Mutex<State>);

struct State {
    connection: Connection,
    /// The number of the next write.
    next: i64,
    queries: [Query; 4],
}

/// The texts of one attribute's queries.
struct Query {
    keys: String,
    records: String,
}

impl Query {
    fn on(index: usize) -> Self {
        let text =
            |columns: &str| format!("SELECT {columns} FROM records WHERE a{index} = ?1 ORDER BY seq DESC LIMIT ?2");
        Self { keys: text("key"), records: text("key, record") }
    }
}

fn number(value: u64) -> Result<i64> {
    value.try_into().map_err(|_| Failure::usage(format!("SQLite has no integer for {value}")))
}

/// Pages, sizes and durability as the run's settings say.
fn set_up(connection: &Connection, settings: &Settings) -> rusqlite::Result<()> {
    connection.pragma_update(None, "page_size", settings.block_bytes)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // No sync when a transaction ends; one at a checkpoint, as the others sync a table.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // A negative size is in KiB.
    connection.pragma_update(None, "cache_size", -((settings.cache_bytes >> 10) as i64))?;
    connection.pragma_update(
        None,
        "wal_autocheckpoint",
        (settings.memtable_bytes / u64::from(settings.block_bytes)) as i64,
    )?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

fn create(connection: &Connection, setup: &IndexSetup) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS records (key BLOB NOT NULL UNIQUE, seq INTEGER NOT NULL, a0 INTEGER NOT NULL, a1 INTEGER NOT NULL, \
         a2 INTEGER NOT NULL, a3 INTEGER NOT NULL, record BLOB NOT NULL)",
    )?;
    for i in 0..setup.indexes {
        connection.execute_batch(&format!("CREATE INDEX IF NOT EXISTS by_a{i} ON records (a{i}, seq, key)"))?;
    }
    Ok(())
}

impl State {
    fn open(dir: &Path, settings: &Settings, setup: &IndexSetup) -> rusqlite::Result<Self> {
        let connection = Connection::open(dir.join("records.sqlite"))?;
        set_up(&connection, settings)?;
        create(&connection, setup)?;
        let next = connection.query_row(NEXT, [], |row| row.get(0))?;
        Ok(Self { connection, next, queries: std::array::from_fn(Query::on) })
    }

    fn newest(
        &self,
        text: &str,
        value: i64,
        limit: i64,
        records: bool,
        visit: &mut impl FnMut(&[u8], Option<&[u8]>),
    ) -> rusqlite::Result<usize> {
        let mut statement = self.connection.prepare_cached(text)?;
        let mut rows = statement.query(params![value, limit])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let key = row.get_ref(0)?.as_blob()?;
            let record = if records { Some(row.get_ref(1)?.as_blob()?) } else { None };
            visit(key, record);
            count += 1;
        }
        Ok(count)
    }
}

impl IndexedSqlite {
    fn with<T>(&self, use_it: impl FnOnce(&mut State) -> T) -> Result<T> {
        let mut state = self.0.lock().map_err(|_| Failure::store("use SQLite", "a thread panicked in it"))?;
        Ok(use_it(&mut state))
    }
}

impl IndexedSystem for IndexedSqlite {
    fn version() -> String {
        format!("SQLite {}", rusqlite::version())
    }

    fn supports(maintenance: Maintenance) -> bool {
        maintenance == Maintenance::Synchronous
    }

    fn notes(settings: &Settings, _: &IndexSetup) -> Vec<String> {
        vec![
            format!(
                "SQLite: write-ahead log, synchronous=NORMAL (no sync per transaction), a transaction per upsert, a checkpoint every {} MiB, \
                 exclusive locking",
                settings.memtable_bytes >> 20
            ),
            "SQLite: row ids; indexes hold attribute, order of writing and primary key, so that they cover queries for keys".to_owned(),
            "SQLite: pages have no checksums; its log's frames have".to_owned(),
        ]
    }

    fn open(dir: &Path, settings: &Settings, setup: &IndexSetup) -> Result<Self> {
        let state = State::open(dir, settings, setup).map_err(|e| Failure::store("open SQLite", e))?;
        Ok(Self(Mutex::new(state)))
    }

    fn upsert(&self, key: &[u8], record: &[u8], attributes: &[u64; 4]) -> Result<()> {
        let [a0, a1, a2, a3] = attributes.map(number);
        let (a0, a1, a2, a3) = (a0?, a1?, a2?, a3?);
        let done = self.with(|state| {
            state.connection.prepare_cached(UPSERT)?.execute(params![key, state.next, a0, a1, a2, a3, record])?;
            state.next += 1;
            Ok(())
        })?;
        done.map_err(|e: rusqlite::Error| Failure::store("upsert into SQLite", e))
    }

    fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Result<bool> {
        let found = self.with(|state| {
            let copy = |row: &rusqlite::Row<'_>| {
                record.clear();
                record.extend_from_slice(row.get_ref(0)?.as_blob()?);
                Ok(())
            };
            state.connection.prepare_cached(GET)?.query_row([key], copy).optional()
        })?;
        found.map(|found| found.is_some()).map_err(|e| Failure::store("get from SQLite", e))
    }

    fn newest(
        &self,
        index: usize,
        value: u64,
        limit: usize,
        records: bool,
        mut visit: impl FnMut(&[u8], Option<&[u8]>),
    ) -> Result<usize> {
        let value = number(value)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.with(|state| {
            let query =
                state.queries.get(index).ok_or_else(|| Failure::usage(format!("there is no attribute a{index}")))?;
            let text = if records { &query.records } else { &query.keys };
            state.newest(text, value, limit, records, &mut visit).map_err(|e| Failure::store("query SQLite", e))
        })?
    }

    fn settle(&self) -> Result<()> {
        let checkpoint = |state: &mut State| {
            state.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
        };
        match self.with(checkpoint)?.map_err(|e| Failure::store("checkpoint SQLite", e))? {
            0 => Ok(()),
            _ => Err(Failure::store("checkpoint SQLite", "somebody uses the log")),
        }
    }

    fn written_bytes(&self) -> Option<u64> {
        None
    }

    fn close(self) -> Result<()> {
        let state = self.0.into_inner().map_err(|_| Failure::store("close SQLite", "a thread panicked in it"))?;
        state.connection.close().map_err(|(_, e)| Failure::store("close SQLite", e))
    }
}
