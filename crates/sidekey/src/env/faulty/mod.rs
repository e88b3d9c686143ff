//! A file system that counts what is asked of another one, tells an observer, and fails by a script.
//!
//! Owns the counters, the script and the observers; the files are the wrapped file system's. No lock is held while an observer
//! or the wrapped file system runs, so an observer may call anything, also take a crash image.
//!
//! FAULT-1: every operation has one number, from 1, in the order in which they began. Locks are counted when taken; dropping one
//! and giving advice are no operations.
//! FAULT-2: a sync that fails discards what it covered ([`File::discard_unsynced`]), as kernels do.

mod script;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sync::atomic::{AtomicU64, Ordering};
use super::sync::{Mutex, RwLock};
use super::{Advice, File, FileSystem, LockGuard, OpenMode};

use self::script::RunningScript;
pub use self::script::{Fault, FaultRule, FaultScript};

/// The kinds of operation that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// [`FileSystem::open`] of an existing file.
    Open,
    /// [`FileSystem::open`] with [`OpenMode::CreateNew`].
    CreateNew,
    /// [`File::read_exact_at`]; each request of [`File::read_many`] is one.
    Read,
    /// [`File::write_at`].
    Write,
    /// [`File::sync_data`].
    SyncData,
    /// [`File::sync_all`].
    SyncAll,
    /// [`File::set_len`].
    SetLen,
    /// [`File::len`].
    Len,
    /// [`FileSystem::create_dir_all`].
    CreateDir,
    /// [`FileSystem::sync_dir`].
    SyncDir,
    /// [`FileSystem::rename`]; its path is the new one.
    Rename,
    /// [`FileSystem::link`]; its path is the new one.
    Link,
    /// [`FileSystem::remove`].
    Remove,
    /// [`FileSystem::list`].
    List,
    /// [`FileSystem::exists`].
    Exists,
    /// [`FileSystem::lock`].
    Lock,
    /// [`FileSystem::free_space`].
    FreeSpace,
}

impl Operation {
    /// All kinds.
    pub const ALL: [Operation; 17] = [
        Operation::Open,
        Operation::CreateNew,
        Operation::Read,
        Operation::Write,
        Operation::SyncData,
        Operation::SyncAll,
        Operation::SetLen,
        Operation::Len,
        Operation::CreateDir,
        Operation::SyncDir,
        Operation::Rename,
        Operation::Link,
        Operation::Remove,
        Operation::List,
        Operation::Exists,
        Operation::Lock,
        Operation::FreeSpace,
    ];

    /// Whether the operation can change what is on the disk, or what is durable of it.
    pub fn changes_disk(self) -> bool {
        use Operation::{CreateDir, CreateNew, Link, Lock, Remove, Rename, SetLen, SyncAll, SyncData, SyncDir, Write};
        let changing = [CreateNew, Write, SyncData, SyncAll, SetLen, CreateDir, SyncDir, Rename, Link, Remove, Lock];
        changing.contains(&self)
    }
}

/// How many operations were begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    total: u64,
    by_kind: [u64; Operation::ALL.len()],
}

impl OperationCounts {
    /// Of all kinds; the number of the last one begun.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Of one kind.
    pub fn of(&self, operation: Operation) -> u64 {
        self.by_kind[operation as usize]
    }
}

/// Called with the number, the kind and the path of an operation.
pub type Observer = Arc<dyn Fn(u64, Operation, &Path) + Send + Sync>;

#[derive(Default)]
struct Shared {
    total: AtomicU64,
    by_kind: [AtomicU64; Operation::ALL.len()],
    faults: AtomicU64,
    script: Mutex<RunningScript>,
    before: RwLock<Option<Observer>>,
    after: RwLock<Option<Observer>>,
}

impl Shared {
    /// Counts an operation, runs it with the fault that the script has for it, and calls the observers.
    fn run<T>(
        &self,
        operation: Operation,
        path: &Path,
        act: impl FnOnce(u64, Option<Fault>) -> io::Result<T>,
    ) -> io::Result<T> {
        let number = self.total.fetch_add(1, Ordering::Relaxed) + 1;
        self.by_kind[operation as usize].fetch_add(1, Ordering::Relaxed);
        let before = self.before.read().clone();
        if let Some(observer) = before {
            observer(number, operation, path);
        }
        let fault = self.script.lock().decide(operation, path);
        if fault.is_some() {
            self.faults.fetch_add(1, Ordering::Relaxed);
        }
        let result = act(number, fault);
        let after = self.after.read().clone();
        if let Some(observer) = after {
            observer(number, operation, path);
        }
        result
    }

    /// For operations that either fail as a whole or are left alone.
    fn simply<T>(&self, operation: Operation, path: &Path, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.run(operation, path, |_, fault| match fault.and_then(Fault::error) {
            Some(error) => Err(error),
            None => act(),
        })
    }

    fn sync(&self, operation: Operation, file: &FaultyFile) -> io::Result<()> {
        self.run(operation, &file.path, |_, fault| match (fault, fault.and_then(Fault::error)) {
            (_, Some(error)) => {
                file.inner.discard_unsynced();
                Err(error)
            }
            (Some(Fault::LostSync), None) => Ok(()),
            _ if operation == Operation::SyncAll => file.inner.sync_all(),
            _ => file.inner.sync_data(),
        })
    }
}

/// Wraps a file system. Clones share counters, script and observers; so do the files opened through them.
#[derive(Clone)]
pub struct FaultyFs {
    inner: Arc<dyn FileSystem>,
    shared: Arc<Shared>,
}

impl fmt::Debug for FaultyFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyFs").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl FaultyFs {
    /// Wraps `inner`, with no faults and no observers.
    pub fn new(inner: Arc<dyn FileSystem>) -> Self {
        Self { inner, shared: Arc::default() }
    }

    /// Replaces the script; its rules count from here.
    pub fn set_script(&self, script: FaultScript) {
        *self.shared.script.lock() = RunningScript::new(script);
    }

    /// Replaces the observer that is called before each operation has any effect.
    pub fn observe_before(&self, observer: Option<Observer>) {
        *self.shared.before.write() = observer;
    }

    /// Replaces the observer that is called when each operation has come to its end, also by a fault.
    pub fn observe_after(&self, observer: Option<Observer>) {
        *self.shared.after.write() = observer;
    }

    /// Operations begun since this was made.
    pub fn operations(&self) -> OperationCounts {
        OperationCounts {
            total: self.shared.total.load(Ordering::Relaxed),
            by_kind: std::array::from_fn(|i| self.shared.by_kind[i].load(Ordering::Relaxed)),
        }
    }

    /// Operations that a rule hit since this was made; a sweep over k ends when it stays zero.
    pub fn faults(&self) -> u64 {
        self.shared.faults.load(Ordering::Relaxed)
    }
}

impl FileSystem for FaultyFs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let operation = if mode == OpenMode::CreateNew { Operation::CreateNew } else { Operation::Open };
        let inner = self.shared.simply(operation, path, || self.inner.open(path, mode))?;
        Ok(Arc::new(FaultyFile { inner, shared: Arc::clone(&self.shared), path: path.to_path_buf() }))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.shared.simply(Operation::CreateDir, path, || self.inner.create_dir_all(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.shared.run(Operation::SyncDir, path, |_, fault| match (fault, fault.and_then(Fault::error)) {
            (_, Some(error)) => Err(error),
            (Some(Fault::LostSync), None) => Ok(()),
            _ => self.inner.sync_dir(path),
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.shared.simply(Operation::Rename, to, || self.inner.rename(from, to))
    }

    fn link(&self, existing: &Path, new: &Path) -> io::Result<()> {
        self.shared.simply(Operation::Link, new, || self.inner.link(existing, new))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.shared.simply(Operation::Remove, path, || self.inner.remove(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.shared.simply(Operation::List, path, || self.inner.list(path))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.shared.simply(Operation::Exists, path, || self.inner.exists(path))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        self.shared.simply(Operation::Lock, path, || self.inner.lock(path))
    }

    fn free_space(&self, path: &Path) -> io::Result<u64> {
        self.shared.simply(Operation::FreeSpace, path, || self.inner.free_space(path))
    }
}

struct FaultyFile {
    inner: Arc<dyn File>,
    shared: Arc<Shared>,
    path: PathBuf,
}

impl fmt::Debug for FaultyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FaultyFile").field(&self.path).field(&self.inner).finish()
    }
}

impl File for FaultyFile {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.shared.run(Operation::Read, &self.path, |number, fault| {
            if let Some(error) = fault.and_then(Fault::error) {
                return Err(error);
            }
            self.inner.read_exact_at(buffer, offset)?;
            if fault == Some(Fault::FlipBit) && !buffer.is_empty() {
                // The number spreads the flips over all bytes and bits; the multiplier is prime.
                let bit = (number.wrapping_mul(7_919) % (buffer.len() as u64 * 8)) as usize;
                buffer[bit / 8] ^= 1 << (bit % 8);
            }
            Ok(())
        })
    }

    fn write_at(&self, parts: &[&[u8]], offset: u64) -> io::Result<()> {
        self.shared.run(Operation::Write, &self.path, |_, fault| {
            if matches!(fault, Some(Fault::ShortWrite(_))) {
                let bytes = parts.concat();
                self.inner.write_at(&[&bytes[..bytes.len() / 2]], offset)?;
            }
            match fault.and_then(Fault::error) {
                Some(error) => Err(error),
                None => self.inner.write_at(parts, offset),
            }
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.shared.sync(Operation::SyncData, self)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.shared.sync(Operation::SyncAll, self)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.shared.simply(Operation::SetLen, &self.path, || self.inner.set_len(len))
    }

    fn len(&self) -> io::Result<u64> {
        self.shared.simply(Operation::Len, &self.path, || self.inner.len())
    }

    fn advise(&self, offset: u64, len: u64, advice: Advice) {
        self.inner.advise(offset, len, advice);
    }

    fn discard_unsynced(&self) {
        self.inner.discard_unsynced();
    }
}
