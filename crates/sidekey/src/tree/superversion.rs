//! The memtables and table sets of both trees of a collection, pinned as one.

use crate::base::error::Result;
use crate::base::ids::{FileNumber, Sqn, TreeKind};
use crate::base::key::Kind;
use crate::env::sync::atomic::{AtomicU64, Ordering};
use crate::iter::MergeIter;
use crate::memtable::{Lookups, Memtable, TieredMemtable};
use crate::table::{BlockSlice, ReadMode};
use crate::version::{LevelIter, Source, TreeVersion};
use std::ops::Deref;
use std::sync::Arc;

/// The two memtables that are switched and flushed together (TREE-2).
#[derive(Debug)]
pub(crate) struct MemPair {
    pub primary: Arc<TieredMemtable>,
    pub index: Arc<TieredMemtable>,
    /// The log segment of the first operation in the pair.
    log_start: AtomicU64,
    memtable_bytes: u64,
}

impl MemPair {
    /// An empty pair that is switched when both together take about `memtable_bytes`.
    pub fn new(memtable_bytes: u64) -> Self {
        let memtable = |lookups| Arc::new(TieredMemtable::new(memtable_bytes, lookups));
        // Index trees are read by ranges alone.
        let (primary, index) = (memtable(Lookups::Many), memtable(Lookups::Few));
        Self { primary, index, log_start: AtomicU64::new(0), memtable_bytes }
    }

    /// An empty pair to go on with.
    pub fn successor(&self) -> Self {
        Self::new(self.memtable_bytes)
    }

    /// Where the log holds the pair's first operation; set by the inserting thread while the pair is empty.
    pub fn set_log_start(&self, segment: FileNumber) {
        self.log_start.store(segment.0, Ordering::Release);
    }

    pub fn log_start(&self) -> FileNumber {
        FileNumber(self.log_start.load(Ordering::Acquire))
    }

    pub fn of(&self, tree: TreeKind) -> &Arc<TieredMemtable> {
        match tree {
            TreeKind::Primary => &self.primary,
            TreeKind::Index => &self.index,
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.primary.memory_bytes() + self.index.memory_bytes()
    }

    pub fn is_empty(&self) -> bool {
        self.primary.is_empty()
    }
}

/// Everything a reader of a collection needs, at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Superversion {
    pub active: Arc<MemPair>,
    /// Newest first.
    pub immutable: Vec<Arc<MemPair>>,
    pub versions: [Arc<TreeVersion>; 2],
    /// Everything with a sqn up to this one is in tables.
    pub flushed: Sqn,
    /// See [`crate::version::catalog::CollectionState::blind_floor`].
    pub blind_floor: Sqn,
}

/// One tree of a superversion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeView<'a> {
    of: &'a Superversion,
    tree: TreeKind,
}

/// A version of a key, with its bytes pinned.
#[derive(Debug)]
pub(crate) struct Record {
    pub sqn: Sqn,
    pub kind: Kind,
    value: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Owned(Vec<u8>),
    Block(BlockSlice),
}

impl Record {
    /// The stored value: header and value in the primary tree.
    pub fn value(&self) -> &[u8] {
        match &self.value {
            Bytes::Owned(bytes) => bytes,
            Bytes::Block(slice) => slice.deref(),
        }
    }
}

impl Superversion {
    pub fn tree(&self, tree: TreeKind) -> TreeView<'_> {
        TreeView { of: self, tree }
    }

    pub fn version(&self, tree: TreeKind) -> &Arc<TreeVersion> {
        &self.versions[tree as usize]
    }

    pub fn memtables(&self) -> impl Iterator<Item = &Arc<MemPair>> {
        std::iter::once(&self.active).chain(&self.immutable)
    }

    /// Tables in level 0 of the tree that has more of them.
    pub fn level0_tables(&self) -> usize {
        self.versions.iter().map(|v| v.level(0).len()).max().unwrap_or(0)
    }

    /// An index entry at or above this sqn is certainly valid: no version above it was written without knowing what it overwrote.
    pub fn stale_below(&self) -> Sqn {
        let memory = self.memtables().map(|m| m.primary.max_blind_sqn()).max().unwrap_or(Sqn::ZERO);
        self.versions[0].max_blind_sqn().max(memory).max(self.blind_floor)
    }
}

impl Superversion {
    /// False only if the entry of version `sqn` of `pk` is certainly valid; asks memory alone: a version that outdated it without deleting
    /// it would be in a memtable or table that knows of such versions above `sqn`, or its trace is below the blind floor.
    pub fn may_be_stale(&self, pk: &[u8], sqn: Sqn) -> bool {
        sqn < self.blind_floor
            || self.memtables().any(|m| m.primary.max_blind_sqn() > sqn && m.primary.get(pk, Sqn::MAX).is_some())
            || self.version(TreeKind::Primary).may_outdate(pk, sqn)
    }
}

impl TreeView<'_> {
    /// The newest version of a key in the memtables alone.
    pub fn get_in_memory<T>(&self, user_key: &[u8], at: Sqn, read: impl FnOnce(Sqn, Kind, &[u8]) -> T) -> Option<T> {
        let found = self.of.memtables().find_map(|m| m.of(self.tree).get(user_key, at))?;
        Some(read(found.sqn, found.kind, found.value))
    }

    /// The newest version of a key with sqn <= `at`. Memtables, level 0 and the sorted levels shadow one another in this order (TREE-2,
    /// VER-3).
    pub fn get(&self, user_key: &[u8], at: Sqn) -> Result<Option<Record>> {
        let in_memory = self.get_in_memory(user_key, at, |sqn, kind, value| Record {
            sqn,
            kind,
            value: Bytes::Owned(value.to_vec()),
        });
        if in_memory.is_some() {
            return Ok(in_memory);
        }
        let found = self.of.version(self.tree).get(user_key, at)?;
        Ok(found.map(|f| Record { sqn: f.sqn, kind: f.kind, value: Bytes::Block(f.value) }))
    }

    /// All versions of all keys, merged.
    pub fn iter(&self, mode: ReadMode) -> MergeIter<Source> {
        let memory = self.of.memtables().flat_map(|m| m.of(self.tree).cursors()).map(Source::Memory);
        MergeIter::new(memory.chain(version_sources(self.of.version(self.tree), mode)).collect())
    }
}

/// A source for each component of a version, youngest first.
fn version_sources(version: &TreeVersion, mode: ReadMode) -> impl Iterator<Item = Source> {
    let level0 = version.level(0).iter().map(move |t| Source::Table(t.table.iter(mode)));
    let sorted = (1..crate::version::LEVELS)
        .filter(|l| !version.level(*l).is_empty())
        .map(move |l| Source::Level(LevelIter::new(version.level(l).to_vec(), mode)));
    level0.chain(sorted)
}
