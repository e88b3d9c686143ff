//! What scripts cannot say: bounds on figures.

use sidekey::env::{Background, Env};
use sidekey::{Db, IndexSpec, Settings};
use sidekey_testkit::disk::MemoryDisk;

#[test]
fn an_idle_collection_does_not_hold_the_log() {
    let mut settings = Settings::tiny();
    settings.memtable_bytes = 4096;
    let bound = settings.wal_retained_bytes + 2 * settings.wal_segment_bytes;
    let disk = MemoryDisk::new();
    let db = Db::open_in(disk.env(1), "db", settings.clone()).unwrap();
    let (idle, busy) = (db.collection("idle").unwrap(), db.collection("busy").unwrap());
    idle.create_index(IndexSpec::new("by_a", "$.a")).unwrap();
    idle.put("k", r#"{"a":1}"#).unwrap();
    let written = 40 * settings.wal_retained_bytes;
    let value = vec![b'x'; 500];
    for n in 0..written / value.len() as u64 {
        busy.put(format!("k{}", n % 50), &value).unwrap();
        while db.background_step().unwrap() {}
        let retained = db.stats().wal_retained_bytes;
        assert!(retained <= bound, "{retained} bytes of log are kept after {n} writes");
    }
    assert!(db.stats().flushes > 1);
    db.abandon();
    let db = Db::open_in(disk.kill().env(2), "db", settings).unwrap();
    let idle = db.collection("idle").unwrap();
    assert_eq!(idle.lookup("by_a", 1).keys().unwrap(), [b"k".to_vec()]);
    assert_eq!(db.verify().unwrap(), []);
}

/// The bound without pauses for the background threads: what waits to be flushed, up to `memtables_max` memtables a collection, is kept too.
#[test]
fn an_idle_collection_does_not_hold_the_log_when_threads_flush() {
    let mut settings = Settings::tiny();
    settings.memtable_bytes = 4096;
    let waiting = 2 * u64::from(settings.memtables_max) * settings.memtable_bytes;
    let bound = settings.wal_retained_bytes + 2 * settings.wal_segment_bytes + waiting;
    let disk = MemoryDisk::new();
    let env = Env { background: Background::Threads, ..disk.env(1) };
    let db = Db::open_in(env, "db", settings.clone()).unwrap();
    let (idle, busy) = (db.collection("idle").unwrap(), db.collection("busy").unwrap());
    idle.put("k", r#"{"a":1}"#).unwrap();
    let value = vec![b'x'; 500];
    for n in 0..100 * settings.wal_retained_bytes / value.len() as u64 {
        busy.put(format!("k{}", n % 50), &value).unwrap();
        let retained = db.stats().wal_retained_bytes;
        assert!(retained <= bound, "{retained} bytes of log are kept after {n} writes, of at most {bound}");
    }
}

#[test]
fn a_log_bound_below_one_segment_does_not_flush_at_every_write() {
    let mut settings = Settings::tiny();
    settings.memtable_bytes = 1 << 20;
    settings.memory_budget_bytes = 8 << 20;
    settings.wal_segment_bytes = 64 << 10;
    settings.wal_retained_bytes = 1 << 10;
    let db = Db::open_in(MemoryDisk::new().env(1), "db", settings).unwrap();
    let busy = db.collection("busy").unwrap();
    for n in 0..1000 {
        busy.put(format!("k{n}"), vec![b'x'; 500]).unwrap();
        while db.background_step().unwrap() {}
    }
    // About half a megabyte: eight segments.
    let stats = db.stats();
    assert!(stats.flushes <= 20, "{} flushes", stats.flushes);
    assert!(stats.wal_retained_bytes <= 2 * (64 << 10), "{}", stats.wal_retained_bytes);
}
