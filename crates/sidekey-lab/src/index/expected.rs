//! What is in the store, and what queries must return.

use super::IndexPlan;
use crate::random::Random;
use crate::records::ATTRIBUTES;

/// One upsert.
pub struct Upsert {
    /// The record's number.
    pub id: u32,
    /// Counts the upserts from 1: a larger one is newer.
    pub order: u32,
    /// Its attributes.
    pub attributes: [u64; ATTRIBUTES],
}

/// The upserts of a plan, the same whenever they are asked for.
pub struct Upserts {
    random: Random,
    values: u64,
    known: u32,
    done: u32,
    upserts: u64,
}

impl Upserts {
    pub fn new(plan: &IndexPlan) -> Self {
        let values = distinct_values(plan);
        Self { random: Random::new(plan.seed, 2), values, known: 0, done: 0, upserts: plan.upserts }
    }
}

/// How many values an attribute has.
pub fn distinct_values(plan: &IndexPlan) -> u64 {
    (plan.upserts / 2 / plan.matches.max(1)).max(1)
}

impl Iterator for Upserts {
    type Item = Upsert;

    fn next(&mut self) -> Option<Upsert> {
        if u64::from(self.done) == self.upserts {
            return None;
        }
        self.done += 1;
        let old = self.known > 0 && self.random.below(2) == 0;
        let id = if old { self.random.below(u64::from(self.known)) as u32 } else { self.known };
        self.known += u32::from(!old);
        let attributes = std::array::from_fn(|_| self.random.below(self.values));
        Some(Upsert { id, order: self.done, attributes })
    }
}

/// All records, and for each index the records of each value.
pub struct Expected {
    /// By record number: its newest version.
    records: Vec<(u32, [u64; ATTRIBUTES])>,
    indexes: Vec<ByValue>,
}

/// Record numbers sorted by value, then the newest first; where each value begins.
struct ByValue {
    ids: Vec<u32>,
    starts: Vec<usize>,
}

impl Expected {
    /// Replays the plan's upserts.
    pub fn new(plan: &IndexPlan) -> Self {
        let mut records: Vec<(u32, [u64; ATTRIBUTES])> = Vec::new();
        for upsert in Upserts::new(plan) {
            let version = (upsert.order, upsert.attributes);
            match records.get_mut(upsert.id as usize) {
                Some(slot) => *slot = version,
                None => records.push(version),
            }
        }
        let values = distinct_values(plan);
        let indexes = (0..plan.setup.indexes).map(|i| ByValue::new(&records, i, values)).collect();
        Self { records, indexes }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Memory that this takes, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let lists =
            self.indexes.iter().map(|i| i.ids.capacity() * size_of::<u32>() + i.starts.capacity() * size_of::<usize>());
        (self.records.capacity() * size_of::<(u32, [u64; ATTRIBUTES])>() + lists.sum::<usize>()) as u64
    }

    /// Order and attributes of a record's newest version.
    pub fn record(&self, id: u32) -> Option<&(u32, [u64; ATTRIBUTES])> {
        self.records.get(id as usize)
    }

    /// The records of a value, the newest first.
    pub fn matches(&self, index: usize, value: u64) -> &[u32] {
        let found = self.indexes.get(index).and_then(|by_value| {
            let start = *by_value.starts.get(value as usize)?;
            by_value.ids.get(start..*by_value.starts.get(value as usize + 1)?)
        });
        found.unwrap_or_default()
    }
}

impl ByValue {
    fn new(records: &[(u32, [u64; ATTRIBUTES])], index: usize, values: u64) -> Self {
        let value_of = |id: u32| records[id as usize].1[index];
        let mut ids: Vec<u32> = (0..records.len() as u32).collect();
        ids.sort_unstable_by_key(|&id| (value_of(id), std::cmp::Reverse(records[id as usize].0)));
        let starts = (0..=values).map(|value| ids.partition_point(|&id| value_of(id) < value)).collect();
        Self { ids, starts }
    }
}
