//! The outside world behind one door: files, clock, randomness, threads.
//!
//! Nothing else in the engine touches them (clippy's `disallowed_methods` sees to it), so that a test can run a whole database
//! on one thread over an in-memory disk that it may cut the power of, fail the k-th call of, or copy. Programs that use Sidekey may do
//! the same in their tests:
//!
//! ```
//! use sidekey::env::{CrashPolicy, Env, MemoryFs};
//! use sidekey::{Db, Settings};
//! use std::sync::Arc;
//!
//! let disk = MemoryFs::new();
//! let db = Db::open_in(Env::deterministic(Arc::new(disk.clone()), 1), "db", Settings::default())?;
//! let notes = db.collection("notes")?;
//! notes.put("synced", "1")?;
//! db.sync()?;
//! notes.put("not synced", "2")?;
//!
//! let after = disk.crash(CrashPolicy::SyncedOnly, 1); // the power fails now
//! let db = Db::open_in(Env::deterministic(Arc::new(after), 1), "db", Settings::default())?;
//! let notes = db.collection("notes")?;
//! assert!(notes.get("synced")?.is_some() && notes.get("not synced")?.is_none());
//! # Ok::<(), sidekey::Error>(())
//! ```
//!
//! ENV-1: bytes are durable only after `sync_data` or `sync_all` returned without error; a name (create, rename, remove) is
//! durable only after `sync_dir` of its directory returned without error.
//! ENV-2: a failed sync is never retried: the bytes it covered may be gone although a later sync succeeds.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub mod faulty;
pub mod memory;
#[expect(clippy::disallowed_methods, reason = "this is the door that the ban points to")]
mod real;
#[expect(clippy::disallowed_types, reason = "this is the door that the ban points to")]
pub(crate) mod sync;

pub use faulty::{Fault, FaultRule, FaultScript, FaultyFs, Observer, Operation, OperationCounts};
pub use memory::{CrashPolicy, MemoryFs};
pub use real::RealFs;

/// How [`FileSystem::open`] opens a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, to read.
    Read,
    /// An existing file, to read and write.
    ReadWrite,
    /// A file that must not exist yet, to read and write; created with mode 0600.
    CreateNew,
}

/// How a file will be read; a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Reads will jump about.
    Random,
    /// Reads will go from front to back.
    Sequential,
    /// The range will not be read again soon.
    DontNeed,
}

/// One read of [`File::read_many`].
#[derive(Debug)]
pub struct ReadRequest<'a> {
    /// Offset in bytes.
    pub offset: u64,
    /// Filled wholly, or the call fails.
    pub buffer: &'a mut [u8],
}

/// An open file. Calls may come from several threads at once.
pub trait File: Send + Sync + Debug {
    /// Fills `buffer` from `offset`; an early end is [`io::ErrorKind::UnexpectedEof`].
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Serves all requests; an implementation may do so at once.
    fn read_many(&self, requests: &mut [ReadRequest<'_>]) -> io::Result<()> {
        requests.iter_mut().try_for_each(|r| self.read_exact_at(r.buffer, r.offset))
    }

    /// Writes `parts` one after the other at `offset`, extending the file as needed. On error any prefix may have been written.
    fn write_at(&self, parts: &[&[u8]], offset: u64) -> io::Result<()>;

    /// Makes written bytes and the length durable.
    fn sync_data(&self) -> io::Result<()>;

    /// Like [`File::sync_data`], with all metadata.
    fn sync_all(&self) -> io::Result<()>;

    /// Cuts or extends (with zeros) the file.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file holds no byte.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Says how a range will be used. Never fails.
    fn advise(&self, _offset: u64, _len: u64, _advice: Advice) {}

    /// Makes what was written since the last sync as good as lost, as a kernel does when a sync fails: it can still be read, but
    /// no later sync makes it durable. Called by [`FaultyFs`] when it fails a sync; only a file system that models durability
    /// has anything to do here.
    fn discard_unsynced(&self) {}
}

/// Holds the lock that [`FileSystem::lock`] took until it is dropped.
pub trait LockGuard: Send + Sync + Debug {}

/// Files and directories.
pub trait FileSystem: Send + Sync + Debug {
    /// Opens a regular file; refuses to follow a symbolic link in the last component.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Creates a directory (mode 0700) and its missing parents, and makes their names durable.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Atomically gives a file another name in the same directory, replacing what had that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name.
    fn link(&self, existing: &Path, new: &Path) -> io::Result<()>;
    /// Removes a file's name.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Names in a directory, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Whether the name exists.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Takes an exclusive lock bound to a file of that name, created if missing; [`io::ErrorKind::WouldBlock`] if another holds it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn LockGuard>>;
    /// Free space in bytes for the file system that holds `path`.
    fn free_space(&self, path: &Path) -> io::Result<u64>;
}

/// Time, as the engine sees it: only for statistics and sync intervals, never for order.
pub trait Clock: Send + Sync + Debug {
    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
    /// Blocks the calling thread.
    fn sleep(&self, how_long: Duration);
}

/// Random bits, for salts.
pub trait Randomness: Send + Sync + Debug {
    /// 64 random bits.
    fn next_u64(&self) -> u64;
}

/// How background work (flush, compaction, interval syncs) is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// On named threads of their own.
    Threads,
    /// By the calling thread, when a call needs room and when it asks for it: everything is deterministic.
    Caller,
}

/// The environment a database runs in; cheap to clone.
#[derive(Clone, Debug)]
pub struct Env {
    /// Files.
    pub files: Arc<dyn FileSystem>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub randomness: Arc<dyn Randomness>,
    /// Who does background work.
    pub background: Background,
}

impl Env {
    /// The operating system's files, clock, randomness and threads.
    pub fn real() -> Env {
        Env {
            files: Arc::new(RealFs),
            clock: Arc::new(real::RealClock::default()),
            randomness: Arc::new(real::RealRandomness::default()),
            background: Background::Threads,
        }
    }

    /// Any file system with a still clock, seeded randomness and no threads: runs are repeatable.
    pub fn deterministic(files: Arc<dyn FileSystem>, seed: u64) -> Env {
        Env {
            files,
            clock: Arc::new(memory::StillClock::default()),
            randomness: Arc::new(memory::SeededRandomness::new(seed)),
            background: Background::Caller,
        }
    }
}

/// A running thread of the environment.
pub(crate) type Thread = std::thread::JoinHandle<()>;

/// Starts a named thread.
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    real::spawn(name, run)
}

/// The directory that holds a file; the current one if the path names none.
pub(crate) fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
