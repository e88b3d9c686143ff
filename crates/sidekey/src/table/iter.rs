//! A cursor over a whole table.

use super::block::{Block, Cursor, zeroed};
use super::order::Target;
use super::reader::Table;
use crate::base::error::{Damage, Error, Result};
use crate::base::iter::SortedIter;
use std::ops::Range;
use std::sync::Arc;

/// How an iterator gets its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// One by one through the block cache.
    Normal,
    /// Many at once, past the cache: for compaction and checks, which read everything once.
    Bulk,
}

/// The first bulk read, for a scan that may stop soon; later ones are [`BULK_BYTES`] long.
const FIRST_BULK_BYTES: u64 = 256 << 10;
const BULK_BYTES: u64 = 1 << 20;

/// Consecutive blocks that one read brought in.
#[derive(Debug)]
struct Chunk {
    bytes: Arc<[u8]>,
    blocks: Range<usize>,
    offset: u64,
}

/// A cursor over a table (see [`SortedIter`] for its protocol).
#[derive(Debug)]
pub(crate) struct TableIter {
    table: Arc<Table>,
    mode: ReadMode,
    chunk: Option<Chunk>,
    block: Option<Block>,
    /// Number of the current block.
    at: usize,
    cursor: Cursor,
}

/// Where to stand in a block that is entered.
#[derive(Clone, Copy)]
enum Place<'a> {
    First,
    AtOrAfter(Target<'a>),
    Last,
    Before(Target<'a>),
}

impl TableIter {
    pub(super) fn new(table: Arc<Table>, mode: ReadMode) -> Self {
        Self { table, mode, chunk: None, block: None, at: 0, cursor: Cursor::default() }
    }

    /// Loads a block, unless it is the current one, and takes a place in it. Invalid if there is no such block, if it has
    /// no such place, or on error.
    fn enter(&mut self, number: usize, place: Place<'_>) -> Result<()> {
        self.cursor.invalidate();
        if number >= self.table.parts.index.len() {
            return Ok(());
        }
        if self.at != number {
            // Let go first: a bulk read may then reuse its buffer.
            self.block = None;
        }
        let block = match self.block.take() {
            Some(block) => block,
            None => self.load(number, matches!(place, Place::Last | Place::Before(_)))?,
        };
        self.at = number;
        let block = self.block.insert(block);
        let stood = match place {
            Place::First => self.cursor.first(block),
            Place::AtOrAfter(target) => self.cursor.seek(block, target),
            Place::Last => self.cursor.last(block),
            Place::Before(target) => self.cursor.seek_before(block, target),
        };
        match stood {
            Ok(true) => Ok(()),
            // The index promised an entry there (TABLE-4); an error must not look like an end (ITER-2).
            Ok(false) => Err(self.damage(Damage::new(0, "the index promises an entry that the block does not have"))),
            Err(damage) => Err(self.damage(damage)),
        }
    }

    fn load(&mut self, number: usize, backward: bool) -> Result<Block> {
        if self.mode == ReadMode::Normal {
            return self.table.block(number);
        }
        if !self.chunk.as_ref().is_some_and(|chunk| chunk.blocks.contains(&number)) {
            self.read_chunk(number, backward)?;
        }
        let Some(chunk) = &self.chunk else {
            return Err(Error::internal("a bulk read left no blocks"));
        };
        let (offset, size) = self.table.parts.index.place(number);
        let start = (offset - chunk.offset) as usize;
        Block::load(chunk.bytes.clone(), start..start + size as usize, self.table.number, offset)
            .map_err(|damage| self.table.damage(number, damage))
    }

    /// Reads as many blocks from `number` on (or back) as fit one bulk read, at least one.
    fn read_chunk(&mut self, number: usize, backward: bool) -> Result<()> {
        let index = &self.table.parts.index;
        let old = self.chunk.take();
        let limit = if old.is_some() { BULK_BYTES } else { FIRST_BULK_BYTES };
        let span = |blocks: &Range<usize>| {
            let (start, (last, size)) = (index.place(blocks.start).0, index.place(blocks.end - 1));
            (start, last + size - start)
        };
        let mut blocks = number..number + 1;
        loop {
            let wider = match backward {
                false if blocks.end < index.len() => blocks.start..blocks.end + 1,
                true if blocks.start > 0 => blocks.start - 1..blocks.end,
                _ => break,
            };
            if span(&wider).1 > limit {
                break;
            }
            blocks = wider;
        }
        let (offset, len) = span(&blocks);
        let mut bytes = old.map(|chunk| chunk.bytes).filter(|bytes| bytes.len() as u64 >= len);
        if bytes.as_mut().is_none_or(|bytes| Arc::get_mut(bytes).is_none()) {
            bytes = None;
        }
        let mut bytes = bytes.unwrap_or_else(|| zeroed(len as usize));
        if let Some(buffer) = Arc::get_mut(&mut bytes).and_then(|bytes| bytes.get_mut(..len as usize)) {
            self.table.read(buffer, offset)?;
        }
        self.chunk = Some(Chunk { bytes, blocks, offset });
        Ok(())
    }

    #[cold]
    fn damage(&mut self, damage: Damage) -> Error {
        self.cursor.invalidate();
        self.table.damage(self.at, damage)
    }
}

impl SortedIter for TableIter {
    #[inline]
    fn valid(&self) -> bool {
        self.cursor.valid()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.cursor.key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        let (start, end) = self.cursor.value();
        self.block.as_ref().and_then(|block| block.entries().get(start..end)).unwrap_or_default()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.enter(0, Place::First)
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        let target = Target::key(target);
        let number = self.table.parts.index.block_at_or_after(target);
        self.enter(number, Place::AtOrAfter(target))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        if !self.cursor.valid() {
            return Ok(());
        }
        match self.block.as_ref().map(|block| self.cursor.step(block)) {
            Some(Ok(true)) => Ok(()),
            Some(Err(damage)) => Err(self.damage(damage)),
            _ => self.enter(self.at + 1, Place::First),
        }
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.enter(self.table.parts.index.len() - 1, Place::Last)
    }

    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        let target = Target::key(target);
        match self.table.parts.index.block_before(target) {
            Some(number) => self.enter(number, Place::Before(target)),
            None => {
                self.cursor.invalidate();
                Ok(())
            }
        }
    }

    fn prev(&mut self) -> Result<()> {
        if !self.cursor.valid() {
            return Ok(());
        }
        match self.block.as_ref().map(|block| self.cursor.step_back(block)) {
            Some(Ok(true)) => Ok(()),
            Some(Err(damage)) => Err(self.damage(damage)),
            _ => self.enter(self.at.checked_sub(1).unwrap_or(usize::MAX), Place::Last),
        }
    }
}
