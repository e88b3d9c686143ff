//! V2: every entry that a record must have is there, visible, at the record's sqn. V3 for records: headers agree with values.

use super::Subject;
use super::finding::Finding;
use super::in_order::{Answer, InOrder};
use crate::base::error::{Error, Result};
use crate::base::ids::{Sqn, TreeKind};
use crate::base::index_key;
use crate::base::iter::SortedIter;
use crate::base::key::{self, Kind};
use crate::index::extract::Extracted;
use crate::index::set::decode_record;
use crate::table::ReadMode;
use crate::tree::Superversion;

/// Checks every record that is the newest of its key at `at` against the raw index tree.
pub(crate) fn check_records(subject: &Subject<'_>, at: Sqn) -> Result<Vec<Finding>> {
    let mut findings = vec![];
    let mut scratch = Extracted::default();
    let mut entries = InOrder::new(subject.superversion, TreeKind::Index, at);
    let mut missing = vec![];
    let mut index_key = vec![];
    for_each_newest(subject.superversion, TreeKind::Primary, at, |pk, sqn, kind, record| {
        if kind == Kind::Delete {
            return Ok(());
        }
        let (stored, value) = match decode_record(record) {
            Ok(parts) => parts,
            Err(e) => {
                findings.push(subject.finding("V3", format!("record {}: {e}", text(pk))));
                return Ok(());
            }
        };
        // Parsed anew, so that a wrong header is found too.
        subject.set.attributes_of(value, &mut scratch)?;
        let fresh = || scratch.attributes.iter().map(|(id, v)| (*id, &v[..]));
        // A header keeps what dropped attributes left in it.
        let known = |id| subject.set.paths.iter().any(|(known, _)| *known == id);
        let same = stored.attributes().filter(|(id, _)| known(*id)).eq(fresh());
        if stored.epoch() == subject.set.epoch && !same {
            findings.push(
                subject.finding("V3", format!("record {}: header and value tell different attributes", text(pk))),
            );
        }
        for index in subject.set.indexes.iter().filter(|i| i.is_ready() && i.built <= at) {
            for (_, attribute) in fresh().filter(|(id, _)| *id == index.attribute) {
                index_key::encode_into(&mut index_key, index.incarnation, attribute, pk);
                entries.ask(&index_key, &[], sqn);
            }
        }
        if entries.is_full() {
            entries.answer(|answer| report_missing(subject, &answer, &mut missing))?;
        }
        Ok(())
    })?;
    entries.answer(|answer| report_missing(subject, &answer, &mut missing))?;
    findings.append(&mut missing);
    Ok(findings)
}

/// The newest version of the entry's key must be the entry of the record's version.
fn report_missing(subject: &Subject<'_>, answer: &Answer<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let found = answer.newest.map(|(sqn, kind, _)| (sqn, kind));
    if found == Some((answer.sqn, Kind::Put)) {
        return Ok(());
    }
    let found = found.map_or("nothing".to_owned(), |(s, k)| format!("{k:?} at {s}"));
    let parts = index_key::decode(answer.key).map_err(|d| Error::internal(d.what))?;
    let index = subject.set.indexes.iter().find(|i| i.incarnation == parts.incarnation);
    let name = index.map_or("", |i| &i.info.spec.name);
    let (pk, sqn) = (text(parts.pk), answer.sqn);
    findings
        .push(subject.finding("V2", format!("index '{name}' lacks the entry of record {pk} at {sqn}; it has {found}")));
    Ok(())
}

/// A key for people.
pub(super) fn text(key: &[u8]) -> String {
    format!("'{}'", key.escape_ascii())
}

/// Calls `visit` with the newest version at `at` of every key of a tree.
pub(super) fn for_each_newest(
    superversion: &Superversion,
    tree: TreeKind,
    at: Sqn,
    mut visit: impl FnMut(&[u8], Sqn, Kind, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut input = superversion.tree(tree).iter(ReadMode::Bulk);
    let mut last: Option<Vec<u8>> = None;
    input.seek_to_first()?;
    while input.valid() {
        if let Some((user_key, sqn, kind)) = key::decode(input.key())
            && sqn <= at
            && last.as_deref() != Some(user_key)
        {
            last = Some(user_key.to_vec());
            visit(user_key, sqn, kind, input.value())?;
        }
        input.next()?;
    }
    Ok(())
}
