//! The `sidekey` command: the engine from a shell.
//!
//! Purpose: load, look at, query, check and tend a database; run scripts; show what the engine does (`demo`).
//! Owns: the command line, the text and JSON that it prints, the meaning of exit codes, the bundled data set.
//! Depends on: the public API of `sidekey`, and `sidekey_testkit`'s script runner. Nothing depends on it.
//! Threads: none of its own; the engine has its background threads.
//!
//! CLI-1: standard output carries answers only; errors, notes and progress go to standard error.
//! CLI-2: a command that only reads never creates a database.
//! CLI-3: whatever stops `load`, the message says how many records had been written, and they stay written.
//! CLI-4: a reader of the output that goes away (a closed pipe) ends the command quietly.

mod arguments;
mod commands;
mod database;
mod failure;
mod output;
mod text;

use arguments::Cli;
use clap::Parser;
use failure::Failure;
use output::Output;
use std::io::Write;
use std::process::ExitCode;

/// What a command that did not fail says about what it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// All is well: exit code 0.
    Done,
    /// The answer is no: nothing found, findings, a failed script line. Exit code 1.
    Negative,
}

fn main() -> ExitCode {
    let json_asked = std::env::args_os().any(|argument| argument == "--json");
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) if refused.use_stderr() && json_asked => {
            let message = refused.to_string();
            let message = message.trim().strip_prefix("error: ").unwrap_or(message.trim()).to_owned();
            return report(&Failure::usage(message), true);
        }
        Err(refused) => refused.exit(),
    };
    let json = cli.json;
    let mut output = Output::to_stdout(json);
    let ended = cli.run(&mut output).and_then(|outcome| output.flush().map(|()| outcome));
    match ended {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Negative) => ExitCode::from(1),
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // What was answered before the failure belongs to the reader too; if that cannot be written there is
            // nobody to tell.
            let _ = output.flush();
            report(&failure, json)
        }
    }
}

/// Prints a failure to standard error and gives its exit code.
fn report(failure: &Failure, json: bool) -> ExitCode {
    let text = if json { failure.to_json().to_string() } else { failure.to_string() };
    let _ = writeln!(std::io::stderr().lock(), "{text}");
    ExitCode::from(failure.exit_code)
}
