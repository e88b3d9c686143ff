use super::expected::{Expected, Upserts};
use super::*;
use crate::failure::{Failure, Result};
use crate::records::{attributes_of, primary_key};
use crate::systems::{IndexedSystem, Maintenance, Regime, Settings};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Order of writing, and record.
type Version = (u64, Vec<u8>);

/// Records with their order of writing; queries look at all of them. May have a fault.
struct Map<const FAULT: u8> {
    records: Mutex<BTreeMap<Vec<u8>, Version>>,
}

const SOUND: u8 = 0;
const OLDEST_FIRST: u8 = 1;
const RETURNS_STALE_ENTRIES: u8 = 2;
const DROPS_THE_RECORD: u8 = 3;

impl<const FAULT: u8> IndexedSystem for Map<FAULT> {
    fn version() -> String {
        "map".to_owned()
    }

    fn supports(_: Maintenance) -> bool {
        true
    }

    fn notes(_: &Settings, _: &IndexSetup) -> Vec<String> {
        vec![]
    }

    fn open(_: &Path, _: &Settings, _: &IndexSetup) -> Result<Self> {
        Ok(Self { records: Mutex::default() })
    }

    fn upsert(&self, key: &[u8], record: &[u8], attributes: &[u64; 4]) -> Result<()> {
        if attributes_of(record) != Some(*attributes) {
            return Err(Failure::wrong("a record that does not hold its attributes"));
        }
        let mut records = self.records.lock().unwrap();
        let order = records.values().map(|(order, _)| order + 1).max().unwrap_or_default();
        records.insert(key.to_vec(), (order, record.to_vec()));
        Ok(())
    }

    fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Result<bool> {
        let records = self.records.lock().unwrap();
        let Some((_, found)) = records.get(key) else { return Ok(false) };
        record.clone_from(found);
        Ok(true)
    }

    fn newest(
        &self,
        index: usize,
        value: u64,
        limit: usize,
        with_records: bool,
        mut visit: impl FnMut(&[u8], Option<&[u8]>),
    ) -> Result<usize> {
        let records = self.records.lock().unwrap();
        let holds = |record: &[u8]| {
            let found = attributes_of(record).map(|attributes| attributes[index]);
            found == Some(value) || (FAULT == RETURNS_STALE_ENTRIES && found == Some(value + 1))
        };
        let mut rows: Vec<_> = records.iter().filter(|(_, (_, record))| holds(record)).collect();
        rows.sort_by_key(|(_, (order, _))| if FAULT == OLDEST_FIRST { *order } else { u64::MAX - *order });
        rows.truncate(limit);
        let shown = with_records && FAULT != DROPS_THE_RECORD;
        rows.iter().for_each(|(key, (_, record))| visit(key, shown.then_some(record.as_slice())));
        Ok(rows.len())
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn written_bytes(&self) -> Option<u64> {
        None
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

fn plan(indexes: usize) -> IndexPlan {
    let setup = IndexSetup { indexes, maintenance: Maintenance::Validated };
    IndexPlan { setup, upserts: 800, record_bytes: 100, matches: 25, seed: 1 }
}

fn run_on<S: IndexedSystem>(indexes: usize) -> Result<Vec<crate::figures::Figures>> {
    let dir = tempfile::tempdir().unwrap();
    run::<S>(&plan(indexes), &Settings::new(Regime::Warm, 1), &dir.path().join("store"))
}

fn refusal<S: IndexedSystem>() -> String {
    let failure = run_on::<S>(4).unwrap_err();
    assert!(failure.exit_code == 1 && failure.message.contains("wrong answer"), "{failure}");
    failure.message
}

#[test]
fn upserts_repeat_and_half_of_them_replace() {
    let list = || Upserts::new(&plan(4)).map(|u| (u.id, u.order, u.attributes)).collect::<Vec<_>>();
    assert_eq!(list(), list());
    let records = Expected::new(&plan(4)).len();
    assert!((350..450).contains(&records), "{records} of 800");
}

#[test]
fn the_model_agrees_with_a_look_at_every_record() {
    let plan = plan(4);
    let expected = Expected::new(&plan);
    let ids = 0..expected.len() as u32;
    for index in 0..4 {
        let mut seen = 0;
        for value in 0..expected::distinct_values(&plan) {
            let mut wanted: Vec<(u32, u32)> = ids
                .clone()
                .filter(|&id| expected.record(id).unwrap().1[index] == value)
                .map(|id| (expected.record(id).unwrap().0, id))
                .collect();
            wanted.sort_unstable_by(|a, b| b.cmp(a));
            seen += wanted.len();
            assert_eq!(expected.matches(index, value), wanted.iter().map(|&(_, id)| id).collect::<Vec<_>>());
        }
        assert_eq!(seen, expected.len());
    }
    assert!(expected.matches(0, u64::from(u32::MAX)).is_empty());
    assert!(expected.matches(7, 0).is_empty());
    assert_eq!(primary_key(0).len(), 16);
}

#[test]
fn a_sound_store_passes_and_shows_every_workload() {
    let all = run_on::<Map<SOUND>>(4).unwrap();
    let names: Vec<&str> = all.iter().map(|f| f.workload.as_str()).collect();
    assert_eq!(names, ["upsert", "newest10-keys", "newest10-records", "gets10", "all-matches"]);
    assert!(all.iter().all(|f| f.setup == "4 validated" && f.operations > 0));
    let none = run_on::<Map<SOUND>>(0).unwrap();
    assert!(none.len() == 1 && none[0].setup == "0", "without an index there is nothing to query");
}

#[test]
fn the_wrong_order_is_found() {
    refusal::<Map<OLDEST_FIRST>>();
}

#[test]
fn stale_entries_are_found() {
    assert!(refusal::<Map<RETURNS_STALE_ENTRIES>>().contains("a0 = 0 returned"));
}

#[test]
fn missing_records_are_found() {
    assert!(refusal::<Map<DROPS_THE_RECORD>>().contains("newest10-records"));
}
