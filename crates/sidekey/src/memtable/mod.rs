//! The memtable: the newest versions of one tree, sorted, in memory.
//!
//! Owns its entries' bytes in an arena that is freed in one go. Depends on `base` and `env::sync`.
//!
//! Threads: one inserting thread at a time (the leader of the write group; a mutex that is never contended makes this a fact
//! and not a hope), any number of readers, which take no lock. Who may see an entry is not decided here: a reader takes the
//! published sqn first and passes by what is newer.
//!
//! - MEM-1: insert-only. An entry that was seen once stays where it is, byte for byte, until the memtable is dropped.
//! - MEM-2: the order is that of [`crate::base::key`]; an internal key is held once, and inserting it again changes nothing.
//! - MEM-3: an entry is wholly written before a pointer to it is published (release store, acquire load), and it is published
//!   from the lowest level upwards, so that whoever meets it on any level finds it on all lower ones.
//! - MEM-4: [`Memtable::max_sqn`] and [`Memtable::len`] cover an entry before a reader can meet it.
//!
//! Nothing here survives a crash, and nothing needs to: the log holds it all.

mod arena;
mod mem_iter;
mod node;
mod skip_list;

#[cfg(test)]
mod tests;

pub(crate) use mem_iter::MemIter;
pub(crate) use skip_list::SkipList;

use crate::base::ids::Sqn;
use crate::base::iter::SortedIter;
use crate::base::key::Kind;
use std::sync::Arc;

/// The newest visible version that [`Memtable::get`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    pub sqn: Sqn,
    pub kind: Kind,
    pub value: &'a [u8],
}

/// What a tree needs of its memory component.
pub(crate) trait Memtable: Send + Sync {
    /// A cursor that keeps the memtable alive.
    type Iter: SortedIter + Send + 'static;

    /// Adds a version whose value is the two parts one after the other (record header and value, which the log holds apart).
    ///
    /// Key and value are below 4 GiB each: the limits at the database's door are far lower.
    fn insert_parts(&self, user_key: &[u8], sqn: Sqn, kind: Kind, value: [&[u8]; 2]);

    /// Adds a version.
    fn insert(&self, user_key: &[u8], sqn: Sqn, kind: Kind, value: &[u8]) {
        self.insert_parts(user_key, sqn, kind, [value, &[]]);
    }

    /// The newest version of `user_key` with an sqn of at most `at`, be it a put or a delete.
    fn get(&self, user_key: &[u8], at: Sqn) -> Option<Found<'_>>;

    /// A cursor over all entries, also over those inserted after this call.
    fn iter(self: &Arc<Self>) -> Self::Iter;

    /// Bytes that the entries take, bookkeeping included; the same for the same inserts on every run. Decides when to flush.
    fn memory_bytes(&self) -> usize;

    /// Number of entries.
    fn len(&self) -> usize;

    /// Whether there is no entry.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest sqn of an entry; zero if empty.
    fn max_sqn(&self) -> Sqn;

    /// States that the version at `sqn` is blind. Comes before its sqn is published.
    fn note_blind(&self, sqn: Sqn);

    /// The largest sqn that [`Memtable::note_blind`] was called with; zero if none.
    fn max_blind_sqn(&self) -> Sqn;
}
