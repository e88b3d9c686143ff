//! What must be in the store.

use super::data::{KEY_BYTES, Values, key, number_of};
use crate::failure::{Failure, Result};
use crate::systems::System;

/// The generation of each key's value; 0 where there is none.
pub struct Model {
    generations: Vec<u8>,
    newest: u8,
}

impl Model {
    /// An empty store that will have `records` keys.
    pub fn new(records: u64) -> Self {
        Self { generations: vec![0; records as usize], newest: 0 }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.generations.fill(0);
        self.newest = 0;
    }

    /// Number of keys.
    pub fn records(&self) -> u64 {
        self.generations.len() as u64
    }

    /// The generation that a new workload writes.
    pub fn next_generation(&mut self) -> u8 {
        // A run of more than 255 writing workloads repeats generations: checks get weaker, not wrong.
        self.newest = self.newest.checked_add(1).unwrap_or(1);
        self.newest
    }

    /// Key `n` was written, or with generation 0 deleted.
    pub fn set(&mut self, n: u64, generation: u8) {
        if let Some(slot) = self.generations.get_mut(n as usize) {
            *slot = generation;
        }
    }

    /// The generation of key `n`, 0 if it is not there.
    pub fn generation(&self, n: u64) -> u8 {
        self.generations.get(n as usize).copied().unwrap_or_default()
    }

    /// Whether key `n` is there.
    pub fn has(&self, n: u64) -> bool {
        self.generation(n) != 0
    }

    /// How many keys are there.
    pub fn live(&self) -> u64 {
        self.generations.iter().filter(|&&g| g != 0).count() as u64
    }

    /// Reads the whole store and compares.
    pub fn check_all<S: System>(&self, store: &S, values: &Values) -> Result<()> {
        let mut expected = (0..self.records()).filter(|&n| self.has(n));
        let mut fault = None;
        let rows = store.scan(b"", usize::MAX, |found, value| {
            if fault.is_none() {
                fault = match expected.next() {
                    None => Some(format!("key {} is there and should not be", shown(found))),
                    Some(n) if number_of(found) != Some(n) => {
                        Some(format!("expected key {} next, found {}", shown(&key(n)), shown(found)))
                    }
                    Some(n) if value != values.value(n, self.generation(n)) => {
                        Some(format!("key {} has another value than was written last", shown(found)))
                    }
                    Some(_) => None,
                };
            }
        })?;
        match fault.or_else(|| expected.next().map(|n| format!("key {} is missing after {rows} rows", shown(&key(n)))))
        {
            Some(fault) => Err(Failure::wrong(fault)),
            None => Ok(()),
        }
    }

    /// Bytes of the keys and values that are there.
    pub fn live_bytes(&self, values: &Values) -> u64 {
        self.live() * (KEY_BYTES + values.value_bytes()) as u64
    }
}

fn shown(key: &[u8]) -> String {
    format!("'{}'", key.escape_ascii())
}
