//! Databases written by each format that was ever frozen: they are opened, verified, compared with what they held when they were
//! written, and written to again.
//!
//! `tests/formats/N` holds them as plain directories, with `expected.txt` beside. Files of a frozen format are never written
//! again. When a format is added (never changed), `cargo test -p sidekey --test formats -- --ignored` writes the directory of
//! the present one.

#![expect(clippy::disallowed_methods, reason = "a test reads its own files; the rule is for the engine")]

use sidekey::env::{Env, FileSystem, MemoryFs};
use sidekey::{Batch, Db, IndexSpec, Maintenance, Order, Read, Settings, Target};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NAMES: [&str; 2] = ["closed", "killed"];

fn directory(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(format.to_string())
}

/// Small enough for several levels in a few kilobytes, with compressed blocks.
fn settings() -> Settings {
    let mut settings = Settings::tiny();
    settings.memtable_bytes = 8 << 10;
    settings.memory_budget_bytes = 1 << 20;
    settings.table_bytes = 4 << 10;
    settings.block_bytes = 512;
    settings.level_base_bytes = 8 << 10;
    settings.wal_segment_bytes = 16 << 10;
    settings
}

fn env(disk: &MemoryFs) -> Env {
    Env::deterministic(Arc::new(disk.clone()), 1)
}

/// Bytes as text; of many, how many and a sum over all of them.
fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 120;
    let sum = bytes.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    match bytes.len() {
        0..=MOST => format!("'{}'", bytes.escape_ascii()),
        len => format!("'{}'... of {len} bytes with sum {sum}", bytes[..8].escape_ascii()),
    }
}

/// Everything that a user can ask of the database, as text.
fn answers(db: &Db) -> String {
    let mut text = String::new();
    let row = |text: &mut String, parts: &[&[u8]]| {
        let parts: Vec<String> = parts.iter().map(|p| shown(p)).collect();
        let _ = writeln!(text, "  {}", parts.join(" = "));
    };
    for name in db.collections() {
        let collection = db.collection(&name).unwrap();
        let _ = writeln!(text, "collection {name}");
        for record in collection.scan::<&[u8]>(..) {
            let (key, value) = record.unwrap();
            row(&mut text, &[&key, &value]);
        }
        for index in collection.indexes() {
            let _ =
                writeln!(text, "index {} on {}, {:?}", index.spec.name, index.spec.attribute, index.spec.maintenance);
            for found in collection.range(&index.spec.name, ..).order(Order::Newest).rows(Read::Attributes).unwrap() {
                let found = found.unwrap();
                let _ = writeln!(text, "  {} at {} {:?}", found.key.escape_ascii(), found.sqn, found.attributes);
            }
        }
    }
    text
}

/// Writes what the fixtures hold: every kind of file, record and edit, and the values that are easily got wrong.
fn write(db: &Db) {
    let people = db.collection("people").unwrap();
    people.create_index(IndexSpec::new("by_city", "$.address.city")).unwrap();
    people.create_index(IndexSpec::new("by_age", "$.age").maintenance(Maintenance::Synchronous)).unwrap();
    let cities = ["Oslo", "Rome", "", "S\u{e3}o Paulo", "a\u{0}b"];
    for n in 0..240_u32 {
        let city = cities[(n % 5) as usize];
        let (id, age) = (n * 7 % 150, f64::from(n) / 4.0);
        let value =
            format!(r#"{{"age": {age}, "address": {{"city": {city:?}}}, "about": "{}"}}"#, "some text ".repeat(4));
        people.put(format!("p{id:04}"), value.replace("\\0", "\\u0000")).unwrap();
        while db.background_step().unwrap() {}
    }
    let snapshot = db.snapshot();
    let edges = ["9007199254740993", "-9223372036854775808", "18446744073709551615", "-0.0", "true", "null", "[1]"];
    for (n, age) in edges.iter().enumerate() {
        people.put(format!("edge{n}"), format!(r#"{{"age": {age}}}"#)).unwrap();
    }
    people.delete("p0007").unwrap();
    people.delete("never there").unwrap();
    let raw = db.collection("raw").unwrap();
    raw.put([0_u8], [0xff_u8, 0]).unwrap();
    raw.put([0xff_u8; 300], "").unwrap();
    raw.put("large", vec![b'x'; 20_000]).unwrap();
    db.flush(Target::All).unwrap();
    // Held by the snapshot when it is overwritten, so that hidden versions are in the tables.
    people.put("p0014", r#"{"age": 1, "address": {"city": "Oslo"}}"#).unwrap();
    people.create_index(IndexSpec::new("dropped", "$.about")).unwrap();
    people.drop_index("dropped").unwrap();
    db.flush(Target::All).unwrap();
    db.compact(Target::Primary).unwrap();
    drop(snapshot);
    let mut batch = Batch::new();
    batch.put(&people, "p0021", r#"{"age": 21.5, "address": {"city": "Rome"}}"#);
    batch.put(&raw, "batch", "of two collections");
    batch.delete(&people, "p0028");
    db.write(batch).unwrap();
    people.put("p0035", "not JSON").unwrap();
}

fn load(disk: &MemoryFs, from: &Path) {
    disk.create_dir_all(Path::new("db")).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        disk.write_file(&Path::new("db").join(entry.file_name()), &fs::read(entry.path()).unwrap()).unwrap();
    }
}

/// The formats that have a directory.
fn formats() -> Vec<u32> {
    let found = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")).unwrap();
    let mut formats: Vec<u32> =
        found.filter_map(|entry| entry.unwrap().file_name().to_str().and_then(|name| name.parse().ok())).collect();
    formats.sort_unstable();
    formats
}

#[test]
fn databases_of_every_frozen_format_open_and_answer_as_they_did() {
    assert_eq!(formats().first(), Some(&1), "the first frozen format is 1");
    for format in formats() {
        for name in NAMES {
            let what = format!("format {format}, {name}");
            let expected = fs::read_to_string(directory(format).join(format!("{name}.txt"))).unwrap();
            let disk = MemoryFs::new();
            load(&disk, &directory(format).join(name));
            let db = Db::open_in(env(&disk), "db", settings()).unwrap();
            assert_eq!(db.verify().unwrap(), [], "{what}");
            assert_eq!(answers(&db), expected, "{what}, as opened");
            let people = db.collection("people").unwrap();
            people.put("p0049", r#"{"age": 99, "address": {"city": "Lima"}}"#).unwrap();
            assert_eq!(people.lookup("by_city", "Lima").keys().unwrap(), [b"p0049"], "{what}");
            people.delete("p0049").unwrap();
            db.compact(Target::All).unwrap();
            assert_eq!(db.verify().unwrap(), [], "{what}, rewritten");
            db.close().unwrap();
            let db = Db::open_in(env(&disk), "db", settings()).unwrap();
            assert_eq!(db.verify().unwrap(), [], "{what}, opened again");
            let without = |text: &str| text.lines().filter(|l| !l.contains("p0049")).collect::<Vec<_>>().join("\n");
            assert_eq!(without(&answers(&db)), without(&expected), "{what}, opened again");
        }
    }
}

/// The fixtures would prove little if they lacked what they are for.
#[test]
fn the_fixtures_hold_every_kind_of_file() {
    for format in formats() {
        for name in NAMES {
            let files: Vec<String> = fs::read_dir(directory(format).join(name))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            for kind in ["CURRENT", "MANIFEST-", ".table", ".wal"] {
                assert!(
                    files.iter().any(|f| f.starts_with(kind) || f.ends_with(kind)),
                    "format {format}, {name}: {kind}"
                );
            }
        }
    }
}

#[test]
#[ignore = "writes the fixtures of the present format; those of a frozen one are never written again"]
fn write_the_fixtures_of_the_present_format() {
    let format: u32 = std::env::var("FORMAT").expect("FORMAT=number of the present format").parse().unwrap();
    let to = directory(format);
    assert!(!to.exists(), "{} is frozen", to.display());
    for name in NAMES {
        let disk = MemoryFs::new();
        let db = Db::open_in(env(&disk), "db", settings()).unwrap();
        write(&db);
        let expected = answers(&db);
        if name == "closed" {
            db.close().unwrap();
        } else {
            db.sync().unwrap();
            db.abandon();
        }
        fs::create_dir_all(to.join(name)).unwrap();
        fs::write(to.join(format!("{name}.txt")), expected).unwrap();
        for path in disk.paths() {
            let file = path.file_name().unwrap();
            if file != "LOCK" {
                fs::write(to.join(name).join(file), disk.read_file(&path).unwrap()).unwrap();
            }
        }
    }
}
