//! The memtables and table sets of both trees of a collection, pinned as one.

use crate::base::error::Result;
use crate::base::ids::{FileNumber, Sqn, TreeKind};
use crate::base::key::Kind;
use crate::env::sync::atomic::{AtomicU64, Ordering};
use crate::iter::MergeIter;
use crate::memtable::{Lookups, Memtable, TieredMemtable};
use crate::table::{BlockSlice, ReadMode};
use crate::tree::KeyRange;
use crate::version::{LEVELS, LevelIter, Source, TableFile, TreeVersion, retain};
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

    /// Reads the newest version of a key with sqn <= `at` where it lies; for the order of the components see [`TreeView::get`].
    pub fn read<T>(&self, user_key: &[u8], at: Sqn, read: impl FnOnce(Sqn, Kind, &[u8]) -> T) -> Result<Option<T>> {
        for memtable in self.of.memtables() {
            let memtable = memtable.of(self.tree);
            if !memtable.is_empty()
                && let Some(found) = memtable.get(user_key, at)
            {
                return Ok(Some(read(found.sqn, found.kind, found.value)));
            }
        }
        let found = self.of.version(self.tree).get(user_key, at)?;
        Ok(found.map(|f| read(f.sqn, f.kind, &f.value)))
    }

    /// Reads many keys as of `at`: `found` gets the place of a key in `keys`, and its newest version. Keys are best given in order: each
    /// component is asked for all that are still open, and then a block that several of them are in is looked up once.
    pub fn read_many(
        &self,
        keys: &[&[u8]],
        at: Sqn,
        mut found: impl FnMut(usize, Kind, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut open: Vec<usize> = (0..keys.len()).collect();
        for memtable in self.of.memtables() {
            let memtable = memtable.of(self.tree);
            retain(&mut open, |n| match keys.get(n).and_then(|key| memtable.get(key, at)) {
                Some(version) => found(n, version.kind, version.value).map(|()| false),
                None => Ok(true),
            })?;
        }
        self.of.version(self.tree).get_many(keys, &mut open, at, |n, f| found(n, f.kind, &f.value))
    }

    /// All versions of all keys, merged.
    pub fn iter(&self, mode: ReadMode) -> MergeIter<Source> {
        self.within(&KeyRange::default(), mode)
    }

    /// The same of the components that may hold keys of a range, which is all that the cursor may be asked for.
    pub fn within(&self, range: &KeyRange, mode: ReadMode) -> MergeIter<Source> {
        let version = self.of.version(self.tree);
        let level0 = version.level(0);
        let mut sources = Vec::with_capacity(1 + self.of.immutable.len() + level0.len() + LEVELS);
        sources.extend(self.of.memtables().flat_map(|m| m.of(self.tree).cursors()).map(Source::Memory));
        let value = range.index_value().filter(|_| self.tree == TreeKind::Index);
        let may_hold = |file: &&Arc<TableFile>| value.is_none_or(|value| file.table.may_contain(value));
        let tables = level0.iter().filter(|file| range.meets(file.meta.low(), file.meta.high())).filter(may_hold);
        sources.extend(tables.map(|file| Source::Table(file.table.iter(mode))));
        for level in (1..LEVELS).map(|level| version.shared_level(level)) {
            let tables = level.ending_before(&range.start)
                ..range.end.as_ref().map_or(level.len(), |end| level.starting_before(end));
            if level.get(tables.clone()).is_some_and(|files| files.iter().any(|file| may_hold(&file))) {
                sources.push(Source::Level(LevelIter::within(level.clone(), tables, mode)));
            }
        }
        MergeIter::new(sources)
    }
}
