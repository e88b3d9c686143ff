//! Takes turns: in each round every entrant runs once, in processes of its own; every other round goes the other way round.
//!
//! RND-1: the figures that a ratio is made of come from one round, so that what else the machine did meanwhile touched both.

use crate::failure::{Failure, Result};
use crate::figures::{ChildResult, Figures};
use crate::plan::Plan;
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::{Command, Stdio};

/// One that takes part: a store, and the processes that it runs in a round.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// How results call it.
    pub name: String,
    /// One process each.
    pub plans: Vec<Plan>,
}

/// One entrant's part of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The entrant's name.
    pub system: String,
    /// Which place it had in the round, from 0.
    pub place: usize,
    /// Version and notes of the store, as its last process said.
    pub version: String,
    /// See [`ChildResult::notes`].
    pub notes: Vec<String>,
    /// The figures of all its processes.
    pub figures: Vec<Figures>,
}

/// The runs of a round, in the order of the entrants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// A run for each entrant.
    pub runs: Vec<Run>,
}

/// The bar on standard error; nothing is shown where that is no terminal.
pub fn progress(processes: u64) -> ProgressBar {
    let bar = ProgressBar::new(processes);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:30} {pos}/{len} processes, {elapsed}, about {eta} left: {msg}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(500));
    bar
}

/// Runs `rounds` rounds in directories below `dir`.
pub fn run(entrants: &[Entrant], rounds: u32, dir: &Path, bar: &ProgressBar, what: &str) -> Result<Vec<Round>> {
    let mut all = Vec::new();
    for round in 0..rounds {
        let mut runs: Vec<Option<Run>> = entrants.iter().map(|_| None).collect();
        for (place, at) in order(entrants.len(), round).enumerate() {
            let (Some(entrant), Some(slot)) = (entrants.get(at), runs.get_mut(at)) else { continue };
            bar.set_message(format!("{what} {}/{rounds}, {}", round + 1, entrant.name));
            *slot = Some(run_one(entrant, place, dir, bar)?);
        }
        all.push(Round { runs: runs.into_iter().flatten().collect() });
    }
    Ok(all)
}

/// A B C, then C B A.
fn order(entrants: usize, round: u32) -> impl Iterator<Item = usize> {
    let backward = round % 2 == 1;
    (0..entrants).map(move |i| if backward { entrants - 1 - i } else { i })
}

fn run_one(entrant: &Entrant, place: usize, dir: &Path, bar: &ProgressBar) -> Result<Run> {
    let mut run = Run { system: entrant.name.clone(), place, version: String::new(), notes: vec![], figures: vec![] };
    for plan in &entrant.plans {
        let result = child(plan, &dir.join("store"))
            .map_err(|e| Failure { message: format!("{}: {}", entrant.name, e), ..e })?;
        run.version = result.version;
        run.notes.extend(result.notes.into_iter().filter(|note| !run.notes.contains(note)).collect::<Vec<_>>());
        run.figures.extend(result.figures);
        bar.inc(1);
    }
    Ok(run)
}

/// Runs this program as a child process.
fn child(plan: &Plan, dir: &Path) -> Result<ChildResult> {
    let failed = |e: std::io::Error| Failure::system("run this program as a child process", e);
    let plan = serde_json::to_string(plan).map_err(|e| Failure::system("write down a plan", e))?;
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.arg("child").arg(plan).arg(dir).stdin(Stdio::null());
    let output = command.output().map_err(failed)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        let message = said.strip_prefix("sidekey-lab: ").unwrap_or(said);
        let message =
            if message.is_empty() { format!("the process ended: {}", output.status) } else { message.to_owned() };
        let exit_code = output.status.code().and_then(|code| u8::try_from(code).ok()).filter(|&code| code == 2);
        return Err(Failure { message, exit_code: exit_code.unwrap_or(1) });
    }
    serde_json::from_slice(&output.stdout).map_err(|e| Failure::system("read what a child process printed", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_round_goes_the_other_way() {
        assert_eq!(order(3, 0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(order(3, 1).collect::<Vec<_>>(), [2, 1, 0]);
        assert_eq!(order(3, 2).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
