//! What index, validation and value placement bring to a compaction.

use crate::base::error::Result;
use crate::base::ids::Sqn;

/// Decides about entries of an index tree that the snapshot filter keeps.
pub(crate) trait EntryFilter: Send {
    /// What is to become of the versions of an index key; asked once for each key before its versions.
    fn keep_key(&mut self, user_key: &[u8]) -> bool;

    /// Whether an entry is the entry of a version that is the newest at one of the snapshots, or may be.
    fn keep_entry(&mut self, user_key: &[u8], sqn: Sqn) -> Result<bool>;
}

/// The events of a job, in numbers; published when its edit is installed (CMP-5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Events {
    /// Versions that met a newer one of their key: found at pairing, before the snapshot filter, each pair once.
    pub superseded: u64,
    /// Of these, the ones whose newer version was written blindly.
    pub superseded_blindly: u64,
    /// Versions that are physically gone, tombstones included.
    pub dropped: u64,
    /// Entries that the filter refused.
    pub stale_entries: u64,
}
