//! Judges what a database recovered after a crash.

use crate::compare::compare;
use crate::config::Config;
use crate::disk::MemoryDisk;
use crate::execute::{COLLECTIONS, Executor, no_findings};
use crate::generate::{Shape, operations};
use crate::model::{Commit, Order, Predicate};
use crate::ops::{Ask, Depth, Op, PATHS};
use crate::oracle::{Indexes, Oracle};
use sidekey::{Error, IndexState};
use std::collections::BTreeMap;
use std::ops::Bound;

/// What may have survived a crash.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The oracle after the operation that the crash interrupted.
    pub oracle: Oracle,
    /// The engine's sequence number of each of the model's, that operation's included.
    pub acks: BTreeMap<u64, u64>,
    /// The model's sequence number up to which everything must have survived.
    pub floor: u64,
    /// The indexes before that operation.
    pub indexes_before: Indexes,
}

/// How far recovery came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The model's sequence number of the newest commit.
    pub sqn: u64,
}

/// Opens the disk, compares everything with the model at what was recovered, opens it a second time, which must change nothing,
/// and goes on working with it.
pub fn check(disk: &MemoryDisk, config: &Config, window: &Window, seed: u64) -> Result<Recovered, String> {
    let mut executor = Executor::open(disk.clone(), config).map_err(said("recovery"))?;
    let mut oracle = window.oracle.clone();
    oracle.restart();
    let sqn = recovered_commit(executor.db.visible_sqn(), oracle.model.commits(), &window.acks)?;
    if sqn < window.floor {
        return Err(format!("recovered to write {sqn}, but everything to {} was durable", window.floor));
    }
    oracle.model.truncate(sqn);
    executor.acks = window.acks.range(..=sqn).map(|(model, engine)| (*model, *engine)).collect();
    oracle.indexes = existing_indexes(&executor, config, window)?;
    // No snapshot is left that an index could be too young for.
    oracle.indexes.values_mut().for_each(|created| *created = (*created).min(sqn));
    compare_state(&mut executor, &mut oracle, seed)?;

    let before = executor.db.visible_sqn();
    executor.restart_on(disk.clone()).map_err(said("second recovery"))?;
    if executor.db.visible_sqn() != before {
        return Err(format!("recovered to {before}, and then to {}", executor.db.visible_sqn()));
    }
    compare_state(&mut executor, &mut oracle, !seed).map_err(|what| format!("after a second recovery: {what}"))?;

    let shape = Shape { ops: 12, restarts: false, index_changes: true };
    for op in operations(seed, shape) {
        step(&mut executor, &mut oracle, &op).map_err(|what| format!("working on: {what}"))?;
    }
    compare_state(&mut executor, &mut oracle, seed).map_err(|what| format!("after working on: {what}"))?;
    executor.release_views();
    executor.db.abandon();
    Ok(Recovered { sqn })
}

fn said(doing: &'static str) -> impl Fn(Error) -> String {
    move |error| format!("{doing}: error of kind {}: {error}", error.kind())
}

/// Runs one operation on both and compares.
pub fn step(executor: &mut Executor, oracle: &mut Oracle, op: &Op) -> Result<(), String> {
    let step = oracle.apply(op);
    let answers = executor.run(op);
    executor.acknowledge(step.committed, &answers);
    compare(&step.expected, &answers, &executor.acks).map_err(|what| format!("{}: {what}", op.name()))
}

/// The last commit that an engine's sequence number covers; an error if it cuts one in two.
fn recovered_commit(engine: u64, commits: &[Commit], acks: &BTreeMap<u64, u64>) -> Result<u64, String> {
    let engine_sqn = |model: u64| acks.get(&model).copied().unwrap_or(u64::MAX);
    let covered = commits.iter().take_while(|c| engine_sqn(c.last) <= engine).count();
    match commits.get(covered) {
        Some(next) if engine_sqn(next.first) <= engine => {
            Err(format!("recovered to {engine}, in the middle of the batch {} to {}", next.first, next.last))
        }
        _ => Ok(commits[..covered].last().map_or(0, |c| c.last)),
    }
}

/// The indexes that are there, which must be those of before or of after the interrupted operation.
fn existing_indexes(executor: &Executor, config: &Config, window: &Window) -> Result<Indexes, String> {
    while executor.db.background_step().map_err(said("background work"))? {}
    let mut existing = Indexes::new();
    for (collection, path) in (0..COLLECTIONS).flat_map(|c| (0..PATHS.len()).map(move |p| (c, p))) {
        let names: Vec<String> = config.physical_indexes(path).into_iter().map(|(name, _)| name).collect();
        let ready = ready_indexes(executor, collection, &names);
        let what = format!("an index on {} of c{collection}", PATHS[path]);
        let place = (collection, path);
        match (window.indexes_before.get(&place), window.oracle.indexes.get(&place)) {
            (Some(created), Some(_)) if ready == names.len() => drop(existing.insert(place, *created)),
            (Some(_), Some(_)) => return Err(format!("{what} is lost")),
            (None, None) if ready > 0 => return Err(format!("{what} came up")),
            (None, None) => {}
            // Created or dropped by the interrupted operation: any state of it is right. A half of it is dropped by hand, so
            // that what follows knows what is there.
            (_, _) if ready == names.len() => drop(existing.insert(place, u64::MAX)),
            (_, _) => drop_all(executor, collection, &names)?,
        }
    }
    Ok(existing)
}

fn ready_indexes(executor: &Executor, collection: usize, names: &[String]) -> usize {
    let infos = executor.collection(collection).indexes();
    infos.iter().filter(|info| info.state == IndexState::Ready && names.contains(&info.spec.name)).count()
}

fn drop_all(executor: &Executor, collection: usize, names: &[String]) -> Result<(), String> {
    let collection = executor.collection(collection);
    let infos = collection.indexes();
    let there = infos.iter().filter(|info| names.contains(&info.spec.name));
    there.map(|info| &info.spec.name).try_for_each(|name| collection.drop_index(name)).map_err(said("drop"))
}

/// Compares all records, all indexes in all orders, and lets the database verify itself.
pub fn compare_state(executor: &mut Executor, oracle: &mut Oracle, seed: u64) -> Result<(), String> {
    let unbounded = || Bound::Unbounded;
    for collection in 0..COLLECTIONS {
        let (low, high, reverse) = (Bound::Unbounded, Bound::Unbounded, seed % 2 == 1);
        let scan = Op::Scan { collection, low, high, reverse, limit: None, at: None };
        step(executor, oracle, &scan).map_err(|what| format!("c{collection}: {what}"))?;
    }
    for (collection, path) in oracle.indexes.keys().copied().collect::<Vec<_>>() {
        let ask = |predicate, order| Ask {
            collection,
            path,
            predicate,
            order,
            reverse: seed % 3 == 1,
            limit: None,
            depth: Depth::Records,
            at: None,
        };
        let mut asks = vec![
            ask(Predicate::Range(unbounded(), unbounded()), Order::Attribute),
            ask(Predicate::Range(unbounded(), unbounded()), Order::Newest),
        ];
        asks.extend((0..3).map(|n| ask(Predicate::Equal(n.into()), Order::Newest)));
        for ask in asks {
            let context = |what| format!("c{collection} by {}: {what}", PATHS[path]);
            step(executor, oracle, &Op::Query(ask)).map_err(context)?;
        }
    }
    no_findings(&executor.db).map_err(said("verify"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_number_within_a_batch_is_half_a_batch() {
        let commit = |first, last| Commit { first, last, writes: Vec::new() };
        let commits = [commit(1, 1), commit(2, 4), commit(5, 5)];
        // The engine counts from ten.
        let acks = (1..=5).map(|sqn| (sqn, sqn + 10)).collect();
        assert_eq!(recovered_commit(9, &commits, &acks), Ok(0));
        assert_eq!(recovered_commit(11, &commits, &acks), Ok(1));
        assert!(recovered_commit(12, &commits, &acks).is_err());
        assert!(recovered_commit(13, &commits, &acks).is_err());
        assert_eq!(recovered_commit(14, &commits, &acks), Ok(4));
        assert_eq!(recovered_commit(99, &commits, &acks), Ok(5));
    }
}
