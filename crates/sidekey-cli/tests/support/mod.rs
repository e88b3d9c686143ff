//! Runs the built command in a directory of the test's own.

#![allow(dead_code, reason = "each test file uses a part of it")]

use serde_json::Value as Json;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The command.
pub fn sidekey() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sidekey"))
}

/// A directory with files and databases.
pub struct Place {
    directory: tempfile::TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("the file is written");
        path
    }

    /// Runs a command line, split at blanks; `'…'` keeps blanks. The working directory is the place.
    pub fn run(&self, line: &str) -> Ended {
        self.run_with(line, "")
    }

    /// Runs a command line with a standard input.
    pub fn run_with(&self, line: &str, input: &str) -> Ended {
        let mut child = self.start(line);
        // A command that refuses its arguments reads nothing: then the pipe is closed, which is no concern here.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        Ended::from(child.wait_with_output().expect("the command ends"))
    }

    /// Starts a command line with pipes.
    pub fn start(&self, line: &str) -> Child {
        let mut command = sidekey();
        command.args(words(line)).current_dir(self.directory.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the command starts")
    }

    /// Runs a command line that must succeed, and gives its standard output.
    pub fn ok(&self, line: &str) -> String {
        let ended = self.run(line);
        assert_eq!(ended.code, 0, "{line}: {ended:?}");
        ended.out
    }

    /// Runs a command line with `--json` that must succeed, and gives its document.
    pub fn json(&self, line: &str) -> Json {
        let out = self.ok(&format!("{line} --json"));
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{line}: {e}: {out}"))
    }

    /// Runs a command line with `--json` that must succeed, and gives its lines.
    pub fn json_lines(&self, line: &str) -> Vec<Json> {
        let out = self.ok(&format!("{line} --json"));
        out.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{line}: {e}: {l}"))).collect()
    }

    /// Runs a command line with `--json` that must fail, and gives its exit code and error.
    pub fn error(&self, line: &str) -> (i32, Json) {
        let ended = self.run(&format!("{line} --json"));
        assert_ne!(ended.code, 0, "{line}: {ended:?}");
        let last = ended.err.lines().last().unwrap_or_default();
        let document: Json = serde_json::from_str(last).unwrap_or_else(|e| panic!("{line}: {e}: {ended:?}"));
        (ended.code, document["error"].clone())
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Keys of rows or records.
pub fn keys(rows: &[Json]) -> Vec<&str> {
    rows.iter().map(|row| row["key"].as_str().expect("a text key")).collect()
}

/// Whether a directory holds anything, itself included.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
