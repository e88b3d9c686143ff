//! readwhilewriting: one thread reads, another writes at a fixed rate.

use super::Workload;
use super::data::{KEY_BYTES, key};
use super::run::{Bench, expect};
use crate::failure::{Failure, Result};
use crate::figures::Figures;
use crate::latency::Timer;
use crate::meter::Meter;
use crate::random::Random;
use crate::systems::System;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The writer sleeps so long between bursts: short against the times that compaction takes, long against a put.
const TICK: Duration = Duration::from_millis(1);

/// One read in so many has its value compared.
const CHECKED: u64 = 64;

/// Reads as many random keys as there are; the writer goes on until the reader has ended.
pub(super) fn measure<S: System>(bench: &mut Bench<'_, S>, store: &S, random: Random) -> Result<Figures> {
    let records = bench.plan.records;
    let generation = bench.model.next_generation();
    let writes = Random::new(bench.plan.seed, random.clone().next());
    let stop = AtomicBool::new(false);
    let mut timer = Timer::sampled();
    let meter = Meter::start()?;
    let (read, written) = thread::scope(|scope| {
        let writer = scope.spawn(|| write(bench, store, generation, writes.clone(), &stop));
        let read = read(bench, store, generation, random.clone(), &mut timer);
        // Taken before the writer is waited for; its error, if any, comes after the reader's.
        let spent = meter.spent();
        stop.store(true, Ordering::Relaxed);
        let written = writer.join().unwrap_or_else(|_| Err(Failure::wrong("the writing thread panicked")));
        (read.and_then(|hits| Ok((hits, spent?))), written)
    });
    let (hits, foreground) = read?;
    let written = written?;
    store.settle()?;
    let settled = meter.spent()?;
    let mut stream = random;
    let expected = (0..records).filter(|_| bench.model.has(stream.below(records))).count() as u64;
    if hits < expected {
        expect("records found", hits, expected)?;
    }
    let mut stream = writes;
    (0..written).for_each(|_| bench.model.set(stream.below(records), generation));
    let mut figures = Figures::new(Workload::ReadWhileWriting.name(), records, foreground, settled);
    figures.cpu_us = foreground.thread_s * 1e6 / records as f64;
    figures.latency = timer.summary();
    figures.user_bytes = written * (KEY_BYTES + bench.plan.value_bytes) as u64;
    Ok(figures)
}

/// The reader: how many records it found.
fn read<S: System>(
    bench: &Bench<'_, S>,
    store: &S,
    generation: u8,
    mut random: Random,
    timer: &mut Timer,
) -> Result<u64> {
    let records = bench.plan.records;
    let mut value = Vec::new();
    let mut hits = 0;
    for i in 0..records {
        let n = random.below(records);
        if timer.time(|| store.get(&key(n), &mut value))? {
            hits += 1;
            let known = |g| value == bench.values.value(n, g);
            if i % CHECKED == 0 && !known(generation) && !known(bench.model.generation(n)) {
                return Err(Failure::wrong(format!("key number {n} has a value that was not written to it")));
            }
        }
    }
    Ok(hits)
}

/// The writer: how many records it wrote. It keeps to the rate by the clock, so that a stall is made up for.
fn write<S: System>(
    bench: &Bench<'_, S>,
    store: &S,
    generation: u8,
    mut random: Random,
    stop: &AtomicBool,
) -> Result<u64> {
    let records = bench.plan.records;
    let start = Instant::now();
    let mut written = 0;
    while !stop.load(Ordering::Relaxed) {
        let due = (start.elapsed().as_secs_f64() * bench.plan.write_rate as f64) as u64;
        while written < due && !stop.load(Ordering::Relaxed) {
            let n = random.below(records);
            store.put(&key(n), bench.values.value(n, generation))?;
            written += 1;
        }
        thread::sleep(TICK);
    }
    Ok(written)
}
