//! Encoding of data blocks; the layout is in [`super`].

use super::super::order::{common_prefix_len, sort_prefix};
use super::{MAX_RESTART_INTERVAL, RESTART_BYTES, TAIL_BYTES};
use crate::base::coding::{put_varint, varint_len};
use crate::base::key;

/// Encodes one block after another, reusing its buffers.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    restart_interval: usize,
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    entries: usize,
    first_user: Vec<u8>,
    last_user: Vec<u8>,
}

impl BlockBuilder {
    pub fn new(restart_interval: usize) -> Self {
        Self {
            restart_interval: restart_interval.clamp(1, MAX_RESTART_INTERVAL),
            bytes: Vec::new(),
            restarts: Vec::new(),
            entries: 0,
            first_user: Vec::new(),
            last_user: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Length of the payload that [`BlockBuilder::finish`] would return now.
    pub fn payload_len(&self) -> usize {
        self.bytes.len() + self.restarts.len() * RESTART_BYTES + TAIL_BYTES
    }

    /// An upper bound of what an entry adds to the payload.
    pub fn entry_bound(key: &[u8], value: &[u8]) -> usize {
        key.len() + value.len() + varint_len(key.len() as u64) * 2 + varint_len(value.len() as u64) + RESTART_BYTES
    }

    /// Appends an entry; the caller sees to order and to [`super::MAX_PAYLOAD`], which keeps offsets within 32 bits.
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) {
        let user = key::user_key(internal_key);
        let shared = if self.entries.is_multiple_of(self.restart_interval) {
            self.restarts.push(self.bytes.len() as u32);
            0
        } else {
            common_prefix_len(&self.last_user, user)
        };
        if self.entries == 0 {
            self.first_user.clear();
            self.first_user.extend_from_slice(user);
        }
        put_varint(&mut self.bytes, shared as u64);
        put_varint(&mut self.bytes, (user.len() - shared) as u64);
        put_varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(&internal_key[shared..]);
        self.bytes.extend_from_slice(value);
        self.last_user.clear();
        self.last_user.extend_from_slice(user);
        self.entries += 1;
    }

    /// The payload. Call [`BlockBuilder::reset`] before the next block.
    pub fn finish(&mut self) -> &[u8] {
        let common = common_prefix_len(&self.first_user, &self.last_user);
        let prefixes: Vec<u64> = self.restarts.iter().map(|&at| self.restart_prefix(at as usize, common)).collect();
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        for prefix in prefixes {
            self.bytes.extend_from_slice(&prefix.to_le_bytes());
        }
        self.bytes.extend_from_slice(&(common as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        &self.bytes
    }

    /// Forgets the block.
    pub fn reset(&mut self) {
        self.bytes.clear();
        self.restarts.clear();
        self.entries = 0;
    }

    fn restart_prefix(&self, at: usize, common: usize) -> u64 {
        match super::reader::entry(&self.bytes, at) {
            Ok(entry) => sort_prefix(&self.bytes[entry.suffix.0 + common..entry.suffix.1]),
            // The builder wrote the entry itself: it decodes.
            Err(_) => 0,
        }
    }
}
