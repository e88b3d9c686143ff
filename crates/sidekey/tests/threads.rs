//! Everything at once, on real threads and files: writers, readers, index changes, snapshots, flushes and compactions.

#![expect(clippy::disallowed_methods, reason = "the rule is for the engine; this test is about threads and time")]

use sidekey::{Batch, Collection, Db, ErrorKind, IndexSpec, Maintenance, Order, Read, Settings, Snapshot, Target};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const WRITERS: u64 = 3;
const KEYS: u64 = 40;
const VALUES: u64 = 5;
const RUN: Duration = Duration::from_secs(5);

fn settings() -> Settings {
    let mut settings = Settings::tiny();
    settings.memtable_bytes = 4096;
    settings.table_bytes = 4096;
    settings
}

/// A multiplicative step: enough to mix operations.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn record(a: u64, writer: u64, n: u64) -> Vec<u8> {
    format!(r#"{{"a":{a},"b":{},"writer":{writer},"n":{n}}}"#, a * 10 % 7).into_bytes()
}

fn attribute(value: &[u8]) -> u64 {
    let text = std::str::from_utf8(value).unwrap();
    text.strip_prefix(r#"{"a":"#).and_then(|t| t.split(',').next()).unwrap().parse().unwrap()
}

/// Two collections, and what all threads watch.
struct Stage {
    db: Db,
    both: [Collection; 2],
    over: AtomicBool,
    checks: AtomicU64,
}

impl Stage {
    fn open(path: &std::path::Path) -> Stage {
        let db = Db::open(path, settings()).unwrap();
        let both = ["left", "right"].map(|name| db.collection(name).unwrap());
        both[0].create_index(IndexSpec::new("by_a", "$.a").maintenance(Maintenance::Validated)).unwrap();
        both[1].create_index(IndexSpec::new("by_a", "$.a").maintenance(Maintenance::Synchronous)).unwrap();
        Stage { db, both, over: AtomicBool::new(false), checks: AtomicU64::new(0) }
    }

    fn while_running(&self, mut step: impl FnMut(u64)) {
        for n in 0.. {
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            step(n);
        }
    }

    /// One writer's life; returns what its own keys must hold.
    fn write(&self, writer: u64) -> [Model; 2] {
        let mut models = [Model::new(), Model::new()];
        let mut dice = Dice(writer);
        self.while_running(|n| {
            let key = format!("{writer}-{}", dice.below(KEYS)).into_bytes();
            let value = record(dice.below(VALUES), writer, n);
            let side = dice.below(2) as usize;
            let collection = &self.both[side];
            match dice.below(8) {
                0 => {
                    collection.delete(&key).unwrap();
                    models[side].remove(&key);
                }
                1 => {
                    let stored = collection.put_if_absent(&key, &value).unwrap();
                    assert_eq!(stored, !models[side].contains_key(&key), "put_if_absent");
                    models[side].entry(key).or_insert(value);
                }
                2 => {
                    let stored = collection.put_if_present(&key, &value).unwrap();
                    assert_eq!(stored, models[side].contains_key(&key), "put_if_present");
                    models[side].entry(key).and_modify(|v| *v = value);
                }
                3 | 4 => {
                    let pair = format!("pair-{writer}").into_bytes();
                    let mut batch = Batch::new();
                    for (model, collection) in models.iter_mut().zip(&self.both) {
                        for key in [&pair, &key] {
                            batch.put(collection, key.clone(), value.clone());
                            model.insert(key.clone(), value.clone());
                        }
                    }
                    self.db.write(batch).unwrap();
                }
                _ => {
                    collection.put(&key, &value).unwrap();
                    models[side].insert(key, value);
                }
            }
        });
        models
    }

    fn read(&self, seed: u64) {
        let mut dice = Dice(seed);
        self.while_running(|_| {
            let snapshot = self.db.snapshot();
            let writer = dice.below(WRITERS);
            let pair = self.both.each_ref().map(|c| c.get_at(format!("pair-{writer}"), &snapshot).unwrap());
            assert_eq!(pair[0], pair[1], "half a batch is visible");
            let collection = &self.both[dice.below(2) as usize];
            let records = scan(collection, Some(&snapshot));
            let a = dice.below(VALUES);
            check_lookup(collection, &snapshot, &records, a, dice.below(6) as usize);
            // Without a snapshot only what holds at any moment can be said.
            for row in collection.lookup("by_a", a).limit(3).rows(Read::Records).unwrap() {
                assert_eq!(attribute(row.unwrap().value.as_deref().unwrap()), a);
            }
            self.checks.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Holds snapshots over what compactions do.
    fn hold_snapshots(&self) {
        let mut held: Vec<(Snapshot, [Model; 2])> = vec![];
        self.while_running(|n| {
            let snapshot = self.db.snapshot();
            let seen = self.both.each_ref().map(|c| scan(c, Some(&snapshot)));
            held.push((snapshot, seen));
            thread::sleep(Duration::from_millis(20));
            let at = n as usize % held.len();
            let (snapshot, seen) = &held[at];
            assert!(self.both.each_ref().map(|c| scan(c, Some(snapshot))) == *seen, "a snapshot has changed");
            if held.len() > 5 {
                held.remove(at);
            }
        });
    }

    fn change_indexes(&self) {
        let mut dice = Dice(77);
        self.while_running(|n| {
            let collection = &self.both[dice.below(2) as usize];
            let maintenance = if n % 3 == 0 { Maintenance::Synchronous } else { Maintenance::Validated };
            collection.create_index(IndexSpec::new("by_b", "$.b").maintenance(maintenance)).unwrap();
            for _ in 0..5 {
                let snapshot = self.db.snapshot();
                let with_b = scan(collection, Some(&snapshot)).len() as u64;
                assert_eq!(collection.range("by_b", ..).at(&snapshot).count().unwrap(), with_b);
                thread::sleep(Duration::from_millis(5));
            }
            collection.drop_index("by_b").unwrap();
            let refused = collection.lookup("by_b", 1).keys().unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        });
    }

    fn maintain(&self) {
        self.while_running(|n| {
            match n % 4 {
                0 => self.db.flush(Target::All).unwrap(),
                1 => self.db.compact(Target::Primary).unwrap(),
                2 => self.db.compact(Target::Indexes).unwrap(),
                _ => assert_eq!(self.db.verify().unwrap(), []),
            }
            thread::sleep(Duration::from_millis(10));
        });
    }
}

fn scan(collection: &Collection, snapshot: Option<&Snapshot>) -> Model {
    let records = collection.scan::<&[u8]>(..);
    let records = match snapshot {
        Some(snapshot) => records.at(snapshot),
        None => records,
    };
    records.collect::<Result<_, _>>().unwrap()
}

/// A look-up at a snapshot against the records at that snapshot: all of them, newest first, and the same with a limit.
fn check_lookup(collection: &Collection, snapshot: &Snapshot, records: &Model, a: u64, limit: usize) {
    let all: Vec<_> =
        collection.lookup("by_a", a).at(snapshot).rows(Read::Records).unwrap().collect::<Result<_, _>>().unwrap();
    assert!(all.is_sorted_by(|x, y| x.sqn > y.sqn), "not newest first");
    let found: Model = all.iter().map(|row| (row.key.clone(), row.value.clone().unwrap())).collect();
    let expected: Model =
        records.iter().filter(|(_, v)| attribute(v) == a).map(|(k, v)| (k.clone(), v.clone())).collect();
    assert!(found == expected, "look-up of {a}: {} rows, {} records", found.len(), expected.len());
    let newest = collection.lookup("by_a", a).at(snapshot).order(Order::Newest).limit(limit).keys().unwrap();
    let expected: Vec<_> = all.into_iter().take(limit).map(|row| row.key).collect();
    assert_eq!(newest, expected);
}

fn check_end(db: &Db, both: &[Collection; 2], models: &[Model; 2]) {
    assert_eq!(db.verify().unwrap(), []);
    for (collection, model) in both.iter().zip(models) {
        assert!(scan(collection, None) == *model, "{} differs from what was written", collection.name());
    }
    db.compact(Target::All).unwrap();
    assert_eq!(db.verify().unwrap(), []);
    for (collection, model) in both.iter().zip(models) {
        assert_eq!(collection.raw_entries("by_a").unwrap(), model.len() as u64, "{}", collection.name());
        assert!(scan(collection, None) == *model, "{} differs after compaction", collection.name());
    }
}

#[test]
fn writers_readers_index_changes_snapshots_and_compactions_agree() {
    let dir = tempfile::tempdir().unwrap();
    let stage = Stage::open(dir.path());
    let mut models = [Model::new(), Model::new()];
    thread::scope(|scope| {
        // However a thread ends, the others must end too.
        let guarded = |work: Box<dyn FnOnce() + Send + '_>| {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            stage.over.fetch_or(done.is_err(), Ordering::Relaxed);
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        };
        let stage = &stage;
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                scope.spawn(move || {
                    let mut written = None;
                    guarded(Box::new(|| written = Some(stage.write(w))));
                    written
                })
            })
            .collect();
        (0..2).for_each(|seed| drop(scope.spawn(move || guarded(Box::new(move || stage.read(seed))))));
        scope.spawn(move || guarded(Box::new(|| stage.hold_snapshots())));
        scope.spawn(move || guarded(Box::new(|| stage.change_indexes())));
        scope.spawn(move || guarded(Box::new(|| stage.maintain())));
        let started = Instant::now();
        while started.elapsed() < RUN && !stage.over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(10));
        }
        stage.over.store(true, Ordering::Relaxed);
        for writer in writers {
            let written = writer.join().unwrap().unwrap();
            models.iter_mut().zip(written).for_each(|(all, own)| all.extend(own));
        }
    });
    let stats = stage.db.stats();
    assert!(stats.flushes > 10 && stats.compactions > 10, "{stats:?}");
    assert!(stage.checks.load(Ordering::Relaxed) > 10);
    check_end(&stage.db, &stage.both, &models);
    let sqn = stage.db.visible_sqn();
    stage.db.abandon();
    drop(stage);
    let db = Db::open(dir.path(), settings()).unwrap();
    let both = ["left", "right"].map(|name| db.collection(name).unwrap());
    assert_eq!(db.visible_sqn(), sqn);
    check_end(&db, &both, &models);
}

#[test]
fn of_writers_that_contend_for_an_absent_key_exactly_one_stores_it() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), settings()).unwrap();
    let locks = db.collection("locks").unwrap();
    locks.create_index(IndexSpec::new("by_a", "$.a")).unwrap();
    let inside = AtomicBool::new(false);
    let (first, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for writer in 0..4 {
            let (locks, inside, first, taken) = (&locks, &inside, &first, &taken);
            scope.spawn(move || {
                for n in 0..300 {
                    // Each of these keys is stored once, by whoever comes first.
                    if locks.put_if_absent(format!("once-{n}"), record(1, writer, n)).unwrap() {
                        first.fetch_add(1, Ordering::Relaxed);
                    }
                    // This one is a lock: stored, then deleted, blindly, again and again.
                    if locks.put_if_absent("lock", record(2, writer, n)).unwrap() {
                        assert!(!inside.swap(true, Ordering::SeqCst), "two writers hold the lock");
                        taken.fetch_add(1, Ordering::Relaxed);
                        thread::yield_now();
                        assert!(inside.swap(false, Ordering::SeqCst));
                        locks.delete("lock").unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(first.into_inner(), 300);
    assert!(taken.into_inner() > 0);
    assert_eq!(scan(&locks, None).len(), 300);
    assert_eq!(locks.lookup("by_a", 1).count().unwrap(), 300);
    assert_eq!(db.verify().unwrap(), []);
}

#[test]
fn closing_while_others_write_flush_and_compact_leaves_the_database_whole() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..10_u64 {
        let db = Db::open(dir.path(), settings()).unwrap();
        let people = db.collection("people").unwrap();
        people.create_index(IndexSpec::new("by_a", "$.a")).unwrap();
        let until_closed = |work: &dyn Fn(u64) -> sidekey::Result<()>| {
            for n in 0.. {
                match work(n) {
                    Ok(()) => {}
                    Err(e) if e.kind() == ErrorKind::Closed => return n,
                    Err(e) => panic!("round {round}: {e}"),
                }
            }
            0
        };
        let acknowledged = thread::scope(|scope| {
            let writer =
                scope.spawn(|| until_closed(&|n| people.put(format!("{round}-{n}"), record(1, 0, n)).map(drop)));
            scope.spawn(|| until_closed(&|_| db.compact(Target::All)));
            scope.spawn(|| until_closed(&|_| db.flush(Target::All)));
            thread::sleep(Duration::from_millis(20 + 7 * round));
            db.close().unwrap();
            // It is at rest: another may open it, whatever the threads above are doing.
            let next = Db::open(dir.path(), settings()).unwrap();
            assert_eq!(next.verify().unwrap(), []);
            next.compact(Target::All).unwrap();
            assert_eq!(next.verify().unwrap(), []);
            next.close().unwrap();
            writer.join().unwrap()
        });
        let db = Db::open(dir.path(), settings()).unwrap();
        let kept = db.collection("people").unwrap().scan(format!("{round}-")..format!("{round}.")).count() as u64;
        assert!(kept == acknowledged || kept == acknowledged + 1, "{acknowledged} were acknowledged, {kept} are there");
        assert_eq!(db.verify().unwrap(), []);
        db.close().unwrap();
    }
}
