//! A skip list (Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees", 1990) over entries in an arena.

use super::arena::Arena;
use super::entry::{Entry, Probe, prefix_after};
use super::node::Node;
use crate::env::sync::Mutex;
use crate::env::sync::atomic::{AtomicUsize, Ordering};
use std::cmp;

/// With one node in four a level up, 4^12 entries before a search slows down: far more than a list holds.
const MAX_HEIGHT: usize = 12;

/// What only the inserting thread touches.
pub(super) struct ListWriter {
    nodes: Arena,
    /// State of the xorshift generator that draws the heights; fixed at first, so that a run can be repeated to the byte.
    random: u64,
    /// For some key x, the last node before x on every level: where the last insert left off. An ascending run of keys goes in
    /// without a search.
    finger: [Node; MAX_HEIGHT],
}

impl ListWriter {
    /// Bytes that were taken from the allocator.
    #[cfg(test)]
    pub fn reserved_bytes(&self) -> usize {
        self.nodes.reserved_bytes()
    }
}

/// One inserting thread, lock-free readers.
///
/// A node stays where it is as long as the memtable or the list lives: nodes are in the memtable's [`ListWriter`] and then, once the
/// list is [retired](List::retire), in the list itself; entries are in the memtable. Whoever calls a method holds both. This is what
/// every `SAFETY: alive` below refers to; levels are below [`MAX_HEIGHT`] for the head, and a node that was reached on a level is at
/// least that high.
pub(super) struct List {
    head: Node,
    /// Levels in use. A reader that sees an old value only starts lower.
    height: AtomicUsize,
    /// What the keys are thought to have in common; a wrong guess costs comparisons of whole keys.
    common: Box<[u8]>,
    retired: Mutex<Option<Arena>>,
}

impl List {
    /// An empty list, and what inserts into it; heights go on where those of the list before ended.
    pub fn new(common: &[u8], before: Option<&ListWriter>) -> (List, ListWriter) {
        let mut nodes = Arena::new(before.map_or(0, |b| b.nodes.reserved_bytes()));
        let piece = nodes.allocate(Node::bytes(MAX_HEIGHT));
        // SAFETY: the piece has the size asked for and is known to nobody else.
        let head = unsafe { Node::write(piece, MAX_HEIGHT, 0, None) };
        let random = before.map_or(0x9E37_79B9_7F4A_7C15, |b| b.random);
        let list = List { head, height: AtomicUsize::new(1), common: common.into(), retired: Mutex::new(None) };
        (list, ListWriter { nodes, random, finger: [head; MAX_HEIGHT] })
    }

    /// Ends the inserting; the list keeps its nodes from now on.
    pub fn retire(&self, writer: ListWriter) {
        *self.retired.lock() = Some(writer.nodes);
    }

    pub fn common(&self) -> &[u8] {
        &self.common
    }

    /// Walks down from the top; tells for each level, highest first, the last node before `probe`. Returns the node at or
    /// after it.
    #[inline]
    fn descend(&self, prefix: u64, probe: &Probe<'_>, mut last_before: impl FnMut(usize, Node)) -> Option<Node> {
        let mut node = self.head;
        let mut bound = None;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            let mut next = self.next(node, level);
            // A node that ended the level above also ends this one: no need to compare it again.
            while let Some(candidate) = next
                && next != bound
                && self.compare(candidate, prefix, probe).is_lt()
            {
                node = candidate;
                next = self.next(node, level);
            }
            bound = next;
            last_before(level, node);
        }
        bound
    }

    /// The first node.
    pub fn first(&self) -> Option<Node> {
        self.after(self.head)
    }

    /// The last node.
    pub fn last(&self) -> Option<Node> {
        let mut node = self.head;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            while let Some(next) = self.next(node, level) {
                node = next;
            }
        }
        (node != self.head).then_some(node)
    }

    /// The first node at or after `probe`.
    pub fn at_or_after(&self, probe: &Probe<'_>) -> Option<Node> {
        self.descend(prefix_after(&self.common, probe.user_key), probe, |_, _| ())
    }

    /// The last node before `probe`.
    pub fn before(&self, probe: &Probe<'_>) -> Option<Node> {
        let mut found = self.head;
        self.descend(prefix_after(&self.common, probe.user_key), probe, |_, node| found = node);
        (found != self.head).then_some(found)
    }

    /// The node that follows on the lowest level.
    pub fn after(&self, node: Node) -> Option<Node> {
        self.next(node, 0)
    }

    /// The node that follows on a level that `node` has.
    #[inline]
    fn next(&self, node: Node, level: usize) -> Option<Node> {
        // SAFETY: alive.
        unsafe { node.next(level) }
    }

    #[inline]
    fn compare(&self, node: Node, prefix: u64, probe: &Probe<'_>) -> cmp::Ordering {
        // SAFETY: alive.
        unsafe { node.compare(prefix, probe) }
    }

    /// The prefixes and entries from a node on.
    pub fn bodies(&self, from: Option<Node>) -> impl Iterator<Item = (u64, Entry)> + '_ {
        std::iter::successors(from, |node| self.after(*node)).filter_map(|node| {
            // SAFETY: alive.
            let (prefix, entry) = unsafe { node.body() };
            Some((prefix, entry?))
        })
    }

    /// Adds the entry that `make` writes, unless its internal key is there already; tells whether it is now the last one. `writer`
    /// belongs to this list.
    #[inline]
    pub fn insert(
        &self,
        writer: &mut ListWriter,
        probe: &Probe<'_>,
        make: impl FnOnce() -> Entry,
    ) -> Option<(Entry, bool)> {
        let ListWriter { nodes, random, finger } = writer;
        let prefix = prefix_after(&self.common, probe.user_key);
        let next = self.place(finger, prefix, probe);
        if next.is_some_and(|next| self.compare(next, prefix, probe).is_eq()) {
            return None;
        }
        let entry = make();
        let height = draw_height(random);
        // SAFETY: the piece has the size asked for and is known to nobody else.
        let node = unsafe { Node::write(nodes.allocate(Node::bytes(height)), height, prefix, Some(entry)) };
        for (level, before) in finger.iter_mut().enumerate().take(height) {
            // SAFETY: alive; both nodes are higher than `level`, for the finger of a level is of that level or the head; there is
            // one writer, since `writer` is borrowed mutably.
            unsafe { before.link_behind(level, node) };
            *before = node;
        }
        self.height.fetch_max(height, Ordering::Relaxed);
        Some((entry, next.is_none()))
    }

    /// The node at or after `probe`, with the finger moved to just before it.
    #[inline]
    fn place(&self, finger: &mut [Node; MAX_HEIGHT], prefix: u64, probe: &Probe<'_>) -> Option<Node> {
        // If the lowest level's finger is the last node before the probe, so are all the others: they stand at or before it,
        // and what follows them follows x, thus is not before what follows the lowest.
        if self.compare(finger[0], prefix, probe).is_lt() {
            let next = self.after(finger[0]);
            if next.is_none_or(|next| self.compare(next, prefix, probe).is_ge()) {
                return next;
            }
        }
        self.descend(prefix, probe, |level, node| finger[level] = node)
    }
}

/// 1 with probability 3/4, 2 with 3/16, and so on.
#[inline]
fn draw_height(random: &mut u64) -> usize {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    // The upper half: the lower bits of a xorshift are its weak ones.
    let zeros = ((*random >> 32) | 1 << 31).trailing_zeros() as usize;
    (1 + zeros / 2).min(MAX_HEIGHT)
}
