//! V3 for entries: each is live or provably stale; and the raw count of an index's entries.

use super::Subject;
use super::finding::Finding;
use super::in_order::{Answer, InOrder};
use super::records::{for_each_newest, text};
use crate::base::error::{Error, Result};
use crate::base::ids::{AttributeId, Incarnation, Sqn, TreeKind};
use crate::base::index_key;
use crate::base::iter::SortedIter;
use crate::base::key::{self, Kind};
use crate::index::extract::Extracted;
use crate::index::set::decode_record;
use crate::table::ReadMode;
use crate::tree::Superversion;

/// Checks every entry visible at `at` against the raw primary tree: its record's newest version is the entry's and has its value, or, where the index
/// is validated, a newer version or deletion of the record makes it stale. No entry may be newer than the head, or of a record that never was.
pub(crate) fn check_entries(subject: &Subject<'_>, at: Sqn) -> Result<Vec<Finding>> {
    let mut findings = vec![];
    let mut wrong = vec![];
    let mut scratch = Extracted::default();
    let mut records = InOrder::new(subject.superversion, TreeKind::Primary, at);
    for_each_newest(subject.superversion, TreeKind::Index, at, |entry, sqn, kind, _| {
        let parts = match index_key::decode(entry) {
            Ok(parts) => parts,
            Err(d) => {
                findings.push(subject.finding("V3", format!("an index key is damaged: {}", d.what)));
                return Ok(());
            }
        };
        // Entries of dropped indexes wait for their compaction.
        let asked =
            subject.set.indexes.iter().any(|i| i.incarnation == parts.incarnation && i.is_ready() && i.built <= at);
        if kind == Kind::Put && asked {
            records.ask(parts.pk, entry, sqn);
        }
        if records.is_full() {
            records.answer(|answer| judge(subject, &answer, &mut scratch, &mut wrong))?;
        }
        Ok(())
    })?;
    records.answer(|answer| judge(subject, &answer, &mut scratch, &mut wrong))?;
    findings.append(&mut wrong);
    Ok(findings)
}

/// What is wrong with one entry, if anything.
fn judge(
    subject: &Subject<'_>,
    answer: &Answer<'_>,
    scratch: &mut Extracted,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let parts = index_key::decode(answer.about).map_err(|d| Error::internal(d.what))?;
    let Some(index) = subject.set.indexes.iter().find(|i| i.incarnation == parts.incarnation) else {
        return Ok(());
    };
    let sqn = answer.sqn;
    let what = match answer.newest {
        Some((found, Kind::Put, record)) if found == sqn => {
            match has_value(subject, record, index.attribute, parts.attribute, scratch)? {
                true => return Ok(()),
                false => "the record's version does not have that value".to_owned(),
            }
        }
        Some((found, ..)) if found < sqn => format!("the record's newest version is older, {found}"),
        _ if index.is_synchronous() => "it is stale, in an index that has no stale entries".to_owned(),
        _ if !subject.superversion.may_be_stale(parts.pk, sqn) => {
            "it is stale, but nothing that was written blindly may have outdated it".to_owned()
        }
        _ => return Ok(()),
    };
    let name = &index.info.spec.name;
    findings
        .push(subject.finding("V3", format!("index '{name}', entry of record {} at {sqn}: {what}", text(parts.pk))));
    Ok(())
}

/// Whether a stored record has a value of an attribute.
fn has_value(
    subject: &Subject<'_>,
    record: &[u8],
    attribute: AttributeId,
    value: &[u8],
    scratch: &mut Extracted,
) -> Result<bool> {
    let (stored, _) = decode_record(record)?;
    if stored.epoch() >= subject.set.epoch {
        return Ok(stored.values_of(attribute).any(|v| v == value));
    }
    let header = subject.set.current_header(record, scratch)?;
    let (header, _) = decode_record(&header)?;
    Ok(header.values_of(attribute).any(|v| v == value))
}

/// All versions of all entries of an incarnation, deletes included.
pub(crate) fn count_raw(superversion: &Superversion, incarnation: Incarnation) -> Result<u64> {
    let prefix = index_key::prefix(incarnation, &[]);
    let mut input = superversion.tree(TreeKind::Index).iter(ReadMode::Bulk);
    input.seek(&key::seek_key(&prefix, Sqn::MAX))?;
    let mut count = 0;
    while input.valid() && key::user_key(input.key()).starts_with(&prefix) {
        count += 1;
        input.next()?;
    }
    Ok(count)
}
