//! Every store answers as a map does: the check that each store's own tests run.

use super::sidekey::{IndexedSidekey, Sidekey};
use super::{IndexSetup, IndexedSystem, Maintenance, Regime, Settings, System};
use std::collections::BTreeMap;

/// Settings under which a few thousand records are flushed and compacted.
pub fn small_settings() -> Settings {
    let mut settings = Settings::new(Regime::Mib128, 0);
    settings.cache_bytes = 1 << 20;
    settings.memtable_bytes = 128 << 10;
    settings.table_bytes = 128 << 10;
    settings.level_base_bytes = 256 << 10;
    settings
}

/// Random numbers that are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("{number:016}").into_bytes()
}

/// Random puts and deletes on a plain store, compared with a map on the way and after it was closed and opened again.
pub struct PlainCheck(Dice);

impl PlainCheck {
    const KEYS: u64 = 2_000;

    pub fn new(seed: u64) -> Self {
        Self(Dice(seed))
    }

    pub fn run<S: System>(mut self) {
        let dir = tempfile::tempdir().unwrap();
        let mut model = BTreeMap::new();
        for _ in 0..2 {
            let store = S::open(dir.path(), &small_settings()).unwrap();
            for _ in 0..3 {
                self.change(&store, &mut model);
                self.compare(&store, &model);
            }
            assert!(store.written_bytes().is_none_or(|bytes| bytes > 0));
            store.settle().unwrap();
            self.compare(&store, &model);
            store.close().unwrap();
        }
        let store = S::open(dir.path(), &small_settings()).unwrap();
        self.compare(&store, &model);
        store.close().unwrap();
    }

    fn change<S: System>(&mut self, store: &S, model: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
        for _ in 0..2_000 {
            let key = key(self.0.below(Self::KEYS));
            if self.0.below(3) == 0 {
                store.delete(&key).unwrap();
                model.remove(&key);
            } else {
                let value = vec![self.0.below(256) as u8; self.0.below(300) as usize];
                store.put(&key, &value).unwrap();
                model.insert(key, value);
            }
        }
    }

    fn compare<S: System>(&mut self, store: &S, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
        let mut value = b"left over".to_vec();
        for number in 0..Self::KEYS + 10 {
            let key = key(number);
            let found = store.get(&key, &mut value).unwrap();
            assert_eq!(found.then_some(&value), model.get(&key), "{number}");
        }
        for (start, limit) in
            [(0, usize::MAX), (0, 0), (self.0.below(Self::KEYS), 50), (self.0.below(Self::KEYS), 1), (Self::KEYS, 9)]
        {
            let start = key(start);
            let mut rows = Vec::new();
            let count = store.scan(&start, limit, |key, value| rows.push((key.to_vec(), value.to_vec()))).unwrap();
            let wanted: Vec<_> =
                model.range(start..).take(limit).map(|(key, value)| (key.clone(), value.clone())).collect();
            assert_eq!(count, rows.len());
            assert!(rows == wanted, "a scan of {limit} differs");
        }
    }
}

/// Random upserts on a store with indexes, compared with a map likewise.
pub struct IndexedCheck(Dice);

/// By primary key: when it was written, its attributes, the record.
type Rows = BTreeMap<Vec<u8>, (u64, [u64; 4], Vec<u8>)>;

impl IndexedCheck {
    const KEYS: u64 = 300;
    const VALUES: u64 = 12;

    pub fn new(seed: u64) -> Self {
        Self(Dice(seed))
    }

    /// Checks every kind of maintenance that the store has, with no index and with several.
    pub fn run<S: IndexedSystem>(mut self) {
        let mut checked = 0;
        for maintenance in [Maintenance::Validated, Maintenance::Synchronous] {
            for indexes in [0, 1, 4] {
                if S::supports(maintenance) {
                    self.run_one::<S>(&IndexSetup { indexes, maintenance });
                    checked += 1;
                }
            }
        }
        assert!(checked > 0);
    }

    fn run_one<S: IndexedSystem>(&mut self, setup: &IndexSetup) {
        let dir = tempfile::tempdir().unwrap();
        let mut model = Rows::new();
        let mut order = 0;
        for _ in 0..2 {
            let store = S::open(dir.path(), &small_settings(), setup).unwrap();
            for settles in [false, true] {
                for _ in 0..1_000 {
                    order += 1;
                    self.upsert(&store, &mut model, order);
                }
                if settles {
                    store.settle().unwrap();
                }
                compare_rows(&store, setup, &model);
            }
            store.close().unwrap();
        }
    }

    fn upsert<S: IndexedSystem>(&mut self, store: &S, model: &mut Rows, order: u64) {
        let key = key(self.0.below(Self::KEYS));
        let [a0, a1, a2, a3] = std::array::from_fn(|_| self.0.below(Self::VALUES));
        let fill = "x".repeat(self.0.below(400) as usize);
        let record =
            format!("{{\"a0\":{a0},\"a1\":{a1},\"a2\":{a2},\"a3\":{a3},\"text\":\"{order} {fill}\"}}").into_bytes();
        store.upsert(&key, &record, &[a0, a1, a2, a3]).unwrap();
        model.insert(key, (order, [a0, a1, a2, a3], record));
    }
}

fn compare_rows<S: IndexedSystem>(store: &S, setup: &IndexSetup, model: &Rows) {
    let mut record = Vec::new();
    for (key, (_, _, wanted)) in model {
        assert!(store.get(key, &mut record).unwrap());
        assert_eq!(&record, wanted);
    }
    assert!(!store.get(b"none", &mut record).unwrap());
    for index in 0..setup.indexes {
        for value in 0..=IndexedCheck::VALUES {
            let mut wanted: Vec<_> = model.iter().filter(|(_, row)| row.1[index] == value).collect();
            wanted.sort_by_key(|(_, row)| std::cmp::Reverse(row.0));
            for limit in [0, 1, 10, usize::MAX] {
                for records in [false, true] {
                    let mut rows = Vec::new();
                    let visit =
                        |key: &[u8], record: Option<&[u8]>| rows.push((key.to_vec(), record.map(<[u8]>::to_vec)));
                    let count = store.newest(index, value, limit, records, visit).unwrap();
                    let shown = wanted.iter().take(limit);
                    let mut wanted: Vec<_> =
                        shown.map(|(key, row)| ((*key).clone(), records.then(|| row.2.clone()))).collect();
                    if limit == usize::MAX {
                        rows.sort();
                        wanted.sort();
                    }
                    assert_eq!(count, rows.len());
                    assert!(
                        rows == wanted,
                        "a{index} = {value}, limit {limit}, records {records}, {}",
                        setup.maintenance.name()
                    );
                }
            }
        }
    }
}

#[test]
fn sidekey_answers_as_a_map_does() {
    PlainCheck::new(11).run::<Sidekey>();
}

#[test]
fn indexed_sidekey_answers_as_a_map_does() {
    IndexedCheck::new(12).run::<IndexedSidekey>();
}
