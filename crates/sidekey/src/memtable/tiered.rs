//! The memtable proper: a short skip list for the newest entries, sorted runs for the rest.

use super::arena::{ALIGN, Arena};
use super::entry::{Entry, Probe};
use super::list::{List, ListWriter};
use super::mem_iter::MemIter;
use super::newest::Newest;
use super::run::Run;
use super::{Found, Memtable};
use crate::base::ids::Sqn;
use crate::base::key::{self, Kind};
use crate::env::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::env::sync::{Mutex, OnceLock};
use arc_swap::ArcSwap;
use std::sync::Arc;

/// Bytes of entries in the list beyond which it becomes a run: what a search touches of them stays in a core's own cache.
const ROTATE_BYTES: usize = 512 << 10;
/// A memtable is at least this many lists, so that small ones are of parts as well.
const LISTS: usize = 8;
/// What an entry takes besides its bytes: 16 in a run, and on average as much in the list or the map of newest versions.
const BOOKKEEPING_BYTES: usize = 32;

/// Whether gets are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookups {
    /// A map of the newest versions is kept once there are runs, unless all keys came in ascending order.
    Many,
    /// A get searches every part.
    Few,
}

/// What readers take at once. Each entry is in exactly one part.
struct Parts {
    list: Arc<List>,
    /// Youngest first, as far as entries come in the order of their sqns.
    runs: Vec<Arc<Run>>,
}

/// What only the inserting thread touches.
struct Writer {
    entries: Arena,
    list: Arc<List>,
    list_writer: ListWriter,
    list_bytes: usize,
    /// Whether each entry of the list, and of the runs, came after all others: then a search looks into one part alone, a new key is
    /// seen to be new by a glance at the ends, and the map would cost more than all the rest.
    ascending: bool,
    /// The largest sqn in a run: only up to it can a run hold an entry that is inserted again.
    rotated: Option<Sqn>,
}

/// One inserting thread, lock-free readers.
///
/// The arena of entries frees nothing before the memtable goes, and whoever holds entries, cursors included, holds the memtable.
/// This is what every `SAFETY: alive` below refers to.
pub(crate) struct TieredMemtable {
    parts: ArcSwap<Parts>,
    newest: OnceLock<Newest>,
    lookups: Lookups,
    rotate_bytes: usize,
    expected_bytes: usize,
    len: AtomicUsize,
    memory_bytes: AtomicUsize,
    max_sqn: AtomicU64,
    max_blind_sqn: AtomicU64,
    writer: Mutex<Writer>,
}

impl std::fmt::Debug for TieredMemtable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (len, bytes) = (self.len(), self.memory_bytes());
        f.debug_struct("TieredMemtable").field("len", &len).field("memory_bytes", &bytes).finish_non_exhaustive()
    }
}

impl TieredMemtable {
    /// An empty memtable that is expected to be flushed when it takes `expected_bytes`.
    pub fn new(expected_bytes: u64, lookups: Lookups) -> Self {
        let expected_bytes = usize::try_from(expected_bytes).unwrap_or(usize::MAX);
        Self::rotating_at(ROTATE_BYTES.min(expected_bytes / LISTS), expected_bytes, lookups)
    }

    /// With a list of at most about `rotate_bytes`.
    pub(super) fn rotating_at(rotate_bytes: usize, expected_bytes: usize, lookups: Lookups) -> Self {
        let (list, list_writer) = List::new(&[], None);
        let list = Arc::new(list);
        Self {
            parts: ArcSwap::from_pointee(Parts { list: list.clone(), runs: vec![] }),
            newest: OnceLock::new(),
            lookups,
            rotate_bytes,
            expected_bytes,
            len: AtomicUsize::new(0),
            memory_bytes: AtomicUsize::new(0),
            max_sqn: AtomicU64::new(0),
            max_blind_sqn: AtomicU64::new(0),
            writer: Mutex::new(Writer {
                entries: Arena::new(0),
                list,
                list_writer,
                list_bytes: 0,
                ascending: true,
                rotated: None,
            }),
        }
    }

    /// Bytes that were taken from the allocator for entries and nodes.
    #[cfg(test)]
    pub fn reserved_bytes(&self) -> usize {
        let writer = self.writer.lock();
        writer.entries.reserved_bytes() + writer.list_writer.reserved_bytes()
    }

    #[cfg(test)]
    pub fn has_map(&self) -> bool {
        self.newest.get().is_some()
    }

    /// The list becomes a run, and runs of like size are merged: with n lists' worth of entries there are at most log2 n + 1 runs, and
    /// an entry was merged at most log2 n times (Bentley and Saxe, "Decomposable Searching Problems", 1980).
    fn rotate(&self, writer: &mut Writer) {
        let old = self.parts.load_full();
        let run = Run::from_sorted(old.list.common(), old.list.bodies(old.list.first()));
        let mut runs = old.runs.clone();
        writer.ascending &= runs.first().is_none_or(|before| run.follows(before));
        let common = runs.first().map_or(run.common(), |r| r.common()).to_vec();
        runs.insert(0, Arc::new(run));
        if self.lookups == Lookups::Many && !writer.ascending && self.newest.get().is_none() {
            self.map_newest(&runs);
        }
        while let [young, next, ..] = &runs[..]
            && next.len() < 2 * young.len()
        {
            let merged = Arc::new(young.merged(next));
            runs.splice(..2, [merged]);
        }
        let (list, list_writer) = List::new(&common, Some(&writer.list_writer));
        writer.list = Arc::new(list);
        self.parts.store(Arc::new(Parts { list: writer.list.clone(), runs }));
        old.list.retire(std::mem::replace(&mut writer.list_writer, list_writer));
        writer.list_bytes = 0;
        writer.rotated = Some(self.max_sqn());
    }

    /// Makes the map of newest versions, as large as will be needed if entries go on like those before.
    fn map_newest(&self, runs: &[Arc<Run>]) {
        let times = self.expected_bytes.div_ceil(self.memory_bytes().max(1)).max(1);
        let newest = Newest::new(self.len().saturating_mul(times));
        for entry in runs.iter().flat_map(|run| run.entries()) {
            let key = self.key(entry);
            newest.insert(newest.prepare(key::user_key(key)), key, entry);
        }
        // Only now: whoever finds the map relies on it.
        let _only_once = self.newest.set(newest);
    }

    #[inline]
    fn key(&self, entry: Entry) -> &[u8] {
        // SAFETY: alive as long as `self` is borrowed.
        unsafe { entry.key() }
    }

    fn found(&self, entry: Entry) -> Option<Found<'_>> {
        let (_, sqn, kind) = key::decode(self.key(entry))?;
        // SAFETY: as above.
        Some(Found { sqn, kind, value: unsafe { entry.value() } })
    }

    /// The first version of the key at or after `probe`.
    fn search(&self, probe: &Probe<'_>) -> Option<Entry> {
        let parts = self.parts.load();
        let in_list = parts.list.bodies(parts.list.at_or_after(probe)).next().map(|(_, entry)| entry);
        let in_runs = parts.runs.iter().filter_map(|run| run.get(run.count_before(probe)));
        let keyed = in_list.into_iter().chain(in_runs).map(|entry| (self.key(entry), entry));
        let versions = keyed.filter(|(key, _)| key::user_key(key) == probe.user_key);
        versions.min_by(|a, b| key::compare(a.0, b.0)).map(|(_, entry)| entry)
    }

    fn is_in_a_run(&self, probe: &Probe<'_>) -> bool {
        let is_it = |entry: Entry| Probe::from_internal(self.key(entry)).compare(probe).is_eq();
        self.parts.load().runs.iter().any(|run| run.get(run.count_before(probe)).is_some_and(is_it))
    }

    /// Counts an entry, before it can be met (MEM-4). One thread at a time writes these, so they need no atomic addition.
    fn cover(&self, sqn: Sqn, bytes: usize) {
        self.len.store(self.len.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.memory_bytes.store(self.memory_bytes.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
        self.max_sqn.store(self.max_sqn.load(Ordering::Relaxed).max(sqn.0), Ordering::Relaxed);
    }
}

impl Memtable for TieredMemtable {
    type Iter = MemIter;

    fn insert_parts(&self, user_key: &[u8], sqn: Sqn, kind: Kind, value: [&[u8]; 2]) {
        let fits = |len: Option<usize>| len.is_some_and(|len| u32::try_from(len).is_ok());
        assert!(
            fits(Some(user_key.len())) && fits(value[0].len().checked_add(value[1].len())),
            "an entry beyond 4 GiB got past the limits"
        );
        let probe = Probe::new(user_key, key::trailer(sqn, kind));
        let mut guard = self.writer.lock();
        let writer = &mut *guard;
        if writer.rotated.is_some_and(|rotated| sqn <= rotated) && self.is_in_a_run(&probe) {
            return;
        }
        // What the search in the list takes hides what the map's memory takes.
        let newest = self.newest.get().map(|newest| (newest, newest.prepare(user_key)));
        let bytes = Entry::bytes(user_key, value);
        let arena = &mut writer.entries;
        let inserted = writer.list.insert(&mut writer.list_writer, &probe, || {
            self.cover(sqn, bytes.next_multiple_of(ALIGN) + BOOKKEEPING_BYTES);
            // SAFETY: the piece has the size asked for and is known to nobody else; the lengths were checked above.
            unsafe { Entry::write(arena.allocate(bytes), &probe, value) }
        });
        let Some((entry, is_last)) = inserted else { return };
        writer.ascending &= is_last;
        if let Some((newest, hash)) = newest {
            newest.insert(hash, self.key(entry), entry);
        }
        writer.list_bytes += bytes;
        if writer.list_bytes >= self.rotate_bytes {
            self.rotate(writer);
        }
    }

    fn get(&self, user_key: &[u8], at: Sqn) -> Option<Found<'_>> {
        if let Some(newest) = self.newest.get() {
            let newest = self.found(newest.get(user_key)?)?;
            if newest.sqn <= at {
                return Some(newest);
            }
        }
        self.found(self.search(&Probe::new(user_key, key::trailer(at, Kind::Put)))?)
    }

    fn cursors(self: &Arc<Self>) -> Vec<MemIter> {
        let parts = self.parts.load();
        let list = parts.list.first().map(|_| MemIter::over_list(self.clone(), parts.list.clone()));
        let runs = parts.runs.iter().map(|run| MemIter::over_run(self.clone(), run.clone()));
        list.into_iter().chain(runs).collect()
    }

    fn iter(self: &Arc<Self>) -> MemIter {
        let mut writer = self.writer.lock();
        if writer.list.first().is_some() {
            self.rotate(&mut writer);
        }
        let parts = self.parts.load();
        let merged = parts.runs.iter().cloned().reduce(|young, old| Arc::new(young.merged(&old)));
        let run = merged.unwrap_or_else(|| Arc::new(Run::from_sorted(&[], std::iter::empty())));
        self.parts.store(Arc::new(Parts { list: parts.list.clone(), runs: vec![run.clone()] }));
        MemIter::over_run(self.clone(), run)
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes.load(Ordering::Relaxed)
    }

    fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    fn max_sqn(&self) -> Sqn {
        Sqn(self.max_sqn.load(Ordering::Relaxed))
    }

    fn note_blind(&self, sqn: Sqn) {
        self.max_blind_sqn.fetch_max(sqn.0, Ordering::Relaxed);
    }

    fn max_blind_sqn(&self) -> Sqn {
        Sqn(self.max_blind_sqn.load(Ordering::Relaxed))
    }
}
