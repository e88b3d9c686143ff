//! Opening a database: lock, manifest, tables, log, in this order; creating one where there is none.
//!
//! - DB-11: nothing is written or removed before the lock is held and the manifest is read. Files that are not Sidekey's are never touched.
//! - DB-12: what replay shows is durable before anything new is acknowledged behind it (the log's recovery syncs it).
//! - DB-13: replay inserts an operation only above what its collection has flushed, and its entries only for indexes built before it.
//!
//! Crash: recovery may stop at any point. It writes a new manifest (the old one stays in use until `CURRENT` is switched), removes orphans, cuts the
//! log's torn tail, and flushes what exceeds the memtables; each of these may be done again.

use super::collection::CollectionCore;
use super::commit::insert_op;
use super::counters::Counters;
use super::inner::{Inner, STRIPES, WorkState};
use super::log::Log;
use super::queue::WriteQueue;
use super::settings::Settings;
use crate::base::error::{Error, Result};
use crate::base::ids::{CollectionId, FileNumber, Sqn, TreeKind};
use crate::base::planted::{Fault, planted};
use crate::env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::env::sync::{Condvar, Mutex, RwLock};
use crate::env::{Env, LockGuard};
use crate::index::set::IndexSet;
use crate::memtable::Memtable;
use crate::query::QueryCounters;
use crate::table::BlockCache;
use crate::tree::{MemPair, Superversion};
use crate::version::catalog::{Catalog, CollectionState};
use crate::version::{Manifest, TableFile, TreeVersion, current_path, is_manifest, is_table};
use crate::wal;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

const LOCK: &str = "LOCK";
const CURRENT_NEW: &str = "CURRENT.new";

/// Opens or creates the database in `dir`.
pub(super) fn open(env: Env, dir: &Path, settings: Settings) -> Result<Inner> {
    settings.check()?;
    let files = env.files.clone();
    prepare_directory(&env, dir, settings.create_if_missing)?;
    let lock = take_lock(&env, dir)?;
    let names = list(&env, dir)?;
    let mut catalog = if names.iter().any(|n| n == "CURRENT") {
        Manifest::load(files.as_ref(), dir)?.1
    } else {
        refuse_remains(dir, &names)?;
        if !settings.create_if_missing {
            return Err(missing(dir));
        }
        Catalog::default()
    };
    // Never a number that any file has, also if the manifest does not know it.
    let largest = names.iter().filter_map(|n| number_of(n)).max().unwrap_or_default();
    catalog.next_file = catalog.next_file.max(FileNumber(largest.0 + 1));
    for edit in catalog.interrupted_builds() {
        catalog.apply(&edit).map_err(Error::internal)?;
    }
    let cache = Arc::new(BlockCache::new(settings.cache_bytes(0)));
    let mut collections = BTreeMap::new();
    for (id, state) in &catalog.collections {
        collections.insert(*id, open_collection(&env, dir, *id, state, &cache, settings.memtable_bytes)?);
    }
    let manifest = Manifest::create(files, dir, catalog)?;
    remove_orphans(&env, dir, &names, &manifest);
    recover_log(env, dir, settings, lock, cache, collections, manifest, &names)
}

/// The rest of opening: replays the log into a database that can already flush.
#[expect(clippy::too_many_arguments, reason = "the parts of a database that is being put together")]
fn recover_log(
    env: Env,
    dir: &Path,
    settings: Settings,
    lock: Box<dyn LockGuard>,
    cache: Arc<BlockCache>,
    collections: BTreeMap<CollectionId, Arc<CollectionCore>>,
    manifest: Manifest,
    names: &[String],
) -> Result<Inner> {
    let catalog = manifest.catalog();
    let (log_start, durable) = (catalog.log_start, catalog.durable);
    let mut segments: Vec<FileNumber> = names.iter().filter_map(|n| wal::parse_file_name(n)).collect();
    segments.retain(|n| *n >= log_start);
    segments.sort_unstable();
    let next_file = Arc::new(AtomicU64::new(catalog.next_file.0));
    let log = Log::new(env.clone(), dir.to_path_buf(), settings.wal_segment_bytes, BTreeMap::new(), durable);
    let inner = Inner {
        lock: Mutex::new(Some(lock)),
        dir: dir.to_path_buf(),
        cache,
        collections: RwLock::new(collections),
        queue: WriteQueue::default(),
        log,
        manifest: Mutex::new(manifest),
        compaction: Mutex::default(),
        flushing: Mutex::new(()),
        visible: AtomicU64::new(durable.0),
        next_file,
        snapshots: Mutex::new(BTreeMap::new()),
        stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
        poison: Mutex::new(None),
        poisoned: AtomicBool::new(false),
        closed: AtomicBool::new(false),
        counters: Counters::default(),
        query_counters: Arc::new(QueryCounters::default()),
        recovery_cut_bytes: AtomicU64::new(0),
        work: Mutex::new(WorkState::default()),
        work_ready: Condvar::new(),
        stopping: Condvar::new(),
        room: Condvar::new(),
        settings,
        env,
    };
    let files = inner.env.files.clone();
    let mut replayed = Replay { inner: &inner, touched: BTreeSet::new(), entry_key: vec![] };
    let recovered =
        wal::recover(files.as_ref(), dir, &segments, durable, &mut |op, segment| replayed.apply(op, segment))?;
    let last =
        recovered.last_sqn.unwrap_or(Sqn::ZERO).max(if planted(Fault::RestartLow) { Sqn::ZERO } else { durable });
    if let Some(core) = inner.all_collections().iter().find(|c| c.view().superversion.flushed > last) {
        let what = format!("the log ends at sequence number {last}, below what collection '{}' has flushed", core.name);
        return Err(Error::corruption(dir, 0, what));
    }
    inner.recovery_cut_bytes.store(recovered.cut.map_or(0, |c| c.dropped_bytes), Ordering::Relaxed);
    inner.visible.store(last.0, Ordering::Release);
    inner.log.adopt(recovered.kept.iter().map(|k| (k.number, k.len)).collect(), last);
    inner.fit_cache();
    Ok(inner)
}

/// Replay in progress.
struct Replay<'a> {
    inner: &'a Inner,
    touched: BTreeSet<CollectionId>,
    entry_key: Vec<u8>,
}

impl Replay<'_> {
    fn apply(&mut self, op: &wal::Op<'_>, segment: FileNumber) -> Result<()> {
        let core = self.inner.collection_by_id(op.collection).ok_or_else(|| {
            let path = wal::segment_path(&self.inner.dir, segment);
            Error::corruption(path, 0, format!("the log writes to collection {}, which does not exist", op.collection))
        })?;
        let view = core.view();
        if op.sqn <= view.superversion.flushed {
            return Ok(());
        }
        // What is flushed meanwhile must not let go of segments that are not replayed yet.
        self.inner.log.set_replaying(segment);
        let pair = view.superversion.active.clone();
        if pair.is_empty() {
            pair.set_log_start(segment);
        }
        if planted(Fault::ReplayWithoutEntries) {
            pair.primary.insert_parts(op.pk, op.sqn, op.kind, [op.header, op.value]);
            return Ok(());
        }
        insert_op(&pair, &view.set, op, &mut self.entry_key)?;
        self.inner.visible.store(op.sqn.0, Ordering::Release);
        if pair.memory_bytes() as u64 >= self.inner.settings.memtable_bytes {
            // Bounded memory: the log through this operation is already durable (DB-12).
            self.inner.log.adopt(BTreeMap::new(), op.sqn);
            core.switch();
            self.inner.flush_step()?;
        }
        self.touched.insert(op.collection);
        Ok(())
    }
}

fn prepare_directory(env: &Env, dir: &Path, create: bool) -> Result<()> {
    let exists = env.files.exists(dir).map_err(|e| Error::io(dir, "look for the directory", e))?;
    if !exists && !create {
        return Err(missing(dir));
    }
    if !exists {
        env.files.create_dir_all(dir).map_err(|e| Error::io(dir, "create the directory", e))?;
        return Ok(());
    }
    let names = list(env, dir)?;
    if names.iter().any(|n| n == "CURRENT") {
        return Ok(());
    }
    // Without CURRENT this is no database: it may be made one only if nobody else's files are in it.
    if let Some(foreign) = names.iter().find(|n| !is_ours(n)) {
        return Err(Error::invalid(format!(
            "{}: not a Sidekey database, and not empty (it holds '{foreign}'); choose another directory",
            dir.display()
        )));
    }
    if !create && names.is_empty() {
        return Err(missing(dir));
    }
    Ok(())
}

fn missing(dir: &Path) -> Error {
    Error::invalid(format!("{}: there is no Sidekey database here", dir.display()))
}

fn take_lock(env: &Env, dir: &Path) -> Result<Box<dyn LockGuard>> {
    let path = dir.join(LOCK);
    env.files.lock(&path).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock => Error::Busy(format!(
            "{}: the database is open already, in this or another process; close it there first",
            dir.display()
        )),
        _ => Error::io(&path, "lock the database", e),
    })
}

fn list(env: &Env, dir: &Path) -> Result<Vec<String>> {
    env.files.list(dir).map_err(|e| Error::io(dir, "list the directory", e))
}

/// The number in the name of a file that is Sidekey's.
fn number_of(name: &str) -> Option<FileNumber> {
    is_manifest(name).or_else(|| is_table(name)).or_else(|| wal::parse_file_name(name))
}

fn is_ours(name: &str) -> bool {
    name == LOCK || name == CURRENT_NEW || name == "CURRENT" || number_of(name).is_some()
}

/// A creation that a crash interrupted leaves a lock, a manifest and CURRENT.new. Tables or logs without CURRENT are a database that has lost it.
fn refuse_remains(dir: &Path, names: &[String]) -> Result<()> {
    match names.iter().find(|n| is_table(n).is_some() || wal::parse_file_name(n).is_some()) {
        Some(name) => Err(Error::corruption(
            current_path(dir),
            0,
            format!("the file is missing although the directory holds '{name}'; restore it from a backup"),
        )),
        None => Ok(()),
    }
}

/// Removes files of Sidekey's that the manifest does not name.
fn remove_orphans(env: &Env, dir: &Path, names: &[String], manifest: &Manifest) {
    let catalog = manifest.catalog();
    let tables: BTreeSet<FileNumber> = catalog
        .collections
        .values()
        .flat_map(|c| TreeKind::ALL.into_iter().flat_map(|tree| c.tables(tree).keys().copied()))
        .collect();
    for name in names {
        let orphan = name == CURRENT_NEW
            || is_manifest(name).is_some_and(|n| n != manifest.number())
            || is_table(name).is_some_and(|n| !tables.contains(&n))
            || wal::parse_file_name(name).is_some_and(|n| n < catalog.log_start);
        if orphan {
            // It may stay: the next open tries again, and its number is not used again.
            let _ = env.files.remove(&dir.join(name));
        }
    }
}

fn open_collection(
    env: &Env,
    dir: &Path,
    id: CollectionId,
    state: &CollectionState,
    cache: &Arc<BlockCache>,
    memtable_bytes: u64,
) -> Result<Arc<CollectionCore>> {
    let set = IndexSet::compile(state, 0)?;
    let mut versions: [Arc<TreeVersion>; 2] = Default::default();
    for tree in TreeKind::ALL {
        let mut tables = vec![];
        for (level, meta) in state.tables(tree).values() {
            tables.push((*level, TableFile::open(&env.files, dir, meta.clone(), cache.clone())?));
        }
        let version = TreeVersion::default().with(&[], &tables);
        if let Some(what) = version.disorder() {
            return Err(Error::corruption(current_path(dir), 0, format!("collection '{}': {what}", state.name)));
        }
        versions[tree as usize] = Arc::new(version);
    }
    let superversion = Superversion {
        active: Arc::new(MemPair::new(memtable_bytes)),
        immutable: vec![],
        versions,
        flushed: state.flushed,
        blind_floor: state.blind_floor,
    };
    Ok(CollectionCore::new(id, state.name.clone(), superversion, set))
}
