//! Power cuts at every turn: random lists run on a disk that is photographed while it works; every photograph is recovered,
//! some of them are cut again while they recover, and all are judged by [`crate::recovered`].

use crate::compare::compare;
use crate::config::{self, Config};
use crate::disk::MemoryDisk;
use crate::execute::{Executor, policy};
use crate::failure::{Failure, guarded};
use crate::generate::{Shape, operations};
use crate::ops::Op;
use crate::oracle::Oracle;
use crate::recovered::{Window, check};
use crate::reduce::reduce;
use crate::rng::Rng;
use sidekey::SyncPolicy;
use sidekey::env::{FaultyFs, Operation};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// How often a crash may hit the recovery from a crash.
const DEEPEST: u32 = 2;
/// Operations of a list.
const OPS: usize = 50;

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Lists.
    pub lists: u64,
    /// File system operations that could have been photographed.
    pub crash_points: u64,
    /// Images recovered.
    pub images: u64,
    /// Of them, images taken during a recovery.
    pub nested: u64,
    /// Images that had lost acknowledged, unsynced writes, as they may.
    pub lossy: u64,
}

/// A disk as a power cut would have left it.
#[derive(Debug)]
struct Image {
    disk: MemoryDisk,
    about: String,
}

/// Takes images before operations that change the disk.
#[derive(Debug)]
struct Photographer {
    rng: Rng,
    one_in: u64,
    most: usize,
    points: u64,
    images: Vec<Image>,
}

impl Photographer {
    fn sit(disk: &MemoryDisk, front: &FaultyFs, rng: Rng, one_in: u64, most: usize) -> Arc<Mutex<Photographer>> {
        let photographer = Photographer { rng, one_in, most, points: 0, images: Vec::new() };
        let shared = Arc::new(Mutex::new(photographer));
        // The observer must not own the front that owns it.
        let (sitter, weak) = (disk.behind(), Arc::downgrade(&shared));
        front.observe_before(Some(Arc::new(move |number, operation, path: &Path| {
            if let Some(photographer) = weak.upgrade() {
                photographer.lock().expect("taking an image does not panic").see(&sitter, number, operation, path);
            }
        })));
        shared
    }

    fn see(&mut self, disk: &MemoryDisk, number: u64, operation: Operation, path: &Path) {
        if !operation.changes_disk() {
            return;
        }
        self.points += 1;
        if self.images.len() < self.most && self.rng.chance(1, self.one_in) {
            let seed = self.rng.next_u64();
            let about = format!("{:?}, seed {seed}, before {operation:?} {number} of {}", policy(seed), path.display());
            self.images.push(Image { disk: disk.crash(policy(seed), seed), about });
        }
    }
}

fn taken(photographer: &Mutex<Photographer>) -> Vec<Image> {
    std::mem::take(&mut photographer.lock().expect("taking an image does not panic").images)
}

/// Runs lists, from the seed on, until so many images were recovered.
///
/// # Errors
/// The first failure.
pub fn run(seed: u64, images: u64) -> Result<Figures, Box<Failure>> {
    let mut figures = Figures::default();
    while figures.images < images {
        let list_seed = seed + figures.lists;
        let mut rng = Rng::new(list_seed);
        let mut config = config::random(&mut rng);
        if let SyncPolicy::EveryMs(_) = config.settings.sync {
            // The deterministic clock stands still.
            config.settings.sync = SyncPolicy::Never;
        }
        let ops = list(list_seed);
        figures.lists += 1;
        attempt(&ops, &config, &rng, &mut figures)
            .map_err(|what| Box::new(reduced(list_seed, &ops, &config, &rng, what)))?;
    }
    Ok(figures)
}

fn attempt(ops: &[Op], config: &Config, rng: &Rng, figures: &mut Figures) -> Result<(), String> {
    let about = || Failure::new(0, config, ops, format!("with {rng:?}")).to_string();
    guarded(&about, || run_list(ops, config, &mut rng.clone(), figures))
}

/// A shorter list is photographed at other moments, so it is tried with several seeds.
fn reduced(seed: u64, ops: &[Op], config: &Config, rng: &Rng, what: String) -> Failure {
    let found = |ops: &[Op]| {
        let mut seeds = std::iter::once(rng.clone()).chain((0..4).map(Rng::new));
        seeds.find_map(|rng| attempt(ops, config, &rng, &mut Figures::default()).err())
    };
    let kept = reduce(ops, |ops| found(ops).is_some());
    let what = found(&kept).unwrap_or(what);
    Failure::new(seed, config, &kept, what)
}

fn list(seed: u64) -> Vec<Op> {
    let mut ops = operations(seed, Shape { ops: OPS, ..Shape::default() });
    // The list's own power cuts would take the disk away from under the photographer.
    ops.retain(|op| !matches!(op, Op::PowerCut { .. }));
    ops
}

fn run_list(ops: &[Op], config: &Config, rng: &mut Rng, figures: &mut Figures) -> Result<(), String> {
    let (disk, front) = MemoryDisk::new().observed();
    let photographer = Photographer::sit(&disk, &front, rng.fork(), 4, usize::MAX);
    let mut oracle = Oracle::new();
    let mut executor = Executor::open(disk, config).map_err(|e| format!("open: {e}"))?;
    let mut window = Window::default();
    judge(taken(&photographer), config, &window, rng, figures, 0).map_err(|w| format!("creating: {w}"))?;
    for (at, op) in ops.iter().enumerate() {
        let context = |what: String| format!("operation {at}, {}: {what}", op.name());
        window.indexes_before = oracle.indexes.clone();
        let step = oracle.apply(op);
        let answers = executor.run(op);
        executor.acknowledge(step.committed, &answers);
        compare(&step.expected, &answers, &executor.acks).map_err(context)?;
        // While it ran, only what was durable before was sure to stay.
        window.oracle = oracle.clone();
        window.acks.clone_from(&executor.acks);
        judge(taken(&photographer), config, &window, rng, figures, 0).map_err(context)?;
        window.floor = durable(&executor, &oracle, op, window.floor);
    }
    executor.release_views();
    executor.db.close().map_err(|e| format!("close: {e}"))?;
    judge(taken(&photographer), config, &window, rng, figures, 0).map_err(|what| format!("close: {what}"))?;
    figures.crash_points += photographer.lock().expect("taking an image does not panic").points;
    Ok(())
}

/// The model's sequence number up to which everything is durable after an operation: all of it where the operation promised
/// so, and whatever the engine says is.
fn durable(executor: &Executor, oracle: &Oracle, op: &Op, before: u64) -> u64 {
    let promised = match op {
        Op::Write { sync, .. } => *sync,
        Op::Batch { writes, sync } => *sync && !writes.is_empty(),
        Op::Sync | Op::Reopen => true,
        _ => false,
    };
    if promised || executor.config().settings.sync == SyncPolicy::Always {
        return oracle.model.sqn();
    }
    let durable = executor.db.durable_sqn();
    let said = executor.acks.iter().rev().find(|(_, engine)| **engine <= durable).map_or(0, |(model, _)| *model);
    before.max(said)
}

/// Recovers every image, and takes images of the recovery of some.
fn judge(
    images: Vec<Image>,
    config: &Config,
    window: &Window,
    rng: &mut Rng,
    figures: &mut Figures,
    depth: u32,
) -> Result<(), String> {
    for image in images {
        let context = |what: String| format!("power cut ({}): {what}", image.about);
        let seed = rng.next_u64();
        figures.images += 1;
        figures.nested += u64::from(depth > 0);
        // A recovery changes its disk, so the nested one works on a copy.
        let again = (depth < DEEPEST && rng.chance(1, 4)).then(|| image.disk.kill());
        let recovered = check(&image.disk, config, window, seed).map_err(context)?;
        figures.lossy += u64::from(recovered.sqn < window.oracle.model.sqn());
        let Some(copy) = again else { continue };
        let (disk, front) = copy.observed();
        let photographer = Photographer::sit(&disk, &front, rng.fork(), 3, 2);
        let executor = Executor::open(disk, config).map_err(|e| context(format!("recovery: {e}")))?;
        executor.db.abandon();
        drop(executor);
        // What one recovery found, the next must find: the image's bytes are all durable.
        let exactly = Window { floor: recovered.sqn, ..window.clone() };
        judge(taken(&photographer), config, &exactly, rng, figures, depth + 1).map_err(context)?;
    }
    Ok(())
}
