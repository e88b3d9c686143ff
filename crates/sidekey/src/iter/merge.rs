//! Cursors merged into one that yields the entries of all of them in order.
//!
//! The sources stand in an array sorted by their next keys, each beside the eight bytes of its key in which the keys differ
//! (see [`Window`]). A step compares the first with the second alone; when it has to give way it is moved back among the others,
//! mostly by comparing numbers. (Against a loser tree: where one source yields several entries in a row, as the lowest level does,
//! that one comparison is all; and with ten sources that yield in turn, five numbers that lie side by side cost less than three or
//! four branches that nobody can predict. A merge of hundreds would want the tree, but nothing here makes hundreds of sources.)
//!
//! ITER-3: among equal internal keys the source that was given first comes first; sources are given youngest first.

use super::window::{OUTSIDE, Window};
use crate::base::error::Result;
use crate::base::iter::SortedIter;
use crate::base::key;
use crate::base::planted::{Fault, planted};
use std::cmp::Ordering;

/// A source that stands on an entry.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// Orders as the keys do, where two codes differ.
    code: u64,
    source: usize,
}

/// Merges sources of one type (an enum where they differ; there is no dynamic dispatch per entry).
#[derive(Debug)]
pub(crate) struct MergeIter<I> {
    sources: Vec<I>,
    /// The valid sources in the order of their keys; the first has the merge's entry. With one source left its code is not kept.
    order: Vec<Head>,
    window: Window,
    backward: bool,
}

/// How source `a` stands to source `b` in the merge, by their whole keys.
fn compare<I: SortedIter>(sources: &[I], backward: bool, a: usize, b: usize) -> Ordering {
    let order = key::compare(sources[a].key(), sources[b].key()).then(a.cmp(&b));
    if backward { order.reverse() } else { order }
}

impl<I: SortedIter> MergeIter<I> {
    pub fn new(sources: Vec<I>) -> Self {
        Self { order: Vec::with_capacity(sources.len()), sources, window: Window::default(), backward: false }
    }

    fn position_all(&mut self, backward: bool, mut seek: impl FnMut(&mut I) -> Result<()>) -> Result<()> {
        self.backward = backward;
        self.order.clear();
        for source in &mut self.sources {
            seek(source)?;
        }
        let valid = (0..self.sources.len()).filter(|n| self.sources[*n].valid());
        self.order.extend(valid.map(|source| Head { code: OUTSIDE, source }));
        self.order.sort_unstable_by(|a, b| compare(&self.sources, backward, a.source, b.source));
        self.window.forget(backward);
        self.move_window();
        Ok(())
    }

    /// Lays the window anew if the first key is outside of it.
    #[inline]
    fn keep_inside(&mut self) {
        if self.order.first().is_some_and(|head| head.code == OUTSIDE) {
            self.move_window();
        }
    }

    /// Lays the window over the keys that come next. It spans half of the sources: one that is far ahead of the others must not
    /// make it useless to them.
    #[cold]
    fn move_window(&mut self) {
        let [first, _, ..] = self.order[..] else { return };
        let middle = self.order[self.order.len() / 2];
        self.window.cover(self.sources[first.source].key(), self.sources[middle.source].key());
        for head in &mut self.order {
            head.code = self.window.code(self.sources[head.source].key());
        }
    }

    #[inline]
    fn advance(&mut self, step: impl FnOnce(&mut I) -> Result<()>) -> Result<()> {
        let Some(&Head { source, .. }) = self.order.first() else { return Ok(()) };
        let current = &mut self.sources[source];
        if let Err(e) = step(current) {
            self.order.clear();
            return if planted(Fault::ErrorEndsMerge) { Ok(()) } else { Err(e) };
        }
        if !current.valid() {
            self.order.remove(0);
            self.keep_inside();
            return Ok(());
        }
        let Some(second) = self.order.get(1) else { return Ok(()) };
        let code = self.window.code(current.key());
        let stays = code < second.code;
        self.order[0].code = code;
        if !stays {
            self.settle_first();
        }
        Ok(())
    }

    /// Moves the first source to its place among the others, which are in order.
    fn settle_first(&mut self) {
        let (order, sources) = (&mut self.order[..], &self.sources);
        let [head, ..] = *order else { return };
        let mut place = 0;
        for at in 1..order.len() {
            let next = order[at];
            let precedes = match next.code.cmp(&head.code) {
                Ordering::Equal => compare(sources, self.backward, next.source, head.source).is_lt(),
                by_code => by_code.is_lt(),
            };
            if !precedes {
                break;
            }
            order[at - 1] = next;
            place = at;
        }
        order[place] = head;
        self.window.count_use();
        self.keep_inside();
    }
}

impl<I: SortedIter> SortedIter for MergeIter<I> {
    #[inline]
    fn valid(&self) -> bool {
        !self.order.is_empty()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.sources[self.order[0].source].key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.sources[self.order[0].source].value()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.position_all(false, I::seek_to_first)
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.position_all(false, |s| s.seek(target))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.advance(I::next)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.position_all(true, I::seek_to_last)
    }

    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        self.position_all(true, |s| s.seek_before(target))
    }

    fn prev(&mut self) -> Result<()> {
        self.advance(I::prev)
    }
}

#[cfg(test)]
mod tests;
