//! The state that all handles and threads of an open database share, and the small rules about it.
//!
//! Locks, in the order in which they may be taken (most paths take a few of them): compaction → flushing → key stripes, in ascending order →
//! leadership of the write queue → manifest → the log's syncs → one of collections, log, snapshots, work, poison, under which no other is
//! taken. Leadership is a bit of a word; the queue's own lock is not held while the leader works. No lock is held while a user's code
//! runs, the environment's excepted.

use super::collection::{CollectionCore, View};
use super::compact::Turns;
use super::counters::Counters;
use super::log::Log;
use super::queue::WriteQueue;
use super::settings::{CompressionSetting, Settings};
use crate::base::error::{Error, Result};
use crate::base::ids::{CollectionId, FileNumber, Sqn, TreeKind};
use crate::base::index_key;
use crate::base::planted::{Fault, planted};
use crate::compaction::job::Output;
use crate::env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::env::sync::{Condvar, Mutex, RwLock};
use crate::env::{Env, LockGuard};
use crate::query::QueryCounters;
use crate::table::{BlockCache, Compression, FilterKey, TableOptions};
use crate::version::Manifest;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Stripes of keys: writers that must know the version they overwrite hold theirs until their write is visible.
pub(super) const STRIPES: usize = 256;

pub(super) struct Inner {
    pub env: Env,
    pub dir: PathBuf,
    pub settings: Settings,
    pub lock: Mutex<Option<Box<dyn LockGuard>>>,
    pub cache: Arc<BlockCache>,
    pub collections: RwLock<BTreeMap<CollectionId, Arc<CollectionCore>>>,
    pub queue: WriteQueue,
    pub log: Log,
    /// The install lock: whoever holds it may change what the database durably is.
    pub manifest: Mutex<Manifest>,
    /// One compaction, or one index build, at a time.
    pub compaction: Mutex<Turns>,
    /// One flush at a time: memtables leave oldest first.
    pub flushing: Mutex<()>,
    /// Largest sqn that readers may see: raised by the leader when everything up to it is in place.
    pub visible: AtomicU64,
    pub next_file: Arc<AtomicU64>,
    /// Sqns of open snapshots and how many hold each.
    pub snapshots: Mutex<BTreeMap<Sqn, usize>>,
    pub stripes: Vec<Mutex<()>>,
    /// Why writes are refused, once they are.
    pub poison: Mutex<Option<Error>>,
    pub poisoned: AtomicBool,
    pub closed: AtomicBool,
    pub counters: Counters,
    pub query_counters: Arc<QueryCounters>,
    /// Bytes of the log's torn tail that opening cut off.
    pub recovery_cut_bytes: AtomicU64,
    /// Guards the waiting for work and for room; holds the last error of background work that may pass.
    pub work: Mutex<WorkState>,
    pub work_ready: Condvar,
    /// Wakes the sync thread, which has an interval of its own, when it is to stop.
    pub stopping: Condvar,
    pub room: Condvar,
}

/// What background work is waiting for or failed with.
#[derive(Debug, Default)]
pub(super) struct WorkState {
    /// Rises when there may be something to do.
    pub posted: u64,
    /// How many background steps failed in a way that may pass (no space), and the last such error.
    pub failures: u64,
    pub failed: Option<Error>,
    pub stop: bool,
    /// When the log was last synced by an interval policy without threads.
    pub last_sync: Duration,
}

impl Inner {
    pub fn visible(&self) -> Sqn {
        Sqn(self.visible.load(Ordering::Acquire))
    }

    pub fn next_number(&self) -> FileNumber {
        FileNumber(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// Refuses every call after the database was closed.
    pub fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Refuses writes after a failure that cannot be mended while open.
    pub fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.poisoned.load(Ordering::Acquire)
            && let Some(cause) = &*self.poison.lock()
        {
            return Err(Error::ReadOnly(Arc::new(cause.clone())));
        }
        Ok(())
    }

    /// Makes the database read-only if the error is of a kind that leaves unknown what is on disk; returns the error.
    pub fn poison_unless_passing(&self, error: Error) -> Error {
        if !matches!(error, Error::NoSpace { .. } | Error::Closed | Error::ReadOnly(_)) {
            let mut poison = self.poison.lock();
            poison.get_or_insert_with(|| error.clone());
            self.poisoned.store(true, Ordering::Release);
            drop(poison);
            self.room.notify_all();
        }
        error
    }

    /// Every sqn at which somebody may read from now on, ascending: open snapshots and the visible head. Readers without a snapshot pin their
    /// superversion first, so what a later install drops stays with them (TREE-1).
    pub fn stripes_of_readers(&self) -> Vec<Sqn> {
        let snapshots = self.snapshots.lock();
        let mut all: Vec<Sqn> = snapshots.keys().copied().collect();
        if planted(Fault::SnapshotsForgotten) {
            all.clear();
        }
        all.push(self.visible());
        all
    }

    pub fn collection_by_id(&self, id: CollectionId) -> Option<Arc<CollectionCore>> {
        self.collections.read().get(&id).cloned()
    }

    pub fn all_collections(&self) -> Vec<Arc<CollectionCore>> {
        self.collections.read().values().cloned().collect()
    }

    /// How tables of a tree are written.
    pub fn output(&self, tree: TreeKind) -> Output {
        let next_file = self.next_file.clone();
        Output {
            files: self.env.files.clone(),
            dir: self.dir.clone(),
            options: table_options(&self.settings, tree),
            table_bytes: self.settings.table_bytes,
            next_number: Arc::new(move || FileNumber(next_file.fetch_add(1, Ordering::Relaxed))),
        }
    }

    /// Memory that open tables pin, in bytes.
    pub fn pinned_bytes(&self) -> u64 {
        let views = self.all_collections().into_iter().map(|core| core.view());
        views
            .map(|v| {
                v.superversion
                    .versions
                    .iter()
                    .flat_map(|t| t.tables())
                    .map(|t| t.table.memory_bytes() as u64)
                    .sum::<u64>()
            })
            .sum()
    }

    /// Gives the block cache what the memory budget leaves.
    pub fn fit_cache(&self) {
        self.cache.set_capacity(self.settings.cache_bytes(self.pinned_bytes()));
    }

    /// Tells the background threads that there may be work.
    pub fn post_work(&self) {
        self.work.lock().posted += 1;
        self.work_ready.notify_all();
    }

    /// The log segments below this one are not needed: everything in them is in tables. The current segment is read before the memtables: an
    /// operation that is logged but not yet inserted stands in it or later.
    pub fn log_start(&self, without: Option<(&CollectionCore, &View)>) -> FileNumber {
        // Before the look at the log: a segment that is begun right after it has this number or a later one.
        let next = FileNumber(self.next_file.load(Ordering::Relaxed));
        let current = self.log.current().unwrap_or(next);
        let mut start = current;
        for core in self.all_collections() {
            let pinned;
            let view: &View = match without {
                Some((changed, view)) if changed.id == core.id => view,
                _ => {
                    pinned = core.view();
                    &pinned
                }
            };
            for pair in view.superversion.memtables().filter(|m| !m.is_empty()) {
                start = start.min(pair.log_start());
            }
        }
        start
    }
}

/// Table options of a tree under the settings.
pub(super) fn table_options(settings: &Settings, tree: TreeKind) -> TableOptions {
    TableOptions {
        block_bytes: settings.block_bytes as usize,
        compression: match settings.compression {
            CompressionSetting::None => Compression::None,
            CompressionSetting::Lz4 => Compression::Lz4,
        },
        filter_bits_per_key: settings.filter_bits_per_key,
        filter_key: match tree {
            TreeKind::Primary => FilterKey::WholeKey,
            TreeKind::Index => FilterKey::Prefix(index_key::filter_key),
        },
        tree,
        ..TableOptions::default()
    }
}
