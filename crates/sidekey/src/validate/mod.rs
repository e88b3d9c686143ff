//! Validation: is the version that an index entry names still the newest of its primary key?
//!
//! Owns nothing; looks at a pinned superversion. Depends on tree, version, compaction's hook, base. Takes no lock.
//!
//! - VAL-1: the verdict is about one snapshot and one superversion, pinned before the snapshot was taken.
//! - VAL-2: only a version written blindly can have left a stale entry behind, and what it left in doubt is never lost (CMP-3). So an entry is
//!   valid without a look if no memtable or table that knows of such a version above the entry's sqn may hold its key, and the blind floor
//!   is not above it.
//! - VAL-3: compaction judges by tables alone: never by what only a memtable or an unsynced log holds.

mod entry_filter;
mod primary;

pub(crate) use entry_filter::{Liveness, StaleFilter};
pub(crate) use primary::{Verdict, by_primary};
