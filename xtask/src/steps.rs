//! Runs the steps of a check one after the other, all of them even when one fails, and says how each went.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a step went.
struct Step {
    name: &'static str,
    passed: bool,
    time: Duration,
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    /// Runs a step. What it has to say goes to the terminal, an error as its last word.
    pub fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<(), String>) {
        println!("== {name}");
        let start = Instant::now();
        let result = step();
        if let Err(fault) = &result {
            println!("{name}: {fault}");
        }
        self.0.push(Step { name, passed: result.is_ok(), time: start.elapsed() });
    }

    pub fn passed(&self) -> bool {
        self.0.iter().all(|step| step.passed)
    }

    /// One line for each step and one for all.
    pub fn table(&self) -> String {
        let mut table = String::new();
        let total = self.0.iter().map(|step| step.time).sum();
        let all = Step { name: "all", passed: self.passed(), time: total };
        for Step { name, passed, time } in self.0.iter().chain([&all]) {
            let result = if *passed { "ok" } else { "FAILED" };
            // Writing to a string does not fail.
            let _ = writeln!(table, "{name:<10} {result:<6} {:>8.1} s", time.as_secs_f64());
        }
        table
    }
}

/// The cargo that runs this program, or the one on the path.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.stdin(Stdio::null());
    command
}

/// Runs a command to its end; what it prints goes to the terminal.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

/// Runs a command to its end and returns what it prints.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{command:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_fails_the_whole_and_the_rest_still_runs() {
        let mut steps = Steps::default();
        let mut ran = 0;
        steps.run("first", || Err("broken".to_owned()));
        steps.run("second", || {
            ran += 1;
            Ok(())
        });
        assert_eq!(ran, 1);
        assert!(!steps.passed());
        let table = steps.table();
        let results: Vec<&str> = table.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(results, ["FAILED", "ok", "FAILED"]);
    }

    #[test]
    fn a_command_that_fails_is_an_error() {
        assert!(run(cargo().arg("--version").stdout(Stdio::null())).is_ok());
        assert!(run(cargo().arg("--no-such-flag").stderr(Stdio::null())).is_err());
        assert!(run(&mut Command::new("no-such-program-anywhere")).is_err());
    }
}
