//! The memtable: the newest versions of one tree, sorted, in memory.
//!
//! Owns its entries' bytes in an arena that is freed in one go. Depends on `base` and `env::sync`.
//!
//! A skip list over very many entries spends its time waiting for memory, so the list here is short: at half a mebibyte of entries it
//! becomes a sorted array of 16-byte items, a *run*, and runs of like size are merged. The bytes of entries never move. Readers of a
//! range merge the list with the few runs there are; a get asks a map from each key to its newest version, and searches the parts
//! only for an older one, or while there is no map: before the first run, and as long as keys come in ascending order.
//!
//! Threads: one inserting thread at a time (the leader of the write group; a mutex that is never contended makes this a fact
//! and not a hope), any number of readers, which take no lock: they pin the list and the runs of one moment. Who may see an entry is
//! not decided here: a reader takes the published sqn first, makes its cursors, and passes by what is newer.
//!
//! - MEM-1: insert-only. An entry that was seen once stays where it is, byte for byte, until the memtable is dropped.
//! - MEM-2: the order is that of [`crate::base::key`]; an internal key is held once, and inserting it again changes nothing.
//! - MEM-3: an entry is wholly written before a pointer to it is published (release store, acquire load); in the list it is published
//!   from the lowest level upwards, so that whoever meets it on any level finds it on all lower ones.
//! - MEM-4: [`Memtable::max_sqn`] and [`Memtable::len`] cover an entry before a reader can meet it.
//! - MEM-5: what a reader pins holds every entry inserted before, each in exactly one part: a list is replaced by its run, and runs by the
//!   merged one, in one store, and no part loses an entry.
//! - MEM-6: the map of newest versions, once it can be seen, holds for every key in the memtable the version that is first in order.
//!
//! Nothing here survives a crash, and nothing needs to: the log holds it all.
#![allow(unsafe_code)]

mod arena;
mod entry;
mod list;
mod mem_iter;
mod newest;
mod node;
mod run;
mod tiered;

#[cfg(test)]
mod tests;

pub(crate) use mem_iter::MemIter;
pub(crate) use tiered::{Lookups, TieredMemtable};

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

    /// Sorted cursors that together show every entry inserted before this call, and perhaps later ones; youngest part first.
    fn cursors(self: &Arc<Self>) -> Vec<Self::Iter>;

    /// One cursor over every entry inserted before this call. It puts them in order first: for a memtable that is not written any more.
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
