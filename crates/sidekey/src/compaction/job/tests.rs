use super::*;
use crate::base::header::Doubt;
use crate::base::ids::Epoch;
use crate::table::ReadMode;
use crate::version::TableFile;
use crate::version::fixture::{TableDir, Version};

/// A record: header and value.
fn record(blind: bool, value: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    header::encode::<&[u8]>(&mut out, blind, false, Epoch(0), &[]).unwrap();
    out.extend_from_slice(value);
    out
}

fn put(key: &str, sqn: u64, stored: Vec<u8>) -> Version {
    (key.as_bytes().to_vec(), sqn, Kind::Put, stored)
}

/// A written version: user key, sqn, doubt, bytes after the flags.
type Written = (String, u64, Doubt, Vec<u8>);

/// Merges runs, youngest first; what each table of the output holds.
fn merged(
    dir: &TableDir,
    runs: &[&[Version]],
    stripes: &[u64],
    bottom: bool,
    table_bytes: u64,
) -> (Outcome, Vec<Vec<Written>>) {
    let tree = TreeKind::Primary;
    let sources = runs.iter().map(|run| Source::Table(dir.table(tree, run).table.iter(ReadMode::Bulk))).collect();
    let rules = Rules { tree, stripes: stripes.iter().map(|s| Sqn(*s)).collect(), bottom, filter: None };
    let output = Output {
        files: dir.files.clone(),
        dir: dir.dir.clone(),
        options: TableDir::options(tree),
        table_bytes,
        next_number: dir.numbers(),
    };
    let outcome = Job::new(sources, rules, output).run().unwrap();
    let tables = outcome.tables.iter().map(|meta| contents(dir, meta)).collect();
    (outcome, tables)
}

fn contents(dir: &TableDir, meta: &TableMeta) -> Vec<Written> {
    let table = TableFile::open(&dir.files, &dir.dir, meta.clone(), dir.cache.clone()).unwrap();
    let mut iter = table.table.iter(ReadMode::Bulk);
    iter.seek_to_first().unwrap();
    let mut all = vec![];
    while iter.valid() {
        let (user, sqn, _) = key::decode(iter.key()).unwrap();
        let doubt = header::doubt(iter.value());
        all.push((String::from_utf8(user.to_vec()).unwrap(), sqn.0, doubt, iter.value()[1..].to_vec()));
        iter.next().unwrap();
    }
    all
}

const SURE: Doubt = Doubt { blind: false, behind: false };
const BLIND: Doubt = Doubt { blind: true, behind: false };
const BEHIND: Doubt = Doubt { blind: false, behind: true };

#[test]
fn flags_learnt_from_older_versions_stand_in_the_version_that_was_written_before_them() {
    let dir = TableDir::new();
    // Blocks of 64 bytes: a large value fills one, so that the flags change in a block that is full.
    for len in [0, 10, 100, 10_000] {
        let value = vec![b'v'; len];
        let young =
            [put("a", 9, record(true, &value)), put("b", 8, record(true, &value)), put("c", 7, record(false, &value))];
        let old = [put("a", 3, record(false, b"old")), put("c", 2, record(true, b"old"))];
        let (outcome, tables) = merged(&dir, &[&young, &old], &[20], false, ONE_TABLE);
        let rest = record(false, &value)[1..].to_vec();
        let line = |key: &str, sqn, doubt| (key.to_owned(), sqn, doubt, rest.clone());
        // a met what it overwrote; b may still meet it; c inherits from the version that it hides.
        assert_eq!(tables, [vec![line("a", 9, BEHIND), line("b", 8, BLIND), line("c", 7, BLIND)]]);
        assert_eq!((outcome.tables[0].max_blind_sqn, outcome.tables[0].entries), (Sqn(9), 3));
        let (outcome, tables) = merged(&dir, &[&young], &[20], true, ONE_TABLE);
        assert_eq!(tables, [vec![line("a", 9, SURE), line("b", 8, SURE), line("c", 7, SURE)]], "nothing older exists");
        assert_eq!(outcome.tables[0].max_blind_sqn, Sqn::ZERO);
    }
}

#[test]
fn versions_that_a_snapshot_sees_follow_the_newest_one_into_its_table() {
    let dir = TableDir::new();
    let run: Vec<Version> = (0..40)
        .flat_map(|k| [9, 5, 3].map(|sqn| put(&format!("key{k:02}"), 10 * k + sqn, record(false, &[b'v'; 30]))))
        .collect();
    let stripes: Vec<u64> = (0..40).map(|k| 10 * k + 6).chain([1000]).collect();
    let (outcome, tables) = merged(&dir, &[&run], &stripes, true, 500);
    assert!(tables.len() > 3, "{} tables", tables.len());
    let sqns: Vec<u64> = tables.iter().flatten().map(|w| w.1).collect();
    assert_eq!(sqns, (0..40).flat_map(|k| [10 * k + 9, 10 * k + 5]).collect::<Vec<_>>());
    for (table, meta) in tables.iter().zip(&outcome.tables) {
        assert_eq!(table.len() % 2, 0, "CMP-4");
        assert_eq!(meta.hidden_until_sqn, meta.max_sqn, "the newest version hides one that the snapshot sees");
    }
    assert_eq!((outcome.events.superseded, outcome.events.dropped), (80, 40));
}

#[test]
fn a_job_that_is_dropped_leaves_no_table_behind() {
    let dir = TableDir::new();
    let run: Vec<Version> = (0..3000).map(|k| put(&format!("key{k:04}"), k + 1, record(false, b"value"))).collect();
    let table = dir.table(TreeKind::Primary, &run);
    let output = Output {
        files: dir.files.clone(),
        dir: dir.dir.clone(),
        options: TableDir::options(TreeKind::Primary),
        table_bytes: 500,
        next_number: dir.numbers(),
    };
    let rules = Rules { tree: TreeKind::Primary, stripes: vec![Sqn(5000)], bottom: true, filter: None };
    let mut job = Job::new(vec![Source::Table(table.table.iter(ReadMode::Bulk))], rules, output);
    assert_eq!(job.step().unwrap(), Progress::More);
    assert!(dir.files.list(&dir.dir).unwrap().len() > 2);
    drop(job);
    assert_eq!(dir.files.list(&dir.dir).unwrap().len(), 1, "the input alone");
}
