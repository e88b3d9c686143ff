//! A cursor over a whole table.

use super::block::{Block, Cursor};
use super::chunk::Chunk;
use super::order::Target;
use super::reader::Table;
use crate::base::error::{Damage, Error, Result};
use crate::base::iter::SortedIter;
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
/// In [`ReadMode::Normal`], after so many neighbouring blocks that were not in the cache, each read brings in
/// [`AHEAD_BYTES`]. A seek with 50 steps over records of 100 bytes does not get there.
const AHEAD_AFTER: u32 = 4;
/// Each source of a scan may hold that much.
const AHEAD_BYTES: u64 = 128 << 10;

/// A cursor over a table (see [`SortedIter`] for its protocol).
#[derive(Debug)]
pub(crate) struct TableIter {
    pub(super) table: Arc<Table>,
    mode: ReadMode,
    chunk: Option<Chunk>,
    /// Whether the chunk's blocks go to the cache.
    keep: bool,
    /// How many blocks, each beside the one before, were looked for in the cache in vain, and the last of them.
    misses: (u32, usize),
    block: Option<Block>,
    /// Number of the current block.
    pub(super) at: usize,
    cursor: Cursor,
}

/// Where to stand in a block that is entered.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    First,
    AtOrAfter(Target<'a>),
    Last,
    Before(Target<'a>),
}

impl TableIter {
    pub(super) fn new(table: Arc<Table>, mode: ReadMode) -> Self {
        Self { table, mode, chunk: None, keep: false, misses: (0, 0), block: None, at: 0, cursor: Cursor::default() }
    }

    /// Loads a block, unless it is the current one, and takes a place in it. Invalid if there is no such block, if it has
    /// no such place, or on error.
    pub(super) fn enter(&mut self, number: usize, place: Place<'_>) -> Result<()> {
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
        if let Some(block) = self.chunk.as_ref().and_then(|chunk| chunk.block(&self.table, number)) {
            return block.map(|block| self.take_from_chunk(number, block));
        }
        match self.mode {
            ReadMode::Normal => self.load_normal(number, backward),
            ReadMode::Bulk => {
                let old = self.chunk.take();
                let limit = if old.is_some() { BULK_BYTES } else { FIRST_BULK_BYTES };
                self.load_chunk(number, backward, limit, old)
            }
        }
    }

    /// Through the cache, or ahead of a scan that finds nothing there. What is read ahead is kept in the cache as long as
    /// that has room: a scan of more than fits would only push out what others use.
    fn load_normal(&mut self, number: usize, backward: bool) -> Result<Block> {
        if let Some(block) = self.table.cached(number) {
            return Ok(block);
        }
        let (count, last) = self.misses;
        let count = if number.abs_diff(last) == 1 { count + 1 } else { 1 };
        self.misses = (count, number);
        let old = self.chunk.take();
        if count > AHEAD_AFTER
            && let Ok(block) = self.load_chunk(number, backward, AHEAD_BYTES, old)
        {
            return Ok(block);
        }
        // Also if reading ahead failed: the fault may lie behind what the scan is going to need.
        self.table.block_into_cache(number)
    }

    fn load_chunk(&mut self, number: usize, backward: bool, limit: u64, old: Option<Chunk>) -> Result<Block> {
        let chunk = self.chunk.insert(Chunk::read(&self.table, number, backward, limit, old)?);
        let block = chunk.block(&self.table, number);
        self.keep = self.mode == ReadMode::Normal && self.table.cache_has_room(AHEAD_BYTES);
        let block = block.unwrap_or_else(|| Err(Error::internal("a read of blocks left out the first")))?;
        Ok(self.take_from_chunk(number, block))
    }

    fn take_from_chunk(&mut self, number: usize, block: Block) -> Block {
        self.misses.1 = number;
        if !self.keep {
            return block;
        }
        let own = block.detached();
        self.table.keep_in_cache(number, &own);
        own
    }

    /// To the next entry of the current block; false at its end.
    #[inline]
    pub(super) fn step(&mut self) -> Result<bool> {
        match self.block.as_ref().map(|block| self.cursor.step(block)) {
            Some(Ok(more)) => Ok(more),
            Some(Err(damage)) => Err(self.damage(damage)),
            None => Ok(false),
        }
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
        if self.step()? { Ok(()) } else { self.enter(self.at + 1, Place::First) }
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
