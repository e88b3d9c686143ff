//! The validator "primary record": fetch the newest version and compare.

use crate::base::error::Result;
use crate::base::ids::{Sqn, TreeKind};
use crate::base::key::Kind;
use crate::tree::{Record, Superversion};

/// What the validator found.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The entry's version is the newest at the snapshot; here it is.
    Valid(Record),
    /// It is not.
    Stale,
}

/// Judges the entry of version `sqn` of `pk` at snapshot `at`. Cost: one point read.
pub(crate) fn by_primary(superversion: &Superversion, pk: &[u8], sqn: Sqn, at: Sqn) -> Result<Verdict> {
    let newest = superversion.tree(TreeKind::Primary).get(pk, at)?;
    Ok(match newest {
        Some(record) if record.sqn == sqn && record.kind == Kind::Put => Verdict::Valid(record),
        _ => Verdict::Stale,
    })
}
