//! A full disk: writes are refused, reads go on, and when there is space again writes go on too, without opening the database anew.

use sidekey::env::{Background, Env, MemoryFs};
use sidekey::{Collection, Db, ErrorKind, IndexSpec, Settings, Target};
use std::collections::BTreeMap;
use std::sync::Arc;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn env(disk: &MemoryFs, background: Background) -> Env {
    Env { background, ..Env::deterministic(Arc::new(disk.clone()), 1) }
}

fn settings() -> Settings {
    let mut settings = Settings::tiny();
    settings.memtable_bytes = 8 << 10;
    settings.table_bytes = 8 << 10;
    settings.wal_segment_bytes = 8 << 10;
    settings.wal_retained_bytes = 64 << 10;
    settings
}

/// Puts records until one is refused; returns how many were taken.
fn fill(people: &Collection, model: &mut Model, round: u32) -> u32 {
    for n in 0..100_000 {
        let key = format!("k{}-{}", round % 3, n % 3000).into_bytes();
        let value =
            format!(r#"{{"a":{},"pad":"{}-{}"}}"#, n % 7, round, "x".repeat(200 + n as usize % 100)).into_bytes();
        match people.put(&key, &value) {
            Ok(_) => model.insert(key, value),
            Err(e) if e.kind() == ErrorKind::NoSpace => return n,
            Err(e) => panic!("round {round}, write {n}: {e}"),
        };
    }
    panic!("a full disk took everything");
}

fn compare(people: &Collection, model: &Model) {
    let found: Model = people.scan::<&[u8]>(..).collect::<Result<_, _>>().unwrap();
    assert_eq!(found.len(), model.len());
    assert!(found == *model, "a record differs");
    let by_index: u64 = (0..7).map(|a| people.lookup("by_a", a).count().unwrap()).sum();
    assert_eq!(by_index, model.len() as u64);
}

fn writes_resume_when_there_is_space_again(background: Background) {
    let disk = MemoryFs::new();
    let db = Db::open_in(env(&disk, background), "db", settings()).unwrap();
    let people = db.collection("people").unwrap();
    people.create_index(IndexSpec::new("by_a", "$.a")).unwrap();
    let mut model = Model::new();
    for round in 0..6 {
        disk.set_capacity(Some(disk.total_bytes() + 40_000 + 9_000 * u64::from(round)));
        fill(&people, &mut model, round);
        for _ in 0..50 {
            // What fails again and again must not eat up what is left.
            let _ = people.put("k0-0", model[&b"k0-0".to_vec()].clone());
            let _ = db.flush(Target::All);
        }
        compare(&people, &model);
        disk.set_capacity(None);
        people.put("again", br#"{"a":1}"#).unwrap();
        model.insert(b"again".to_vec(), br#"{"a":1}"#.to_vec());
        db.compact(Target::All).unwrap();
        assert_eq!(db.verify().unwrap(), []);
        assert_eq!(people.raw_entries("by_a").unwrap(), model.len() as u64);
        let named: u64 = db.stats().wal_segments + table_count(&db);
        let there = disk.paths().len() as u64;
        assert!(
            there <= named + 3,
            "{there} files are there, {named} tables and segments are in use: {:?}",
            disk.paths()
        );
    }
    compare(&people, &model);
    db.abandon();
    let db = Db::open_in(env(&disk.kill(), background), "db", settings()).unwrap();
    compare(&db.collection("people").unwrap(), &model);
    assert_eq!(db.verify().unwrap(), []);
}

#[test]
fn writes_resume_after_a_full_disk_when_the_caller_does_the_background_work() {
    writes_resume_when_there_is_space_again(Background::Caller);
}

#[test]
fn writes_resume_after_a_full_disk_when_threads_do_the_background_work() {
    writes_resume_when_there_is_space_again(Background::Threads);
}

#[test]
fn a_failed_index_build_on_a_full_disk_leaves_no_files() {
    let disk = MemoryFs::new();
    let db = Db::open_in(env(&disk, Background::Caller), "db", settings()).unwrap();
    let people = db.collection("people").unwrap();
    for n in 0..2000 {
        people.put(format!("k{n}"), format!(r#"{{"a":{}}}"#, n % 7)).unwrap();
    }
    db.compact(Target::All).unwrap();
    let before = disk.paths().len();
    disk.set_capacity(Some(disk.total_bytes() + 6_000));
    for _ in 0..10 {
        let refused = people.create_index(IndexSpec::new("by_a", "$.a"));
        assert_eq!(refused.map_err(|e| e.kind()), Err(ErrorKind::NoSpace));
    }
    assert!(disk.paths().len() <= before + 1, "{:?}", disk.paths());
    disk.set_capacity(None);
    people.create_index(IndexSpec::new("by_a", "$.a")).unwrap();
    assert_eq!(people.raw_entries("by_a").unwrap(), 2000);
    assert_eq!(db.verify().unwrap(), []);
}

fn table_count(db: &Db) -> u64 {
    let trees = |c: &sidekey::CollectionStats| c.primary.level_tables.iter().chain(&c.index.level_tables).sum::<u64>();
    db.stats().collections.iter().map(trees).sum()
}
