//! The program as a user runs it, with sizes that take seconds.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

fn lab(arguments: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sidekey-lab")).args(arguments).arg("--dir").arg(dir).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs, expects success, and returns the printed result and the JSON.
fn measured(arguments: &[&str]) -> (String, Value) {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("result.json");
    let stores = dir.path().join("stores");
    std::fs::create_dir(&stores).unwrap();
    let mut all = arguments.to_vec();
    all.extend(["--json", json.to_str().unwrap()]);
    let output = lab(&all, &stores);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(&stores).unwrap().count(), 0, "nothing is left behind");
    (text(&output.stdout), serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap())
}

fn refused(arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let output = lab(arguments, dir.path());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
    text(&output.stderr)
}

#[test]
fn all_workloads_of_sidekey_alone_with_the_check_against_itself() {
    let (text, json) =
        measured(&["db_bench", "--scale", "0.0004", "--pairs", "2", "--aa-pairs", "2", "--write-rate", "1000"]);
    let summaries = json["systems"][0]["summaries"].as_array().unwrap();
    assert_eq!(summaries.len(), 9);
    for summary in summaries {
        let workload = summary["workload"].as_str().unwrap();
        assert!(text.contains(workload), "{text}");
        assert!(summary["cpu_us"]["median"].as_f64() > Some(0.0), "{summary}");
        assert_eq!(summary["cpu_us"]["count"], 2);
    }
    assert_eq!(json["aa"]["rounds"].as_array().unwrap().len(), 2);
    assert_eq!(json["aa"]["comparisons"].as_array().unwrap().len(), 9);
    assert!(text.contains("A/A: "), "{text}");
    let places = |round: usize| json["aa"]["rounds"][round]["runs"][0]["place"].as_u64();
    assert_eq!((places(0), places(1)), (Some(0), Some(1)), "the second round goes the other way round");
}

#[test]
fn aa_only_measures_nothing_else() {
    let (text, json) = measured(&[
        "db_bench",
        "--aa",
        "--scale",
        "0.0002",
        "--pairs",
        "1",
        "--aa-pairs",
        "1",
        "--workloads",
        "fillseq,readseq",
    ]);
    assert_eq!(json["pairs"], 0);
    assert!(json["aa"]["good"].is_boolean());
    assert!(text.contains("readseq") && !text.contains("not checked"), "{text}");
}

#[test]
fn index_workloads_of_sidekey_alone() {
    let arguments =
        ["index", "--scale", "0.0002", "--pairs", "1", "--aa", "skip", "--indexes", "0,4", "--value-bytes", "100"];
    let (text, json) = measured(&arguments);
    let summaries = json["systems"][0]["summaries"].as_array().unwrap();
    let labels: Vec<String> = summaries
        .iter()
        .map(|s| format!("{} {}", s["workload"].as_str().unwrap(), s["setup"].as_str().unwrap()))
        .collect();
    assert_eq!(labels.len(), 1 + 5 + 5, "{labels:?}");
    for label in ["upsert 0", "upsert 4 validated", "newest10-records 4 synchronous", "all-matches 4 validated"] {
        assert!(labels.iter().any(|l| l == label), "{labels:?}");
    }
    assert!(text.contains("A/A: not checked") && text.contains("in terms of"), "{text}");
    assert_eq!(json["multiples"].as_array().unwrap().len(), 2 * 3);
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    assert!(refused(&["db_bench", "--workloads", "readrandm"]).contains("readrandom"));
    assert!(refused(&["db_bench", "--systems", "sqlite"]).contains("no part in db_bench"));
    assert!(refused(&["index", "--systems", "leveldb"]).contains("no part in index"));
    assert!(refused(&["db_bench", "--json", "/no/such/directory/x.json"]).contains("--json"));
    assert!(refused(&["child", "{}", "x"]).contains("unexpected argument"));
    if !cfg!(feature = "rocksdb") {
        let message = refused(&["db_bench", "--systems", "sidekey,rocksdb"]);
        assert!(message.contains("--features rocksdb") && message.contains("libclang"), "{message}");
    }
    let no_directory =
        Command::new(env!("CARGO_BIN_EXE_sidekey-lab")).args(["db_bench", "--dir", "/no/such"]).output().unwrap();
    assert_eq!(no_directory.status.code(), Some(2));
    assert!(text(&no_directory.stderr).contains("--dir"));
}

#[test]
fn a_run_that_is_killed_leaves_no_process_behind() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_sidekey-lab"))
        .args(["db_bench", "--scale", "1", "--dir"])
        .arg(dir.path())
        .spawn()
        .unwrap();
    let children = format!("/proc/{0}/task/{0}/children", run.id());
    let child = (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        let text = std::fs::read_to_string(&children).unwrap_or_default();
        text.split_whitespace().next().map(str::to_owned)
    });
    // Time for the child to begin with its plan.
    std::thread::sleep(Duration::from_millis(500));
    run.kill().unwrap();
    run.wait().unwrap();
    let status = format!("/proc/{}/status", child.expect("the run started a child"));
    let gone = || std::fs::read_to_string(&status).map_or(true, |text| text.contains("State:\tZ"));
    assert!((0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        gone()
    }));
}
