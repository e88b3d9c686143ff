//! One entry of the skip list: its layout, and the only code that reads or writes it.
//!
//! ```text
//!   link[height-1] … link[1] link[0] | prefix u64 | key length u32 | value length u32 | user key | trailer | value
//!                                    ^ the address of the node
//! ```
//!
//! The tower grows downwards from the address, so that neither a link nor the key needs the height to be found, and the
//! header, the two links that are followed most and the first bytes of the key share a cache line. Key and trailer stand
//! together: the internal key is a slice of the arena, never a copy.
#![allow(unsafe_code)]

use super::arena::ALIGN;
use crate::base::key::TRAILER;
use crate::env::sync::atomic::{AtomicPtr, Ordering};
use std::cmp;
use std::ptr::NonNull;

const LINK: usize = size_of::<AtomicPtr<u8>>();
const KEY_LENGTH: usize = 8;
const VALUE_LENGTH: usize = 12;
const HEADER: usize = 16;

/// An internal key that is looked for, taken apart once for all comparisons.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    prefix: u64,
    user_key: &'a [u8],
    trailer: [u8; TRAILER],
}

impl<'a> Probe<'a> {
    #[inline]
    pub fn new(user_key: &'a [u8], trailer: [u8; TRAILER]) -> Self {
        Self { prefix: prefix(user_key), user_key, trailer }
    }

    /// From an internal key; bytes too short to be one sort before every key.
    pub fn from_internal(key: &'a [u8]) -> Self {
        match key.split_last_chunk::<TRAILER>() {
            Some((user_key, trailer)) => Self::new(user_key, *trailer),
            None => Self::new(&[], [0; TRAILER]),
        }
    }
}

/// The first 8 bytes, padded with zeros, as a number that compares as the bytes do. Where two prefixes differ they decide;
/// where they are equal the keys must be compared.
#[inline]
fn prefix(user_key: &[u8]) -> u64 {
    match user_key.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut padded = [0; 8];
            padded[..user_key.len()].copy_from_slice(user_key);
            u64::from_be_bytes(padded)
        }
    }
}

/// The address of an entry in an arena. Everything but its links is immutable once [`Node::write`] returned.
///
/// The methods are unsafe for one and the same reason: *the arena must still be alive*, and a level must be below the
/// height that the node was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node(NonNull<u8>);

// SAFETY: a node is shared by design: its bytes do not change after publication and its links are atomic.
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

impl Node {
    /// Bytes that [`Node::write`] fills.
    #[inline]
    pub fn bytes(height: usize, user_key: &[u8], value: [&[u8]; 2]) -> usize {
        tower_bytes(height) + HEADER + user_key.len() + TRAILER + value[0].len() + value[1].len()
    }

    /// Writes an entry with empty links.
    ///
    /// # Safety
    /// `piece` is aligned to [`ALIGN`], has [`Node::bytes`] writable bytes, and nobody else knows it yet. The lengths fit 32 bits.
    pub unsafe fn write(piece: NonNull<u8>, height: usize, key: &Probe<'_>, value: [&[u8]; 2]) -> Node {
        // SAFETY: every write stays within the bytes that the caller vouches for: tower, header, key, trailer and value in
        // this order add up to `Node::bytes`. Tower slots and header fields are aligned since the piece is, and the tower
        // takes a multiple of `ALIGN`.
        unsafe {
            let node = Node(piece.add(tower_bytes(height)));
            for level in 0..height {
                node.0.sub((level + 1) * LINK).cast::<AtomicPtr<u8>>().write(AtomicPtr::new(std::ptr::null_mut()));
            }
            node.0.cast::<u64>().write(key.prefix);
            node.0.add(KEY_LENGTH).cast::<u32>().write(key.user_key.len() as u32);
            node.0.add(VALUE_LENGTH).cast::<u32>().write((value[0].len() + value[1].len()) as u32);
            let mut at = node.0.add(HEADER);
            for part in [key.user_key, &key.trailer, value[0], value[1]] {
                at.copy_from_nonoverlapping(NonNull::from(part).cast(), part.len());
                at = at.add(part.len());
            }
            node
        }
    }

    /// # Safety
    /// See [`Node`].
    #[inline]
    unsafe fn link<'a>(self, level: usize) -> &'a AtomicPtr<u8> {
        // SAFETY: the caller vouches that the slot exists; it was initialised by `write` and is only used as an atomic.
        unsafe { self.0.sub((level + 1) * LINK).cast::<AtomicPtr<u8>>().as_ref() }
    }

    /// The following node of a level, with all that was written before it was linked (MEM-3).
    ///
    /// # Safety
    /// See [`Node`].
    #[inline]
    pub unsafe fn next(self, level: usize) -> Option<Node> {
        // SAFETY: as the caller vouches.
        NonNull::new(unsafe { self.link(level) }.load(Ordering::Acquire)).map(Node)
    }

    /// Puts `new` behind this node on a level.
    ///
    /// # Safety
    /// See [`Node`], for both nodes; and the caller is the only writer.
    #[inline]
    pub unsafe fn link_behind(self, level: usize, new: Node) {
        // SAFETY: as the caller vouches. The new node's own link may be relaxed: the release store publishes it.
        unsafe {
            let next = self.link(level).load(Ordering::Relaxed);
            new.link(level).store(next, Ordering::Relaxed);
            self.link(level).store(new.0.as_ptr(), Ordering::Release);
        }
    }

    /// # Safety
    /// See [`Node`].
    #[inline]
    unsafe fn user_key_len(self) -> usize {
        // SAFETY: the header was written by `write`.
        unsafe { self.0.add(KEY_LENGTH).cast::<u32>().read() as usize }
    }

    /// The internal key.
    ///
    /// # Safety
    /// See [`Node`]; the arena lives as long as the returned slice.
    #[inline]
    pub unsafe fn key<'a>(self) -> &'a [u8] {
        // SAFETY: `write` put user key and trailer behind the header.
        unsafe { NonNull::slice_from_raw_parts(self.0.add(HEADER), self.user_key_len() + TRAILER).as_ref() }
    }

    /// The value.
    ///
    /// # Safety
    /// See [`Node`]; the arena lives as long as the returned slice.
    #[inline]
    pub unsafe fn value<'a>(self) -> &'a [u8] {
        // SAFETY: `write` put the value behind the trailer, with this length.
        unsafe {
            let len = self.0.add(VALUE_LENGTH).cast::<u32>().read() as usize;
            NonNull::slice_from_raw_parts(self.0.add(HEADER + self.user_key_len() + TRAILER), len).as_ref()
        }
    }

    /// How this node's key compares with `probe`.
    ///
    /// # Safety
    /// See [`Node`].
    #[inline]
    pub unsafe fn compare(self, probe: &Probe<'_>) -> cmp::Ordering {
        // SAFETY: as the caller vouches.
        let prefix = unsafe { self.0.cast::<u64>().read() };
        if prefix != probe.prefix {
            return prefix.cmp(&probe.prefix);
        }
        // SAFETY: as the caller vouches.
        let (user_key, trailer) = unsafe { self.key() }.split_at(unsafe { self.user_key_len() });
        user_key.cmp(probe.user_key).then_with(|| trailer.cmp(&probe.trailer[..]))
    }
}

#[inline]
fn tower_bytes(height: usize) -> usize {
    (height * LINK).next_multiple_of(ALIGN)
}
