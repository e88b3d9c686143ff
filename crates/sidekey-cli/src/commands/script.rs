//! `sidekey script`.

use crate::Outcome;
use crate::failure::{Failure, Result};
use crate::output::Output;
use sidekey_testkit::script::Runner;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  sidekey script session.jsonl
  printf '%s\\n' '{\"op\":\"open\",\"path\":\"./shop\"}' '{\"op\":\"verify\"}' | sidekey script

Each line is answered with {\"line\":N,\"ok\":true,…} or {\"line\":N,\"ok\":false,\"error\":{…}}, whether --json is given \
or not. The run goes on after an error; the exit code is 1 if a line failed that did not say \"expect_error\", or if an \
answer differs from its \"expect\".";

/// Run operations from a file, one JSON object a line
///
/// Standard input without FILE. Lines that begin with # are comments. The operations and their fields are described in
/// docs/SCRIPT.md of the source.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Script file, - or nothing for standard input
    file: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let file = arguments.file.as_deref().filter(|path| *path != Path::new("-"));
    let (name, input): (&Path, Box<dyn Read>) = match file {
        None => (Path::new("standard input"), Box::new(io::stdin())),
        Some(path) => (path, Box::new(File::open(path).map_err(|e| Failure::file(path, "open", &e))?)),
    };
    let mut reader = BufReader::new(input);
    let mut runner = Runner::new();
    let mut failed = false;
    let mut line = String::new();
    loop {
        // Whoever waits for an answer before the next line must get it; a file's answers need no such haste.
        if reader.buffer().is_empty() {
            output.flush()?;
        }
        line.clear();
        if reader.read_line(&mut line).map_err(|e| Failure::file(name, "read", &e))? == 0 {
            break;
        }
        if let Some(answer) = runner.run_line(&line) {
            failed |= answer.failed();
            output.line(answer)?;
        }
    }
    Ok(if failed { Outcome::Negative } else { Outcome::Done })
}
