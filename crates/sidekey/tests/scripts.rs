//! Runs every script of `tests/scripts`, once with each maintenance in place of `$maintenance`.

#![expect(clippy::disallowed_methods, reason = "a test reads its own script files; the rule is for the engine")]

use sidekey_testkit::script::{Runner, define};
use std::path::{Path, PathBuf};

fn scripts() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("the scripts are beside this test")
        .map(|entry| entry.expect("a readable directory").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "script"))
        .collect();
    files.sort();
    files
}

/// The failed lines of a script, and what they answered.
fn failures(file: &Path, maintenance: &str) -> Vec<String> {
    let text = std::fs::read_to_string(file).expect("a readable script");
    let text = define(&text, "maintenance", maintenance);
    let mut runner = Runner::new();
    let mut failed = Vec::new();
    for line in text.lines() {
        if let Some(answer) = runner.run_line(line)
            && answer.failed()
        {
            let name = file.file_name().unwrap_or_default().display();
            failed.push(format!("{name} ({maintenance}): {line}\n    {answer}"));
        }
    }
    failed
}

#[test]
fn every_line_of_every_script_answers_as_expected() {
    let files = scripts();
    assert!(files.len() >= 15, "only {} scripts were found", files.len());
    let failed: Vec<String> = files
        .iter()
        .flat_map(|file| ["synchronous", "validated"].into_iter().flat_map(|m| failures(file, m)))
        .collect();
    assert!(failed.is_empty(), "{} lines failed:\n{}", failed.len(), failed.join("\n"));
}
