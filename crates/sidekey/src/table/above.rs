//! Forward reading that leaves out blocks too old to matter: for readers that look for the newest versions alone.

use super::iter::{Place, TableIter};
use super::order::Target;
use crate::base::error::Result;
use crate::base::ids::Sqn;
use crate::base::iter::SortedIter;

/// What a reader still looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Only versions with a larger sqn matter. May rise from one step to the next.
    pub floor: Sqn,
    /// Only user keys before this one matter; `None`: all. Bounds how far the index is searched, nothing else.
    pub end: Option<&'a [u8]>,
}

/// Steps that may pass over whole blocks without loading them. Every version that is wanted is visited (TABLE-6); versions
/// that are not wanted may be visited or not. So a key's newest version that is visited need not be its newest: the reader
/// has to drop whatever is at or below its floor.
impl TableIter {
    /// Forward: to the first entry at or after `target` that is not passed over.
    pub fn seek_above(&mut self, target: &[u8], wanted: Wanted<'_>) -> Result<()> {
        let target = Target::key(target);
        let first = self.table.parts.index.block_at_or_after(target);
        match self.wanted_block(first, wanted) {
            number if number == first => self.enter(number, Place::AtOrAfter(target)),
            number => self.enter(number, Place::First),
        }
    }

    /// Forward: to the following entry that is not passed over. A floor that has risen above the current block's largest
    /// sqn leaves the block at once.
    #[inline]
    pub fn next_above(&mut self, wanted: Wanted<'_>) -> Result<()> {
        if !self.valid() {
            return Ok(());
        }
        let matters = self.table.parts.index.sqns(self.at).1 > wanted.floor;
        if matters && self.step()? {
            return Ok(());
        }
        let number = self.wanted_block(self.at + 1, wanted);
        self.enter(number, Place::First)
    }

    /// The first block from `number` on that may hold something wanted; the number of blocks if there is none.
    fn wanted_block(&self, number: usize, wanted: Wanted<'_>) -> usize {
        let index = &self.table.parts.index;
        let matters = |block: &usize| index.sqns(*block).1 > wanted.floor;
        if matters(&number) {
            return number;
        }
        let end = wanted.end.map(|end| Target::version(end, Sqn::MAX));
        let stop = end.map_or(index.len(), |end| index.block_before(end).map_or(0, |last| last + 1));
        (number + 1..stop).find(matters).unwrap_or(index.len())
    }
}
