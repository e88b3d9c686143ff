//! Runs every test of the workspace and counts them: unit, integration and documentation tests, then the examples.

mod tally;

use std::fs;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::steps::cargo;
use tally::Reader;
pub(crate) use tally::Tally;

/// The package whose examples run.
const PACKAGE: &str = "sidekey";
const EXAMPLES: &str = "crates/sidekey/examples";

/// Arguments of `cargo test` that matter to `cargo run` as well.
const SHARED: &[&str] = &["--release", "--locked", "--offline", "--frozen", "--all-features"];

/// Runs the tests with further arguments for `cargo test`. The examples run too, unless the arguments choose among the tests.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<Tally, String> {
    let mut tally = tests(arguments)?;
    if narrows(arguments) {
        println!("examples are not run: the arguments choose among the tests");
    } else {
        for example in examples(root)? {
            run_example(&example, arguments, &mut tally)?;
        }
    }
    Ok(tally)
}

/// Whether the arguments choose some of the tests: anything but a plain flag does.
fn narrows(arguments: &[String]) -> bool {
    const PLAIN: &[&str] = &["--no-fail-fast", "--quiet", "-q", "--verbose", "-v"];
    !arguments.iter().all(|argument| SHARED.contains(&argument.as_str()) || PLAIN.contains(&argument.as_str()))
}

fn tests(arguments: &[String]) -> Result<Tally, String> {
    let split = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (ours, harness) = arguments.split_at(split);
    let mut command = cargo();
    command.arg("test").args(selection(ours)).arg("--no-fail-fast").args(ours);
    // Without this the harness swallows what a passing test prints, and with it that the test skipped its work.
    command.args(["--", "--show-output"]).args(harness.iter().skip(1));
    let mut reader = Reader::default();
    let passed = stream(&mut command, |line| reader.line(line))?;
    let mut tally = reader.finish();
    if !passed && tally.failed == 0 {
        println!("cargo test failed without a failed test: something did not build, or a test program died");
        tally.failed = 1;
    }
    Ok(tally)
}

/// `--workspace`, unless the arguments name packages: cargo would run the whole workspace in spite of them.
fn selection(arguments: &[String]) -> Option<&'static str> {
    let named = arguments.iter().any(|argument| argument.starts_with("-p") || argument.starts_with("--package"));
    (!named).then_some("--workspace")
}

/// Runs a command and shows each line of its standard output that `keep` wants shown. Returns whether it succeeded.
fn stream(command: &mut Command, mut keep: impl FnMut(&str) -> bool) -> Result<bool, String> {
    let told = |error: io::Error| format!("cargo: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(told)?;
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        // Bytes, not strings: a test may print anything.
        while output.read_until(b'\n', &mut line).map_err(told)? > 0 {
            if keep(String::from_utf8_lossy(&line).trim_end()) {
                io::stdout().write_all(&line).map_err(told)?;
            }
            line.clear();
        }
    }
    child.wait().map(|status| status.success()).map_err(told)
}

/// The names of the examples, in order.
fn examples(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join(EXAMPLES);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let told = |error: io::Error| format!("{EXAMPLES}: {error}");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(told)? {
        let path = entry.map_err(told)?.path();
        let is_example = path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").is_file();
        names.extend(path.file_stem().filter(|_| is_example).map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

fn run_example(name: &str, arguments: &[String], tally: &mut Tally) -> Result<(), String> {
    let mut command = cargo();
    command.args(["run", "--quiet", "-p", PACKAGE, "--example", name]);
    command.args(arguments.iter().filter(|argument| SHARED.contains(&argument.as_str())));
    let mut skipped = false;
    let passed = stream(&mut command, |line| {
        skipped |= tally::is_skip(line);
        true
    })?;
    let (count, result) = match (passed, skipped) {
        (false, _) => (&mut tally.failed, "FAILED"),
        (true, true) => (&mut tally.skipped, "skipped"),
        (true, false) => (&mut tally.passed, "ok"),
    };
    *count += 1;
    println!("example {name} ... {result}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(arguments: &[&str]) -> Vec<String> {
        arguments.iter().map(|&argument| argument.to_owned()).collect()
    }

    #[test]
    fn only_plain_flags_leave_the_examples_in() {
        for arguments in [&[][..], &["--release"], &["--locked", "-q"]] {
            assert!(!narrows(&strings(arguments)), "{arguments:?}");
        }
        for arguments in [&["wal::"][..], &["-p", "sidekey"], &["--lib"], &["--release", "--", "--ignored"]] {
            assert!(narrows(&strings(arguments)), "{arguments:?}");
        }
    }

    #[test]
    fn named_packages_replace_the_workspace() {
        assert_eq!(selection(&strings(&["--release"])), Some("--workspace"));
        for arguments in [&["-p", "xtask"][..], &["-pxtask"], &["--package=xtask"]] {
            assert_eq!(selection(&strings(arguments)), None, "{arguments:?}");
        }
    }

    #[test]
    fn a_failing_command_and_its_lines_are_seen() {
        let mut lines = 0;
        let mut count = |_: &str| {
            lines += 1;
            false
        };
        assert_eq!(stream(cargo().arg("--version"), &mut count), Ok(true));
        assert_eq!(lines, 1);
        let failing = stream(cargo().arg("--no-such-flag").stderr(Stdio::null()), |_| false);
        assert_eq!(failing, Ok(false));
    }
}
