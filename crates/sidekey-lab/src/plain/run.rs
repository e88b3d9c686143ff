//! The loops.

use super::data::{KEY_BYTES, Values, key, missing_key};
use super::model::Model;
use super::{PlainPlan, Workload, while_writing};
use crate::failure::{Failure, Result};
use crate::figures::Figures;
use crate::latency::Timer;
use crate::meter::{Meter, disk_bytes, resident_bytes};
use crate::random::Random;
use crate::systems::{Settings, System};
use std::fs;
use std::path::Path;

/// Rows of one operation of seekrandom: the one sought, and 50 steps.
const SEEK_ROWS: usize = 51;

/// One read in so many has its value compared.
const CHECKED: u64 = 64;

/// readseq goes over the store until it has seen about so many rows (at most four times), so that a small store is measured at all.
const SEQUENTIAL_ROWS: u64 = 2_000_000;

/// Runs the plan's workloads in `dir`.
pub fn run<S: System>(plan: &PlainPlan, settings: &Settings, dir: &Path) -> Result<Vec<Figures>> {
    let mut bench = Bench::<S> {
        plan,
        settings,
        dir,
        values: Values::new(plan.seed, plan.value_bytes),
        model: Model::new(plan.records),
        harness_bytes: 0,
        store: None,
        visited: false,
    };
    bench.harness_bytes = resident_bytes()?;
    let mut all = Vec::new();
    for (place, &workload) in plan.workloads.iter().enumerate() {
        // The stream of random keys belongs to the place in the list: the same for every store.
        all.push(bench.workload(workload, place as u64 + 2)?);
    }
    bench.give_up()?;
    Ok(all)
}

/// What all loops work on.
pub(super) struct Bench<'a, S> {
    pub plan: &'a PlainPlan,
    settings: &'a Settings,
    dir: &'a Path,
    pub values: Values,
    pub model: Model,
    harness_bytes: u64,
    store: Option<S>,
    /// Whether everything was read since the last write.
    visited: bool,
}

impl<S: System> Bench<'_, S> {
    /// Checks the whole store against the model, closes it and removes its files.
    fn give_up(&mut self) -> Result<()> {
        if let Some(store) = self.store.take() {
            self.model.check_all(&store, &self.values)?;
            store.close()?;
            fs::remove_dir_all(self.dir).map_err(|e| Failure::system(format!("remove {}", self.dir.display()), e))?;
        }
        self.model.clear();
        Ok(())
    }

    fn open_empty(&mut self) -> Result<()> {
        self.give_up()?;
        fs::create_dir_all(self.dir).map_err(|e| Failure::system(format!("create {}", self.dir.display()), e))?;
        self.store = Some(S::open(self.dir, self.settings)?);
        Ok(())
    }

    /// Runs one workload.
    fn workload(&mut self, workload: Workload, stream: u64) -> Result<Figures> {
        if workload.starts_empty() {
            self.open_empty()?;
        } else if self.store.is_none() {
            self.open_empty()?;
            self.measured(Workload::FillRandom, Random::new(self.plan.seed, 0))?;
        }
        self.measured(workload, Random::new(self.plan.seed, stream))
    }

    fn measured(&mut self, workload: Workload, random: Random) -> Result<Figures> {
        let store = self.store.take().ok_or_else(|| Failure::usage("no store is open"))?;
        if workload.reads() && !self.visited {
            // The first reader after writers would pay for loading the blocks of all that follow (PLN-3).
            store.scan(b"", usize::MAX, |_, _| {})?;
        }
        self.visited = workload.reads() && workload != Workload::ReadWhileWriting;
        let before = store.written_bytes();
        let ended = match workload {
            Workload::FillSeq | Workload::FillRandom | Workload::Overwrite => self.write(&store, workload, random),
            Workload::DeleteRandom => self.delete(&store, random),
            Workload::ReadRandom => self.read(&store, random),
            Workload::ReadMissing => self.read_missing(&store, random),
            Workload::SeekRandom => self.seek(&store, random),
            Workload::ReadSeq => self.read_sequence(&store),
            Workload::ReadWhileWriting => while_writing::measure(self, &store, random),
        };
        let mut figures = ended.map_err(|e| Failure { message: format!("{}: {}", workload.name(), e), ..e })?;
        figures.store_written_bytes = store.written_bytes().zip(before).map(|(after, before)| after - before);
        figures.disk_bytes = disk_bytes(self.dir)?;
        figures.live_bytes = self.model.live_bytes(&self.values);
        figures.harness_bytes = self.harness_bytes;
        self.store = Some(store);
        Ok(figures)
    }

    fn write(&mut self, store: &S, workload: Workload, random: Random) -> Result<Figures> {
        let records = self.plan.records;
        let generation = self.model.next_generation();
        let sequential = workload == Workload::FillSeq;
        let mut timer = Timer::sampled();
        let mut stream = random.clone();
        let meter = Meter::start()?;
        for i in 0..records {
            let n = if sequential { i } else { stream.below(records) };
            let value = self.values.value(n, generation);
            timer.time(|| store.put(&key(n), value))?;
        }
        let foreground = meter.spent()?;
        store.settle()?;
        let mut figures = Figures::new(workload.name(), records, foreground, meter.spent()?);
        figures.latency = timer.summary();
        figures.user_bytes = records * (KEY_BYTES + self.plan.value_bytes) as u64;
        let mut stream = random;
        for i in 0..records {
            self.model.set(if sequential { i } else { stream.below(records) }, generation);
        }
        Ok(figures)
    }

    fn delete(&mut self, store: &S, random: Random) -> Result<Figures> {
        let records = self.plan.records;
        let mut timer = Timer::sampled();
        let mut stream = random.clone();
        let meter = Meter::start()?;
        for _ in 0..records {
            let n = stream.below(records);
            timer.time(|| store.delete(&key(n)))?;
        }
        let foreground = meter.spent()?;
        store.settle()?;
        let mut figures = Figures::new(Workload::DeleteRandom.name(), records, foreground, meter.spent()?);
        figures.latency = timer.summary();
        figures.user_bytes = records * KEY_BYTES as u64;
        let mut stream = random;
        for _ in 0..records {
            self.model.set(stream.below(records), 0);
        }
        Ok(figures)
    }

    fn read(&mut self, store: &S, random: Random) -> Result<Figures> {
        let records = self.plan.records;
        let mut timer = Timer::sampled();
        let mut stream = random.clone();
        let mut value = Vec::new();
        let (mut hits, mut bytes) = (0, 0);
        let meter = Meter::start()?;
        for i in 0..records {
            let n = stream.below(records);
            if timer.time(|| store.get(&key(n), &mut value))? {
                hits += 1;
                bytes += value.len() as u64;
                if i % CHECKED == 0 && value != self.values.value(n, self.model.generation(n)) {
                    return Err(Failure::wrong(format!("key number {n} has another value than was written last")));
                }
            }
        }
        let spent = meter.spent()?;
        let mut stream = random;
        let expected = (0..records).filter(|_| self.model.has(stream.below(records))).count() as u64;
        expect("records found", hits, expected)?;
        expect("bytes read", bytes, expected * self.plan.value_bytes as u64)?;
        let mut figures = Figures::new(Workload::ReadRandom.name(), records, spent, spent);
        figures.latency = timer.summary();
        Ok(figures)
    }

    fn read_missing(&mut self, store: &S, mut random: Random) -> Result<Figures> {
        let records = self.plan.records;
        let mut timer = Timer::sampled();
        let mut value = Vec::new();
        let mut hits = 0;
        let meter = Meter::start()?;
        for _ in 0..records {
            let n = random.below(records);
            hits += u64::from(timer.time(|| store.get(&missing_key(n), &mut value))?);
        }
        let spent = meter.spent()?;
        expect("records found", hits, 0)?;
        let mut figures = Figures::new(Workload::ReadMissing.name(), records, spent, spent);
        figures.latency = timer.summary();
        Ok(figures)
    }

    fn seek(&mut self, store: &S, random: Random) -> Result<Figures> {
        let records = self.plan.records;
        let seeks = (records / 10).max(1);
        let mut timer = Timer::every(1);
        let mut stream = random.clone();
        let mut rows = 0;
        let mut seen = Sums::default();
        let meter = Meter::start()?;
        for _ in 0..seeks {
            let n = stream.below(records);
            rows += timer.time(|| store.scan(&key(n), SEEK_ROWS, |key, value| seen.add(key, value)))? as u64;
        }
        let spent = meter.spent()?;
        let mut stream = random;
        let mut expected = Sums::default();
        (0..seeks).for_each(|_| self.expect_rows(stream.below(records), SEEK_ROWS, &mut expected));
        seen.check(rows, &expected)?;
        let mut figures = Figures::new(Workload::SeekRandom.name(), seeks, spent, spent);
        figures.latency = timer.summary();
        Ok(figures)
    }

    /// Adds the rows that a scan from key `n` must show.
    fn expect_rows(&self, n: u64, limit: usize, sums: &mut Sums) {
        let there = (n..self.plan.records).filter(|&n| self.model.has(n)).take(limit);
        there.for_each(|n| sums.add(&key(n), self.values.value(n, 0)));
    }

    fn read_sequence(&mut self, store: &S) -> Result<Figures> {
        let live = self.model.live();
        let passes = (SEQUENTIAL_ROWS / live.max(1)).clamp(1, 4);
        let mut rows = 0;
        let mut seen = Sums::default();
        let meter = Meter::start()?;
        for _ in 0..passes {
            rows += store.scan(b"", usize::MAX, |key, value| seen.add(key, value))? as u64;
        }
        let spent = meter.spent()?;
        let mut expected = Sums::default();
        (0..passes).for_each(|_| self.expect_rows(0, usize::MAX, &mut expected));
        seen.check(rows, &expected)?;
        Ok(Figures::new(Workload::ReadSeq.name(), rows, spent, spent))
    }
}

/// What a scan showed, in sums that cost next to nothing: a row that is left out, shown twice or out of another place changes them.
#[derive(Default)]
struct Sums {
    rows: u64,
    bytes: u64,
    keys: u64,
}

impl Sums {
    #[inline]
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let tail = key.last_chunk().map_or(0, |tail| u64::from_le_bytes(*tail));
        self.rows += 1;
        self.bytes += (key.len() + value.len()) as u64;
        self.keys = self.keys.wrapping_add(tail);
    }

    fn check(&self, returned: u64, expected: &Self) -> Result<()> {
        expect("rows returned", returned, expected.rows)?;
        expect("rows shown", self.rows, expected.rows)?;
        expect("bytes", self.bytes, expected.bytes)?;
        expect("sum of the keys", self.keys, expected.keys)
    }
}

/// Refuses a count that is not what the model says.
pub(super) fn expect(what: &str, found: u64, expected: u64) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Failure::wrong(format!("{what}: {found}, expected {expected}"))) }
}
