//! Tables in memory for the tests of everything that works on tables.

use super::{TableFile, TableMeta, table_path};
use crate::base::ids::{FileNumber, Sqn, TreeKind};
use crate::base::key::{self, Kind};
use crate::base::{header, index_key};
use crate::env::memory::MemoryFs;
use crate::env::{FileSystem, OpenMode};
use crate::table::{BlockCache, FilterKey, TableBuilder, TableOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One version: user key, sqn, kind, stored value.
pub(crate) type Version = (Vec<u8>, u64, Kind, Vec<u8>);

/// A directory for tables.
pub(crate) struct TableDir {
    pub memory: MemoryFs,
    pub files: Arc<dyn FileSystem>,
    pub dir: PathBuf,
    pub cache: Arc<BlockCache>,
    next: Arc<AtomicU64>,
}

impl TableDir {
    pub fn new() -> Self {
        let memory = MemoryFs::new();
        let dir = PathBuf::from("/tables");
        memory.create_dir_all(&dir).unwrap();
        let files = Arc::new(memory.clone());
        let cache = Arc::new(BlockCache::new(1 << 20));
        Self { memory, files, dir, cache, next: Arc::new(AtomicU64::new(1)) }
    }

    pub fn path(&self, number: FileNumber) -> PathBuf {
        table_path(&self.dir, number)
    }

    /// Gives out file numbers.
    pub fn numbers(&self) -> Arc<dyn Fn() -> FileNumber + Send + Sync> {
        let next = self.next.clone();
        Arc::new(move || FileNumber(next.fetch_add(1, Ordering::Relaxed)))
    }

    pub fn options(tree: TreeKind) -> TableOptions {
        let filter_key = match tree {
            TreeKind::Primary => FilterKey::WholeKey,
            TreeKind::Index => FilterKey::Prefix(index_key::filter_key),
        };
        TableOptions { tree, filter_key, block_bytes: 64, ..TableOptions::default() }
    }

    /// A table of these versions, in any order; blind flags are counted as a job counts them.
    pub fn table(&self, tree: TreeKind, versions: &[Version]) -> Arc<TableFile> {
        self.table_with(tree, versions, |_| {})
    }

    /// The same, with a change of what the tree knows about it.
    pub fn table_with(
        &self,
        tree: TreeKind,
        versions: &[Version],
        change: impl FnOnce(&mut TableMeta),
    ) -> Arc<TableFile> {
        let number = self.numbers()();
        let path: &Path = &self.path(number);
        let file = self.files.open(path, OpenMode::CreateNew).unwrap();
        let mut builder = TableBuilder::new(file, path.to_path_buf(), number, Self::options(tree));
        let mut entries: Vec<_> = versions.iter().map(|(k, s, kind, v)| (key::encode(k, Sqn(*s), *kind), v)).collect();
        entries.sort_by(|a, b| key::compare(&a.0, &b.0));
        for (_, sqn, ..) in versions.iter().filter(|v| tree == TreeKind::Primary && header::doubt(&v.3).any()) {
            let properties = builder.properties_mut();
            properties.max_blind_sqn = properties.max_blind_sqn.max(Sqn(*sqn));
        }
        entries.iter().for_each(|(key, value)| builder.add(key, value).unwrap());
        let mut meta = TableMeta::new(number, &builder.finish().unwrap());
        change(&mut meta);
        TableFile::open(&self.files, &self.dir, meta, self.cache.clone()).unwrap()
    }
}
