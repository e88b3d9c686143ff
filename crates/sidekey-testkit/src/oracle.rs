//! The model with what a list keeps open on it: snapshots, iterators and indexes. Says for every operation what a database
//! must answer.

use crate::model::{Hit, Model, Order, Pairs, Predicate};
use crate::ops::{Ask, Depth, Op, PATHS, Write};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Whether an index can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usable {
    /// It must.
    Yes,
    /// It is younger than the snapshot asked for: it may refuse, but may not answer wrongly.
    Perhaps,
    /// There is no such index: it must refuse.
    No,
}

/// What a database must answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Success.
    Done,
    /// Success, or a typed refusal; nothing changes.
    Whatever,
    /// A conditional write's verdict.
    Applied(bool),
    /// A point read's value.
    Value(Option<Vec<u8>>),
    /// A scan's records.
    Pairs(Pairs),
    /// A query's rows.
    Rows {
        /// All rows, in order, whatever the limit.
        hits: Vec<Hit>,
        /// How many of them.
        limit: Option<usize>,
        /// How much of each.
        depth: Depth,
        /// The attribute's path.
        path: usize,
        /// Whether it must be answered at all.
        usable: Usable,
    },
    /// How many rows a query has.
    Count {
        /// The number.
        rows: u64,
        /// Whether it must be answered at all.
        usable: Usable,
    },
}

/// One operation's outcome on the model.
#[derive(Clone, Debug)]
pub struct Step {
    /// The answer.
    pub expected: Expected,
    /// First and last sequence number in the model of what it committed.
    pub committed: Option<(u64, u64)>,
}

/// Collection and path of each index, with the model's sequence number at its creation.
pub type Indexes = BTreeMap<(usize, usize), u64>;

/// The model and what is open on it.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// The history.
    pub model: Model,
    /// The indexes that exist.
    pub indexes: Indexes,
    snapshots: BTreeMap<u8, u64>,
    iterators: BTreeMap<u8, <Pairs as IntoIterator>::IntoIter>,
}

impl Oracle {
    /// An empty database.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets what a restart ends: snapshots and iterators.
    pub fn restart(&mut self) {
        self.snapshots.clear();
        self.iterators.clear();
    }

    /// Whether snapshots or iterators hold old versions.
    pub fn holds_views(&self) -> bool {
        !(self.snapshots.is_empty() && self.iterators.is_empty())
    }

    /// Applies an operation.
    pub fn apply(&mut self, op: &Op) -> Step {
        let before = self.model.sqn();
        let expected = self.answer(op);
        let after = self.model.sqn();
        Step { expected, committed: (after > before).then_some((before + 1, after)) }
    }

    fn answer(&mut self, op: &Op) -> Expected {
        match op {
            Op::Write { write, .. } => self.commit(std::slice::from_ref(write)),
            Op::Batch { writes, .. } => self.commit(writes),
            Op::PutIf { write, present } => {
                let there = self.model.get(write.collection, &write.key, self.model.sqn()).is_some();
                if there == *present {
                    self.commit(std::slice::from_ref(write));
                }
                Expected::Applied(there == *present)
            }
            Op::Get { collection, key, at } => {
                let found = self.model.get(*collection, key, self.at(*at));
                Expected::Value(found.map(|(_, value)| value.to_vec()))
            }
            Op::Scan { collection, low, high, reverse, limit, at } => {
                let mut pairs = self.model.scan(*collection, low, high, self.at(*at));
                if *reverse {
                    pairs.reverse();
                }
                pairs.truncate(limit.unwrap_or(usize::MAX));
                Expected::Pairs(pairs)
            }
            Op::Query(ask) => self.rows(ask),
            Op::Count(ask) => Expected::Count { rows: self.hits(ask).len() as u64, usable: self.usable(ask) },
            Op::IteratorRead { slot, records } => {
                let pairs = self.iterators.get_mut(slot).map(|records_left| records_left.take(*records).collect());
                Expected::Pairs(pairs.unwrap_or_default())
            }
            _ => self.change_state(op),
        }
    }

    /// Operations without an answer of their own.
    fn change_state(&mut self, op: &Op) -> Expected {
        let now = self.model.sqn();
        match op {
            Op::Snapshot(slot) => drop(self.snapshots.insert(*slot, now)),
            Op::Release(slot) => drop(self.snapshots.remove(slot)),
            Op::IteratorOpen { slot, collection, reverse } => {
                let mut pairs = self.model.scan(*collection, &Bound::Unbounded, &Bound::Unbounded, now);
                if *reverse {
                    pairs.reverse();
                }
                self.iterators.insert(*slot, pairs.into_iter());
            }
            Op::CreateIndex { collection, path } => {
                self.indexes.entry((*collection, *path)).or_insert(now);
            }
            Op::DropIndex { collection, path } if self.indexes.remove(&(*collection, *path)).is_none() => {
                return Expected::Whatever;
            }
            Op::Reopen | Op::PowerCut { .. } => self.restart(),
            _ => {}
        }
        Expected::Done
    }

    fn commit(&mut self, writes: &[Write]) -> Expected {
        self.model.commit(writes);
        Expected::Done
    }

    /// The sequence number of a snapshot; of the head where it is not held.
    fn at(&self, slot: Option<u8>) -> u64 {
        slot.and_then(|slot| self.snapshots.get(&slot)).copied().unwrap_or(self.model.sqn())
    }

    fn usable(&self, ask: &Ask) -> Usable {
        match self.indexes.get(&(ask.collection, ask.path)) {
            None => Usable::No,
            Some(created) if *created > self.at(ask.at) => Usable::Perhaps,
            Some(_) => Usable::Yes,
        }
    }

    fn hits(&self, ask: &Ask) -> Vec<Hit> {
        let order = (ask.order, ask.reverse);
        self.model.query(ask.collection, PATHS[ask.path], &ask.predicate, order, self.at(ask.at))
    }

    fn rows(&self, ask: &Ask) -> Expected {
        Expected::Rows {
            hits: self.hits(ask),
            limit: ask.limit,
            depth: ask.depth,
            path: ask.path,
            usable: self.usable(ask),
        }
    }

    /// How many entries an index has when nothing in it is stale.
    pub fn live_entries(&self, collection: usize, path: usize) -> u64 {
        let all = Predicate::Range(Bound::Unbounded, Bound::Unbounded);
        self.model.query(collection, PATHS[path], &all, (Order::Key, false), self.model.sqn()).len() as u64
    }
}
