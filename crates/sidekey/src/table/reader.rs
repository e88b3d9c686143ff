//! An open table: point reads, and blocks for iterators.

use super::block::stored::{self, BlockType};
use super::block::{Block, BlockSlice, zeroed};
use super::cache::BlockCache;
use super::filter::{Filter, Filtered};
use super::footer::{FOOTER_BYTES, Footer, FooterError, Part};
use super::index::{BlockInfo, Index};
use super::iter::{ReadMode, TableIter};
use super::order::Target;
use super::properties::Properties;
use crate::base::error::{Damage, Error, Result};
use crate::base::format::FORMAT_VERSION;
use crate::base::ids::{FileNumber, Sqn};
use crate::base::key::{self, Kind};
use crate::env::{Advice, File, FileSystem, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A version that [`Table::get`] found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub sqn: Sqn,
    pub kind: Kind,
    pub value: BlockSlice,
}

/// The block that a search read last: the next search may want the same one.
#[derive(Debug, Default)]
pub(crate) struct LastBlock(Option<(FileNumber, usize, Block)>);

/// Everything of a table but its data blocks, decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub filter: Filter,
    pub index: Index,
    pub properties: Properties,
}

/// An open table. Index and filter stay in memory as long as it does; data blocks go through the block cache.
#[derive(Debug)]
pub(crate) struct Table {
    pub(super) file: Arc<dyn File>,
    pub(super) path: PathBuf,
    pub(super) number: FileNumber,
    pub(super) parts: Parts,
    cache: Arc<BlockCache>,
}

impl Table {
    /// Opens the table file of that number and reads and verifies all of it but the data blocks.
    ///
    /// Errors: [`Error::Corruption`], also for a file that is no table or another one; [`Error::Incompatible`] for a
    /// table of a newer format.
    pub fn open(fs: &dyn FileSystem, path: &Path, number: FileNumber, cache: Arc<BlockCache>) -> Result<Arc<Table>> {
        let file = fs.open(path, OpenMode::Read).map_err(|e| Error::io(path, "open a table", e))?;
        let parts = Parts::read(&*file, path, number)?;
        // Point reads jump about; bulk reads ask for what they need in one piece.
        file.advise(0, parts.index.end(), Advice::Random);
        Ok(Arc::new(Table { file, path: path.to_path_buf(), number, parts, cache }))
    }

    /// What the table says of itself.
    pub fn properties(&self) -> &Properties {
        &self.parts.properties
    }

    /// Memory held while the table is open: index and filter.
    pub fn memory_bytes(&self) -> usize {
        self.parts.index.memory_bytes() + self.parts.filter.memory_bytes()
    }

    /// False only if no key of the table has this filter key (TABLE-3).
    #[inline]
    pub fn may_contain(&self, filter_key: &[u8]) -> bool {
        self.parts.filter.may_contain(filter_key)
    }

    /// The data blocks in order.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = BlockInfo<'_>> + ExactSizeIterator {
        (0..self.parts.index.len()).map(|block| self.parts.index.info(block))
    }

    /// The newest version of `user_key` with an sqn of at most `at`. A filter over whole keys is asked first; whoever
    /// has a filter over prefixes asks [`Table::may_contain`].
    pub fn get(&self, user_key: &[u8], at: Sqn) -> Result<Option<Found>> {
        self.get_near(user_key, at, &mut LastBlock::default())
    }

    /// [`Table::get`] for several keys in order, which may lie in one block.
    #[inline]
    pub fn get_near(&self, user_key: &[u8], at: Sqn, last: &mut LastBlock) -> Result<Option<Found>> {
        let filter = &self.parts.filter;
        if at < self.parts.properties.min_sqn
            || filter.filtered() == Filtered::WholeKeys && !filter.may_contain(user_key)
        {
            return Ok(None);
        }
        let (index, target) = (&self.parts.index, Target::version(user_key, at));
        let following = index.blocks_starting_up_to(target);
        // A key that passed the filter is almost surely there: then the block is read without first comparing its last
        // key, which would cost a cache miss.
        let likely = filter.filtered() == Filtered::WholeKeys;
        if let Some(number) = following.checked_sub(1)
            && (likely || target.order_of(index.last(number)).is_ge())
            && let Some(found) = self.find(number, target, last)?
        {
            return Ok(Some(found));
        }
        // Versions of a key may start in one block and go on in the next.
        if following < index.len() && key::user_key(index.first(following)) == user_key {
            return self.find(following, target, last);
        }
        Ok(None)
    }

    /// The first entry of a block at or after `target`, if it is of the same user key.
    #[inline]
    fn find(&self, number: usize, target: Target<'_>, last: &mut LastBlock) -> Result<Option<Found>> {
        let block = match last.0.take() {
            Some((table, at, block)) if (table, at) == (self.number, number) => block,
            _ => self.block(number)?,
        };
        let (_, _, block) = last.0.insert((self.number, number, block));
        let found = block.find(target).map_err(|damage| self.damage(number, damage))?;
        let Some((entry, true)) = found else {
            return Ok(None);
        };
        let packed = !entry.trailer(block.entries());
        let Some(kind) = Kind::from_byte(packed as u8) else {
            return Err(self.damage(number, Damage::new(entry.suffix.1, "unknown kind of version")));
        };
        Ok(Some(Found { sqn: Sqn(packed >> 8), kind, value: block.slice(entry.value) }))
    }

    /// A cursor over the table.
    pub fn iter(self: &Arc<Self>, mode: ReadMode) -> TableIter {
        TableIter::new(self.clone(), mode)
    }

    /// Removes the table's blocks from the cache, for a table that is about to be deleted.
    pub fn forget_blocks(&self) {
        self.blocks().for_each(|block| self.cache.erase(self.number, block.offset));
    }

    /// A data block through the cache.
    #[inline]
    fn block(&self, number: usize) -> Result<Block> {
        match self.cached(number) {
            Some(block) => Ok(block),
            None => self.block_into_cache(number),
        }
    }

    /// A data block if the cache holds it.
    #[inline]
    pub(super) fn cached(&self, number: usize) -> Option<Block> {
        self.cache.get(self.number, self.parts.index.place(number).0)
    }

    /// A data block from the file, which the cache holds then.
    pub(super) fn block_into_cache(&self, number: usize) -> Result<Block> {
        let block = self.block_from_disk(number)?;
        self.keep_in_cache(number, &block);
        Ok(block)
    }

    /// Puts a data block, which is an allocation of its own, into the cache.
    pub(super) fn keep_in_cache(&self, number: usize, block: &Block) {
        self.cache.insert(self.number, self.parts.index.place(number).0, block);
    }

    /// Whether so many bytes would push nothing out of the cache.
    pub(super) fn cache_has_room(&self, bytes: u64) -> bool {
        self.cache.has_room(bytes)
    }

    /// A data block past the cache.
    pub(super) fn block_from_disk(&self, number: usize) -> Result<Block> {
        let (offset, size) = self.parts.index.place(number);
        let mut bytes = zeroed(size as usize);
        if let Some(buffer) = Arc::get_mut(&mut bytes) {
            self.read(buffer, offset)?;
        }
        Block::load(bytes, 0..size as usize, self.number, offset).map_err(|damage| self.damage(number, damage))
    }

    /// Fills `buffer` from the file.
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        read(&*self.file, &self.path, buffer, offset)
    }

    /// The error for damage inside a data block, which may have been compressed: the offset is the block's.
    pub(super) fn damage(&self, block: usize, damage: Damage) -> Error {
        let (offset, _) = self.parts.index.place(block);
        Error::corruption(&self.path, offset, format!("{} (byte {} of the block)", damage.what, damage.offset))
    }
}

impl Parts {
    /// Reads and verifies everything after the data blocks, in two reads.
    pub fn read(file: &dyn File, path: &Path, number: FileNumber) -> Result<Parts> {
        let len = file.len().map_err(|e| Error::io(path, "get the length of a table", e))?;
        let footer_at = len.saturating_sub(FOOTER_BYTES as u64);
        let mut bytes = vec![0; (len - footer_at) as usize];
        read(file, path, &mut bytes, footer_at)?;
        let footer = Footer::decode(&bytes, len).map_err(|error| match error {
            FooterError::Damage(damage) => damage.in_file(path, footer_at),
            FooterError::Newer(version) => Error::Incompatible(format!(
                "{}: table format {version} is newer than this build, which reads up to {FORMAT_VERSION}",
                path.display()
            )),
        })?;
        if footer.file != number {
            let what = format!("this is table {}, where table {number} should be", footer.file);
            return Err(Error::corruption(path, footer_at, what));
        }
        // The footer's check bounds this by the file's length.
        let mut bytes = vec![0; (footer_at - footer.filter.offset) as usize];
        read(file, path, &mut bytes, footer.filter.offset)?;
        let payload = |part: Part, expected| {
            let start = (part.offset - footer.filter.offset) as usize;
            let stored = bytes.get(start..start + part.size as usize).unwrap_or_default();
            let found = stored::decode(stored, number, part.offset).map_err(|d| d.in_file(path, part.offset))?;
            if found.0 != expected {
                return Err(Error::corruption(
                    path,
                    part.offset,
                    format!("expected {expected:?}, found {:?}", found.0),
                ));
            }
            Ok(found.1)
        };
        let located = |part: Part| move |damage: Damage| damage.in_file(path, part.offset);
        let parts = Parts {
            filter: Filter::decode(payload(footer.filter, BlockType::Filter)?).map_err(located(footer.filter))?,
            index: Index::decode(payload(footer.index, BlockType::Index)?).map_err(located(footer.index))?,
            properties: Properties::decode(payload(footer.properties, BlockType::Properties)?)
                .map_err(located(footer.properties))?,
        };
        match parts.contradiction(footer.filter.offset) {
            Some(what) => Err(Error::corruption(path, footer.properties.offset, what)),
            None => Ok(parts),
        }
    }

    /// What index and properties say differently.
    fn contradiction(&self, data_end: u64) -> Option<&'static str> {
        let Parts { index, properties, .. } = self;
        let sqns = (0..index.len()).map(|block| index.sqns(block));
        let min_sqn = sqns.clone().map(|(min, _)| min).min();
        let max_sqn = sqns.map(|(_, max)| max).max();
        [
            (index.end() != data_end, "the index ends elsewhere than the data blocks"),
            (properties.data_bytes != data_end, "the properties state another length of the data blocks"),
            (index.smallest() != properties.smallest, "index and properties state different smallest keys"),
            (index.largest() != properties.largest, "index and properties state different largest keys"),
            (min_sqn != Some(properties.min_sqn), "index and properties state different smallest sqns"),
            (max_sqn != Some(properties.max_sqn), "index and properties state different largest sqns"),
        ]
        .into_iter()
        .find_map(|(wrong, what)| wrong.then_some(what))
    }
}

fn read(file: &dyn File, path: &Path, buffer: &mut [u8], offset: u64) -> Result<()> {
    file.read_exact_at(buffer, offset).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => Error::corruption(path, offset, "the file ends early"),
        _ => Error::io(path, "read a table", e),
    })
}
