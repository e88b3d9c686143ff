//! Counts the instructions of the engine's hot loops and compares them with the counts that are kept.
//!
//! `crates/sidekey-counts` has the loops. Each runs alone under callgrind, which collects inside one function only, so that what makes
//! a loop ready is not counted. Counts repeat to the digit, but other compilers, C libraries and processors have other ones: the kept
//! file names what it was made with, and growth fails the check only where that is the same.
//!
//! [`baseline`] is the file, [`table`] the comparison. Valgrind's own tools read what callgrind leaves behind.

mod baseline;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::steps::{self, cargo};
use baseline::{Baseline, Count};

const PACKAGE: &str = "sidekey-counts";
const BASELINE: &str = "crates/sidekey-counts/baseline.txt";

/// The function of the package that callgrind collects in.
const COLLECTED: &str = "sidekey_counts::measured*";

/// Callgrind counts a repeated string instruction once for each byte, and the C library uses those for long copies and fills: a
/// page of zeros would weigh more than reading and checking it. With these it uses vectors for all lengths.
const TUNABLES: &str = "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000";

const NO_VALGRIND: &str = "valgrind is missing; install it with `apt-get install valgrind` (Debian, Ubuntu), \
                           `dnf install valgrind` (Fedora) or `pacman -S valgrind` (Arch)";

/// Counts, shows the table, and returns whether nothing grew too much. The arguments are names of loops, none for all, or `--update`,
/// which keeps the counts instead of comparing them.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let update = arguments == ["--update"];
    let names = if update { &[] } else { arguments };
    let valgrind = find("valgrind").ok_or(NO_VALGRIND)?;
    let program = build()?;
    let loops = loops(&program, names)?;
    let folder = program.with_file_name("counts");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut now = Baseline { made_with: made_with(&valgrind)?, ..Baseline::default() };
    for (name, operations) in loops {
        let instructions = instructions(&valgrind, &program, &name, &folder)?;
        now.counts.insert(name, Count { operations, instructions });
    }
    let file = root.join(BASELINE);
    if update {
        println!("{BASELINE} is rewritten");
        return fs::write(file, now.render()).map(|()| true).map_err(|error| format!("{BASELINE}: {error}"));
    }
    let kept = fs::read_to_string(file).map_err(|error| format!("{BASELINE}: {error}"))?;
    let mut kept = Baseline::parse(&kept).map_err(|fault| format!("{BASELINE}: {fault}"))?;
    if !names.is_empty() {
        kept.counts.retain(|name, _| names.contains(name));
    }
    let (text, good) = table::compare(&kept, &now);
    let place = folder.strip_prefix(root).unwrap_or(&folder).display();
    print!("{text}");
    println!("where the instructions are: callgrind_annotate --inclusive=yes --auto=no {place}/NAME.out");
    Ok(good)
}

/// A program on the path, in full: the counted run has no environment to look it up in.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Builds the loops as users build the engine, and returns the program.
fn build() -> Result<PathBuf, String> {
    let arguments = ["build", "--release", "-p", PACKAGE, "--message-format=json-render-diagnostics"];
    let messages = steps::output(cargo().args(arguments))?;
    executable(&messages).ok_or_else(|| format!("cargo built no program of {PACKAGE}"))
}

/// The program that cargo's messages, one to a line, say was built.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut programs = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    programs.next_back()
}

/// The loops' names and numbers of operations: those named, or all.
fn loops(program: &Path, names: &[String]) -> Result<Vec<(String, u64)>, String> {
    let list = steps::output(Command::new(program).arg("list"))?;
    let loops = list.lines().map(|line| {
        let (name, operations) = line.split_once(' ')?;
        Some((name.to_owned(), operations.parse().ok().filter(|&n| n > 0)?))
    });
    let mut loops: Vec<(String, u64)> = loops.collect::<Option<_>>().ok_or("the list of loops is not understood")?;
    if let Some(unknown) = names.iter().find(|name| loops.iter().all(|(known, _)| known != *name)) {
        let known: Vec<&str> = loops.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!("`{unknown}` is no loop; there are {}", known.join(", ")));
    }
    loops.retain(|(name, _)| names.is_empty() || names.contains(name));
    Ok(loops)
}

/// Runs one loop under callgrind.
fn instructions(valgrind: &Path, program: &Path, name: &str, folder: &Path) -> Result<u64, String> {
    let out = folder.join(format!("{name}.out"));
    let mut command = Command::new(valgrind);
    command.args(["-q", "--tool=callgrind", "--dump-instr=no"]);
    command.arg(format!("--toggle-collect={COLLECTED}"));
    command.arg(format!("--callgrind-out-file={}", out.display()));
    // The environment and the program's path lie on the stack and move it, and with it, a little, the counts.
    let here = program.parent().unwrap_or(folder);
    command.arg(Path::new(".").join(PACKAGE)).arg(name).current_dir(here);
    command.env_clear().env("GLIBC_TUNABLES", TUNABLES).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let profile = fs::read_to_string(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    match total(&profile) {
        None | Some(0) => Err(format!("{name}: callgrind met no `{COLLECTED}`")),
        Some(instructions) => Ok(instructions),
    }
}

/// The sum that a profile of callgrind ends with.
fn total(profile: &str) -> Option<u64> {
    profile.lines().rev().find_map(|line| line.strip_prefix("totals:")?.trim().parse().ok())
}

/// What counts depend on besides the code.
fn made_with(valgrind: &Path) -> Result<Vec<String>, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let first_line = |command: &mut Command| {
        steps::output(command).map(|text| text.lines().next().unwrap_or_default().trim().to_owned())
    };
    // Only the GNU C library has this name for itself; others are told apart by not having one.
    let libc = first_line(Command::new("getconf").arg("GNU_LIBC_VERSION").stderr(Stdio::null()));
    Ok(vec![
        first_line(Command::new(rustc).arg("--version"))?,
        libc.unwrap_or_else(|_| "another C library".to_owned()),
        first_line(Command::new(valgrind).arg("--version"))?,
        format!("{} {}", std::env::consts::ARCH, vectors()),
    ])
}

/// Which of the C library's copies and comparisons the processor gets.
fn vectors() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx2") {
            return "with AVX2";
        }
    }
    "without AVX2"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_the_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\nnot JSON\n\
                        {\"reason\":\"compiler-artifact\",\"executable\":\"/t/release/sidekey-counts\"}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/t/release/sidekey-counts")));
        assert_eq!(executable("{\"reason\":\"build-finished\",\"success\":true}\n"), None);
    }

    #[test]
    fn the_total_is_the_profiles_last() {
        assert_eq!(total("events: Ir\ntotals: 1\nfn=(1) a\n16 5\n\ntotals: 41919226\n"), Some(41_919_226));
        assert_eq!(total("events: Ir\n"), None);
    }

    #[test]
    fn a_program_that_is_not_there_is_not_found() {
        assert!(find("no-such-program-anywhere").is_none());
    }
}
