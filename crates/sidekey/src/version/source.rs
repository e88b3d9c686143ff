//! The sources that a merge reads: memtables, tables, sorted levels.

use super::level::Level;
use super::meta::TableFile;
use crate::base::error::Result;
use crate::base::iter::SortedIter;
use crate::memtable::MemIter;
use crate::table::{ReadMode, TableIter};
use std::ops::Range;
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

/// Tables of a sorted level, one after the other; opens a cursor on one table at a time.
pub(crate) struct LevelIter {
    level: Arc<Level>,
    /// The tables to read, of those of the level.
    tables: Range<usize>,
    mode: ReadMode,
    at: usize,
    current: Option<TableIter>,
}

impl LevelIter {
    /// `tables` sorted and disjoint.
    pub fn new(tables: Vec<Arc<TableFile>>, mode: ReadMode) -> Self {
        let tables = Arc::new(Level::new(tables));
        Self::within(tables.clone(), 0..tables.len(), mode)
    }

    /// Over some tables of a level in key order.
    pub fn within(level: Arc<Level>, tables: Range<usize>, mode: ReadMode) -> Self {
        Self { level, tables, mode, at: usize::MAX, current: None }
    }

    /// Gets a cursor for a table, unless it has the one; none if it is not of those to read.
    fn open(&mut self, at: usize) {
        if self.current.is_some() && self.at == at && self.tables.contains(&at) {
            return;
        }
        self.at = at;
        let file = self.level.get(at).filter(|_| self.tables.contains(&at));
        self.current = file.map(|t| t.table.iter(self.mode));
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
            self.open(self.at.checked_sub(1).unwrap_or(usize::MAX));
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
            s.open(s.tables.start);
            if let Some(c) = &mut s.current {
                c.seek_to_first()?;
            }
            s.settle_forward()
        })
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.guard(|s| {
            s.open(s.level.reaching(target).max(s.tables.start));
            if let Some(c) = &mut s.current {
                c.seek(target)?;
            }
            s.settle_forward()
        })
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        if let Err(e) = current.next() {
            self.current = None;
            return Err(e);
        }
        if current.valid() { Ok(()) } else { self.guard(Self::settle_forward) }
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.guard(|s| {
            s.open(s.tables.end.checked_sub(1).unwrap_or(usize::MAX));
            if let Some(c) = &mut s.current {
                c.seek_to_last()?;
            }
            s.settle_backward()
        })
    }

    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        self.guard(|s| {
            let after = s.level.beginning_before(target).min(s.tables.end);
            s.open(after.checked_sub(1).unwrap_or(usize::MAX));
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
