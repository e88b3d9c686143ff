//! One table as a tree knows it.

use crate::base::coding::{Reader, put_slice, put_varint};
use crate::base::error::{Damage, Error, Result};
use crate::base::ids::{FileNumber, Sqn};
use crate::base::key;
use crate::env::FileSystem;
use crate::table::{BlockCache, Table, TableSummary};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the manifest holds about a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableMeta {
    pub number: FileNumber,
    pub size_bytes: u64,
    /// Smallest and largest internal key.
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
    pub min_sqn: Sqn,
    pub max_sqn: Sqn,
    pub entries: u64,
    pub deletes: u64,
    /// Largest sqn of a version in it whose overwritten version was unknown when it was written; zero if none.
    pub max_blind_sqn: Sqn,
    /// Largest sqn of an overwriting version whose overwritten one is here only because a snapshot sees it; zero if none.
    pub hidden_until_sqn: Sqn,
}

/// The path of a table file.
pub(crate) fn table_path(dir: &Path, number: FileNumber) -> PathBuf {
    dir.join(format!("{:06}.table", number.0))
}

/// The number in a table's file name.
pub(crate) fn is_table(name: &str) -> Option<FileNumber> {
    let number = FileNumber(name.strip_suffix(".table")?.parse().ok()?);
    (format!("{:06}.table", number.0) == name).then_some(number)
}

impl TableMeta {
    pub fn new(number: FileNumber, summary: &TableSummary) -> Self {
        let p = &summary.properties;
        Self {
            number,
            size_bytes: summary.file_size,
            smallest: p.smallest.clone(),
            largest: p.largest.clone(),
            min_sqn: p.min_sqn,
            max_sqn: p.max_sqn,
            entries: p.entries,
            deletes: p.deletes,
            max_blind_sqn: p.max_blind_sqn,
            hidden_until_sqn: p.hidden_until_sqn,
        }
    }

    pub fn low(&self) -> &[u8] {
        key::user_key(&self.smallest)
    }

    pub fn high(&self) -> &[u8] {
        key::user_key(&self.largest)
    }

    /// Whether the table may hold a user key of the closed range.
    pub fn overlaps(&self, low: &[u8], high: &[u8]) -> bool {
        self.low() <= high && low <= self.high()
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.number.0);
        put_varint(out, self.size_bytes);
        put_slice(out, &self.smallest);
        put_slice(out, &self.largest);
        for n in
            [self.min_sqn.0, self.max_sqn.0, self.entries, self.deletes, self.max_blind_sqn.0, self.hidden_until_sqn.0]
        {
            put_varint(out, n);
        }
    }

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Damage> {
        let number = FileNumber(r.varint()?);
        let size_bytes = r.varint()?;
        let mut bound = || -> Result<Vec<u8>, Damage> {
            let at = r.position();
            let bytes = r.slice()?;
            key::decode(bytes).ok_or(Damage::new(at, "bound of a table is no internal key"))?;
            Ok(bytes.to_vec())
        };
        let (smallest, largest) = (bound()?, bound()?);
        Ok(Self {
            number,
            size_bytes,
            smallest,
            largest,
            min_sqn: Sqn(r.varint()?),
            max_sqn: Sqn(r.varint()?),
            entries: r.varint()?,
            deletes: r.varint()?,
            max_blind_sqn: Sqn(r.varint()?),
            hidden_until_sqn: Sqn(r.varint()?),
        })
    }
}

/// An open table and its file's life.
pub(crate) struct TableFile {
    pub meta: TableMeta,
    pub table: Arc<Table>,
    path: PathBuf,
    files: Arc<dyn FileSystem>,
    obsolete: AtomicBool,
}

impl TableFile {
    pub fn open(
        files: &Arc<dyn FileSystem>,
        dir: &Path,
        meta: TableMeta,
        cache: Arc<BlockCache>,
    ) -> Result<Arc<TableFile>> {
        let path = table_path(dir, meta.number);
        let table = Table::open(files.as_ref(), &path, meta.number, cache).map_err(|e| match e {
            Error::Io { file, source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Error::corruption(file, 0, "the manifest names this table, but its file is missing")
            }
            other => other,
        })?;
        Ok(Arc::new(Self { meta, table, path, files: files.clone(), obsolete: AtomicBool::new(false) }))
    }

    /// The file goes when the last user is gone (VER-2: only after the edit is durable).
    pub fn make_obsolete(&self) {
        self.obsolete.store(true, Ordering::Release);
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        if self.obsolete.load(Ordering::Acquire) {
            self.table.forget_blocks();
            // A file that cannot be removed is an orphan, which the next open removes.
            let _ = self.files.remove(&self.path);
        }
    }
}

impl fmt::Debug for TableFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableFile").field("number", &self.meta.number).finish_non_exhaustive()
    }
}
