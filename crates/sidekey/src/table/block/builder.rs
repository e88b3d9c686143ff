//! Encoding of data blocks; the layout is in [`super`].

use super::super::order::{common_prefix_len, sort_prefix};
use super::{MAX_RESTART_INTERVAL, RESTART_BYTES, TAIL_BYTES};
use crate::base::coding::{put_varint, varint_len};
use crate::base::key::{self, TRAILER};
use std::ops::Range;

/// Encodes one block after another, reusing its buffers.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    restart_interval: usize,
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    prefixes: Vec<u64>,
    /// Entries that follow before the next restart.
    until_restart: usize,
    /// Where the block's first internal key lies in `bytes`.
    first_key: Range<usize>,
    /// Where the last value starts in `bytes`; it ends with them.
    last_value: usize,
    /// The internal key added last. It outlives its block: the next block's first key must be after it.
    last_key: Vec<u8>,
}

impl BlockBuilder {
    pub fn new(restart_interval: usize) -> Self {
        Self {
            restart_interval: restart_interval.clamp(1, MAX_RESTART_INTERVAL),
            bytes: Vec::new(),
            restarts: Vec::new(),
            prefixes: Vec::new(),
            until_restart: 0,
            first_key: 0..0,
            last_value: 0,
            last_key: Vec::new(),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.restarts.is_empty()
    }

    /// Length of the payload that [`BlockBuilder::finish`] would return now.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.bytes.len() + self.restarts.len() * RESTART_BYTES + TAIL_BYTES
    }

    /// An upper bound of what an entry adds to the payload.
    #[inline]
    pub fn entry_bound(key: &[u8], value: &[u8]) -> usize {
        key.len() + value.len() + varint_len(key.len() as u64) * 2 + varint_len(value.len() as u64) + RESTART_BYTES
    }

    /// The first internal key of the block; only while it is not empty.
    pub fn first_key(&self) -> &[u8] {
        &self.bytes[self.first_key.clone()]
    }

    /// The internal key added last, be it to a block before this one; empty before the first.
    #[inline]
    pub fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// The value added last, which may be changed in place until the next entry or [`BlockBuilder::finish`]; nothing before the first.
    #[inline]
    pub fn last_value_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.last_value..).unwrap_or_default()
    }

    /// Appends an entry; the caller sees to order and to [`super::MAX_PAYLOAD`], which keeps offsets within 32 bits. `shared` is how many leading
    /// bytes its user key shares with that of [`BlockBuilder::last_key`]: the caller has compared the two anyway.
    #[inline]
    pub fn add(&mut self, shared: usize, internal_key: &[u8], value: &[u8]) {
        let kept = shared;
        let shared = if self.until_restart == 0 { self.restart() } else { shared };
        self.until_restart -= 1;
        let unshared = internal_key.len() - TRAILER - shared;
        match [shared, unshared, value.len()] {
            // Nearly every entry: three varints of a byte, or of two for the last.
            [a, b, c] if (a | b | c) < 0x80 => self.bytes.extend_from_slice(&[a as u8, b as u8, c as u8]),
            [a, b, c] if (a | b) < 0x80 && c < 0x4000 => {
                self.bytes.extend_from_slice(&[a as u8, b as u8, c as u8 | 0x80, (c >> 7) as u8]);
            }
            lengths => lengths.iter().for_each(|n| put_varint(&mut self.bytes, *n as u64)),
        }
        if self.first_key.is_empty() {
            self.first_key = self.bytes.len()..self.bytes.len() + internal_key.len();
        }
        self.bytes.extend_from_slice(&internal_key[shared..]);
        self.last_value = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.last_key.truncate(kept);
        self.last_key.extend_from_slice(&internal_key[kept..]);
    }

    /// Begins a group here; its first entry shares nothing.
    fn restart(&mut self) -> usize {
        self.restarts.push(self.bytes.len() as u32);
        self.until_restart = self.restart_interval;
        0
    }

    /// The payload. Call [`BlockBuilder::reset`] before the next block.
    pub fn finish(&mut self) -> &[u8] {
        let (first, last) = (key::user_key(self.first_key()), key::user_key(&self.last_key));
        let common = common_prefix_len(first, last);
        self.prefixes.clear();
        for restart in &self.restarts {
            self.prefixes.push(restart_prefix(&self.bytes, *restart as usize, common));
        }
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        for prefix in &self.prefixes {
            self.bytes.extend_from_slice(&prefix.to_le_bytes());
        }
        self.bytes.extend_from_slice(&(common as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        &self.bytes
    }

    /// Forgets the block, but not its last key.
    pub fn reset(&mut self) {
        self.bytes.clear();
        self.restarts.clear();
        self.until_restart = 0;
        self.first_key = 0..0;
    }
}

fn restart_prefix(bytes: &[u8], at: usize, common: usize) -> u64 {
    match super::reader::entry(bytes, at) {
        Ok(entry) => sort_prefix(&bytes[entry.suffix.0 + common..entry.suffix.1]),
        // The builder wrote the entry itself: it decodes.
        Err(_) => 0,
    }
}
