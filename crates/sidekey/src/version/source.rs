//! The sources that a merge reads: memtables, tables, sorted levels.

use super::meta::TableFile;
use crate::base::error::Result;
use crate::base::iter::SortedIter;
use crate::base::key;
use crate::memtable::MemIter;
use crate::table::{ReadMode, TableIter};
use std::sync::Arc;

/// One source of a merge; an enum, so that no entry costs a virtual call.
pub(crate) enum Source {
    Memory(MemIter),
    Table(TableIter),
    Level(LevelIter),
}

macro_rules! each {
    ($self:ident, $source:ident => $call:expr) => {
        match $self {
            Source::Memory($source) => $call,
            Source::Table($source) => $call,
            Source::Level($source) => $call,
        }
    };
}

impl SortedIter for Source {
    #[inline]
    fn valid(&self) -> bool {
        each!(self, s => s.valid())
    }
    #[inline]
    fn key(&self) -> &[u8] {
        each!(self, s => s.key())
    }
    #[inline]
    fn value(&self) -> &[u8] {
        each!(self, s => s.value())
    }
    fn seek_to_first(&mut self) -> Result<()> {
        each!(self, s => s.seek_to_first())
    }
    fn seek(&mut self, target: &[u8]) -> Result<()> {
        each!(self, s => s.seek(target))
    }
    #[inline]
    fn next(&mut self) -> Result<()> {
        each!(self, s => s.next())
    }
    fn seek_to_last(&mut self) -> Result<()> {
        each!(self, s => s.seek_to_last())
    }
    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        each!(self, s => s.seek_before(target))
    }
    fn prev(&mut self) -> Result<()> {
        each!(self, s => s.prev())
    }
}

/// The tables of a sorted level, one after the other; opens a cursor on one table at a time.
pub(crate) struct LevelIter {
    tables: Vec<Arc<TableFile>>,
    mode: ReadMode,
    at: usize,
    current: Option<TableIter>,
}

impl LevelIter {
    /// `tables` sorted and disjoint.
    pub fn new(tables: Vec<Arc<TableFile>>, mode: ReadMode) -> Self {
        Self { tables, mode, at: 0, current: None }
    }

    fn open(&mut self, at: usize) {
        self.at = at;
        self.current = self.tables.get(at).map(|t| t.table.iter(self.mode));
    }

    /// While the current table is used up, goes to the first entry of the next one.
    fn settle_forward(&mut self) -> Result<()> {
        while self.current.as_ref().is_some_and(|c| !c.valid()) {
            self.open(self.at + 1);
            if let Some(c) = &mut self.current {
                c.seek_to_first()?;
            }
        }
        Ok(())
    }

    fn settle_backward(&mut self) -> Result<()> {
        while self.current.as_ref().is_some_and(|c| !c.valid()) {
            match self.at.checked_sub(1) {
                Some(at) => self.open(at),
                None => self.current = None,
            }
            if let Some(c) = &mut self.current {
                c.seek_to_last()?;
            }
        }
        Ok(())
    }

    /// Runs a step that may fail; after an error the cursor is invalid (ITER-2).
    fn guard(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let done = step(self);
        if done.is_err() {
            self.current = None;
        }
        done
    }
}

impl SortedIter for LevelIter {
    #[inline]
    fn valid(&self) -> bool {
        self.current.as_ref().is_some_and(TableIter::valid)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |c| c.key())
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |c| c.value())
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.guard(|s| {
            s.open(0);
            if let Some(c) = &mut s.current {
                c.seek_to_first()?;
            }
            s.settle_forward()
        })
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.guard(|s| {
            s.open(s.tables.partition_point(|t| key::compare(&t.meta.largest, target).is_lt()));
            if let Some(c) = &mut s.current {
                c.seek(target)?;
            }
            s.settle_forward()
        })
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.guard(|s| {
            if let Some(c) = &mut s.current {
                c.next()?;
                if c.valid() {
                    return Ok(());
                }
            }
            s.settle_forward()
        })
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.guard(|s| {
            match s.tables.len().checked_sub(1) {
                Some(last) => s.open(last),
                None => s.current = None,
            }
            if let Some(c) = &mut s.current {
                c.seek_to_last()?;
            }
            s.settle_backward()
        })
    }

    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        self.guard(|s| {
            let after = s.tables.partition_point(|t| key::compare(&t.meta.smallest, target).is_lt());
            match after.checked_sub(1) {
                Some(at) => s.open(at),
                None => s.current = None,
            }
            if let Some(c) = &mut s.current {
                c.seek_before(target)?;
            }
            s.settle_backward()
        })
    }

    fn prev(&mut self) -> Result<()> {
        self.guard(|s| {
            if let Some(c) = &mut s.current {
                c.prev()?;
            }
            s.settle_backward()
        })
    }
}
