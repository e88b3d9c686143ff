//! The newest version of every key, by hash: what makes a get cost the same however many runs there are.
//!
//! Groups of eight slots; a group's tags, one byte of the hash each, are one word: most look-ups of a key that is not there read that
//! word and nothing else. A map never grows: when it is full, another one is chained to it, twice as large. So a slot never moves, and
//! a reader needs no pin.

use super::entry::{Entry, prefetch};
use crate::base::key;
use crate::env::sync::OnceLock;
use crate::env::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::ptr::NonNull;
use xxhash_rust::xxh3::xxh3_64;

const GROUP: usize = 8;
/// Of the eight slots of a group, how many are used on average when the map is full: beyond, searches cross several groups.
const FULL_GROUP: usize = 6;
const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// One inserting thread, lock-free readers. The arena of the entries is the memtable's, which whoever calls a method holds:
/// `SAFETY: alive`.
pub(super) struct Newest {
    /// A tag is never zero; zero is an empty slot, and slots of a group are filled in order. A slot is filled before its tag is set
    /// (MEM-3).
    tags: Box<[AtomicU64]>,
    slots: Box<[[AtomicPtr<u8>; GROUP]]>,
    used: AtomicUsize,
    next: OnceLock<Box<Newest>>,
}

impl Newest {
    /// For about `keys` keys.
    pub fn new(keys: usize) -> Newest {
        let groups = keys.div_ceil(FULL_GROUP).max(1);
        Newest {
            tags: (0..groups).map(|_| AtomicU64::new(0)).collect(),
            slots: (0..groups).map(|_| Default::default()).collect(),
            used: AtomicUsize::new(0),
            next: OnceLock::new(),
        }
    }

    /// The version of a key that is first in order.
    #[inline]
    pub fn get(&self, user_key: &[u8]) -> Option<Entry> {
        let hash = xxh3_64(user_key);
        let mut map = Some(self);
        while let Some(this) = map {
            if let Ok((_, found, _)) = this.find(hash, user_key) {
                return Some(found);
            }
            map = this.next.get().map(|next| &**next);
        }
        None
    }

    /// Asks for the cache lines that [`Newest::insert`] will touch; returns the hash for it.
    #[inline]
    pub fn prepare(&self, user_key: &[u8]) -> u64 {
        let hash = xxh3_64(user_key);
        let group = self.home(hash);
        prefetch(&raw const self.tags[group]);
        prefetch(&raw const self.slots[group]);
        hash
    }

    /// Notes an entry, unless one that is before it in order is there. Called by the inserting thread alone.
    pub fn insert(&self, hash: u64, internal_key: &[u8], entry: Entry) {
        let user_key = key::user_key(internal_key);
        let mut this = self;
        loop {
            match this.find(hash, user_key) {
                Ok((slot, _, found)) => {
                    if key::compare(internal_key, found).is_lt() {
                        slot.store(entry.address().as_ptr(), Ordering::Release);
                    }
                    return;
                }
                Err(free) => match this.next.get() {
                    Some(next) => this = next,
                    None if this.used.load(Ordering::Relaxed) < this.tags.len() * FULL_GROUP => {
                        return this.fill(free, hash, entry);
                    }
                    None => this = this.next.get_or_init(|| Box::new(Newest::new(2 * this.tags.len() * FULL_GROUP))),
                },
            }
        }
    }

    fn fill(&self, group: usize, hash: u64, entry: Entry) {
        let (Some(tags), Some(slots)) = (self.tags.get(group), self.slots.get(group)) else { return };
        let word = tags.load(Ordering::Relaxed);
        let free = GROUP - word.leading_zeros() as usize / 8;
        if let Some(slot) = slots.get(free) {
            slot.store(entry.address().as_ptr(), Ordering::Relaxed);
            tags.store(word | tag(hash) << (8 * free), Ordering::Release);
            self.used.store(self.used.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// The group where the search for a hash begins.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.tags.len() as u128) >> 64) as usize
    }

    /// The slot of a key with its entry and internal key, or the group where there is room for it.
    #[inline]
    fn find<'a>(&'a self, hash: u64, user_key: &[u8]) -> Result<(&'a AtomicPtr<u8>, Entry, &'a [u8]), usize> {
        let mut group = self.home(hash);
        loop {
            let word = self.tags[group].load(Ordering::Acquire);
            // Bytes equal to the tag become zero; the lowest zero byte is found exactly, one above it may be mistaken and is refused by
            // the comparison of keys.
            let differing = word ^ (tag(hash) * LOW_BITS);
            let mut equal = differing.wrapping_sub(LOW_BITS) & !differing & HIGH_BITS;
            while equal != 0 {
                let slot = &self.slots[group][equal.trailing_zeros() as usize / 8];
                if let Some(address) = NonNull::new(slot.load(Ordering::Acquire)) {
                    // SAFETY: slots hold addresses of entries; alive.
                    let (entry, found) = unsafe { (Entry::at(address), Entry::at(address).key()) };
                    if key::user_key(found) == user_key {
                        return Ok((slot, entry, found));
                    }
                }
                equal &= equal - 1;
            }
            // Some slot is empty: the last one, as they are filled in order.
            if word >> 56 == 0 {
                return Err(group);
            }
            group = if group + 1 == self.tags.len() { 0 } else { group + 1 };
        }
    }
}

/// The lowest byte of a hash (the highest bits choose the group), but never zero.
#[inline]
fn tag(hash: u64) -> u64 {
    (hash & 0xff).max(1)
}
