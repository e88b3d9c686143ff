//! A position in a data block, with its key rebuilt in a buffer that is used again.

use super::super::order::Target;
use super::entry::{Entry, entry};
use super::reader::Block;
use crate::base::error::Damage;
use crate::base::key::TRAILER;
use std::cmp::Ordering;

/// The most bytes of keys that a restart's group may unfold to; a forged block could unfold to more than memory. The
/// builder's longest interval ([`super::MAX_RESTART_INTERVAL`]) of longest keys (64 KiB) stays below.
const MAX_GROUP_KEYS: usize = 32 << 20;
/// Bytes of a key are copied as this many, and what is too much cut off: two moves instead of a call. Suffixes of up to 24
/// bytes, with the trailer.
const COPY_BYTES: usize = 32;

/// A position in a block, which the caller hands in at each call. It moves one way at a time: `first`, `seek`, `step`
/// forward, or `last`, `seek_before`, `step_back` backward.
///
/// Forward the buffer holds the current key. Backward a restart's whole group is decoded once and kept as a stack, whose
/// top is the current entry: a step back pops, instead of decoding from the restart each time.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    /// Ends with the current key.
    keys: Vec<u8>,
    key_start: usize,
    value: (usize, usize),
    /// Forward: where the next entry starts.
    next: usize,
    /// Backward: the entries of the group up to the current one.
    stack: Vec<Stacked>,
    /// Backward: the restart that the group starts from.
    group: usize,
    valid: bool,
}

#[derive(Clone, Copy, Debug)]
struct Stacked {
    key_start: usize,
    value: (usize, usize),
}

impl Cursor {
    #[inline]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// Leaves the block.
    pub fn invalidate(&mut self) {
        self.valid = false;
    }

    /// The internal key; only while valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.keys.get(self.key_start..).unwrap_or_default()
    }

    /// Where the value lies in the block's entries; only while valid.
    #[inline]
    pub fn value(&self) -> (usize, usize) {
        self.value
    }

    /// To the block's first entry.
    pub fn first(&mut self, block: &Block) -> Result<bool, Damage> {
        self.start_forward();
        self.step(block)
    }

    /// To the first entry at or after `target`; false if the block has none.
    pub fn seek(&mut self, block: &Block, target: Target<'_>) -> Result<bool, Damage> {
        self.start_forward();
        if let Some((found, _)) = block.find(target)? {
            self.keys.extend_from_slice(target.user.get(..found.shared).unwrap_or_default());
            self.apply(block.entries(), &found);
            self.valid = true;
        }
        Ok(self.valid)
    }

    /// To the next entry; false at the end of the block. Inlined by force, as a call passes the result through memory.
    #[inline(always)]
    pub fn step(&mut self, block: &Block) -> Result<bool, Damage> {
        self.valid = false;
        let entries = block.entries();
        if self.next >= entries.len() {
            return Ok(false);
        }
        let found = entry(entries, self.next)?;
        if found.shared > self.keys.len().saturating_sub(TRAILER) {
            return Err(Damage::new(self.next, "entry shares more than there is"));
        }
        self.apply(entries, &found);
        self.valid = true;
        Ok(true)
    }

    /// To the block's last entry.
    pub fn last(&mut self, block: &Block) -> Result<bool, Damage> {
        self.fill(block, block.restarts() - 1, None)
    }

    /// To the last entry before `target`; false if the block has none.
    pub fn seek_before(&mut self, block: &Block, target: Target<'_>) -> Result<bool, Damage> {
        self.valid = false;
        let group = block.restart_before(target)?;
        self.fill(block, group, Some(target))
    }

    /// To the entry before; false at the start of the block.
    pub fn step_back(&mut self, block: &Block) -> Result<bool, Damage> {
        self.valid = false;
        if let Some(left) = self.stack.pop() {
            self.keys.truncate(left.key_start);
        }
        if !self.stack.is_empty() {
            return Ok(self.take_top());
        }
        match self.group.checked_sub(1) {
            Some(group) => self.fill(block, group, None),
            None => Ok(false),
        }
    }

    fn start_forward(&mut self) {
        self.valid = false;
        self.keys.clear();
        self.key_start = 0;
        self.next = 0;
        self.stack.clear();
    }

    /// Makes `found` the current entry; the buffer begins with what it shares.
    #[inline]
    fn apply(&mut self, entries: &[u8], found: &Entry) {
        self.value = found.value;
        self.next = found.value.1;
        self.keys.truncate(found.shared);
        let len = found.value.0 - found.suffix.0;
        match entries.get(found.suffix.0..).and_then(|rest| rest.first_chunk::<COPY_BYTES>()) {
            Some(chunk) if len <= COPY_BYTES => {
                self.keys.extend_from_slice(chunk);
                self.keys.truncate(found.shared + len);
            }
            _ => self.keys.extend_from_slice(found.key_bytes(entries)),
        }
    }

    /// Stacks the group of a restart, up to the last entry before `target` if there is one, and stands on its top.
    fn fill(&mut self, block: &Block, group: usize, target: Option<Target<'_>>) -> Result<bool, Damage> {
        self.valid = false;
        self.keys.clear();
        self.stack.clear();
        self.group = group;
        let (entries, end) = (block.entries(), block.restart(group + 1));
        let (mut at, mut before, mut user_len) = (block.restart(group), 0, 0);
        while at < end {
            let found = entry(entries, at)?;
            if found.shared > user_len {
                return Err(Damage::new(at, "entry shares more than there is"));
            }
            let key_start = self.keys.len();
            if key_start > MAX_GROUP_KEYS {
                return Err(Damage::new(at, "too many keys after one restart"));
            }
            self.keys.extend_from_within(before..before + found.shared);
            self.keys.extend_from_slice(found.key_bytes(entries));
            if target.is_some_and(|target| target.order_of(&self.keys[key_start..]) != Ordering::Less) {
                self.keys.truncate(key_start);
                break;
            }
            self.stack.push(Stacked { key_start, value: found.value });
            (before, user_len, at) = (key_start, found.user_len(), found.value.1);
        }
        Ok(self.take_top())
    }

    fn take_top(&mut self) -> bool {
        if let Some(top) = self.stack.last() {
            self.key_start = top.key_start;
            self.value = top.value;
            self.valid = true;
        }
        self.valid
    }
}
