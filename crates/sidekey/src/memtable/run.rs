//! An immutable sorted array of entries.
//!
//! An item is 16 bytes: the 8 bytes of the key after what all keys of the run share, and the entry's address. Searches and merges
//! read items alone, and keys only where those bytes are equal.

use super::entry::{Entry, Probe, prefix_after, shared_len};
use crate::base::key;
use std::borrow::Cow;

/// If the keys share at most this many bytes more than the list supposed, the list's prefixes are taken over: runs with equal
/// common bytes merge without a change of prefixes.
const KEPT_COMMON: usize = 2;
/// How many items ahead of a tie the merge fetches keys.
const FETCH_AHEAD: usize = 6;

#[derive(Clone, Copy, Debug)]
struct Item {
    prefix: u64,
    entry: Entry,
}

impl Item {
    #[inline]
    fn key(&self) -> &[u8] {
        // SAFETY: alive.
        unsafe { self.entry.key() }
    }

    /// Whether the item is before another key, whose prefix is after the same bytes.
    #[inline]
    fn is_before(&self, prefix: u64, probe: &Probe<'_>) -> bool {
        self.prefix < prefix || self.prefix == prefix && Probe::from_internal(self.key()).compare(probe).is_lt()
    }
}

/// The arena of the entries is the memtable's, which whoever calls a method holds: `SAFETY: alive`.
pub(super) struct Run {
    /// Every key begins with this.
    common: Box<[u8]>,
    items: Vec<Item>,
}

impl Run {
    /// From sorted entries, with their prefixes after `common`, which need not be common to all.
    pub fn from_sorted(common: &[u8], bodies: impl Iterator<Item = (u64, Entry)>) -> Run {
        let mut items: Vec<_> = bodies.map(|(prefix, entry)| Item { prefix, entry }).collect();
        let shared = match (items.first(), items.last()) {
            (Some(first), Some(last)) => {
                let (first, last) = (key::user_key(first.key()), key::user_key(last.key()));
                first[..shared_len(first, last)].to_vec()
            }
            _ => common.to_vec(),
        };
        if shared.starts_with(common) && shared.len() - common.len() <= KEPT_COMMON {
            return Run { common: common.into(), items };
        }
        for item in &mut items {
            item.prefix = prefix_after(&shared, key::user_key(item.key()));
        }
        Run { common: shared.into(), items }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn common(&self) -> &[u8] {
        &self.common
    }

    pub fn get(&self, at: usize) -> Option<Entry> {
        self.items.get(at).map(|item| item.entry)
    }

    /// Whether all of this run comes after all of `other`.
    pub fn follows(&self, other: &Run) -> bool {
        match (self.items.first(), other.items.last()) {
            (Some(first), Some(last)) => {
                let (first, last) = (Probe::from_internal(first.key()), Probe::from_internal(last.key()));
                last.compare(&first).is_lt()
            }
            _ => true,
        }
    }

    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.items.iter().map(|item| item.entry)
    }

    /// How many entries are before `probe`.
    pub fn count_before(&self, probe: &Probe<'_>) -> usize {
        let prefix = prefix_after(&self.common, probe.user_key);
        // Where keys come in ascending order, all runs but one end here.
        match (self.items.first(), self.items.last()) {
            (Some(first), _) if !first.is_before(prefix, probe) => 0,
            (_, Some(last)) if last.is_before(prefix, probe) => self.items.len(),
            _ => self.items.partition_point(|item| item.is_before(prefix, probe)),
        }
    }

    /// Both runs as one; they share no entry.
    pub fn merged(&self, other: &Run) -> Run {
        let common = &self.common[..shared_len(&self.common, &other.common)];
        let (a, b) = (self.items_after(common.len()), other.items_after(common.len()));
        let mut items = Vec::with_capacity(a.len() + b.len());
        match (a.first(), a.last(), b.first(), b.last()) {
            (_, Some(end), Some(start), _) if is_before(end, start) => items.extend_from_slice(&a),
            (Some(start), _, _, Some(end)) if is_before(end, start) => {
                items.extend_from_slice(&b);
                items.extend_from_slice(&a);
                return Run { common: common.into(), items };
            }
            _ => {}
        }
        let (mut i, mut j) = (items.len(), 0);
        while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
            if x.prefix == y.prefix {
                // Ties come in groups; their keys are elsewhere in memory.
                for ahead in [a.get(i + FETCH_AHEAD), b.get(j + FETCH_AHEAD)].into_iter().flatten() {
                    ahead.entry.prefetch();
                }
            }
            let first = is_before(x, y);
            items.push(if first { *x } else { *y });
            i += usize::from(first);
            j += usize::from(!first);
        }
        items.extend_from_slice(a.get(i..).unwrap_or_default());
        items.extend_from_slice(b.get(j..).unwrap_or_default());
        Run { common: common.into(), items }
    }

    /// The items with prefixes after the first `common_len` of the run's common bytes. Reads no key: what stands before the old prefix
    /// is known.
    fn items_after(&self, common_len: usize) -> Cow<'_, [Item]> {
        let more = &self.common[common_len..];
        if more.is_empty() {
            return Cow::Borrowed(&self.items);
        }
        let bits = 8 * more.len() as u32;
        let before = prefix_after(&[], more);
        let moved = |prefix: u64| before | prefix.checked_shr(bits).unwrap_or(0);
        Cow::Owned(self.items.iter().map(|item| Item { prefix: moved(item.prefix), entry: item.entry }).collect())
    }
}

/// Whether one entry is before another, their prefixes being after the same bytes.
#[inline]
fn is_before(a: &Item, b: &Item) -> bool {
    a.prefix < b.prefix || a.prefix == b.prefix && a.is_before(b.prefix, &Probe::from_internal(b.key()))
}
