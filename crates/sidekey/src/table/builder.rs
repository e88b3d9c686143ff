//! Writing a table file from sorted entries.

use super::block::stored::{self, BlockType, Compressor};
use super::block::{BlockBuilder, MAX_PAYLOAD};
use super::filter::FilterBuilder;
use super::footer::{Footer, Part};
use super::index::{BlockInfo, IndexBuilder};
use super::options::TableOptions;
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
    /// First key of the block being built.
    block_first: Vec<u8>,
    block_sqns: (Sqn, Sqn),
    /// The key added last; empty before the first.
    last_key: Vec<u8>,
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
            block_first: Vec::new(),
            block_sqns: (Sqn::MAX, Sqn::ZERO),
            last_key: Vec::new(),
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
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        let Some((user, sqn, kind)) = key::decode(internal_key) else {
            return Err(self.internal("a key that is no internal key"));
        };
        let first = self.last_key.is_empty();
        if !first && key::compare(&self.last_key, internal_key).is_ge() {
            return Err(self.internal("a key that is not after the last one"));
        }
        let bound = BlockBuilder::entry_bound(internal_key, value);
        if bound > MAX_PAYLOAD - self.options.block_bytes.min(MAX_PAYLOAD / 2) {
            return Err(Error::invalid(format!("an entry of {bound} bytes is too large for a table")));
        }
        // A large value gets a block of its own, so that its small neighbours stay cheap to read.
        if !self.block.is_empty() && bound >= self.options.block_bytes {
            self.close_block()?;
        }
        let filter_key = self.options.filter_key;
        if first || filter_key.of(key::user_key(&self.last_key)) != filter_key.of(user) {
            self.filter.add(filter_key.of(user));
        }
        if self.block.is_empty() {
            self.block_first.clear();
            self.block_first.extend_from_slice(internal_key);
        }
        self.block.add(internal_key, value);
        self.block_sqns = (self.block_sqns.0.min(sqn), self.block_sqns.1.max(sqn));
        self.properties.count(internal_key, sqn, kind, value);
        self.last_key.clear();
        self.last_key.extend_from_slice(internal_key);
        if self.block.payload_len() >= self.options.block_bytes.min(MAX_PAYLOAD / 2) {
            self.close_block()?;
        }
        Ok(())
    }

    /// The file's length if it were finished now, approximately.
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
        self.properties.largest = std::mem::take(&mut self.last_key);
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
        self.index.add(&BlockInfo { offset, size, first: &self.block_first, last: &self.last_key, min_sqn, max_sqn });
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
