//! The handle that users hold, and closing.

use super::background::Threads;
use super::batch::Batch;
use super::collection::{Collection, CollectionCore};
use super::inner::Inner;
use super::install::empty_superversion;
use super::open;
use super::prepare::Condition;
use super::settings::Settings;
use super::snapshots::Snapshot;
use super::stats::Stats;
use super::write::WriteOptions;
use crate::base::error::{Error, Result};
use crate::base::ids::{CollectionId, TreeKind};
use crate::check::finding::Finding;
use crate::env::sync::Mutex;
use crate::env::sync::atomic::Ordering;
use crate::env::{Background, Env};
use crate::index::set::IndexSet;
use crate::version::Edit;
use crate::version::catalog::CollectionState;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// What flush and compact work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Both trees of every collection.
    All,
    /// The primary trees.
    Primary,
    /// The index trees.
    Indexes,
}

/// Shared by all handles; the last one closes the database.
pub(super) struct Handle {
    pub inner: Arc<Inner>,
    threads: Mutex<Threads>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Whoever wants to see the error calls `close`.
        let _ = self.close();
    }
}

impl Handle {
    fn close(&self) -> Result<()> {
        if self.inner.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.stop(|| self.inner.settle())
    }

    /// Waits for everything that changes files, also where users called for it, then runs `last` and lets go of the directory:
    /// whoever opens it next must find it at rest. Nothing new begins, since the database is marked closed.
    fn stop<T>(&self, last: impl FnOnce() -> T) -> T {
        let inner = &self.inner;
        self.threads.lock().stop(inner);
        let _no_compaction = inner.compaction.lock();
        let _no_flush = inner.flushing.lock();
        inner.queue.lead(|| {
            let done = last();
            let _no_edit = inner.manifest.lock();
            *inner.lock.lock() = None;
            done
        })
    }
}

/// An open database. Cheap to clone; usable from several threads. The last handle (also collections, snapshots and iterators are handles)
/// closes it; [`Db::close`] does so at once and says whether it went well.
#[derive(Clone)]
pub struct Db {
    handle: Arc<Handle>,
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db").field("dir", &self.handle.inner.dir).finish_non_exhaustive()
    }
}

/// Bytes of a collection's name.
const MAX_NAME: usize = 255;

impl Db {
    /// Opens the database in a directory of its own, or creates it there.
    ///
    /// One process at a time has it open; a second open answers [`Error::Busy`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use sidekey::{Db, IndexSpec, Settings};
    /// let db = Db::open(dir.path().join("people"), Settings::default())?;
    /// let people = db.collection("people")?;
    /// people.create_index(IndexSpec::new("by_city", "$.city"))?;
    /// people.put("ann", r#"{"city": "Paris"}"#)?;
    /// people.put("bob", r#"{"city": "Rome"}"#)?;
    /// assert_eq!(people.lookup("by_city", "Paris").keys()?, [b"ann"]);
    /// # Ok::<(), sidekey::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for settings out of range or a directory with other files, [`Error::Busy`] if it is open already,
    /// [`Error::Incompatible`] for a newer format, [`Error::Corruption`] for damage, [`Error::Io`] and [`Error::NoSpace`].
    pub fn open(path: impl AsRef<Path>, settings: Settings) -> Result<Db> {
        Self::open_in(Env::real(), path, settings)
    }

    /// Like [`Db::open`], in an environment of the caller's: see [`crate::env`].
    pub fn open_in(env: Env, path: impl AsRef<Path>, settings: Settings) -> Result<Db> {
        let inner = Arc::new(open::open(env, path.as_ref(), settings)?);
        let threads = match inner.env.background {
            Background::Threads => Threads::start(&inner)?,
            Background::Caller => Threads::default(),
        };
        Ok(Db { handle: Arc::new(Handle { inner, threads: Mutex::new(threads) }) })
    }

    fn inner(&self) -> &Inner {
        &self.handle.inner
    }

    fn collection_of(&self, core: Arc<CollectionCore>) -> Collection {
        Collection { handle: self.handle.clone(), core }
    }

    /// Opens a collection, or creates it. A name has 1 to 255 bytes.
    pub fn collection(&self, name: &str) -> Result<Collection> {
        self.inner().check_open()?;
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(Error::invalid(format!(
                "a collection's name has 1 to {MAX_NAME} bytes; this one has {}",
                name.len()
            )));
        }
        if let Some(existing) = self.existing_collection(name)? {
            return Ok(existing);
        }
        // The leader creates, so that two callers cannot both.
        let core = self.inner().queue.lead(|| self.inner().create_collection(name))?;
        Ok(self.collection_of(core))
    }

    /// Opens a collection if it exists.
    pub fn existing_collection(&self, name: &str) -> Result<Option<Collection>> {
        self.inner().check_open()?;
        let core = self.inner().all_collections().into_iter().find(|c| c.name == name);
        Ok(core.map(|c| self.collection_of(c)))
    }

    /// The names of all collections, sorted.
    pub fn collections(&self) -> Vec<String> {
        let mut names: Vec<String> = self.inner().all_collections().iter().map(|c| c.name.clone()).collect();
        names.sort();
        names
    }

    /// Applies a batch atomically: after a crash and at every snapshot either all of it is there or nothing. Returns the sequence number of
    /// its last write, or the current one if it is empty. Errors as for [`Collection::put`].
    pub fn write(&self, batch: Batch) -> Result<u64> {
        self.write_with(batch, WriteOptions::default())
    }

    /// Like [`Db::write`], with options.
    pub fn write_with(&self, batch: Batch, options: WriteOptions) -> Result<u64> {
        if batch.ops.iter().any(|op| !Arc::ptr_eq(&op.collection.handle, &self.handle)) {
            return Err(Error::invalid("a batch holds a write to a collection of another open database"));
        }
        Ok(self.inner().write(&batch.ops, Condition::Always, options)?.0)
    }

    /// A frozen view of everything that is visible now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.handle.clone())
    }

    /// Makes every acknowledged write durable. A sync that fails makes the database read-only until it is opened again.
    pub fn sync(&self) -> Result<()> {
        self.inner().check_writable()?;
        self.inner().sync_log()
    }

    /// The sequence number of the newest visible write.
    pub fn visible_sqn(&self) -> u64 {
        self.inner().visible().0
    }

    /// The sequence number through which writes are known to survive a power cut.
    pub fn durable_sqn(&self) -> u64 {
        self.inner().log.durable().0
    }

    /// Checks every file, every record and every index entry against one another, online. Returns what is not as it must be; nothing if
    /// the database is sound. Reads everything.
    pub fn verify(&self) -> Result<Vec<Finding>> {
        self.inner().check_open()?;
        self.inner().verify()
    }

    /// Sizes and counters.
    pub fn stats(&self) -> Stats {
        self.inner().statistics()
    }

    /// Writes the memtables of every collection to tables. (Both trees of a collection are always flushed together.)
    pub fn flush(&self, _target: Target) -> Result<()> {
        let cores = self.inner().all_collections();
        cores.iter().try_for_each(|core| self.inner().flush_collection(core))
    }

    /// Flushes, then merges everything of the target down to one place, removing what no snapshot sees and, in index trees, stale entries.
    pub fn compact(&self, target: Target) -> Result<()> {
        self.flush(target)?;
        for core in self.inner().all_collections() {
            if target != Target::Indexes {
                self.inner().compact_whole(&core, TreeKind::Primary)?;
            }
            if target != Target::Primary {
                self.inner().compact_whole(&core, TreeKind::Index)?;
            }
        }
        Ok(())
    }

    /// With [`Background::Caller`]: does one step of background work. Returns whether there was any.
    pub fn background_step(&self) -> Result<bool> {
        self.inner().check_writable()?;
        self.inner().background_step()
    }

    /// Makes every acknowledged write durable, stops the background threads and releases the lock. Memtables need not be flushed: the log
    /// holds them. Every later call on any handle answers [`Error::Closed`].
    ///
    /// # Errors
    /// What the last sync of the log failed with; [`Error::ReadOnly`] if an earlier failure leaves acknowledged writes that are not durable.
    pub fn close(&self) -> Result<()> {
        self.handle.close()
    }

    /// Stops as a killed process would: without syncing or flushing anything. For tests of recovery.
    pub fn abandon(&self) {
        if !self.inner().closed.swap(true, Ordering::AcqRel) {
            self.handle.stop(|| ());
        }
    }
}

impl Inner {
    /// The last words before the directory is let go of: everything acknowledged is durable, or the caller learns why not.
    fn settle(&self) -> Result<()> {
        if self.poisoned.load(Ordering::Acquire) {
            let cause = self.poison.lock().clone();
            return match cause {
                Some(cause) if self.visible() > self.log.durable() => Err(Error::ReadOnly(Arc::new(cause))),
                _ => Ok(()),
            };
        }
        self.sync_log()?;
        match self.note_durable() {
            // It only helps to tell damage that comes later from a torn tail.
            Err(Error::NoSpace { .. }) => Ok(()),
            noted => noted,
        }
    }

    fn create_collection(&self, name: &str) -> Result<Arc<CollectionCore>> {
        self.check_writable()?;
        if let Some(existing) = self.all_collections().into_iter().find(|c| c.name == name) {
            return Ok(existing);
        }
        let id = CollectionId(self.manifest.lock().catalog().next_collection.0.max(1));
        self.install_edits(vec![Edit::Collection { id, name: name.to_owned() }])?;
        let set = IndexSet::compile(&CollectionState { name: name.to_owned(), ..Default::default() }, 0)?;
        let empty = empty_superversion(self.settings.memtable_bytes);
        let core = CollectionCore::new(id, name.to_owned(), empty, set);
        self.collections.write().insert(id, core.clone());
        Ok(core)
    }
}
