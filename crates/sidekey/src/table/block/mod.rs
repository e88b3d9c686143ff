//! Data blocks: sorted entries, prefix-compressed, searched without decoding most of them.
//!
//! Payload of a data block (before compression), integers little-endian:
//!
//! ```text
//! entry*  |  restart offset u32 *n  |  restart prefix u64 *n  |  common u32  |  n u32
//! entry:  varint shared, varint unshared, varint value length, user key suffix, 8-byte key trailer, value
//! ```
//!
//! `shared` counts the bytes of the user key taken over from the entry before; the trailer (sqn and kind) is never
//! shared, so that a search compares user keys as plain bytes and the scan after a restart need not build keys.
//! Every `restart interval` entries one has `shared` = 0: a restart. `common` is the length of the prefix that all
//! user keys of the block share; a restart's prefix is [`super::order::sort_prefix`] of its user key after that, so that
//! the binary search reads one small array and decodes an entry only where two prefixes are equal.
//!
//! The upper four bits of `n` are zero, because no block has 2^28 restarts, and reserved: a later format may give them a
//! meaning (a hash index in front of the two numbers, say). This build refuses a block where one is set.
//!
//! - BLOCK-1: a block has at least one entry; restart offsets ascend strictly from 0; the first key has the common prefix.
//! - BLOCK-2: a [`Block`] in memory is one allocation (or part of one that a bulk read made), verified once when loaded.

mod builder;
mod cursor;
mod entry;
mod reader;
pub(crate) mod stored;
#[cfg(test)]
mod tests;

pub(crate) use builder::BlockBuilder;
pub(crate) use cursor::Cursor;
pub(crate) use reader::{Block, BlockSlice, zeroed};

/// The longest payload of a data block: one largest value (1 GiB) with its header, key and the entries before it.
pub(crate) const MAX_PAYLOAD: usize = (1 << 30) + (2 << 20);
/// Bytes of one restart: offset and prefix.
const RESTART_BYTES: usize = 4 + 8;
/// Bytes after the restarts: common length and count.
const TAIL_BYTES: usize = 4 + 4;
/// The longest restart interval; a longer one gains nothing and would let a group unfold to more than readers accept.
const MAX_RESTART_INTERVAL: usize = 256;
