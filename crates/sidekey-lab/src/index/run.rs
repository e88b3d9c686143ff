//! The loops.

use super::expected::{Expected, Upserts, distinct_values};
use super::{IndexPlan, Workload};
use crate::failure::{Failure, Result};
use crate::figures::Figures;
use crate::latency::Timer;
use crate::meter::{Meter, disk_bytes, resident_bytes};
use crate::random::Random;
use crate::records::{RecordWriter, primary_key};
use crate::systems::{IndexedSystem, Settings};
use std::fs;
use std::path::Path;

/// Rows of a newest-K query.
const NEWEST: usize = 10;

/// One query in so many is compared row by row.
const CHECKED: usize = 16;

/// All-matches queries return about so many rows together, so that long answers do not take hours.
const ALL_MATCHES_ROWS: u64 = 1_000_000;

/// A row of an answer: the primary key, and the record if it was asked for.
type Row = (Vec<u8>, Option<Vec<u8>>);

/// Runs the upserts and then, if there is an index, the queries, in `dir`.
pub fn run<S: IndexedSystem>(plan: &IndexPlan, settings: &Settings, dir: &Path) -> Result<Vec<Figures>> {
    let writer = RecordWriter::new(plan.seed, plan.record_bytes);
    fs::create_dir_all(dir).map_err(|e| Failure::system(format!("create {}", dir.display()), e))?;
    let before_upserts = resident_bytes()?;
    let store = S::open(dir, settings, &plan.setup)?;
    let mut all = vec![upserts(plan, &store, &writer)?];
    let expected = Expected::new(plan);
    check_records(&store, &expected, &writer)?;
    if plan.setup.indexes > 0 {
        let queries = Queries { plan, expected: &expected, writer: &writer, store: &store };
        queries.visit_all()?;
        all.push(queries.newest(Workload::Newest10Keys)?);
        all.push(queries.newest(Workload::Newest10Records)?);
        all.push(queries.gets()?);
        all.push(queries.newest(Workload::AllMatches)?);
    }
    let (disk, live) = (disk_bytes(dir)?, (expected.len() * (16 + plan.record_bytes)) as u64);
    for figures in &mut all {
        figures.setup = plan.setup_name();
        figures.disk_bytes = disk;
        figures.live_bytes = live;
        // During the queries the model is in memory too.
        let model = if figures.workload == Workload::Upsert.name() { 0 } else { expected.memory_bytes() };
        figures.harness_bytes = before_upserts + model;
    }
    store.close()?;
    fs::remove_dir_all(dir).map_err(|e| Failure::system(format!("remove {}", dir.display()), e))?;
    Ok(all)
}

fn upserts<S: IndexedSystem>(plan: &IndexPlan, store: &S, writer: &RecordWriter) -> Result<Figures> {
    let mut timer = Timer::sampled();
    let mut record = Vec::new();
    let mut bytes = 0;
    let before = store.written_bytes();
    let meter = Meter::start()?;
    for upsert in Upserts::new(plan) {
        writer.write(upsert.id, upsert.order, &upsert.attributes, &mut record);
        timer.time(|| store.upsert(&primary_key(upsert.id), &record, &upsert.attributes))?;
        bytes += 16 + record.len() as u64;
    }
    let foreground = meter.spent()?;
    store.settle()?;
    let mut figures = Figures::new(Workload::Upsert.name(), plan.upserts, foreground, meter.spent()?);
    figures.latency = timer.summary();
    figures.user_bytes = bytes;
    figures.store_written_bytes = store.written_bytes().zip(before).map(|(after, before)| after - before);
    Ok(figures)
}

/// Every record is there by its primary key, in its newest version.
fn check_records<S: IndexedSystem>(store: &S, expected: &Expected, writer: &RecordWriter) -> Result<()> {
    let (mut found, mut wanted) = (Vec::new(), Vec::new());
    for id in 0..expected.len() as u32 {
        let Some((order, attributes)) = expected.record(id) else { continue };
        writer.write(id, *order, attributes, &mut wanted);
        if !store.get(&primary_key(id), &mut found)? || found != wanted {
            return Err(Failure::wrong(format!("record {} is missing or old", shown(&primary_key(id)))));
        }
    }
    Ok(())
}

struct Queries<'a, S> {
    plan: &'a IndexPlan,
    expected: &'a Expected,
    writer: &'a RecordWriter,
    store: &'a S,
}

impl<S: IndexedSystem> Queries<'_, S> {
    /// Index and value of each query of a workload: another stream for each, so that none finds the last one's blocks in the processor's
    /// caches; but gets10 asks for what newest10-records returned.
    fn asked(&self, workload: Workload) -> Vec<(usize, u64)> {
        let stream = match workload {
            Workload::Upsert | Workload::Newest10Keys => 3,
            Workload::Newest10Records | Workload::Gets10 => 4,
            Workload::AllMatches => 5,
        };
        let most = match workload {
            Workload::AllMatches => ALL_MATCHES_ROWS / self.plan.matches.max(1),
            _ => 50_000,
        };
        let count = (self.plan.upserts / 10).clamp(10, most.max(10));
        let mut random = Random::new(self.plan.seed, stream);
        let values = distinct_values(self.plan);
        (0..count as usize).map(|i| (i % self.plan.setup.indexes, random.below(values))).collect()
    }

    /// Looks up every value of every index once, not measured, so that no workload pays for loading another's blocks (IDX-2).
    fn visit_all(&self) -> Result<()> {
        for index in 0..self.plan.setup.indexes {
            for value in 0..distinct_values(self.plan) {
                let rows = self.store.newest(index, value, usize::MAX, false, |_, _| {})?;
                if rows != self.expected.matches(index, value).len() {
                    return Err(Failure::wrong(format!("a{index} = {value} returned {rows} rows")));
                }
            }
        }
        Ok(())
    }

    /// Queries through the index.
    fn newest(&self, workload: Workload) -> Result<Figures> {
        let asked = self.asked(workload);
        let limit = if workload == Workload::AllMatches { usize::MAX } else { NEWEST };
        let records = workload == Workload::Newest10Records;
        let mut timer = Timer::every(1);
        let mut kept: Vec<Vec<Row>> = vec![];
        let (mut rows, mut bytes) = (0, 0);
        let meter = Meter::start()?;
        for (i, &(index, value)) in asked.iter().enumerate() {
            if i % CHECKED == 0 {
                let mut answer = vec![];
                let keep = |key: &[u8], record: Option<&[u8]>| answer.push((key.to_vec(), record.map(<[u8]>::to_vec)));
                rows += timer.time(|| self.store.newest(index, value, limit, records, keep))?;
                kept.push(answer);
            } else {
                let add = |key: &[u8], record: Option<&[u8]>| bytes += key.len() + record.map_or(0, <[u8]>::len);
                rows += timer.time(|| self.store.newest(index, value, limit, records, add))?;
            }
        }
        let spent = meter.spent()?;
        std::hint::black_box(bytes);
        let wanted: usize =
            asked.iter().map(|&(index, value)| self.expected.matches(index, value).len().min(limit)).sum();
        if rows != wanted {
            return Err(Failure::wrong(format!("{}: {rows} rows, expected {wanted}", workload.name())));
        }
        for (&(index, value), answer) in asked.iter().step_by(CHECKED).zip(kept) {
            self.check(index, value, limit, records, answer)
                .map_err(|e| Failure { message: format!("{}: {e}", workload.name()), ..e })?;
        }
        let mut figures = Figures::new(workload.name(), asked.len() as u64, spent, spent);
        figures.latency = timer.summary();
        Ok(figures)
    }

    /// Compares an answer with the model; without a limit the order is free.
    fn check(&self, index: usize, value: u64, limit: usize, records: bool, mut answer: Vec<Row>) -> Result<()> {
        let ids = self.expected.matches(index, value);
        let mut wanted: Vec<Row> =
            ids.iter().take(limit).map(|&id| (primary_key(id).to_vec(), self.text(id, records))).collect();
        if limit == usize::MAX {
            wanted.sort_unstable();
            answer.sort_unstable();
        }
        if answer == wanted {
            return Ok(());
        }
        let keys = |rows: &[Row]| rows.iter().map(|(key, _)| shown(key)).collect::<Vec<_>>().join(" ");
        Err(Failure::wrong(format!("a{index} = {value} returned [{}], expected [{}]", keys(&answer), keys(&wanted))))
    }

    fn text(&self, id: u32, records: bool) -> Option<Vec<u8>> {
        let (order, attributes) = self.expected.record(id).filter(|_| records)?;
        let mut text = Vec::new();
        self.writer.write(id, *order, attributes, &mut text);
        Some(text)
    }

    /// The records of newest10-records by their keys; an operation is all gets of one query.
    fn gets(&self) -> Result<Figures> {
        let asked = self.asked(Workload::Gets10);
        let keys: Vec<Vec<[u8; 16]>> = asked
            .iter()
            .map(|&(index, value)| {
                self.expected.matches(index, value).iter().take(NEWEST).map(|&id| primary_key(id)).collect()
            })
            .collect();
        let mut timer = Timer::every(1);
        let mut record = Vec::new();
        let meter = Meter::start()?;
        for keys in &keys {
            timer.time(|| {
                for key in keys {
                    if !self.store.get(key, &mut record)? {
                        return Err(Failure::wrong(format!("gets10: record {} is missing", shown(key))));
                    }
                }
                Ok(())
            })?;
        }
        let spent = meter.spent()?;
        let mut figures = Figures::new(Workload::Gets10.name(), keys.len() as u64, spent, spent);
        figures.latency = timer.summary();
        Ok(figures)
    }
}

fn shown(key: &[u8]) -> String {
    key.escape_ascii().to_string()
}
