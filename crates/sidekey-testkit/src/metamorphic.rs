//! One list, many configurations, one transcript: the model's.
//!
//! After every operation the answer is compared; every [`VERIFY_EVERY`] operations and at the end the database verifies itself;
//! at the very end, with no snapshot held, everything is compacted and the raw entries of every index are counted: queries that
//! validate would hide a leak, the count does not.

use crate::compare::compare;
use crate::config::{self, Config};
use crate::disk::MemoryDisk;
use crate::execute::{Executor, no_findings};
use crate::failure::{Failure, guarded};
use crate::generate::{Shape, operations};
use crate::ops::{Op, Part};
use crate::oracle::{Oracle, Step};
use crate::reduce::reduce;
use crate::rng::Rng;
use sidekey::Error;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Operations between two verifications.
pub const VERIFY_EVERY: usize = 16;

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Lists.
    pub sequences: u64,
    /// Runs of a list in a configuration.
    pub runs: u64,
    /// Operations, over all runs.
    pub operations: u64,
    /// Operations by kind, over all lists.
    pub kinds: BTreeMap<&'static str, u64>,
}

impl Figures {
    fn add(&mut self, ops: &[Op], runs: usize) {
        self.sequences += 1;
        self.runs += runs as u64;
        self.operations += (runs * ops.len()) as u64;
        ops.iter().for_each(|op| *self.kinds.entry(op.name()).or_default() += 1);
    }
}

/// Runs the lists of the seeds from `seed` on, by `jobs` threads, until one fails.
///
/// # Errors
/// The first failure, with its list reduced.
pub fn run(seed: u64, sequences: u64, ops: usize, jobs: usize) -> Result<Figures, Box<Failure>> {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let (figures, failure) = (Mutex::new(Figures::default()), Mutex::new(None::<Box<Failure>>));
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= sequences {
                        break;
                    }
                    match run_sequence(seed + at, ops) {
                        Ok((ops, runs)) => figures.lock().expect("no job panics with it").add(&ops, runs),
                        Err(found) => {
                            stop.store(true, Ordering::Relaxed);
                            failure.lock().expect("no job panics with it").get_or_insert(found);
                        }
                    }
                }
            });
        }
    });
    match failure.into_inner().expect("all jobs ended") {
        Some(failure) => Err(failure),
        None => Ok(figures.into_inner().expect("all jobs ended")),
    }
}

/// Runs the list of one seed in the fixed and three random configurations.
fn run_sequence(seed: u64, ops: usize) -> Result<(Vec<Op>, usize), Box<Failure>> {
    let ops = operations(seed, Shape { ops, ..Shape::default() });
    let mut rng = Rng::new(!seed);
    let mut configs = config::fixed();
    configs.extend((0..3).map(|_| config::random(&mut rng)));
    let steps = steps(&ops);
    for config in &configs {
        if let Err(what) = run_steps(&ops, &steps, config) {
            return Err(Box::new(reduced(seed, &ops, config, what)));
        }
    }
    Ok((ops, configs.len()))
}

fn reduced(seed: u64, ops: &[Op], config: &Config, what: String) -> Failure {
    let kept = reduce(ops, |ops| run_list(ops, config).is_err());
    let what = run_list(&kept, config).err().unwrap_or(what);
    Failure::new(seed, config, &kept, what)
}

/// Runs one list in one configuration.
///
/// # Errors
/// What was wrong first.
pub fn run_list(ops: &[Op], config: &Config) -> Result<(), String> {
    run_steps(ops, &steps(ops), config)
}

fn steps(ops: &[Op]) -> Vec<Step> {
    let mut oracle = Oracle::new();
    ops.iter().map(|op| oracle.apply(op)).collect()
}

fn run_steps(ops: &[Op], steps: &[Step], config: &Config) -> Result<(), String> {
    let about = || Failure::new(0, config, ops, String::new()).to_string();
    guarded(&about, || {
        let mut executor = Executor::open(MemoryDisk::new(), config).map_err(said("open"))?;
        for (at, (op, step)) in ops.iter().zip(steps).enumerate() {
            let context = |what: String| format!("operation {at}, {}: {what}", op.name());
            let answers = executor.run(op);
            executor.acknowledge(step.committed, &answers);
            compare(&step.expected, &answers, &executor.acks).map_err(context)?;
            if at % VERIFY_EVERY == VERIFY_EVERY - 1 {
                no_findings(&executor.db).map_err(said("verify")).map_err(context)?;
            }
        }
        let mut oracle = Oracle::new();
        ops.iter().for_each(|op| drop(oracle.apply(op)));
        at_the_end(&mut executor, &oracle)
    })
}

fn said(doing: &'static str) -> impl Fn(Error) -> String {
    move |error| format!("{doing}: error of kind {}: {error}", error.kind())
}

/// Compacts with no view held and looks for what should be gone.
fn at_the_end(executor: &mut Executor, oracle: &Oracle) -> Result<(), String> {
    no_findings(&executor.db).map_err(said("verify at the end"))?;
    executor.release_views();
    for answer in executor.run(&Op::Compact(Part::All)) {
        answer.map_err(said("compaction at the end"))?;
    }
    for (collection, path) in oracle.indexes.keys() {
        let live = oracle.live_entries(*collection, *path);
        for (name, _) in executor.config().physical_indexes(*path) {
            let raw = executor.collection(*collection).raw_entries(&name).map_err(said("raw entries"))?;
            if raw != live {
                return Err(format!("index {name} of c{collection} holds {raw} raw entries, {live} are live"));
            }
        }
    }
    no_findings(&executor.db).map_err(said("verify after the last compaction"))?;
    executor.db.close().map_err(said("close"))
}
