//! The result of a run: summaries and ratios from the raw figures, as JSON and as tables.
//!
//! Owns: what a result says. Depends on: the figures. Threads: none.
//!
//! REP-1: everything that the tables show is in the JSON, with the raw figures that it was made from.
//! REP-2: no ratio is shown without the A/A check's verdict beside it; without a check the verdict is "not checked".

mod compare;
mod print;
#[cfg(test)]
mod tests;

pub use compare::{Comparison, Multiple, Summary, compare, multiples, summaries};
pub use print::print;

use crate::machine::Machine;
use crate::ratio::is_even;
use crate::rounds::Round;
use crate::systems::Settings;
use serde::{Deserialize, Serialize};

/// A result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The command: `db_bench` or `index`.
    pub command: String,
    /// What was run, in words.
    pub title: String,
    /// Seed of keys, values and order.
    pub seed: u64,
    /// Part of the full size.
    pub scale: f64,
    /// Records, or upserts.
    pub records: u64,
    /// Bytes of a value or record.
    pub value_bytes: usize,
    /// Rounds in which all stores ran.
    pub pairs: u32,
    /// What was equal for all stores.
    pub settings: Settings,
    /// Where it was run.
    pub machine: Machine,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Sidekey against itself.
    pub aa: AaCheck,
    /// Each store's figures.
    pub systems: Vec<SystemResult>,
    /// Each peer against Sidekey.
    pub peers: Vec<PeerResult>,
    /// Costs of one workload in terms of another of the same store.
    pub multiples: Vec<Multiple>,
    /// The raw figures.
    pub rounds: Vec<Round>,
}

/// A store's figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemResult {
    /// Its name.
    pub name: String,
    /// Name and version as the store has it.
    pub version: String,
    /// One for each workload.
    pub summaries: Vec<Summary>,
}

/// A peer against Sidekey.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerResult {
    /// The peer's name.
    pub name: String,
    /// One for each workload that both ran.
    pub comparisons: Vec<Comparison>,
    /// The geometric mean of the median ratios.
    pub geometric_mean: Option<f64>,
}

/// Sidekey against itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AaCheck {
    /// Rounds; 0 if it was not run.
    pub pairs: u32,
    /// Whether every ratio was 1.00 ± 0.05; null if it was not run.
    pub good: Option<bool>,
    /// The ratios, which should be 1.
    pub comparisons: Vec<Comparison>,
    /// The raw figures.
    pub rounds: Vec<Round>,
}

impl AaCheck {
    /// From the rounds in which Sidekey ran twice.
    pub fn of(rounds: Vec<Round>) -> Self {
        let comparisons = compare(&rounds, 0, 1);
        let good = (!comparisons.is_empty()).then(|| comparisons.iter().all(|c| is_even(c.cpu.median)));
        Self { pairs: rounds.len() as u32, good, comparisons, rounds }
    }

    /// Whether a workload's ratio was; `None` if it was not checked.
    pub fn is_even(&self, workload: &str, setup: &str) -> Option<bool> {
        let of = |c: &&Comparison| c.workload == workload && c.setup == setup;
        self.comparisons.iter().find(of).map(|c| is_even(c.cpu.median))
    }

    /// One line.
    pub fn verdict(&self) -> String {
        let Some(good) = self.good else { return "A/A: not checked".to_owned() };
        let uneven: Vec<String> = self
            .comparisons
            .iter()
            .filter(|c| !is_even(c.cpu.median))
            .map(|c| format!("{} {:.2}", c.label(), c.cpu.median))
            .collect();
        let pairs = self.pairs;
        if good {
            format!("A/A: good: {pairs} pairs of sidekey against itself, every ratio 1.00 +- 0.05")
        } else {
            format!("A/A: NOT good: {pairs} pairs of sidekey against itself gave {}", uneven.join(", "))
        }
    }
}
