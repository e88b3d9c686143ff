//! Runs the test kit by hand: more of what `cargo test` runs a little of.

use clap::{Parser, Subcommand};
use sidekey_testkit::{crash, faults, kill, log_bound, metamorphic, script};
use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Model, random operations, script runner, crash and fault drivers for Sidekey. A seed gives the same run every time.
#[derive(Debug, Parser)]
#[command(name = "sidekey-testkit", version)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Random operation lists in many configurations; all must answer as the model does.
    Metamorphic {
        /// Operation lists.
        #[arg(long, default_value_t = 200)]
        sequences: u64,
        /// Seed of the first list; the others follow.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Operations a list.
        #[arg(long, default_value_t = 60)]
        ops: usize,
        /// Threads.
        #[arg(long, default_value_t = 2)]
        jobs: usize,
    },
    /// Power cuts at file system operations, and during recovery from them.
    Crash {
        /// Crash images to recover.
        #[arg(long, default_value_t = 2000)]
        images: u64,
        /// Seed of the first list.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Failing file system operations, one after the other.
    Faults {
        /// Operation lists.
        #[arg(long, default_value_t = 20)]
        lists: u64,
        /// Seed of the first list.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Operations a list.
        #[arg(long, default_value_t = 60)]
        ops: usize,
        /// Every how manieth file system operation fails; 1 for every one.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        stride: u64,
    },
    /// Processes that are killed while they write.
    Kill {
        /// Kills.
        #[arg(long, default_value_t = 60)]
        rounds: u64,
        /// Seed of what they write.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Arms each planted fault in turn and says what found it.
    #[cfg(planted)]
    Planted {
        /// Seed of the runs.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Rounds of all layers after which a fault counts as not found.
        #[arg(long, default_value_t = 20)]
        rounds: u64,
    },
    /// How much log is kept beside an idle collection while another is written.
    LogBound {
        /// Directory of a new database, which stays there.
        dir: PathBuf,
        /// Mebibytes to write.
        #[arg(long, default_value_t = 1024)]
        mebibytes: u64,
    },
    /// Runs a script and prints its answers.
    Script {
        /// The script; see the documentation of `sidekey_testkit::script`.
        file: PathBuf,
        /// Replaces `$NAME` in the script by a value: `--define maintenance=validated`.
        #[arg(long, value_name = "NAME=VALUE")]
        define: Vec<String>,
    },
    /// A child process of `kill`.
    #[command(hide = true)]
    Child {
        /// Its role and what belongs to it.
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    let (line, code) = match run(Arguments::parse().what) {
        Ok(figures) => (figures, ExitCode::SUCCESS),
        Err(what) => (what, ExitCode::FAILURE),
    };
    // A reader that has gone away is no reason to panic.
    let printed = if line.is_empty() { Ok(()) } else { writeln!(std::io::stdout(), "{line}") };
    if printed.is_err() { ExitCode::FAILURE } else { code }
}

fn text(what: impl Display) -> String {
    what.to_string()
}

fn run(what: What) -> Result<String, String> {
    match what {
        What::Metamorphic { sequences, seed, ops, jobs } => {
            let f = metamorphic::run(seed, sequences, ops, jobs).map_err(text)?;
            let kinds: Vec<String> = f.kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            Ok(format!(
                "metamorphic: seeds {seed} to {}, {} runs, {} operations, mismatches 0, leaks 0 ({})",
                seed + f.sequences.saturating_sub(1),
                f.runs,
                f.operations,
                kinds.join(", ")
            ))
        }
        What::Crash { images, seed } => {
            let f = crash::run(seed, images).map_err(text)?;
            Ok(format!(
                "crash: {} lists from seed {seed}, {} crash points, {} images ({} in recovery, {} lost unsynced writes), lost \
                 acknowledged 0, holes 0, mismatches 0",
                f.lists, f.crash_points, f.images, f.nested, f.lossy
            ))
        }
        What::Faults { lists, seed, ops, stride } => {
            let f = faults::run(seed, lists, ops, stride).map_err(text)?;
            let errors: Vec<String> = f.errors.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            Ok(format!(
                "faults: {} lists from seed {seed}, {} runs, {} struck, errors: {}; {} writes resumed, lost 0, panics 0",
                f.lists,
                f.runs,
                f.struck,
                errors.join(", "),
                f.resumed
            ))
        }
        What::Kill { rounds, seed } => {
            let program = std::env::current_exe().map_err(text)?;
            let spawn = |args: &[String]| {
                let mut command = Command::new(&program);
                command.arg("child").args(args);
                command
            };
            let f = kill::run(seed, rounds, &spawn)?;
            Ok(format!(
                "kill: seed {seed}, {} kills ({} in recovery), {} batches acknowledged, lost 0, mismatches 0",
                f.kills, f.kills_in_recovery, f.acknowledged
            ))
        }
        #[cfg(planted)]
        What::Planted { seed, rounds } => sidekey_testkit::planted::run(seed, rounds, &mut |line| {
            // Progress: whoever has gone away does not want it.
            let _ = writeln!(std::io::stdout(), "{line}");
        }),
        What::LogBound { dir, mebibytes } => {
            let f = log_bound::run(&dir, mebibytes << 20)?;
            Ok(format!(
                "log-bound: {} bytes written, at most {} bytes of log kept, {} allowed",
                f.written, f.largest, f.bound
            ))
        }
        What::Script { file, define } => run_script(&file, &define),
        What::Child { args } => kill::child(&args).map(|()| String::new()),
    }
}

fn run_script(file: &PathBuf, define: &[String]) -> Result<String, String> {
    let mut source = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    for definition in define {
        let (name, value) = definition.split_once('=').ok_or("--define wants NAME=VALUE")?;
        source = script::define(&source, name, value);
    }
    let outcome = script::Runner::new().run(source.as_bytes(), std::io::stdout().lock()).map_err(text)?;
    match outcome.failed {
        0 => Ok(String::new()),
        failed => Err(format!("{failed} of {} lines failed", outcome.lines)),
    }
}
