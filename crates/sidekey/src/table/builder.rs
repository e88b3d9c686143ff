//! Writing a table file from sorted entries.

use super::block::stored::{self, BlockType, Compressor};
use super::block::{BlockBuilder, MAX_PAYLOAD};
use super::filter::FilterBuilder;
use super::footer::{Footer, Part};
use super::index::{BlockInfo, IndexBuilder};
use super::options::TableOptions;
use super::order::common_prefix_len;
use super::properties::Properties;
use crate::base::error::{Error, Result};
use crate::base::ids::{FileNumber, Sqn};
use crate::base::key;
use crate::base::planted::{Fault, planted};
use crate::env::File;
use std::path::PathBuf;
use std::sync::Arc;

/// Blocks are gathered up to this before they are written: one system call for 64 blocks of 4 KiB.
const WRITE_BYTES: usize = 256 << 10;

/// What was written.
#[derive(Clone, Debug)]
pub(crate) struct TableSummary {
    /// Length of the file.
    pub file_size: u64,
    /// Its properties.
    pub properties: Properties,
}

/// Writes one table. If it is dropped before [`TableBuilder::finish`], or an error is returned, the file is of no use
/// and the caller removes it.
#[derive(Debug)]
pub(crate) struct TableBuilder {
    file: Arc<dyn File>,
    path: PathBuf,
    number: FileNumber,
    options: TableOptions,
    block: BlockBuilder,
    compressor: Compressor,
    /// A block is closed when its payload reaches this.
    block_limit: usize,
    block_sqns: (Sqn, Sqn),
    filter: FilterBuilder,
    index: IndexBuilder,
    properties: Properties,
    /// Bytes not written yet, and the offset where they go.
    pending: Vec<u8>,
    written: u64,
}

impl TableBuilder {
    /// A builder over an empty file, which is `path`'s and has the number.
    pub fn new(file: Arc<dyn File>, path: PathBuf, number: FileNumber, options: TableOptions) -> Self {
        Self {
            block: BlockBuilder::new(options.restart_interval),
            compressor: Compressor::new(options.compression),
            block_limit: options.block_bytes.min(MAX_PAYLOAD / 2),
            block_sqns: (Sqn::MAX, Sqn::ZERO),
            filter: FilterBuilder::new(options.filter_bits_per_key, options.filter_key.filtered()),
            index: IndexBuilder::default(),
            properties: Properties::empty(options.compression, options.tree),
            pending: Vec::new(),
            written: 0,
            file,
            path,
            number,
            options,
        }
    }

    /// Appends an entry, whose internal key must be after the last one's (TABLE-2).
    ///
    /// One comparison with the key before gives order, shared prefix and whether the filter key is new.
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        let Some((user, sqn, kind)) = key::decode(internal_key) else {
            return Err(self.internal("a key that is no internal key"));
        };
        let last = self.block.last_key();
        let first = last.is_empty();
        let shared = common_prefix_len(key::user_key(last), user);
        if !first && !ascends(last, internal_key, shared) {
            return Err(self.internal("a key that is not after the last one"));
        }
        let bound = BlockBuilder::entry_bound(internal_key, value);
        if bound > MAX_PAYLOAD - self.block_limit {
            return Err(Error::invalid(format!("an entry of {bound} bytes is too large for a table")));
        }
        // A filter key depends on its own bytes alone, so keys that share as many have the same.
        let filter_key = self.options.filter_key.of(user);
        if first || shared < filter_key.len() {
            self.filter.add(filter_key);
        }
        // A full block is closed only here, so that the last value may be changed until then. A large value gets a block of its own, so that its
        // small neighbours stay cheap to read.
        let full = self.block.payload_len() >= self.block_limit || bound >= self.options.block_bytes;
        if full && !self.block.is_empty() {
            self.close_block()?;
        }
        self.block.add(shared, internal_key, value);
        self.block_sqns = (self.block_sqns.0.min(sqn), self.block_sqns.1.max(sqn));
        self.properties.count(internal_key, sqn, kind, value);
        Ok(())
    }

    /// The internal key added last; empty before the first.
    #[inline]
    pub fn last_key(&self) -> &[u8] {
        self.block.last_key()
    }

    /// The value added last, which may be changed in place, but not in its length, until the next entry; nothing before the first.
    #[inline]
    pub fn last_value_mut(&mut self) -> &mut [u8] {
        self.block.last_value_mut()
    }

    /// The file's length if it were finished now, approximately.
    #[inline]
    pub fn estimated_size(&self) -> u64 {
        let buffered = self.pending.len() + self.block.payload_len();
        self.written + (buffered + self.filter.estimated_bytes() + self.index.estimated_bytes()) as u64
    }

    /// For what only the caller knows: `max_blind_sqn` and `hidden_until_sqn`. The rest is counted by the builder.
    pub fn properties_mut(&mut self) -> &mut Properties {
        &mut self.properties
    }

    /// Writes everything that is left and makes the file durable (not its name: the caller syncs the directory).
    pub fn finish(mut self) -> Result<TableSummary> {
        if self.properties.entries == 0 {
            return Err(self.internal("a table without entries"));
        }
        self.close_block()?;
        self.properties.data_bytes = self.offset();
        self.properties.largest = self.block.last_key().to_vec();
        let index = self.index.encode();
        if u32::try_from(index.len()).is_err() {
            return Err(self.internal("a table whose index passes 4 GiB"));
        }
        let filter = self.write_part(BlockType::Filter, &self.filter.encode());
        let index = self.write_part(BlockType::Index, &index);
        let properties = self.write_part(BlockType::Properties, &self.properties.encode());
        let footer = Footer { filter, index, properties, file: self.number };
        self.pending.extend_from_slice(&footer.encode());
        self.write_pending()?;
        if !planted(Fault::TableNotSynced) {
            self.file.sync_data().map_err(|e| Error::io(&self.path, "sync a table", e))?;
        }
        Ok(TableSummary { file_size: self.written, properties: self.properties })
    }

    fn close_block(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let offset = self.offset();
        let before = self.pending.len();
        let (block_type, payload) = self.compressor.compress(self.block.finish());
        stored::encode(&mut self.pending, block_type, payload, self.number, offset);
        let (min_sqn, max_sqn) = self.block_sqns;
        let size = (self.pending.len() - before) as u64;
        let (first, last) = (self.block.first_key(), self.block.last_key());
        self.index.add(&BlockInfo { offset, size, first, last, min_sqn, max_sqn });
        self.block.reset();
        self.block_sqns = (Sqn::MAX, Sqn::ZERO);
        if self.pending.len() >= WRITE_BYTES { self.write_pending() } else { Ok(()) }
    }

    fn write_part(&mut self, block_type: BlockType, payload: &[u8]) -> Part {
        let offset = self.offset();
        stored::encode(&mut self.pending, block_type, payload, self.number, offset);
        Part { offset, size: self.offset() - offset }
    }

    fn write_pending(&mut self) -> Result<()> {
        let written = self.file.write_at(&[&self.pending], self.written);
        written.map_err(|e| Error::io(&self.path, "write a table", e))?;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Where the next byte goes.
    fn offset(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    fn internal(&self, what: &str) -> Error {
        Error::internal(format!("table {} was given {what}", self.number))
    }
}

/// Whether internal key `next` is after `last`, given how many bytes their user keys share.
#[inline]
fn ascends(last: &[u8], next: &[u8], shared: usize) -> bool {
    match (key::user_key(last).get(shared), key::user_key(next).get(shared)) {
        (Some(a), Some(b)) => a < b,
        (None, None) => last[shared..] < next[shared..],
        (left, _) => left.is_none(),
    }
}
