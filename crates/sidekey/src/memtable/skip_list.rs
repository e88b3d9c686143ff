//! A skip list over an arena (Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees", 1990).
#![allow(unsafe_code)]

use super::arena::{ALIGN, Arena};
use super::mem_iter::MemIter;
use super::node::{Node, Probe};
use super::{Found, Memtable};
use crate::base::ids::Sqn;
use crate::base::key::{self, Kind};
use crate::env::sync::Mutex;
use crate::env::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::cmp;
use std::sync::Arc;

/// With one node in four a level up, 4^12 entries before a search slows down: more than a memtable ever holds.
const MAX_HEIGHT: usize = 12;

/// What only the inserting thread touches.
struct Writer {
    arena: Arena,
    /// State of the xorshift generator that draws the heights; fixed, so that a run can be repeated to the byte.
    random: u64,
    /// For some key x, the last node before x on every level: where the last insert left off. An ascending run of keys goes in
    /// without a search.
    finger: [Node; MAX_HEIGHT],
}

/// The arena skip list: one inserting thread, lock-free readers.
///
/// A node of the list stays valid as long as the list, because the arena frees nothing before. This is what every
/// `SAFETY: alive` below refers to; levels are below [`MAX_HEIGHT`] for the head, and a node that was reached on a
/// level is at least that high.
pub(crate) struct SkipList {
    head: Node,
    /// Levels in use. A reader that sees an old value only starts lower.
    height: AtomicUsize,
    len: AtomicUsize,
    memory_bytes: AtomicUsize,
    max_sqn: AtomicU64,
    max_blind_sqn: AtomicU64,
    writer: Mutex<Writer>,
}

impl std::fmt::Debug for SkipList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (len, bytes) = (self.len(), self.memory_bytes());
        f.debug_struct("SkipList").field("len", &len).field("memory_bytes", &bytes).finish_non_exhaustive()
    }
}

impl Default for SkipList {
    fn default() -> Self {
        Self::new()
    }
}

impl SkipList {
    pub fn new() -> SkipList {
        let mut arena = Arena::new();
        let nobody = Probe::new(&[], [0; key::TRAILER]);
        let piece = arena.allocate(Node::bytes(MAX_HEIGHT, &[], [&[], &[]]));
        // SAFETY: the piece has the size asked for and is known to nobody else.
        let head = unsafe { Node::write(piece, MAX_HEIGHT, &nobody, [&[], &[]]) };
        SkipList {
            head,
            height: AtomicUsize::new(1),
            len: AtomicUsize::new(0),
            memory_bytes: AtomicUsize::new(0),
            max_sqn: AtomicU64::new(0),
            max_blind_sqn: AtomicU64::new(0),
            writer: Mutex::new(Writer { arena, random: 0x9E37_79B9_7F4A_7C15, finger: [head; MAX_HEIGHT] }),
        }
    }

    /// Bytes that were taken from the allocator: what the entries take, and what is kept ready for the next ones.
    #[cfg(test)]
    pub fn reserved_bytes(&self) -> usize {
        self.writer.lock().arena.reserved_bytes()
    }

    /// Walks down from the top; tells for each level, highest first, the last node before `probe`. Returns the node at or
    /// after it.
    #[inline]
    fn descend(&self, probe: &Probe<'_>, mut last_before: impl FnMut(usize, Node)) -> Option<Node> {
        let mut node = self.head;
        let mut bound = None;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            // SAFETY: alive.
            let mut next = unsafe { node.next(level) };
            while let Some(candidate) = next {
                // A node that ended the level above also ends this one: no need to compare it again.
                // SAFETY: alive.
                if next == bound || unsafe { candidate.compare(probe) } != cmp::Ordering::Less {
                    break;
                }
                node = candidate;
                // SAFETY: alive.
                next = unsafe { node.next(level) };
            }
            bound = next;
            last_before(level, node);
        }
        bound
    }

    /// The first entry.
    pub(super) fn first(&self) -> Option<Node> {
        // SAFETY: alive.
        unsafe { self.head.next(0) }
    }

    /// The last entry.
    pub(super) fn last(&self) -> Option<Node> {
        let mut node = self.head;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            // SAFETY: alive.
            while let Some(next) = unsafe { node.next(level) } {
                node = next;
            }
        }
        self.unless_head(node)
    }

    /// The first entry at or after `probe`.
    pub(super) fn at_or_after(&self, probe: &Probe<'_>) -> Option<Node> {
        self.descend(probe, |_, _| ())
    }

    /// The last entry before `probe`.
    pub(super) fn before(&self, probe: &Probe<'_>) -> Option<Node> {
        let mut found = self.head;
        self.descend(probe, |_, node| found = node);
        self.unless_head(found)
    }

    fn unless_head(&self, node: Node) -> Option<Node> {
        (node != self.head).then_some(node)
    }

    /// The entry at or after `probe`, with the finger moved to just before it.
    fn place(&self, finger: &mut [Node; MAX_HEIGHT], probe: &Probe<'_>) -> Option<Node> {
        // If the lowest level's finger is the last node before the probe, so are all the others: they stand at or before it,
        // and what follows them follows x, thus is not before what follows the lowest.
        let at = finger[0];
        // SAFETY: alive.
        if at == self.head || unsafe { at.compare(probe) } == cmp::Ordering::Less {
            // SAFETY: alive.
            let next = unsafe { at.next(0) };
            // SAFETY: alive.
            if next.is_none_or(|next| unsafe { next.compare(probe) } != cmp::Ordering::Less) {
                return next;
            }
        }
        self.descend(probe, |level, node| finger[level] = node)
    }

    fn cover(&self, sqn: Sqn, bytes: usize) {
        self.len.fetch_add(1, Ordering::Relaxed);
        self.memory_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.max_sqn.fetch_max(sqn.0, Ordering::Relaxed);
    }
}

/// 1 with probability 3/4, 2 with 3/16, and so on.
fn draw_height(random: &mut u64) -> usize {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    // The upper half: the lower bits of a xorshift are its weak ones.
    let zeros = ((*random >> 32) | 1 << 31).trailing_zeros() as usize;
    (1 + zeros / 2).min(MAX_HEIGHT)
}

impl Memtable for SkipList {
    type Iter = MemIter;

    fn insert_parts(&self, user_key: &[u8], sqn: Sqn, kind: Kind, value: [&[u8]; 2]) {
        let fits = |len: Option<usize>| len.is_some_and(|len| u32::try_from(len).is_ok());
        assert!(
            fits(Some(user_key.len())) && fits(value[0].len().checked_add(value[1].len())),
            "an entry beyond 4 GiB got past the limits"
        );
        let probe = Probe::new(user_key, key::trailer(sqn, kind));
        let mut writer = self.writer.lock();
        let Writer { arena, random, finger } = &mut *writer;
        let next = self.place(finger, &probe);
        // SAFETY: alive.
        if next.is_some_and(|next| unsafe { next.compare(&probe) } == cmp::Ordering::Equal) {
            return;
        }
        let height = draw_height(random);
        let bytes = Node::bytes(height, user_key, value);
        // SAFETY: the piece has the size asked for and is known to nobody else; the lengths were checked above.
        let node = unsafe { Node::write(arena.allocate(bytes), height, &probe, value) };
        self.cover(sqn, bytes.next_multiple_of(ALIGN));
        for (level, before) in finger.iter_mut().enumerate().take(height) {
            // SAFETY: alive; both nodes are higher than `level`, for the finger of a level is of that level or the head;
            // the writer's lock is held.
            unsafe { before.link_behind(level, node) };
            *before = node;
        }
        self.height.fetch_max(height, Ordering::Relaxed);
    }

    fn get(&self, user_key: &[u8], at: Sqn) -> Option<Found<'_>> {
        let node = self.at_or_after(&Probe::new(user_key, key::trailer(at, Kind::Put)))?;
        // SAFETY: alive as long as `self` is borrowed.
        let (found, sqn, kind) = key::decode(unsafe { node.key() })?;
        // SAFETY: as above.
        (found == user_key).then(|| Found { sqn, kind, value: unsafe { node.value() } })
    }

    fn iter(self: &Arc<Self>) -> MemIter {
        MemIter::new(Arc::clone(self))
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes.load(Ordering::Relaxed)
    }

    fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    fn max_sqn(&self) -> Sqn {
        Sqn(self.max_sqn.load(Ordering::Relaxed))
    }

    fn note_blind(&self, sqn: Sqn) {
        self.max_blind_sqn.fetch_max(sqn.0, Ordering::Relaxed);
    }

    fn max_blind_sqn(&self) -> Sqn {
        Sqn(self.max_blind_sqn.load(Ordering::Relaxed))
    }
}
