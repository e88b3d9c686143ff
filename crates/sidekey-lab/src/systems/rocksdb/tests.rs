//! RocksDB against a plain map, and that its settings are in force.

use super::open::{INDEXES, RECORDS, Stores};
use super::{IndexedRocksDb, RocksDb};
use crate::systems::System;
use crate::systems::tests::{IndexedCheck, PlainCheck, small_settings};
use std::fs;

#[test]
fn answers_as_a_map_does() {
    PlainCheck::new(21).run::<RocksDb>();
}

#[test]
fn indexed_answers_as_a_map_does() {
    IndexedCheck::new(22).run::<IndexedRocksDb>();
}

/// The options that RocksDB writes beside its tables.
fn options_file(dir: &std::path::Path) -> String {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let newest =
        files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("OPTIONS-")).max().unwrap();
    fs::read_to_string(newest).unwrap()
}

#[test]
fn every_column_family_has_the_settings_of_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let stores = Stores::open(dir.path(), &small_settings(), 4).unwrap();
    let text = options_file(dir.path());
    let families: Vec<&str> = text.split("[CFOptions ").skip(1).collect();
    assert_eq!(families.len(), 5);
    for (family, name) in families.iter().zip([RECORDS].iter().chain(&INDEXES)) {
        assert!(family.starts_with(&format!("\"{name}\"]")), "{name}");
        for wanted in [
            "filter_policy=bloomfilter",
            "block_size=4096",
            "cache_index_and_filter_blocks=false",
            "format_version=7",
            "\n  compression=kNoCompression",
            "write_buffer_size=131072",
            "max_write_buffer_number=3",
            "target_file_size_base=131072",
            "max_bytes_for_level_base=262144",
            "level0_file_num_compaction_trigger=4",
        ] {
            assert!(family.contains(wanted), "{name} lacks {wanted}: {family}");
        }
        let index = *name != RECORDS;
        assert_eq!(family.contains("\n  whole_key_filtering=false"), index, "{name}");
        assert_eq!(family.contains("prefix_extractor=rocksdb.FixedPrefix.8"), index, "{name}");
    }
    assert!(text.contains("max_background_jobs=2"));
    stores.close();
}

#[test]
fn what_is_written_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let store = RocksDb::open(dir.path(), &small_settings()).unwrap();
    store.put(b"key", &[7; 200]).unwrap();
    store.delete(b"other").unwrap();
    let size = |extension: &str| {
        let files = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap());
        let files = files.filter(|entry| entry.path().extension().is_some_and(|e| e == extension));
        files.map(|entry| entry.metadata().unwrap().len()).sum::<u64>()
    };
    let log = size("log");
    assert_eq!(store.written_bytes(), Some(log));
    store.settle().unwrap();
    assert!(size("sst") > 0);
    assert_eq!(store.written_bytes(), Some(log + size("sst")));
    store.close().unwrap();
}

#[test]
fn a_damaged_block_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = RocksDb::open(dir.path(), &small_settings()).unwrap();
    for i in 0..100_u32 {
        store.put(format!("{i:016}").as_bytes(), &[7; 100]).unwrap();
    }
    store.settle().unwrap();
    store.close().unwrap();
    let tables = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let table = tables.filter(|path| path.extension().is_some_and(|e| e == "sst")).max().unwrap();
    let mut bytes = fs::read(&table).unwrap();
    bytes[60] ^= 1;
    fs::write(&table, bytes).unwrap();
    let store = RocksDb::open(dir.path(), &small_settings()).unwrap();
    let error = store.get(b"0000000000000000", &mut Vec::new()).unwrap_err();
    assert!(error.message.contains("checksum mismatch"), "{error}");
}

#[test]
fn the_version_is_that_of_the_rocksdb_inside() {
    let lock = include_str!("../../../../../Cargo.lock");
    let at = lock.find("name = \"librocksdb-sys\"").unwrap();
    let version = lock[at..].lines().nth(1).unwrap().rsplit('+').next().unwrap().trim_end_matches('"');
    assert_eq!(RocksDb::version(), format!("RocksDB {version}"));
}
