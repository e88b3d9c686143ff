//! Several blocks with one read.

use super::block::{Block, zeroed};
use super::reader::Table;
use crate::base::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// Consecutive blocks that one read brought in.
#[derive(Debug)]
pub(super) struct Chunk {
    bytes: Arc<[u8]>,
    blocks: Range<usize>,
    offset: u64,
}

impl Chunk {
    /// Reads as many blocks from `number` on (or back) as fit `limit` bytes, at least one. Uses the memory of `old` again
    /// if that is large enough and no block of it is in use.
    pub fn read(table: &Table, number: usize, backward: bool, limit: u64, old: Option<Chunk>) -> Result<Chunk> {
        let index = &table.parts.index;
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
            table.read(buffer, offset)?;
        }
        Ok(Chunk { bytes, blocks, offset })
    }

    /// One of the blocks, verified; `None` if it is not among them.
    pub fn block(&self, table: &Table, number: usize) -> Option<Result<Block>> {
        if !self.blocks.contains(&number) {
            return None;
        }
        let (offset, size) = table.parts.index.place(number);
        let start = (offset - self.offset) as usize;
        let block = Block::load(self.bytes.clone(), start..start + size as usize, table.number, offset);
        Some(block.map_err(|damage| table.damage(number, damage)))
    }
}
