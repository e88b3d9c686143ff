//! Each fault that the checks are there for, planted in tables made by hand, is found under its rule and alone.

use super::*;
use crate::base::header;
use crate::base::ids::{AttributeId, CollectionId, Epoch, FileNumber, Incarnation, Sqn, TreeKind};
use crate::base::index_key;
use crate::base::key::Kind;
use crate::base::value::Value;
use crate::index::set::entry_of;
use crate::tree::MemPair;
use crate::version::catalog::Catalog;
use crate::version::edit::{AttributeEntry, IndexEntry, IndexStatus};
use crate::version::fixture::{TableDir, Version};
use crate::version::{Edit, TreeVersion};
use crate::{IndexSpec, Maintenance};
use std::collections::BTreeSet;
use std::sync::Arc;

const AT: Sqn = Sqn(50);

/// A collection with one index on `$.a`.
fn index_set(maintenance: Maintenance) -> IndexSet {
    let (collection, attribute) = (CollectionId(1), AttributeId(1));
    let spec = IndexSpec::new("by_a", "$.a").maintenance(maintenance);
    let entry = IndexEntry { status: IndexStatus::Ready, ..entry_of(&spec, attribute).unwrap() };
    let mut catalog = Catalog::default();
    for edit in [
        Edit::Collection { id: collection, name: "c".into() },
        Edit::Attribute { collection, id: attribute, entry: AttributeEntry { path: "$.a".into(), epoch: Epoch(1) } },
        Edit::Index { collection, incarnation: Incarnation(1), entry },
    ] {
        catalog.apply(&edit).unwrap();
    }
    IndexSet::compile(&catalog.collections[&collection], 0).unwrap()
}

fn encoded(a: i64) -> Vec<u8> {
    let mut out = vec![];
    Value::from(a).encode(&mut out).unwrap();
    out
}

/// A put of `{"a": value}` whose header says `header`.
fn record_with(pk: &str, sqn: u64, value: i64, header: i64, blind: bool) -> Version {
    let mut record = vec![];
    header::encode(&mut record, blind, false, Epoch(1), &[(AttributeId(1), encoded(header))]).unwrap();
    record.extend_from_slice(format!(r#"{{"a": {value}}}"#).as_bytes());
    (pk.into(), sqn, Kind::Put, record)
}

fn record(pk: &str, sqn: u64, a: i64) -> Version {
    record_with(pk, sqn, a, a, false)
}

fn entry(pk: &str, sqn: u64, a: i64) -> Version {
    let mut key = vec![];
    index_key::encode_into(&mut key, Incarnation(1), &encoded(a), pk.as_bytes());
    (key, sqn, Kind::Put, vec![])
}

fn superversion(primary: TreeVersion, index: TreeVersion) -> Superversion {
    Superversion {
        active: Arc::new(MemPair::new(1024)),
        immutable: vec![],
        versions: [Arc::new(primary), Arc::new(index)],
        flushed: AT,
        blind_floor: Sqn::ZERO,
    }
}

/// What all checks find in these records and entries, as (rule, text).
fn found(maintenance: Maintenance, records: &[Version], entries: &[Version]) -> Vec<(&'static str, String)> {
    let dir = TableDir::new();
    let one = |tree, versions: &[Version]| match versions {
        [] => TreeVersion::default(),
        _ => TreeVersion::default().with(&[], &[(6, dir.table(tree, versions))]),
    };
    let superversion = superversion(one(TreeKind::Primary, records), one(TreeKind::Index, entries));
    let set = index_set(maintenance);
    let subject = Subject { collection: "c", superversion: &superversion, set: &set };
    let mut findings = check_tables(&subject);
    findings.extend(check_records(&subject, AT).unwrap());
    findings.extend(check_entries(&subject, AT).unwrap());
    findings.into_iter().map(|f| (f.rule, f.what)).collect()
}

#[track_caller]
fn only(findings: &[(&'static str, String)], rule: &str, text: &str) {
    assert!(matches!(findings, [(r, what)] if *r == rule && what.contains(text)), "{findings:?}");
}

const BOTH: [Maintenance; 2] = [Maintenance::Synchronous, Maintenance::Validated];

#[test]
fn what_is_right_is_not_reported() {
    for maintenance in BOTH {
        let found = found(maintenance, &[record("k", 3, 7), record("l", 4, 7)], &[entry("k", 3, 7), entry("l", 4, 7)]);
        assert_eq!(found, []);
    }
}

#[test]
fn a_missing_entry_is_found() {
    for maintenance in BOTH {
        let records = [record("k", 3, 7), record("l", 4, 7)];
        only(&found(maintenance, &records, &[entry("k", 3, 7)]), "V2", "lacks the entry of record 'l' at 4");
    }
}

#[test]
fn an_entry_of_an_older_version_or_under_a_delete_does_not_stand_for_the_newest() {
    let old = found(Maintenance::Validated, &[record_with("k", 3, 7, 7, true)], &[entry("k", 2, 7)]);
    only(&old, "V2", "it has Put at 2");
    let mut delete = entry("k", 4, 7);
    delete.2 = Kind::Delete;
    only(&found(Maintenance::Synchronous, &[record("k", 3, 7)], &[entry("k", 3, 7), delete]), "V2", "Delete at 4");
}

#[test]
fn a_surplus_entry_is_found() {
    for maintenance in BOTH {
        let findings = found(maintenance, &[record("k", 3, 7)], &[entry("k", 3, 7), entry("x", 2, 7)]);
        only(&findings, "V3", "entry of record 'x' at 2");
    }
}

#[test]
fn a_stale_entry_is_a_fault_in_a_synchronous_index_and_where_nothing_was_blind() {
    let entries = [entry("k", 3, 7), entry("k", 5, 8)];
    let known = [record("k", 3, 7), record("k", 5, 8)];
    only(&found(Maintenance::Synchronous, &known, &entries), "V3", "it is stale");
    only(&found(Maintenance::Validated, &known, &entries), "V3", "nothing that was written blindly");
    let blind = [record("k", 3, 7), record_with("k", 5, 8, 8, true)];
    assert_eq!(found(Maintenance::Validated, &blind, &entries), []);
}

#[test]
fn an_entry_of_the_future_is_found() {
    let findings = found(Maintenance::Validated, &[record("k", 3, 7)], &[entry("k", 3, 7), entry("k", 9, 8)]);
    only(&findings, "V3", "newest version is older, 3");
}

#[test]
fn an_entry_with_a_value_that_its_record_has_not_is_found() {
    let findings = found(Maintenance::Validated, &[record("k", 3, 7)], &[entry("k", 3, 7), entry("k", 3, 8)]);
    only(&findings, "V3", "does not have that value");
}

#[test]
fn a_header_that_does_not_fit_its_value_is_found() {
    let findings = found(Maintenance::Validated, &[record_with("k", 3, 7, 8, false)], &[entry("k", 3, 7)]);
    assert!(findings.iter().any(|f| f.0 == "V3" && f.1.contains("header and value tell different")), "{findings:?}");
}

#[test]
fn a_damaged_index_key_is_found() {
    let bad: Version = (vec![0, 0, 0, 1, 0x99], 3, Kind::Put, vec![]);
    only(&found(Maintenance::Validated, &[record("k", 3, 7)], &[entry("k", 3, 7), bad]), "V3", "damaged");
}

/// What the table checks find in one primary tree.
fn in_tables(primary: TreeVersion) -> Vec<(&'static str, String)> {
    let superversion = superversion(primary, TreeVersion::default());
    let set = index_set(Maintenance::Validated);
    let subject = Subject { collection: "c", superversion: &superversion, set: &set };
    check_tables(&subject).into_iter().map(|f| (f.rule, f.what)).collect()
}

#[test]
fn tables_that_overlap_or_are_newer_than_the_frontier_are_found() {
    let dir = TableDir::new();
    let table = |first, last, sqn| dir.table(TreeKind::Primary, &[record(first, sqn, 7), record(last, sqn, 7)]);
    let overlap = TreeVersion::default().with(&[], &[(6, table("a", "k", 1)), (6, table("k", "m", 2))]);
    only(&in_tables(overlap), "V1", "overlap");
    only(&in_tables(TreeVersion::default().with(&[], &[(6, table("a", "k", 51))])), "V6", "above the flushed frontier");
}

#[test]
fn a_wrong_filter_and_a_blind_version_that_is_not_stated_are_found() {
    let dir = TableDir::new();
    // Written as an index table: its filter is over prefixes, and flags were not counted.
    let table = dir.table(TreeKind::Index, &[record_with("k", 3, 7, 7, true)]);
    let findings = in_tables(TreeVersion::default().with(&[], &[(6, table)]));
    assert!(findings.iter().any(|f| f.1.contains("filter is over")), "{findings:?}");
    assert!(findings.iter().any(|f| f.1.contains("blind version at 3, above the 0")), "{findings:?}");
}

#[test]
fn a_manifest_that_tells_otherwise_than_the_table_is_found() {
    let dir = TableDir::new();
    let records = [record_with("k", 3, 7, 7, true)];
    let changes: [fn(&mut crate::version::TableMeta); 3] =
        [|m| m.max_blind_sqn = Sqn::ZERO, |m| m.deletes = 1, |m| m.hidden_until_sqn = Sqn(9)];
    for change in changes {
        let table = dir.table_with(TreeKind::Primary, &records, change);
        only(&in_tables(TreeVersion::default().with(&[], &[(6, table)])), "V1", "differ");
    }
}

#[test]
fn a_damaged_byte_of_a_table_is_found() {
    let dir = TableDir::new();
    let table = dir.table(TreeKind::Primary, &[record("k", 3, 7)]);
    dir.memory.corrupt(&dir.path(table.meta.number), 10, 1).unwrap();
    let findings = in_tables(TreeVersion::default().with(&[], &[(6, table)]));
    assert!(findings.iter().any(|f| f.0 == "V1"), "{findings:?}");
}

#[test]
fn files_that_are_missing_are_found_each() {
    let numbers = |list: &[u64]| list.iter().map(|n| FileNumber(*n)).collect::<BTreeSet<_>>();
    let names: Vec<String> =
        [crate::wal::segment_path("".as_ref(), FileNumber(4)).display().to_string(), "000002.table".into()].into();
    let findings = check_directory(&names, &numbers(&[2, 3]), FileNumber(1), &numbers(&[4, 5]));
    let texts: Vec<&str> = findings.iter().map(|f| &f.what[..]).collect();
    assert_eq!(texts.len(), 3, "{texts:?}");
    for (text, expected) in texts.iter().zip(["table 3", "manifest 1", "log segment 5"]) {
        assert!(text.starts_with(expected), "{text}");
    }
}
