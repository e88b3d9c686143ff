//! The leader's work: resolve what each operation overwrites, log the group, insert it, publish it.
//!
//! - DB-2: an operation's old version is looked for in the group's earlier operations, then in the active and all immutable memtables, then in the
//!   filters of the very same component set. It is blind if the filters say "maybe".
//! - DB-3: a batch stands in one log record; every operation in it carries what replay needs, so replay looks nothing up.
//! - DB-4: the visible sqn is raised only when the group is in every memtable.
//!
//! Crash: a group whose record is whole in the log is there after recovery, one whose record is torn is not; in neither case partly.

use super::collection::CollectionCore;
use super::group::{Finding, Group};
use super::inner::Inner;
use super::log::Appended;
use super::prepare::Request;
use super::queue::Reply;
use super::settings::SyncPolicy;
use crate::base::error::{Error, Result};
use crate::base::header;
use crate::base::ids::{CollectionId, FileNumber};
use crate::base::key::Kind;
use crate::env::sync::atomic::Ordering;
use crate::index::set::{IndexSet, decode_header};
use crate::memtable::Memtable;
use crate::tree::MemPair;
use crate::wal;
use std::sync::Arc;

impl Inner {
    /// Serves a group of requests and gives each its reply.
    pub fn serve(&self, group: &mut Group, requests: &mut [Request]) {
        group.begin(self.visible().next(), requests.len(), self.settings.sync == SyncPolicy::Always);
        for request in requests.iter_mut() {
            request.reply = Some(self.resolve(group, request).unwrap_or_else(Reply::Failed));
        }
        match self.commit(group) {
            Ok(appended) => {
                count_opaque(requests);
                self.counters.write_groups.add(1);
                self.counters.writes.add(group.next.0 - group.first.0);
                self.switch_full_memtables(group, appended);
            }
            Err(e) => {
                let done = |request: &&mut Request| matches!(request.reply, Some(Reply::Done { .. }));
                requests.iter_mut().filter(done).for_each(|r| r.reply = Some(Reply::Failed(e.clone())));
            }
        }
        group.clear();
    }

    /// Adds a request's operations to the group, or none of them.
    fn resolve(&self, group: &mut Group, request: &mut Request) -> Result<Reply> {
        self.check_writable()?;
        let before = group.mark();
        let taken_over = group.take_over(request);
        let mut applied = true;
        for op in &request.ops {
            // What was taken over stands in the record already.
            let so_far = if taken_over { before } else { group.mark() };
            match group.add(op, (!taken_over).then_some(&request.record)) {
                Ok(Finding::Write) => {}
                Ok(Finding::NotApplied) => {
                    group.roll_back(so_far);
                    applied = false;
                }
                Ok(Finding::Again) => {
                    group.roll_back(before);
                    return Ok(Reply::Again);
                }
                Err(e) => {
                    group.roll_back(before);
                    return Err(e);
                }
            }
        }
        group.sync |= request.sync;
        Ok(Reply::Done { last: group.next.0 - 1, applied })
    }

    /// Logs, inserts and publishes the group.
    fn commit(&self, group: &mut Group) -> Result<Option<Appended>> {
        if group.next == group.first {
            // Nothing to write, but a sync may have been asked for.
            return if group.sync { self.sync_log().map(|()| None) } else { Ok(None) };
        }
        let count =
            u32::try_from(group.next.0 - group.first.0).map_err(|_| Error::invalid("a batch has too many writes"))?;
        let appended = self
            .log
            .append(group.first, count, &mut group.record, || self.next_number())
            .map_err(|e| self.poison_unless_passing(e))?;
        if group.sync {
            self.sync_log()?;
        }
        self.insert(group, count, appended.segment).map_err(|e| self.poison_unless_passing(e))?;
        self.visible.store(group.next.0 - 1, Ordering::Release);
        Ok(Some(appended))
    }

    /// Makes the log durable; a failure makes the database read-only.
    pub fn sync_log(&self) -> Result<()> {
        self.log.sync().map(|_| ()).map_err(|e| self.poison_unless_passing(e))
    }

    /// Inserts what stands in the group's record: live writes go the way of replay.
    fn insert(&self, group: &mut Group, count: u32, segment: FileNumber) -> Result<()> {
        let mut key = std::mem::take(&mut group.entry_key);
        for op in wal::decode_ops(group.record.payload(), group.first, count) {
            let op = op.map_err(|d| Error::internal(format!("a log record that was just written: {}", d.what)))?;
            let Some(view) = group.view(op.collection) else {
                return Err(Error::internal("a resolved operation has no view"));
            };
            let pair = &view.superversion.active;
            if pair.is_empty() {
                pair.set_log_start(segment);
            }
            insert_op(pair, &view.set, &op, &mut key)?;
        }
        group.entry_key = key;
        Ok(())
    }

    /// Switches the memtables that have reached their size, and those that hold the log back. The leader alone does this, between groups.
    fn switch_full_memtables(&self, group: &Group, appended: Option<Appended>) {
        let mut switched = false;
        for view in &group.views {
            let pair = &view.superversion.active;
            if pair.memory_bytes() as u64 >= self.settings.memtable_bytes && self.has_room(&view.core_id) {
                switched |= self.collection_by_id(view.core_id).is_some_and(|core| core.switch());
            }
        }
        if appended.is_some_and(|a| a.retained_bytes > self.settings.wal_retained_bytes) {
            switched |= self.oldest_in_memory().is_some_and(|core| core.switch());
        }
        if switched {
            self.post_work();
        }
    }

    fn has_room(&self, id: &CollectionId) -> bool {
        self.collection_by_id(*id)
            .is_some_and(|c| c.view().superversion.immutable.len() + 1 < self.settings.memtables_max as usize)
    }

    /// The collection whose active memtable holds the log back the most, unless an immutable one does or only the current
    /// segment is held: that one cannot go, however much is flushed.
    fn oldest_in_memory(&self) -> Option<Arc<CollectionCore>> {
        let current = self.log.current()?;
        let oldest = self.all_collections().into_iter().filter_map(|core| {
            let view = core.view();
            let oldest = view.superversion.memtables().filter(|m| !m.is_empty()).last()?;
            let active = Arc::ptr_eq(oldest, &view.superversion.active);
            Some((oldest.log_start(), active, core))
        });
        let (start, active, core) = oldest.min_by_key(|(start, ..)| *start)?;
        (active && start < current).then_some(core)
    }
}

/// Counts the values that are no JSON, of the requests that were written.
fn count_opaque(requests: &[Request]) {
    let written = requests.iter().filter(|r| matches!(r.reply, Some(Reply::Done { applied: true, .. })));
    for op in written.flat_map(|r| &r.ops).filter(|op| op.opaque) {
        op.core.opaque_values.fetch_add(1, Ordering::Relaxed);
    }
}

/// Inserts one operation and its entries: the one path for live writes and for replay. `key` is a buffer.
pub(super) fn insert_op(pair: &MemPair, set: &IndexSet, op: &wal::Op<'_>, key: &mut Vec<u8>) -> Result<()> {
    if header::is_blind(op.header) {
        pair.primary.note_blind(op.sqn);
    }
    if set.has_maintained {
        let old = op.old.as_ref().map(|old| decode_header(old.header)).transpose()?;
        let new = if op.kind == Kind::Put { Some(decode_header(op.header)?) } else { None };
        set.changes(op.sqn, op.pk, old.as_ref(), new.as_ref(), key, |key, kind| {
            pair.index.insert(key, op.sqn, kind, &[]);
        });
    }
    pair.primary.insert_parts(op.pk, op.sqn, op.kind, [op.header, op.value]);
    Ok(())
}
