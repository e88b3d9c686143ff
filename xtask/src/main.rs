//! The project's own checks: `cargo xtask <command>`. `cargo xtask --help` lists them.
//!
//! [`source`] reads the repository's files and [`mask`] tells code from comments. The checks are [`mod@layers`], [`mod@tidy`] and
//! [`mod@licences`]; they take texts and return findings, so that each can be shown bad input in its tests. [`suite`] runs the
//! tests; [`counts`] counts the instructions of the hot loops; [`steps`] runs several things and keeps the time.

#![expect(clippy::print_stdout, reason = "a command line program answers on its standard output")]

mod counts;
mod layers;
mod licences;
mod mask;
mod source;
mod steps;
mod suite;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use source::{Finding, Source};
use steps::{Steps, cargo};

const HELP: &str = "\
The project's checks.

Usage: cargo xtask <command>

  test [ARGUMENTS]   all tests, documentation tests and examples; the last line is the count. ARGUMENTS go to `cargo test`;
                     those that choose among the tests leave the examples out
  lint               the six checks below
    fmt              formatting, by rustfmt
    tidy [--update]  house rules: sizes, names, unsafe code, leftovers, counts that may not rise; --update rewrites the counts
    layers           the engine's modules import downwards only
    licences         every dependency's licence is an allowed one
    clippy           clippy, warnings denied
    doc              the documentation builds, warnings denied
  ci                 lint and test, with a table of times
  counts [LOOPS]     instructions of the hot loops, or of those named, against the counts that are kept; needs valgrind
  counts --update    keeps the present counts
  planted [ARGUMENTS]
                     builds the test kit with the planted faults and shows what finds each; ARGUMENTS go to it
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match root().and_then(|root| command(&root, &arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

/// The folder of the repository in which the command was given.
fn root() -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    let root = here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file());
    root.map(Path::to_owned).ok_or_else(|| "not inside the repository".to_owned())
}

/// Runs a command and returns whether all was well.
fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    std::env::set_current_dir(root).map_err(|error| error.to_string())?;
    let (name, rest) = match arguments {
        [] => ("--help", arguments),
        [name, rest @ ..] => (name.as_str(), rest),
    };
    match (name, rest) {
        ("--help" | "-h" | "help", _) => print!("{HELP}"),
        ("test", _) => {
            let tally = suite::run(root, rest)?;
            println!("{tally}");
            return Ok(tally.good());
        }
        ("tidy", [update]) if update == "--update" => tidy::update(root, &sources(root)?)?,
        ("lint", []) => {
            let mut steps = Steps::default();
            lint(root, &mut steps);
            print!("{}", steps.table());
            return Ok(steps.passed());
        }
        ("ci", []) => return ci(root),
        ("counts", _) => return counts::run(root, rest),
        ("planted", _) => planted(rest)?,
        (_, []) => {
            let (_, check) = CHECKS.iter().find(|(check, _)| *check == name).ok_or_else(|| unknown(arguments))?;
            return check(root).map(|()| true).or_else(|fault| {
                println!("{name}: {fault}");
                Ok(false)
            });
        }
        _ => return Err(unknown(arguments)),
    }
    Ok(true)
}

fn unknown(arguments: &[String]) -> String {
    format!("`{}` is no command; see `cargo xtask --help`", arguments.join(" "))
}

type Check = fn(&Path) -> Result<(), String>;

/// The parts of `lint`, those that need no build first.
const CHECKS: &[(&str, Check)] =
    &[("fmt", fmt), ("tidy", tidy), ("layers", layers), ("licences", licences), ("clippy", clippy), ("doc", doc)];

fn lint(root: &Path, steps: &mut Steps) {
    for (name, check) in CHECKS {
        steps.run(name, || check(root));
    }
}

fn ci(root: &Path) -> Result<bool, String> {
    let mut steps = Steps::default();
    lint(root, &mut steps);
    let mut tally = suite::Tally::default();
    steps.run("test", || {
        tally = suite::run(root, &[])?;
        if tally.good() { Ok(()) } else { Err("a test failed, or nothing ran".to_owned()) }
    });
    print!("{}", steps.table());
    println!("{tally}");
    Ok(steps.passed())
}

/// A target folder of its own, so that the two ways of compiling do not drive each other out.
fn planted(arguments: &[String]) -> Result<(), String> {
    let run = ["run", "--release", "-p", "sidekey-testkit", "--target-dir", "target/planted", "--", "planted"];
    steps::run(cargo().args(run).args(arguments).env("RUSTFLAGS", "--cfg planted"))
}

fn fmt(_: &Path) -> Result<(), String> {
    steps::run(cargo().args(["fmt", "--all", "--check"]))
}

fn clippy(_: &Path) -> Result<(), String> {
    steps::run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn doc(_: &Path) -> Result<(), String> {
    steps::run(cargo().args(["doc", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-Dwarnings"))
}

fn tidy(root: &Path) -> Result<(), String> {
    let sources = sources(root)?;
    let mut notes = Vec::new();
    let findings = tidy::check(root, &sources, &mut notes);
    for note in notes {
        println!("note: {note}");
    }
    report(&findings, &format!("{} files are tidy", sources.len()))
}

fn layers(root: &Path) -> Result<(), String> {
    report(&layers::check(&sources(root)?), "the engine's modules import downwards only")
}

fn licences(_: &Path) -> Result<(), String> {
    let metadata = steps::output(cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
    let (faults, packages) = licences::check(&metadata)?;
    for fault in &faults {
        println!("{fault}");
    }
    if !faults.is_empty() {
        return Err(format!("{} of {packages} packages", faults.len()));
    }
    println!("{packages} packages have allowed licences");
    Ok(())
}

fn sources(root: &Path) -> Result<Vec<Source>, String> {
    source::read_all(root).map_err(|error| format!("cannot read the repository: {error}"))
}

/// Shows the findings, or what is good when there are none.
fn report(findings: &[Finding], good: &str) -> Result<(), String> {
    for finding in findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("{good}"),
        1 => return Err("1 finding".to_owned()),
        many => return Err(format!("{many} findings")),
    }
    Ok(())
}
