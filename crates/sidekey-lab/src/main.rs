//! The `sidekey-lab` command: workloads, peers, and measurement that can be believed.
//!
//! Purpose: say what operations cost Sidekey and its peers, by the rules of `docs/LAB.md`.
//! Owns: the workloads, the models that answers are checked by, the meters, the rounds, the report.
//! Depends on: the public API of `sidekey`; peers behind features. Nothing depends on it.
//! Threads: one, but for the writer of readwhilewriting and the progress bar.
//!
//! LAB-1: a store's figures come from processes that run that store alone ([`rounds`] starts this program again for each).
//! LAB-2: a store that answers wrongly ends the run with exit code 1 and without figures.
//! LAB-3: standard output carries the result only; progress and errors go to standard error.

mod arguments;
mod child;
mod command;
mod failure;
mod figures;
mod index;
mod latency;
mod machine;
mod meter;
mod plain;
mod plan;
mod random;
mod ratio;
mod records;
mod report;
mod rounds;
mod systems;

use arguments::{Cli, Command};
use clap::Parser;
use failure::{Failure, Result};
use report::Report;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let ended = match Cli::parse().command {
        Command::DbBench(arguments) => command::bench(&arguments).and_then(|report| show(&report)),
        Command::Index(arguments) => command::index(&arguments).and_then(|report| show(&report)),
        Command::Child { plan, dir } => child(&plan, &dir),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr().lock(), "sidekey-lab: {failure}");
            ExitCode::from(failure.exit_code)
        }
    }
}

fn show(report: &Report) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    written(report::print(report, &mut out).and_then(|()| out.flush()))
}

fn child(plan: &str, dir: &Path) -> Result<()> {
    // A run that is killed takes its child with it: nobody waits for the figures.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|e| Failure::system("tie this process to the one that started it", e))?;
    let plan = serde_json::from_str(plan).map_err(|e| Failure::usage(format!("this is no plan: {e}")))?;
    let result = child::run(&plan, dir)?;
    let line = serde_json::to_string(&result).map_err(|e| Failure::system("write down the figures", e))?;
    written(writeln!(io::stdout().lock(), "{line}"))
}

/// A reader of the output that goes away ends the program quietly.
fn written(outcome: io::Result<()>) -> Result<()> {
    match outcome {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|e| Failure::system("write to standard output", e)),
    }
}
