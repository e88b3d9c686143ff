//! The cursor over a skip list.
#![allow(unsafe_code)]

use super::SkipList;
use super::node::{Node, Probe};
use crate::base::error::Result;
use crate::base::iter::SortedIter;
use std::sync::Arc;

/// A cursor that shares the list; it never fails.
///
/// A step back is a search from the top, since nodes know only what follows them: backward scans are the rarer ones, and a second
/// link would cost every insert a store that cannot be published together with the first.
#[derive(Debug)]
pub(crate) struct MemIter {
    list: Arc<SkipList>,
    at: Option<Node>,
}

impl MemIter {
    pub(super) fn new(list: Arc<SkipList>) -> Self {
        Self { list, at: None }
    }
}

impl SortedIter for MemIter {
    #[inline]
    fn valid(&self) -> bool {
        self.at.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        debug_assert!(self.valid());
        // SAFETY: the cursor keeps the list, and with it the arena, alive.
        self.at.map_or(&[], |node| unsafe { node.key() })
    }

    #[inline]
    fn value(&self) -> &[u8] {
        debug_assert!(self.valid());
        // SAFETY: as above.
        self.at.map_or(&[], |node| unsafe { node.value() })
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.at = self.list.first();
        Ok(())
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.at = self.list.at_or_after(&Probe::from_internal(target));
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        // SAFETY: as above; every node has the lowest level.
        self.at = self.at.and_then(|node| unsafe { node.next(0) });
        Ok(())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.at = self.list.last();
        Ok(())
    }

    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        self.at = self.list.before(&Probe::from_internal(target));
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        // SAFETY: as above.
        self.at = self.at.and_then(|node| self.list.before(&Probe::from_internal(unsafe { node.key() })));
        Ok(())
    }
}
