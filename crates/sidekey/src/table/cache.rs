//! The block cache: data blocks of all tables, bounded by bytes.

use super::block::Block;
use crate::base::ids::FileNumber;
use crate::env::sync::atomic::{AtomicU64, Ordering};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use std::hash::{BuildHasher, Hasher};

/// A file's number and a block's offset in it. File numbers are never reused, so an entry is never of another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BlockKey(FileNumber, u64);

/// Bytes in memory.
#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<BlockKey, Block> for Bytes {
    fn weight(&self, _: &BlockKey, block: &Block) -> u64 {
        block.memory_bytes() as u64
    }
}

/// Multiplies and folds; keys are numbers that the engine chose, so no stranger can flood the cache, and a run repeats
/// exactly.
#[derive(Clone, Debug, Default)]
struct Fold(u64);

impl BuildHasher for Fold {
    type Hasher = Fold;

    fn build_hasher(&self) -> Fold {
        Fold(0)
    }
}

impl Hasher for Fold {
    #[inline]
    fn write_u64(&mut self, n: u64) {
        let product = u128::from(self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Hits, misses and fill of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheStatistics {
    pub hits: u64,
    pub misses: u64,
    pub bytes: u64,
}

/// Data blocks in memory, shared by all tables of a database. Its inner locks are its own and held for no I/O: two readers
/// that miss the same block at once both read it.
#[derive(Debug)]
pub(crate) struct BlockCache {
    /// None: capacity 0, nothing is kept.
    blocks: Option<Cache<BlockKey, Block, Bytes, Fold>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl BlockCache {
    /// A cache of so many bytes; 0: none.
    pub fn new(capacity_bytes: u64) -> Self {
        let estimated_items = usize::try_from(capacity_bytes / 4096).unwrap_or(usize::MAX).max(16);
        let options = OptionsBuilder::new()
            .weight_capacity(capacity_bytes)
            .estimated_items_capacity(estimated_items)
            .shards(16)
            .build();
        let blocks = options.ok().filter(|_| capacity_bytes > 0);
        Self {
            blocks: blocks.map(|o| Cache::with_options(o, Bytes, Fold::default(), DefaultLifecycle::default())),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Changes the capacity, letting go of what does not fit; a cache made without any stays without.
    pub fn set_capacity(&self, capacity_bytes: u64) {
        if let Some(blocks) = &self.blocks {
            blocks.set_capacity(capacity_bytes);
        }
    }

    #[inline]
    pub fn get(&self, file: FileNumber, offset: u64) -> Option<Block> {
        let found = self.blocks.as_ref().and_then(|blocks| blocks.get(&BlockKey(file, offset)));
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    pub fn insert(&self, file: FileNumber, offset: u64, block: &Block) {
        if let Some(blocks) = &self.blocks {
            blocks.insert(BlockKey(file, offset), block.clone());
        }
    }

    /// Whether so many bytes more would push nothing out. Takes each inner lock in turn, so not for every block.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.blocks.as_ref().is_some_and(|blocks| blocks.weight().saturating_add(bytes) <= blocks.capacity())
    }

    /// Forgets a block.
    pub fn erase(&self, file: FileNumber, offset: u64) {
        if let Some(blocks) = &self.blocks {
            blocks.remove(&BlockKey(file, offset));
        }
    }

    pub fn statistics(&self) -> CacheStatistics {
        CacheStatistics {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            bytes: self.blocks.as_ref().map_or(0, Cache::weight),
        }
    }
}
