//! Sorted table files: immutable runs of internal keys and values on disk.
//!
//! Purpose: write one run ([`TableBuilder`]), read it ([`Table`], [`TableIter`]), check it ([`Table::verify`]), and hold
//! blocks in memory ([`BlockCache`]). Values are opaque; so is the meaning of a key beyond [`crate::base::key`].
//!
//! Owns the table format: data blocks ([`block`]), key filter ([`filter`]), block index ([`index`]), properties
//! ([`properties`]) and footer ([`footer`]), one after the other, without gaps:
//!
//! ```text
//! data block* | filter | index | properties | footer (72 bytes)
//! ```
//!
//! Everything before the footer is a *stored block*: payload, 1 byte type, CRC-32C of both ([`block::stored`]).
//!
//! Depends on base and env. Starts no thread. A [`Table`] is immutable and shared; the only lock is inside the block cache.
//!
//! - TABLE-1: every byte of a file is covered by one checksum, which is salted with the file's number and the offset; the
//!   parts follow one another without a gap, so no byte can lie outside them.
//! - TABLE-2: keys are strictly ascending in the order of [`crate::base::key::compare`]; a table has at least one entry.
//! - TABLE-3: the filter has no false negative for any filter key of the table.
//! - TABLE-4: the index states the exact first and last key and the exact smallest and largest sqn of each block.
//! - TABLE-5: no length from a file is allocated before it is bounded by bytes that exist (or, for lz4, by 255 times them).
//!
//! Crash argument: [`TableBuilder::finish`] returns after a sync; a table counts only once the manifest names it, which
//! happens after that. A file that a crash left unfinished is named by nothing.

mod block;
mod builder;
mod cache;
mod chunk;
mod filter;
mod footer;
mod index;
mod iter;
mod options;
mod order;
mod properties;
mod reader;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use block::BlockSlice;
pub(crate) use builder::{TableBuilder, TableSummary};
pub(crate) use cache::BlockCache;
pub(crate) use filter::FilterKey;
pub(crate) use iter::{ReadMode, TableIter};
pub(crate) use options::{Compression, TableOptions};
pub(crate) use properties::Properties;
pub(crate) use reader::{LastBlock, Table};
