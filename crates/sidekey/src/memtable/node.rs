//! One node of the skip list: its layout, and the only code that reads or writes it.
//!
//! ```text
//!   link[height-1] … link[1] link[0] | prefix u64 | entry
//!                                    ^ the address of the node
//! ```
//!
//! The tower grows downwards from the address, so that neither a link nor the prefix needs the height to be found. Key and value
//! are elsewhere: some thousand nodes lie close together and stay in the cache while values stream past it.

use super::entry::{Entry, Probe};
use crate::env::sync::atomic::{AtomicPtr, Ordering};
use std::cmp;
use std::ptr::NonNull;

const LINK: usize = size_of::<AtomicPtr<u8>>();
const ENTRY: usize = 8;
const BODY: usize = ENTRY + size_of::<Option<Entry>>();

/// The address of a node in an arena. Everything but its links is immutable once [`Node::write`] returned.
///
/// The methods are unsafe for one and the same reason: *the arenas of nodes and entries must be alive*, and a level must be below the
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
    pub fn bytes(height: usize) -> usize {
        height * LINK + BODY
    }

    /// Writes a node with empty links.
    ///
    /// # Safety
    /// `piece` is aligned for pointers and u64, has [`Node::bytes`] writable bytes, and nobody else knows it yet.
    #[inline]
    pub unsafe fn write(piece: NonNull<u8>, height: usize, prefix: u64, entry: Option<Entry>) -> Node {
        // SAFETY: tower and body add up to the bytes that the caller vouches for, and every field is a multiple of 8 bytes.
        unsafe {
            for level in 0..height {
                piece.add(level * LINK).cast::<AtomicPtr<u8>>().write(AtomicPtr::new(std::ptr::null_mut()));
            }
            let node = piece.add(height * LINK);
            node.cast::<u64>().write(prefix);
            node.add(ENTRY).cast::<Option<Entry>>().write(entry);
            Node(node)
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

    /// The prefix, and the entry: none in a list's head.
    ///
    /// # Safety
    /// See [`Node`].
    #[inline]
    pub unsafe fn body(self) -> (u64, Option<Entry>) {
        // SAFETY: written by `write`.
        unsafe { (self.0.cast::<u64>().read(), self.0.add(ENTRY).cast::<Option<Entry>>().read()) }
    }

    /// How this node's key compares with `probe`, whose prefix in the list is `prefix`; a head is before everything.
    ///
    /// # Safety
    /// See [`Node`].
    #[inline]
    pub unsafe fn compare(self, prefix: u64, probe: &Probe<'_>) -> cmp::Ordering {
        // SAFETY: as the caller vouches.
        let (own, entry) = unsafe { self.body() };
        own.cmp(&prefix).then_with(|| match entry {
            // SAFETY: as above.
            Some(entry) => Probe::from_internal(unsafe { entry.key() }).compare(probe),
            None => cmp::Ordering::Less,
        })
    }
}
