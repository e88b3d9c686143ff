use super::data::{KEY_BYTES, Values, key, missing_key, number_of};
use super::*;
use crate::failure::Result;
use crate::systems::{Regime, Settings, System};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// A map with a log of nothing, that may have a fault.
struct Map<const FAULT: u8> {
    records: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
}

const SOUND: u8 = 0;
const LOSES_A_WRITE: u8 = 1;
const KEEPS_WHAT_IS_DELETED: u8 = 2;
const RETURNS_ANOTHER_VALUE: u8 = 3;
const FINDS_WHAT_IS_NOT_THERE: u8 = 4;
const SKIPS_A_ROW: u8 = 5;

impl<const FAULT: u8> System for Map<FAULT> {
    fn version() -> String {
        "map".to_owned()
    }

    fn notes(_: &Settings) -> Vec<String> {
        vec![]
    }

    fn open(_: &Path, _: &Settings) -> Result<Self> {
        Ok(Self { records: Mutex::default() })
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let lost = FAULT == LOSES_A_WRITE && number_of(key) == Some(77);
        if !lost {
            self.records.lock().unwrap().insert(key.to_vec(), value.to_vec());
        }
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        if FAULT != KEEPS_WHAT_IS_DELETED {
            self.records.lock().unwrap().remove(key);
        }
        Ok(())
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        if FAULT == FINDS_WHAT_IS_NOT_THERE && key.ends_with(b"m") {
            return Ok(true);
        }
        let records = self.records.lock().unwrap();
        let Some(found) = records.get(key) else { return Ok(false) };
        value.clone_from(found);
        if FAULT == RETURNS_ANOTHER_VALUE {
            value.rotate_left(1);
        }
        Ok(true)
    }

    fn scan(&self, start: &[u8], limit: usize, mut visit: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        let records = self.records.lock().unwrap();
        let skipped = |key: &[u8]| FAULT == SKIPS_A_ROW && number_of(key) == Some(33);
        let rows = records.range(start.to_vec()..).filter(|(key, _)| !skipped(key)).take(limit);
        Ok(rows.map(|(key, value)| visit(key, value)).count())
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

fn plan(workloads: &[Workload]) -> PlainPlan {
    PlainPlan { workloads: workloads.to_vec(), records: 1000, value_bytes: 50, write_rate: 100_000, seed: 1 }
}

fn run_on<S: System>(workloads: &[Workload]) -> Result<Vec<crate::figures::Figures>> {
    let dir = tempfile::tempdir().unwrap();
    run::<S>(&plan(workloads), &Settings::new(Regime::Warm, 1), &dir.path().join("store"))
}

fn refusal<S: System>(workloads: &[Workload]) -> String {
    let failure = run_on::<S>(workloads).unwrap_err();
    assert_eq!(failure.exit_code, 1);
    assert!(failure.message.contains("wrong answer"), "{failure}");
    failure.message
}

#[test]
fn keys_sort_as_their_numbers_and_missing_ones_lie_between() {
    for n in [0, 9, 10, 4_999_999, 123_456_789_012_344] {
        assert!(key(n) < missing_key(n) && missing_key(n) < key(n + 1));
        assert_eq!(number_of(&key(n)), Some(n));
        assert_eq!(number_of(&missing_key(n)), None);
    }
    assert_eq!(&key(42), b"000000000000042k");
    assert_eq!(key(1).len(), KEY_BYTES);
}

#[test]
fn values_repeat_with_their_seed_and_differ_between_keys_and_generations() {
    let (a, b) = (Values::new(3, 100), Values::new(3, 100));
    assert_eq!(a.value(5, 1), b.value(5, 1));
    assert_eq!(a.value(5, 1).len(), 100);
    assert_ne!(a.value(5, 1), a.value(5, 2));
    assert_ne!(a.value(5, 1), a.value(6, 1));
    assert_ne!(a.value(5, 1), Values::new(4, 100).value(5, 1));
}

#[test]
fn a_sound_store_passes_every_workload() {
    let all = run_on::<Map<SOUND>>(&Workload::ALL).unwrap();
    let names: Vec<&str> = all.iter().map(|f| f.workload.as_str()).collect();
    assert_eq!(names, Workload::ALL.map(Workload::name));
    for figures in &all {
        assert!(figures.operations > 0 && figures.cpu_us > 0.0 && figures.wall_us > 0.0, "{figures:?}");
    }
    let fill = &all[0];
    assert_eq!((fill.operations, fill.user_bytes, fill.live_bytes), (1000, 66_000, 66_000));
    assert_eq!(fill.latency.unwrap().samples, 1000 / 16);
    assert_eq!(all[5].operations, 100, "a tenth as many seeks");
}

#[test]
fn a_read_workload_that_comes_first_gets_a_filled_store() {
    let all = run_on::<Map<SOUND>>(&[Workload::ReadSeq]).unwrap();
    // 63 % of the keys, four times.
    assert!((2200..2900).contains(&all[0].operations), "{}", all[0].operations);
}

#[test]
fn a_lost_write_is_found() {
    let message = refusal::<Map<LOSES_A_WRITE>>(&[Workload::FillSeq]);
    assert!(message.contains("000000000000077k"), "{message}");
    assert!(refusal::<Map<LOSES_A_WRITE>>(&[Workload::FillSeq, Workload::ReadSeq]).contains("readseq"));
}

#[test]
fn a_delete_that_does_nothing_is_found() {
    refusal::<Map<KEEPS_WHAT_IS_DELETED>>(&[Workload::FillSeq, Workload::DeleteRandom]);
}

#[test]
fn another_value_is_found() {
    assert!(refusal::<Map<RETURNS_ANOTHER_VALUE>>(&[Workload::ReadRandom]).contains("readrandom"));
    assert!(refusal::<Map<RETURNS_ANOTHER_VALUE>>(&[Workload::ReadWhileWriting]).contains("readwhilewriting"));
}

#[test]
fn a_record_that_was_never_written_is_found() {
    assert!(refusal::<Map<FINDS_WHAT_IS_NOT_THERE>>(&[Workload::ReadMissing]).contains("records found: 1000"));
}

#[test]
fn a_scan_that_skips_a_row_is_found() {
    assert!(refusal::<Map<SKIPS_A_ROW>>(&[Workload::FillSeq, Workload::SeekRandom]).contains("seekrandom"));
}
