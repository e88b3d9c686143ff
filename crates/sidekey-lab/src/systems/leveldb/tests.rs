//! LevelDB against a plain map, and the pieces of the peer that could give it a wrong figure.

use super::{LevelDb, MappedLevelDb, compacted_mib, length_bytes};
use crate::systems::System;
use crate::systems::tests::{PlainCheck, small_settings};
use std::fs;

#[test]
fn answers_as_a_map_does() {
    PlainCheck::new(1).run::<LevelDb>();
}

#[test]
fn mapped_answers_as_a_map_does() {
    PlainCheck::new(2).run::<MappedLevelDb>();
}

#[test]
fn tables_are_read_into_the_cache_and_not_mapped() {
    assert_eq!(table_maps::<LevelDb>(), 0);
    assert!(table_maps::<MappedLevelDb>() > 0, "the test would not see a map");
}

/// How many tables of a store are mapped into memory after a read of everything.
fn table_maps<S: System>() -> usize {
    let dir = tempfile::tempdir().unwrap();
    let store = S::open(dir.path(), &small_settings()).unwrap();
    for i in 0..2_000_u32 {
        store.put(format!("{i:016}").as_bytes(), &[7; 100]).unwrap();
    }
    store.settle().unwrap();
    assert_eq!(store.scan(b"", usize::MAX, |_, _| ()).unwrap(), 2_000);
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let here = dir.path().to_str().unwrap();
    let mapped = maps.lines().filter(|line| line.contains(here)).count();
    store.close().unwrap();
    mapped
}

#[test]
fn a_damaged_block_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = LevelDb::<false>::open(dir.path(), &small_settings()).unwrap();
    for i in 0..100_u32 {
        store.put(format!("{i:016}").as_bytes(), &[7; 100]).unwrap();
    }
    store.settle().unwrap();
    store.close().unwrap();
    let tables = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let table = tables.filter(|path| path.extension().is_some_and(|e| e == "ldb")).max().unwrap();
    let mut bytes = fs::read(&table).unwrap();
    bytes[60] ^= 1;
    fs::write(&table, bytes).unwrap();
    let store = LevelDb::<false>::open(dir.path(), &small_settings()).unwrap();
    let error = store.get(b"0000000000000000", &mut Vec::new()).unwrap_err();
    assert!(error.message.contains("checksum mismatch"), "{error}");
}

#[test]
fn log_lengths_are_counted_as_leveldb_writes_them() {
    assert_eq!([0, 127, 128, 16_383, 16_384].map(length_bytes), [1, 1, 2, 2, 3]);
    let dir = tempfile::tempdir().unwrap();
    let store = LevelDb::<false>::open(dir.path(), &small_settings()).unwrap();
    store.put(b"key", &[7; 200]).unwrap();
    store.delete(b"other").unwrap();
    let logs = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap());
    let log =
        logs.filter(|entry| entry.path().extension().is_some_and(|e| e == "log")).map(|e| e.metadata().unwrap().len());
    assert_eq!(store.written_bytes(), Some(log.sum()));
}

#[test]
fn statistics_are_summed_over_the_levels() {
    let text = "                               Compactions\n\
                Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n\
                --------------------------------------------------\n\
                \x20 0        0        0         0        0         3\n\
                \x20 2        9       17         1       30        28\n";
    assert_eq!(compacted_mib(text), Some(31));
    assert_eq!(compacted_mib("a\nb\nc\nno number\n"), None);
    assert_eq!(compacted_mib(""), Some(0));
}
