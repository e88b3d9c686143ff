//! The database's write-ahead log: the segment being written, the older ones that are still needed, and what of them is durable.
//!
//! LOG-1: `durable` names a sqn only after every segment with an operation up to it was synced without error. Syncs come one after the other, and
//! none after a failed one: another thread's might succeed although the bytes are gone (ENV-2).
//! LOG-2: a segment is removed only when every operation in it is in tables, by a durable manifest edit.

use crate::base::error::{Error, Result};
use crate::base::ids::{FileNumber, Sqn};
use crate::base::planted::{Fault, planted};
use crate::env::sync::Mutex;
use crate::env::sync::atomic::{AtomicU64, Ordering};
use crate::env::{Env, File};
use crate::wal::{RecordBuffer, Segment, segment_path};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) struct Log {
    env: Env,
    dir: PathBuf,
    segment_bytes: u64,
    state: Mutex<LogState>,
    /// Taken before `state`. Holds what the failed sync failed with.
    syncing: Mutex<Option<Error>>,
    durable: AtomicU64,
    /// Bytes appended since the database was opened.
    pub written_bytes: AtomicU64,
    pub syncs: AtomicU64,
}

struct LogState {
    segment: Option<Segment>,
    /// Segments closed since the last sync that may hold unsynced records, oldest first.
    unsynced: Vec<Unsynced>,
    appended: Sqn,
    /// Closed segments still there, with their lengths in bytes.
    closed: BTreeMap<FileNumber, u64>,
    /// The sum of their lengths.
    closed_bytes: u64,
    /// The segment that recovery is replaying: it and later ones are needed.
    replaying: Option<FileNumber>,
}

/// What became of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Appended {
    /// Where it stands.
    pub segment: FileNumber,
    /// Bytes of all segments that are kept.
    pub retained_bytes: u64,
}

/// A segment with its last sqn.
#[derive(Clone)]
struct Unsynced {
    number: FileNumber,
    file: Arc<dyn File>,
    through: Sqn,
}

impl Log {
    /// `kept` are the segments that recovery left, all of them durable through `last`.
    pub fn new(env: Env, dir: PathBuf, segment_bytes: u64, kept: BTreeMap<FileNumber, u64>, last: Sqn) -> Self {
        let closed_bytes = kept.values().sum();
        let state =
            LogState { segment: None, unsynced: vec![], appended: last, closed: kept, closed_bytes, replaying: None };
        Self {
            env,
            dir,
            segment_bytes,
            state: Mutex::new(state),
            syncing: Mutex::new(None),
            durable: AtomicU64::new(last.0),
            written_bytes: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
        }
    }

    /// Recovery has come to this segment.
    pub fn set_replaying(&self, segment: FileNumber) {
        self.state.lock().replaying = Some(segment);
    }

    /// Takes over what recovery left: everything in it is durable.
    pub fn adopt(&self, kept: BTreeMap<FileNumber, u64>, last: Sqn) {
        let mut state = self.state.lock();
        if !kept.is_empty() {
            state.replaying = None;
        }
        state.closed.extend(kept);
        state.closed_bytes = state.closed.values().sum();
        state.appended = last;
        self.durable.fetch_max(last.0, Ordering::AcqRel);
    }

    pub fn durable(&self) -> Sqn {
        Sqn(self.durable.load(Ordering::Acquire))
    }

    /// Appends one group. `NoSpace` leaves the log as it was; any other error is final.
    pub fn append(
        &self,
        first: Sqn,
        count: u32,
        record: &mut RecordBuffer,
        next_file: impl Fn() -> FileNumber,
    ) -> Result<Appended> {
        let mut state = self.state.lock();
        let full = state.segment.as_ref().is_none_or(|s| s.is_sealed() || s.len() >= self.segment_bytes);
        if full {
            self.rotate(&mut state, first, next_file())?;
        }
        let durable = self.durable();
        let Some(segment) = &mut state.segment else { return Err(Error::internal("no log segment is open")) };
        let (before, number) = (segment.len(), segment.number());
        let appended = segment.append(first, count, durable, record);
        if matches!(appended, Err(Error::NoSpace { .. })) && segment.is_empty() {
            // Nothing is in it: left there, each further attempt would leave another and use up the space that flushes need.
            state.segment = None;
            let _ = self.env.files.remove(&segment_path(&self.dir, number));
        }
        appended?;
        let Some(segment) = &state.segment else { return Err(Error::internal("no log segment is open")) };
        self.written_bytes.fetch_add(segment.len() - before, Ordering::Relaxed);
        let appended = Appended { segment: number, retained_bytes: state.closed_bytes + segment.len() };
        state.appended = Sqn(first.0 + u64::from(count) - 1);
        Ok(appended)
    }

    fn rotate(&self, state: &mut LogState, first: Sqn, number: FileNumber) -> Result<()> {
        let salt = self.env.randomness.next_u64();
        let created = Segment::create(self.env.files.as_ref(), &self.dir, number, salt, first);
        if created.is_err() {
            // A torn segment at the end is harmless, but it takes up space that may be short.
            let _ = self.env.files.remove(&segment_path(&self.dir, number));
        }
        if let Some(old) = state.segment.replace(created?) {
            state.closed.insert(old.number(), old.len());
            state.closed_bytes += old.len();
            if state.appended > self.durable() {
                let through = state.appended;
                state.unsynced.push(Unsynced { number: old.number(), file: old.file(), through });
            }
        }
        Ok(())
    }

    /// Makes everything appended so far durable. An error is final (ENV-2).
    pub fn sync(&self) -> Result<Sqn> {
        let mut failed = self.syncing.lock();
        if let Some(error) = &*failed {
            return Err(error.clone());
        }
        let (targets, through) = {
            let state = self.state.lock();
            if state.appended <= self.durable() {
                return Ok(self.durable());
            }
            let through = state.appended;
            let current = state.segment.as_ref().map(|s| Unsynced { number: s.number(), file: s.file(), through });
            (state.unsynced.iter().cloned().chain(current).collect::<Vec<_>>(), through)
        };
        for target in &targets {
            if planted(Fault::LogNotSynced) {
                continue;
            }
            if let Err(e) = target.file.sync_data() {
                let error = failed_sync(&segment_path(&self.dir, target.number), e);
                *failed = Some(error.clone());
                return Err(error);
            }
            self.syncs.fetch_add(1, Ordering::Relaxed);
        }
        self.durable.fetch_max(through.0, Ordering::AcqRel);
        // A segment that was current above may have grown and been closed meanwhile.
        self.state.lock().unsynced.retain(|segment| segment.through > through);
        Ok(self.durable())
    }

    /// The segment that the next operation goes to, or a later one does; during recovery the one being replayed. `None` if none was begun
    /// since opening.
    pub fn current(&self) -> Option<FileNumber> {
        let state = self.state.lock();
        state.segment.as_ref().map(Segment::number).or(state.replaying)
    }

    /// The segments that are kept.
    pub fn segments(&self) -> Vec<FileNumber> {
        let state = self.state.lock();
        state.closed.keys().copied().chain(state.segment.as_ref().map(Segment::number)).collect()
    }

    /// Segments and bytes that are kept.
    pub fn retained(&self) -> (u64, u64) {
        let state = self.state.lock();
        let current = state.segment.as_ref().map(Segment::len);
        (state.closed.len() as u64 + u64::from(current.is_some()), state.closed_bytes + current.unwrap_or(0))
    }

    /// Removes closed segments below `start` (LOG-2).
    pub fn remove_below(&self, start: FileNumber) {
        let mut state = self.state.lock();
        let gone: Vec<FileNumber> = state.closed.range(..start).map(|(n, _)| *n).collect();
        for number in gone {
            state.closed_bytes -= state.closed.remove(&number).unwrap_or(0);
            state.unsynced.retain(|segment| segment.number != number);
            // What cannot be removed is below the log's start: the next open removes it.
            let _ = self.env.files.remove(&segment_path(&self.dir, number));
        }
    }
}

/// Also a sync that failed for want of space has lost what it covered: never `NoSpace`, after which callers go on.
fn failed_sync(path: &Path, source: std::io::Error) -> Error {
    Error::Io { file: path.to_path_buf(), doing: "sync the log", source: Arc::new(source) }
}

#[cfg(test)]
mod tests;
