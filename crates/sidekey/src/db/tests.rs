//! Histories whose answers were once wrong, or are easily got wrong.

use crate::env::Env;
use crate::env::memory::MemoryFs;
use crate::{
    Batch, Collection, Db, ErrorKind, IndexSpec, IndexState, Maintenance, Order, Read, Settings, Target, Value,
};
use std::sync::Arc;

fn open(files: &MemoryFs) -> (Db, Collection) {
    let db = Db::open_in(Env::deterministic(Arc::new(files.clone()), 1), "/db", Settings::tiny()).unwrap();
    let collection = db.collection("c").unwrap();
    (db, collection)
}

fn index(name: &str, path: &str, maintenance: Maintenance) -> IndexSpec {
    IndexSpec::new(name, path).maintenance(maintenance)
}

const BOTH: [Maintenance; 2] = [Maintenance::Synchronous, Maintenance::Validated];

fn over_long() -> String {
    format!(r#"{{"a": 1, "b": "{}"}}"#, "x".repeat(5000))
}

fn keys(c: &Collection, index: &str, value: impl Into<Value>) -> Vec<String> {
    let keys = c.lookup(index, value).order(Order::Key).keys().unwrap();
    keys.into_iter().map(|k| String::from_utf8(k).unwrap()).collect()
}

#[test]
fn a_record_that_made_an_index_build_fail_can_be_overwritten_and_deleted() {
    for maintenance in BOTH {
        let (db, c) = open(&MemoryFs::new());
        c.create_index(index("by_a", "$.a", maintenance)).unwrap();
        c.put("k", over_long()).unwrap();
        c.put("l", over_long()).unwrap();
        let error = c.create_index(index("by_b", "$.b", maintenance)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        c.put("k", over_long()).unwrap();
        c.delete("l").unwrap();
        assert_eq!(keys(&c, "by_a", 1), ["k"]);
        assert_eq!(c.lookup("by_a", 1).rows(Read::Attributes).unwrap().count(), 1);
        let findings = db.verify().unwrap();
        assert!(findings.iter().all(|f| f.rule == "V7"), "{findings:?}");
    }
}

#[test]
fn an_index_holds_the_records_written_while_another_on_its_path_was_invalid() {
    for maintenance in BOTH {
        let files = MemoryFs::new();
        let (db, c) = open(&files);
        c.put("bad", over_long()).unwrap();
        c.create_index(index("first", "$.b", maintenance)).unwrap_err();
        assert_eq!(c.indexes()[0].state, IndexState::Invalid);
        c.put("k", r#"{"b": 7}"#).unwrap();
        drop((db, c));
        let (db, c) = open(&files);
        c.put("l", r#"{"b": 7}"#).unwrap();
        c.delete("bad").unwrap();
        c.create_index(index("second", "$.b", maintenance)).unwrap();
        assert_eq!(keys(&c, "second", 7), ["k", "l"]);
        c.create_index(index("first", "$.b", maintenance)).unwrap();
        assert_eq!(keys(&c, "first", 7), ["k", "l"]);
        c.drop_index("second").unwrap();
        c.put("m", r#"{"b": 7}"#).unwrap();
        assert_eq!(keys(&c, "first", 7), ["k", "l", "m"]);
        assert_eq!(db.verify().unwrap(), []);
    }
}

#[test]
fn a_snapshot_older_than_an_index_may_hold_what_the_index_would_refuse() {
    let (db, c) = open(&MemoryFs::new());
    c.create_index(index("by_a", "$.a", Maintenance::Validated)).unwrap();
    c.put("k", over_long()).unwrap();
    let before = db.snapshot();
    c.put("k", r#"{"a": 2, "b": "y"}"#).unwrap();
    c.create_index(index("by_b", "$.b", Maintenance::Validated)).unwrap();
    assert_eq!(db.verify().unwrap(), []);
    let rows: Vec<_> = c.lookup("by_a", 1).at(&before).rows(Read::Attributes).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows[0].attributes, [("$.a".to_owned(), Value::from(1))]);
    let error = c.lookup("by_b", "y").at(&before).keys().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

#[test]
fn an_index_on_the_whole_value_finds_scalars() {
    for maintenance in BOTH {
        let (db, c) = open(&MemoryFs::new());
        c.put("n", "5").unwrap();
        c.create_index(index("whole", "$", maintenance)).unwrap();
        c.put("s", r#""five""#).unwrap();
        c.put("o", r#"{"a": 5}"#).unwrap();
        c.put("x", "5 apples").unwrap();
        assert_eq!((keys(&c, "whole", 5), keys(&c, "whole", "five")), (vec!["n".into()], vec!["s".into()]));
        c.put("n", "6").unwrap();
        assert_eq!((keys(&c, "whole", 5).len(), c.range("whole", ..).count().unwrap()), (0, 2));
        assert_eq!(db.verify().unwrap(), []);
    }
}

/// A collection with a blind past: every kind of staleness, over several levels, and a deleted half.
fn worn(files: &MemoryFs, maintenance: Maintenance) -> (Db, Collection) {
    let (db, c) = open(files);
    c.create_index(index("by_a", "$.a", maintenance)).unwrap();
    for round in 0..6 {
        for n in 0..40u64 {
            let key = format!("k{:02}", n * 7 % 40);
            match (n + round) % 5 {
                0 => c.delete(&key).unwrap(),
                m => c.put(&key, format!(r#"{{"a": {}}}"#, (m + round) % 4)).unwrap(),
            };
        }
        db.flush(Target::All).unwrap();
        if round % 2 == 1 {
            db.compact(Target::Primary).unwrap();
        }
    }
    (db, c)
}

#[test]
fn limits_cut_the_whole_answer_from_either_end() {
    for maintenance in BOTH {
        let (_db, c) = worn(&MemoryFs::new(), maintenance);
        for order in [Order::Newest, Order::Attribute] {
            for reverse in [false, true] {
                let query = || {
                    let q = c.range("by_a", ..).order(order);
                    if reverse { q.reverse() } else { q }
                };
                let all = query().keys().unwrap();
                let count = all.len() as u64;
                assert_eq!((query().count().unwrap(), count > 20), (count, true));
                for limit in (0..count + 2).chain([u64::MAX]) {
                    let limited = query().limit(limit as usize).keys().unwrap();
                    assert_eq!(limited, all[..limit.min(count) as usize]);
                    assert_eq!(query().limit(limit as usize).count().unwrap(), limited.len() as u64);
                }
            }
        }
        let sqns = |q: crate::Query| -> Vec<u64> { q.rows(Read::Keys).unwrap().map(|r| r.unwrap().sqn).collect() };
        let newest = sqns(c.range("by_a", ..).order(Order::Newest));
        assert!(newest.windows(2).all(|pair| pair[0] > pair[1]));
    }
}

#[test]
fn a_blind_delete_that_left_no_trace_still_makes_old_entries_doubtful() {
    let files = MemoryFs::new();
    let (db, c) = open(&files);
    c.create_index(index("by_a", "$.a", Maintenance::Validated)).unwrap();
    c.put("k", r#"{"a": 1}"#).unwrap();
    db.flush(Target::All).unwrap();
    c.delete("k").unwrap();
    db.flush(Target::All).unwrap();
    // The record and its tombstone go; the entry stays, and so does the floor, also over a restart.
    db.compact(Target::Primary).unwrap();
    assert_eq!((c.raw_entries("by_a").unwrap(), keys(&c, "by_a", 1).len()), (1, 0));
    drop((db, c));
    let (db, c) = open(&files);
    assert_eq!((c.raw_entries("by_a").unwrap(), keys(&c, "by_a", 1).len()), (1, 0));
    c.put("k", r#"{"a": 1}"#).unwrap();
    assert_eq!((c.lookup("by_a", 1).count().unwrap(), db.verify().unwrap()), (1, vec![]));
    db.compact(Target::Indexes).unwrap();
    assert_eq!(c.raw_entries("by_a").unwrap(), 1);
}

#[test]
fn an_index_created_over_unflagged_history_is_exact_whatever_is_overwritten_later() {
    let (db, c) = open(&MemoryFs::new());
    for round in 0..3 {
        for n in 0..20 {
            c.put(format!("k{n:02}"), format!(r#"{{"a": {round}}}"#)).unwrap();
        }
        db.flush(Target::All).unwrap();
    }
    c.create_index(index("old", "$.a", Maintenance::Validated)).unwrap();
    c.put("k00", r#"{"a": 9}"#).unwrap();
    c.create_index(index("synchronous", "$.a", Maintenance::Synchronous)).unwrap();
    c.put("k01", r#"{"a": 9}"#).unwrap();
    c.drop_index("synchronous").unwrap();
    c.put("k02", r#"{"a": 9}"#).unwrap();
    c.create_index(index("new", "$.a", Maintenance::Validated)).unwrap();
    let batch = Batch::default();
    db.write(batch).unwrap();
    c.delete("k03").unwrap();
    for name in ["old", "new"] {
        assert_eq!(keys(&c, name, 9), ["k00", "k01", "k02"]);
        assert_eq!(c.lookup(name, 2).count().unwrap(), 16);
    }
    assert_eq!(db.verify().unwrap(), []);
}

#[test]
fn scans_end_where_their_bounds_say_among_keys_of_ff_and_00() {
    let (_db, c) = open(&MemoryFs::new());
    let stored: Vec<Vec<u8>> =
        vec![vec![0], vec![0, 0], vec![1], vec![0xfe], vec![0xff], vec![0xff, 0], vec![0xff, 0xff], vec![0xff; 3]];
    for k in &stored {
        c.put(k, "1").unwrap();
    }
    for low in &stored {
        for high in &stored {
            let ranges: [(&str, crate::Scan, Vec<&Vec<u8>>); 3] = [
                ("..", c.scan(low.clone()..high.clone()), stored.iter().filter(|k| *k >= low && *k < high).collect()),
                (
                    "..=",
                    c.scan(low.clone()..=high.clone()),
                    stored.iter().filter(|k| *k >= low && *k <= high).collect(),
                ),
                ("above", c.scan(low.clone()..), stored.iter().filter(|k| *k >= low).collect()),
            ];
            for (what, scan, expected) in ranges {
                let found: Vec<_> = scan.map(|r| r.unwrap().0).collect();
                assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{low:?} {what} {high:?}");
            }
            let back: Vec<_> = c.scan(low.clone()..=high.clone()).reverse().map(|r| r.unwrap().0).collect();
            assert!(back.iter().rev().eq(stored.iter().filter(|k| *k >= low && *k <= high)));
        }
    }
}

#[test]
fn entries_of_a_dropped_index_between_two_live_ones_are_removed_without_being_asked_for() {
    let db = Db::open_in(Env::deterministic(Arc::new(MemoryFs::new()), 1), "db", Settings::default()).unwrap();
    let c = db.collection("c").unwrap();
    for name in ["a", "b", "c"] {
        c.create_index(IndexSpec::new(name, format!("$.{name}"))).unwrap();
    }
    for n in 0..50 {
        c.put(format!("k{n}"), format!(r#"{{"a":{n},"b":{n},"c":{n}}}"#)).unwrap();
    }
    db.compact(Target::All).unwrap();
    assert_eq!(db.stats().collections[0].index.entries, 150);
    c.drop_index("b").unwrap();
    while db.background_step().unwrap() {}
    assert_eq!(db.stats().collections[0].index.entries, 100);
}

#[test]
fn a_batch_that_runs_out_of_sequence_numbers_leaves_nothing_behind() {
    let (db, c) = open(&MemoryFs::new());
    let last = crate::base::ids::Sqn::MAX.0;
    c.handle.inner.visible.store(last - 1, std::sync::atomic::Ordering::Release);
    let mut batch = Batch::new();
    batch.put(&c, "a", "1").put(&c, "b", "2");
    assert_eq!(db.write(batch).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!((c.get("a").unwrap(), c.get("b").unwrap()), (None, None));
    assert_eq!(c.put("a", "3").unwrap(), last);
    assert_eq!(c.put("a", "4").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(c.get("a").unwrap().as_deref(), Some(&b"3"[..]));
}

#[test]
fn a_collection_that_always_has_work_does_not_keep_another_from_being_compacted() {
    let (db, busy) = open(&MemoryFs::new());
    let quiet = db.collection("quiet").unwrap();
    let flushed = |c: &Collection, times: u64| {
        for n in 0..times {
            c.put("a", format!("{n}")).unwrap();
            c.put("z", format!("{n}")).unwrap();
            db.flush(Target::All).unwrap();
        }
    };
    let level0 = |c: &Collection| {
        let stats = db.stats();
        stats.collections.iter().find(|s| s.name == c.name()).map(|s| s.primary.level_tables[0]).unwrap()
    };
    // Two runs over the first one, which moved down: just at the limit.
    flushed(&quiet, 1);
    while db.background_step().unwrap() {}
    flushed(&quiet, 2);
    let mut turns = 0;
    while level0(&quiet) == 2 {
        turns += 1;
        assert!(turns < 50, "never compacted");
        // Far over the limit before each turn.
        flushed(&busy, 3);
        assert!(db.background_step().unwrap());
    }
    assert!(turns > 1, "the busier collection came first");
}
