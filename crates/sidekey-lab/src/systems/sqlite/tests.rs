//! SQLite against a plain map, and that its queries use what they are meant to.

use super::IndexedSqlite;
use crate::systems::tests::{IndexedCheck, small_settings};
use crate::systems::{IndexSetup, IndexedSystem, Maintenance};

const SETUP: IndexSetup = IndexSetup { indexes: 4, maintenance: Maintenance::Synchronous };

#[test]
fn answers_as_a_map_does() {
    IndexedCheck::new(31).run::<IndexedSqlite>();
}

#[test]
fn a_query_for_keys_reads_the_index_only_and_sorts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = IndexedSqlite::open(dir.path(), &small_settings(), &SETUP).unwrap();
    let explain = |text: &str| {
        let text = format!("EXPLAIN QUERY PLAN {text}");
        store.with(|state| state.connection.query_row(&text, [1, 10], |row| row.get::<_, String>(3)).unwrap()).unwrap()
    };
    let queries = store.with(|state| (state.queries[2].keys.clone(), state.queries[2].records.clone())).unwrap();
    assert_eq!(explain(&queries.0), "SEARCH records USING COVERING INDEX by_a2 (a2=?)");
    assert_eq!(explain(&queries.1), "SEARCH records USING INDEX by_a2 (a2=?)");
}

#[test]
fn the_settings_are_in_force() {
    let dir = tempfile::tempdir().unwrap();
    let store = IndexedSqlite::open(dir.path(), &small_settings(), &SETUP).unwrap();
    let read = |name: &str| {
        store.with(|state| {
            state.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap()
        })
    };
    assert_eq!(read("cache_size").unwrap(), -1024);
    assert_eq!(read("page_size").unwrap(), 4096);
    assert_eq!(read("synchronous").unwrap(), 1);
    assert_eq!(read("wal_autocheckpoint").unwrap(), 32);
}
