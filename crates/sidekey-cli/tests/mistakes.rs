//! Typical mistakes, and whether the command says what happened and what to do.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use support::{Ended, Place, exists};

#[test]
fn commands_that_do_not_load_make_no_database() {
    let place = Place::new();
    for line in [
        "get db c k",
        "delete db c k",
        "scan db c",
        "lookup db c i 1",
        "range db c i",
        "count db c",
        "index list db",
        "index drop db c i",
        "collections db",
        "stats db",
        "verify db",
        "flush db",
        "compact db",
    ] {
        let (code, error) = place.error(line);
        assert_eq!(code, 3, "{line}: {error}");
        assert!(error["message"].as_str().unwrap().contains("no such database"), "{line}: {error}");
        assert!(!exists(&place.path("db")), "{line}");
    }
}

#[test]
fn empty_directory_is_not_turned_into_a_database_by_reading() {
    let place = Place::new();
    std::fs::create_dir(place.path("db")).unwrap();
    assert_ne!(place.run("stats db").code, 0);
    assert_eq!(std::fs::read_dir(place.path("db")).unwrap().count(), 0);
}

#[test]
fn missing_collection_and_index_are_named() {
    let place = Place::new();
    place.ok("put db users ann '{}'");
    let (code, error) = place.error("get db user ann");
    assert_eq!(code, 3);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("'user'") && message.contains("users"), "{message}");
    let (code, error) = place.error("lookup db users by_city Oslo");
    assert_eq!(code, 3, "{error}");
    assert!(error["message"].as_str().unwrap().contains("by_city"), "{error}");
}

#[test]
fn value_that_is_not_json_is_refused_with_the_remedy() {
    let place = Place::new();
    let (code, error) = place.error("put db users ann {name:Ann}");
    assert_eq!((code, error["kind"].as_str()), (2, Some("Usage")));
    assert!(error["hint"].as_str().unwrap().contains("--raw"), "{error}");
    assert!(!exists(&place.path("db")), "refused before a database is made");
}

#[test]
fn unknown_setting_lists_those_that_exist() {
    let place = Place::new();
    let (code, error) = place.error("put db c k 1 --set memtable=5");
    assert_eq!((code, error["kind"].as_str()), (3, Some("InvalidArgument")));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("memtable") && message.contains("memtable_bytes"), "{message}");
    let (_, error) = place.error("put db c k 1 --set block_bytes=1");
    assert!(error["message"].as_str().unwrap().contains("between 16 and"), "{error}");
}

#[test]
fn index_with_another_definition_is_a_conflict() {
    let place = Place::new();
    place.ok("index create db c by_x $.x");
    let (code, error) = place.error("index create db c by_x $.y");
    assert_eq!((code, error["kind"].as_str()), (5, Some("Conflict")));
    assert!(error["message"].as_str().unwrap().contains("by_x"), "{error}");
}

#[test]
fn malformed_path_and_missing_structure_are_told_apart() {
    let place = Place::new();
    let (code, error) = place.error("index create db c by_x x..y");
    assert_eq!(code, 3, "{error}");
    let (code, error) = place.error("index create db c by_x $.x --structure ps_tree");
    assert_eq!((code, error["kind"].as_str()), (4, Some("Unsupported")));
    let (code, _) = place.error("index create db c by_x $.x --maintenance deferred");
    assert_eq!(code, 4);
    let (code, error) = place.error("index create db c by_x $.x --structure btree");
    assert_eq!(code, 2);
    assert!(error["message"].as_str().unwrap().contains("composite"), "{error}");
}

#[test]
fn foreign_directory_is_left_alone() {
    let place = Place::new();
    std::fs::create_dir(place.path("music")).unwrap();
    place.file("music/song.ogg", "la la la");
    for line in ["put music c k 1", "stats music"] {
        let (_, error) = place.error(line);
        assert!(error["message"].as_str().unwrap().contains("music"), "{line}: {error}");
    }
    assert_eq!(std::fs::read_to_string(place.path("music/song.ogg")).unwrap(), "la la la");
    assert_eq!(std::fs::read_dir(place.path("music")).unwrap().count(), 1);
}

#[test]
fn file_in_the_place_of_a_database_is_an_error() {
    let place = Place::new();
    place.file("db", "text");
    for line in ["put db c k 1", "stats db"] {
        let (_, error) = place.error(line);
        assert!(error["message"].as_str().unwrap().contains("db"), "{line}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn directory_without_permission_is_an_error_of_the_system() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    std::fs::create_dir(place.path("closed")).unwrap();
    std::fs::set_permissions(place.path("closed"), std::fs::Permissions::from_mode(0o500)).unwrap();
    if std::fs::create_dir(place.path("closed/probe")).is_ok() {
        eprintln!("SKIPPED: this user may write everywhere");
        return;
    }
    let (code, error) = place.error("put closed/db c k 1");
    assert_eq!((code, error["kind"].as_str()), (11, Some("Io")));
    assert!(error["message"].as_str().unwrap().contains("closed"), "{error}");
    std::fs::set_permissions(place.path("closed"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let (code, error) = place.error("get closed/db c k");
    assert_eq!((code, error["kind"].as_str()), (11, Some("Io")), "not 'no such database'");
}

#[test]
fn second_process_is_told_that_the_database_is_in_use() {
    let place = Place::new();
    let mut holder = place.start("script");
    let mut input = holder.stdin.take().unwrap();
    let mut answers = BufReader::new(holder.stdout.take().unwrap());
    writeln!(input, "{{\"op\":\"open\",\"path\":\"db\"}}").unwrap();
    let mut answer = String::new();
    answers.read_line(&mut answer).unwrap();
    assert!(answer.contains("\"ok\":true"), "{answer}");

    let (code, error) = place.error("put db c k 1");
    assert_eq!((code, error["kind"].as_str()), (6, Some("Busy")));
    assert!(error["message"].as_str().unwrap().contains("db"), "{error}");

    drop(input);
    assert!(holder.wait().unwrap().success());
    place.ok("put db c k 1");
}

#[test]
fn reader_that_goes_away_ends_the_command_quietly() {
    let place = Place::new();
    let lines: String = (0..20_000).map(|i| format!("{{\"id\":{i},\"pad\":\"{}\"}}\n", "x".repeat(50))).collect();
    place.file("a.jsonl", &lines);
    place.ok("load db c a.jsonl --key id");
    let mut child = place.start("scan db c");
    let mut first = [0; 10];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}

#[test]
fn a_bound_of_another_type_or_null_is_explained() {
    let place = Place::new();
    place.ok("index create db c by_x $.x");
    let (code, error) = place.error("lookup db c by_x null");
    assert_eq!(code, 2);
    assert!(error["message"].as_str().unwrap().contains("never indexed"), "{error}");
    let (code, _) = place.error("lookup db c by_x Oslo --number");
    assert_eq!(code, 2);
    assert_eq!(place.error("count db c by_x").0, 2);
}

#[test]
fn a_damaged_table_is_found_by_verify() {
    let place = Place::new();
    let lines: String = (0..500).map(|i| format!("{{\"id\":{i}}}\n")).collect();
    place.file("a.jsonl", &lines);
    place.ok("load db c a.jsonl --key id");
    place.ok("flush db");
    assert_eq!(place.run("verify db").code, 0);
    let files = std::fs::read_dir(place.path("db")).unwrap().map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|extension| extension == "table"));
    let largest = tables.max_by_key(|path| path.metadata().unwrap().len()).expect("a table");
    let mut bytes = std::fs::read(&largest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&largest, bytes).unwrap();
    let ended = place.run("verify db");
    assert!([1, 7].contains(&ended.code), "{} was changed: {ended:?}", largest.display());
}

#[test]
fn wrong_command_lines_give_exit_code_two_and_json_if_asked() {
    let place = Place::new();
    for line in
        ["", "bogus", "get", "load db c a.jsonl", "range db c i --low-open", "load db c a.csv --key a --key-counter"]
    {
        let ended = place.run(line);
        assert_eq!(ended.code, 2, "{line}: {ended:?}");
        assert!(!ended.err.is_empty(), "{line}");
    }
    let (code, error) = place.error("bogus");
    assert_eq!((code, error["kind"].as_str()), (2, Some("Usage")));
}

#[test]
fn help_and_version_go_to_standard_output() {
    let mut command = support::sidekey();
    let output = command.arg("--help").stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success());
    assert!(text.contains("Exit codes:") && text.contains("Examples:"), "{text}");
    let output = support::sidekey().arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("sidekey "));
}
