//! V1: files, blocks, orders and ranges of tables; V6: frontiers.

use super::Subject;
use super::finding::Finding;
use crate::base::ids::{FileNumber, Sqn, TreeKind};
use crate::base::{header, index_key, key};
use crate::table::{FilterKey, Properties};
use crate::version::{TableMeta, is_manifest, is_table};
use crate::wal;
use std::collections::BTreeSet;

/// Compares the directory with what should be in it.
pub(crate) fn check_directory(
    names: &[String],
    tables: &BTreeSet<FileNumber>,
    manifest: FileNumber,
    log: &BTreeSet<FileNumber>,
) -> Vec<Finding> {
    let mut findings = vec![];
    let mut add = |what: String| findings.push(Finding { rule: "V1", collection: String::new(), what });
    let found = |of: fn(&str) -> Option<FileNumber>| names.iter().filter_map(|n| of(n)).collect::<BTreeSet<_>>();
    for missing in tables.difference(&found(is_table)) {
        add(format!("table {missing} is named by the manifest, but its file is missing"));
    }
    if !found(is_manifest).contains(&manifest) {
        add(format!("manifest {manifest} is in use, but its file is missing"));
    }
    for missing in log.difference(&found(wal::parse_file_name)) {
        add(format!("log segment {missing} is needed, but its file is missing"));
    }
    findings
}

/// Whether the manifest says of a table what the table says of itself.
fn agree(meta: &TableMeta, p: &Properties) -> bool {
    (&meta.smallest, &meta.largest, meta.entries, meta.deletes) == (&p.smallest, &p.largest, p.entries, p.deletes)
        && (meta.min_sqn, meta.max_sqn) == (p.min_sqn, p.max_sqn)
        && (meta.max_blind_sqn, meta.hidden_until_sqn) == (p.max_blind_sqn, p.hidden_until_sqn)
}

/// Reads every byte of every table and checks the shape of both trees.
pub(crate) fn check_tables(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = vec![];
    for tree in TreeKind::ALL {
        let version = subject.superversion.version(tree);
        if let Some(what) = version.disorder() {
            findings.push(subject.finding("V1", format!("{tree:?} tree: {what}")));
        }
        let filter_key = match tree {
            TreeKind::Primary => FilterKey::WholeKey,
            TreeKind::Index => FilterKey::Prefix(index_key::filter_key),
        };
        for file in version.tables() {
            let mut blind = Sqn::ZERO;
            for f in file.table.verify(filter_key, &mut |key, value| {
                if tree == TreeKind::Primary && header::doubt(value).any() {
                    blind = blind.max(key::decode(key).map_or(Sqn::ZERO, |(_, sqn, _)| sqn));
                }
            }) {
                let what = format!("{tree:?} table {}, offset {}: {}", file.meta.number, f.offset, f.what);
                findings.push(subject.finding("V1", what));
            }
            let p = file.table.properties();
            if blind > p.max_blind_sqn {
                let what = format!(
                    "{tree:?} table {} holds a blind version at {blind}, above the {} that it states",
                    file.meta.number, p.max_blind_sqn
                );
                findings.push(subject.finding("V1", what));
            }
            if !agree(&file.meta, p) {
                let what =
                    format!("{tree:?} table {}: the manifest and the file's properties differ", file.meta.number);
                findings.push(subject.finding("V1", what));
            }
            // An index build reads memtables too; its entries are durable through the log (DB-9), not through a flush.
            if tree == TreeKind::Primary && file.meta.max_sqn > subject.superversion.flushed {
                let what = format!(
                    "{tree:?} table {} holds sequence number {} above the flushed frontier {}",
                    file.meta.number, file.meta.max_sqn, subject.superversion.flushed
                );
                findings.push(subject.finding("V6", what));
            }
        }
    }
    findings
}
