//! Files in memory, as much as a table needs, with a count of reads.

use crate::env::sync::Mutex;
use crate::env::sync::atomic::{AtomicU64, Ordering};
use crate::env::{File, FileSystem, LockGuard, OpenMode};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Default)]
pub(super) struct TestFile {
    bytes: Mutex<Vec<u8>>,
    reads: Arc<AtomicU64>,
    fail_reads_at: Mutex<Option<u64>>,
    synced: AtomicU64,
}

/// The only files there are.
#[derive(Debug, Default)]
pub(super) struct TestFiles {
    files: Mutex<BTreeMap<PathBuf, Arc<TestFile>>>,
    reads: Arc<AtomicU64>,
}

impl TestFiles {
    pub fn create(&self, path: PathBuf) -> Arc<dyn File> {
        let file = Arc::new(TestFile { reads: self.reads.clone(), ..TestFile::default() });
        self.files.lock().insert(path, file.clone());
        file
    }

    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    pub fn len(&self, path: &Path) -> u64 {
        self.change(path, |bytes| bytes.len() as u64)
    }

    /// How many bytes were there at the last sync.
    pub fn synced(&self, path: &Path) -> u64 {
        self.files.lock()[path].synced.load(Ordering::Relaxed)
    }

    pub fn change<T>(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let file = self.files.lock()[path].clone();
        change(&mut file.bytes.lock())
    }

    /// Reads that cover the offset fail.
    pub fn fail_reads_at(&self, path: &Path, offset: Option<u64>) {
        *self.files.lock()[path].fail_reads_at.lock() = offset;
    }
}

impl File for TestFile {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.fail_reads_at.lock().is_some_and(|at| (offset..offset + buffer.len() as u64).contains(&at)) {
            return Err(io::Error::other("scripted"));
        }
        let bytes = self.bytes.lock();
        let found = bytes.get(offset as usize..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(found.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, parts: &[&[u8]], offset: u64) -> io::Result<()> {
        let mut bytes = self.bytes.lock();
        assert_eq!(bytes.len() as u64, offset, "a table is written from front to back");
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.synced.store(self.len()?, Ordering::Relaxed);
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.bytes.lock().resize(len as usize, 0);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().len() as u64)
    }
}

fn unused<T>() -> io::Result<T> {
    Err(ErrorKind::Unsupported.into())
}

impl FileSystem for TestFiles {
    fn open(&self, path: &Path, _: OpenMode) -> io::Result<Arc<dyn File>> {
        let file = self.files.lock().get(path).cloned();
        Ok(file.ok_or(ErrorKind::NotFound)?)
    }
    fn create_dir_all(&self, _: &Path) -> io::Result<()> {
        unused()
    }
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        unused()
    }
    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        unused()
    }
    fn link(&self, _: &Path, _: &Path) -> io::Result<()> {
        unused()
    }
    fn remove(&self, _: &Path) -> io::Result<()> {
        unused()
    }
    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        unused()
    }
    fn exists(&self, _: &Path) -> io::Result<bool> {
        unused()
    }
    fn lock(&self, _: &Path) -> io::Result<Box<dyn LockGuard>> {
        unused()
    }
    fn free_space(&self, _: &Path) -> io::Result<u64> {
        unused()
    }
}
