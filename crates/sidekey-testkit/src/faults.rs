//! Fails the k-th input or output operation of a run, for every k, in every way.
//!
//! The operation that meets the fault must give a typed error and never panic; reads must go on giving right answers; and after
//! the database was opened on the healthy disk, nothing acknowledged may be missing. (There was no power cut; only a failed
//! sync may lose what it covered, down to what was durable before.)

use crate::compare::compare;
use crate::config::{self, Config};
use crate::disk::MemoryDisk;
use crate::execute::{Answers, Executor};
use crate::failure::{Failure, guarded};
use crate::generate::{Shape, operations};
use crate::ops::Op;
use crate::oracle::Oracle;
use crate::recovered::{Window, check};
use crate::rng::Rng;
use sidekey::env::{Fault, FaultScript, FaultyFs, Operation};
use sidekey::{Error, ErrorKind, SyncPolicy};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Operations that may fail before a run is cut short.
const MOST_ERRORS: u32 = 6;

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Lists.
    pub lists: u64,
    /// Runs of a list with one fault in them.
    pub runs: u64,
    /// Runs in which the fault struck.
    pub struck: u64,
    /// Operations that gave an error, by its kind.
    pub errors: BTreeMap<&'static str, u64>,
    /// Writes that went through after an error.
    pub resumed: u64,
}

/// A kind of fault and how long it lasts.
#[derive(Clone, Copy, Debug)]
struct Plan {
    fault: Fault,
    for_ever: bool,
    nth: u64,
}

impl Plan {
    fn script(self) -> FaultScript {
        match self.for_ever {
            true => FaultScript::fail_from(self.nth, self.fault),
            false => FaultScript::fail_nth(self.nth, self.fault),
        }
    }
}

const FAULTS: [Fault; 4] = [Fault::EIO, Fault::ENOSPC, Fault::SHORT_WRITE_EIO, Fault::SHORT_WRITE_ENOSPC];

/// Runs lists of so many operations, failing every `stride`-th operation of the file system.
///
/// # Errors
/// The first failure.
pub fn run(seed: u64, lists: u64, ops: usize, stride: u64) -> Result<Figures, Box<Failure>> {
    let mut figures = Figures::default();
    for list_seed in seed..seed + lists {
        let mut rng = Rng::new(list_seed);
        let mut config = config::random(&mut rng);
        if let SyncPolicy::EveryMs(_) = config.settings.sync {
            config.settings.sync = SyncPolicy::Never;
        }
        let mut ops = operations(list_seed, Shape { ops, restarts: false, index_changes: true });
        // What verification says while reads fail is no verdict on the database.
        ops.retain(|op| !matches!(op, Op::Verify));
        figures.lists += 1;
        let about = || Failure::new(list_seed, &config, &ops, String::new()).to_string();
        let total = guarded(&about, || count(&ops, &config));
        let total = total.map_err(|what| Box::new(Failure::new(list_seed, &config, &ops, what)))?;
        for nth in (1 + rng.below(stride)..=total).step_by(stride as usize) {
            let plan = Plan { fault: *rng.pick(&FAULTS), for_ever: rng.chance(1, 2), nth };
            let about = || Failure::new(list_seed, &config, &ops, format!("with {plan:?}")).to_string();
            let result = guarded(&about, || run_list(&ops, &config, plan, list_seed, &mut figures));
            result
                .map_err(|what| Box::new(Failure::new(list_seed, &config, &ops, format!("with {plan:?}: {what}"))))?;
        }
    }
    Ok(figures)
}

/// How many operations of the file system a run takes when none fails, from the moment at which the database is open.
fn count(ops: &[Op], config: &Config) -> Result<u64, String> {
    let (disk, front) = MemoryDisk::new().observed();
    let mut executor = Executor::open(disk, config).map_err(|e| format!("open: {e}"))?;
    let opened = front.operations().total();
    for op in ops {
        executor.run(op);
    }
    Ok(front.operations().total() - opened)
}

/// What the file system was doing when it failed.
#[derive(Debug, Default)]
struct Struck {
    sync: AtomicBool,
    places: Mutex<Vec<String>>,
}

fn watch(front: &FaultyFs) -> Arc<Struck> {
    let struck = Arc::new(Struck::default());
    let (front_too, noted) = (front.clone(), Arc::clone(&struck));
    let before = AtomicBool::new(false);
    front.observe_after(Some(Arc::new(move |number, operation, path: &Path| {
        // The count of faults rises with each one; the first rise is the place worth naming.
        if front_too.faults() > 0 {
            let sync = matches!(operation, Operation::SyncData | Operation::SyncAll | Operation::SyncDir);
            noted.sync.fetch_or(sync, Ordering::Relaxed);
            if !before.swap(true, Ordering::Relaxed) {
                let place = format!("{operation:?} {number} of {}", path.display());
                noted.places.lock().expect("noting does not panic").push(place);
            }
        }
    })));
    struck
}

fn run_list(ops: &[Op], config: &Config, plan: Plan, seed: u64, figures: &mut Figures) -> Result<(), String> {
    let (disk, front) = MemoryDisk::new().observed();
    let mut executor = Executor::open(disk.clone(), config).map_err(|e| format!("open: {e}"))?;
    front.set_script(plan.script());
    let struck = watch(&front);
    let mut run = Run { oracle: Oracle::new(), floor: 0, unsure: Vec::new(), errors: 0, resumed: 0 };
    let place = || struck.places.lock().expect("noting does not panic").first().cloned().unwrap_or_default();
    for (at, op) in ops.iter().enumerate() {
        let context = |what: String| format!("struck at {}; operation {at}, {}: {what}", place(), op.name());
        run.operation(&mut executor, op, figures).map_err(context)?;
        if run.errors >= MOST_ERRORS {
            break;
        }
    }
    executor.release_views();
    executor.db.abandon();
    front.set_script(FaultScript::none());
    front.observe_after(None);
    figures.runs += 1;
    figures.struck += u64::from(front.faults() > 0);
    figures.resumed += run.resumed;
    // A failed sync may have lost what it covered, and what was acknowledged after it. Everything else is on the disk.
    let floor = if struck.sync.load(Ordering::Relaxed) { run.floor } else { run.acknowledged() };
    let context = |what| format!("struck at {}; reopened: {what}", place());
    // Of the writes that failed at most one may be on the disk all the same, and only as the newest.
    let mut verdict = check(&disk.kill(), config, &run.window(&executor, floor, &run.oracle), seed);
    for candidate in &run.unsure {
        if verdict.is_err() {
            verdict = check(&disk.kill(), config, &run.window(&executor, floor, candidate), seed);
        }
    }
    verdict.map(drop).map_err(context)
}

/// A run that goes on after errors.
struct Run {
    oracle: Oracle,
    /// The model's sequence number up to which everything was durable before the last fault.
    floor: u64,
    /// The oracle as it would be with each of the writes that failed since the last that did not: one of them may still be on
    /// the disk.
    unsure: Vec<Oracle>,
    errors: u32,
    resumed: u64,
}

impl Run {
    fn operation(&mut self, executor: &mut Executor, op: &Op, figures: &mut Figures) -> Result<(), String> {
        let mut after = self.oracle.clone();
        let step = after.apply(op);
        let answers = executor.run(op);
        let Some(error) = first_error(&answers) else {
            executor.acknowledge(step.committed, &answers);
            compare(&step.expected, &answers, &executor.acks)?;
            self.oracle = after;
            if step.committed.is_some() {
                self.unsure.clear();
                self.resumed += u64::from(self.errors > 0);
            }
            if matches!(op, Op::Sync) {
                self.floor = self.oracle.model.sqn();
            }
            return Ok(());
        };
        if compare(&step.expected, &answers, &executor.acks).is_ok() {
            // A refusal that was in order.
            return Ok(());
        }
        *figures.errors.entry(error.kind().name()).or_default() += 1;
        self.errors += 1;
        match error.kind() {
            ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::ReadOnly => {}
            kind => return Err(format!("the fault came out as {kind}: {error}")),
        }
        self.after_error(executor, op, after, step.committed)
    }

    /// Finds out whether the failed operation took effect; it must have done so wholly or not at all.
    fn after_error(
        &mut self,
        executor: &mut Executor,
        op: &Op,
        after: Oracle,
        committed: Option<(u64, u64)>,
    ) -> Result<(), String> {
        match op {
            // A view that was asked for is not there.
            Op::IteratorOpen { .. } | Op::IteratorRead { .. } => executor.release_views(),
            // Half of it may be there; that is for the recovery to judge, and nothing more can be asked of this run.
            Op::CreateIndex { .. } | Op::DropIndex { .. } => {
                self.unsure.push(after.clone());
                self.errors = MOST_ERRORS;
            }
            _ => {}
        }
        if executor_has_no_views(op) {
            self.oracle.restart();
        }
        let Some((first, last)) = committed else { return Ok(()) };
        // The engine's numbers of a write that failed are not known; if it comes up, it is next.
        let engine = executor.acks.get(&(first - 1)).copied().unwrap_or(0);
        executor.acks.extend((first..=last).zip(engine + 1..));
        match (gets_agree(executor, &self.oracle, &after), gets_agree(executor, &after, &after)) {
            (Ok(()), _) => self.unsure.push(after),
            (_, Ok(())) => (self.oracle, self.unsure) = (after, Vec::new()),
            (Err(what), Err(_)) => return Err(format!("neither undone nor done: {what}")),
        }
        Ok(())
    }

    fn acknowledged(&self) -> u64 {
        self.oracle.model.sqn()
    }

    fn window(&self, executor: &Executor, floor: u64, oracle: &Oracle) -> Window {
        let oracle = oracle.clone();
        Window { oracle, acks: executor.acks.clone(), floor, indexes_before: self.oracle.indexes.clone() }
    }
}

fn executor_has_no_views(op: &Op) -> bool {
    matches!(op, Op::IteratorOpen { .. } | Op::IteratorRead { .. })
}

fn first_error(answers: &Answers) -> Option<Error> {
    answers.iter().find_map(|answer| answer.as_ref().err().cloned())
}

/// Reads every key that `keys_of` knows and compares with `oracle`. A read that fails says nothing.
fn gets_agree(executor: &mut Executor, oracle: &Oracle, keys_of: &Oracle) -> Result<(), String> {
    let writes = keys_of.model.commits().iter().flat_map(|commit| &commit.writes);
    for write in writes {
        let wanted = oracle.model.get(write.collection, &write.key, u64::MAX).map(|(_, value)| value);
        match executor.collection(write.collection).get(&write.key) {
            Ok(found) if found.as_deref() == wanted => {}
            Ok(_) => return Err(format!("key {:?} of c{}", write.key, write.collection)),
            Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace) => {}
            Err(error) => return Err(format!("a read failed with kind {}: {error}", error.kind())),
        }
    }
    Ok(())
}
