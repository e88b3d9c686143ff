//! Cleaning of validated indexes: index compaction drops entries that the primary's tables show to be stale, and all entries of dropped indexes.

use crate::base::error::{Error, Result};
use crate::base::ids::{Incarnation, Sqn};
use crate::base::index_key;
use crate::base::key::Kind;
use crate::compaction::hooks::EntryFilter;
use crate::version::TreeVersion;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What index compaction does with an incarnation's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// Entries are deleted exactly: keep all.
    Exact,
    /// Entries may be stale: ask.
    Validate,
}

/// Judges entries for one index compaction.
pub(crate) struct StaleFilter {
    /// Incarnations that exist; entries of others go.
    live: BTreeMap<Incarnation, Liveness>,
    primary: Arc<TreeVersion>,
    /// Snapshots and the visible head, ascending.
    stripes: Vec<Sqn>,
    /// Everything up to this sqn is in `primary`.
    flushed: Sqn,
    /// See [`crate::tree::Superversion::may_be_stale`].
    blind_floor: Sqn,
}

impl StaleFilter {
    pub fn new(
        live: BTreeMap<Incarnation, Liveness>,
        primary: Arc<TreeVersion>,
        mut stripes: Vec<Sqn>,
        flushed: Sqn,
        blind_floor: Sqn,
    ) -> Self {
        stripes.sort_unstable();
        Self { live, primary, stripes, flushed, blind_floor }
    }
}

impl EntryFilter for StaleFilter {
    fn keep_key(&mut self, user_key: &[u8]) -> bool {
        index_key::incarnation(user_key).is_some_and(|i| self.live.contains_key(&i))
    }

    fn keep_entry(&mut self, user_key: &[u8], sqn: Sqn) -> Result<bool> {
        if sqn > self.flushed {
            return Ok(true);
        }
        let parts = index_key::decode(user_key)
            .map_err(|d| Error::internal(format!("index key behind a good checksum: {}", d.what)))?;
        if self.live.get(&parts.incarnation) != Some(&Liveness::Validate) {
            return Ok(true);
        }
        // VAL-2.
        if sqn >= self.blind_floor && !self.primary.may_outdate(parts.pk, sqn) {
            return Ok(true);
        }
        // The oldest reader that may see the entry decides: if a newer version hides it from that one, it hides it from all later ones.
        let first = self.stripes.partition_point(|s| *s < sqn);
        let Some(at) = self.stripes.get(first) else { return Ok(true) };
        let newest = self.primary.get(parts.pk, *at)?;
        Ok(newest.is_some_and(|n| n.sqn == sqn && n.kind == Kind::Put))
    }
}

#[cfg(test)]
mod tests;
