//! The leader's work: resolve what each operation overwrites, log the group, insert it, publish it.
//!
//! - DB-2: an operation's old version is looked for in the group's earlier operations, then in the active and all immutable memtables, then in the
//!   filters of the very same component set. It is blind if the filters say "maybe".
//! - DB-3: a batch stands in one log record; every operation in it carries what replay needs, so replay looks nothing up.
//! - DB-4: the visible sqn is raised only when the group is in every memtable.
//!
//! Crash: a group whose record is whole in the log is there after recovery, one whose record is torn is not; in neither case partly.

use super::collection::{CollectionCore, View};
use super::inner::Inner;
use super::prepare::{Condition, PreparedOp, Request};
use super::queue::{Reply, Waiting};
use super::settings::SyncPolicy;
use crate::base::error::{Error, Result};
use crate::base::ids::{CollectionId, Sqn, TreeKind};
use crate::base::key::Kind;
use crate::base::planted::{Fault, planted};
use crate::env::sync::atomic::Ordering;
use crate::index::extract::Extracted;
use crate::index::set::{IndexSet, decode_record};
use crate::memtable::Memtable;
use crate::tree::MemPair;
use crate::wal;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An operation with its sqn and what it overwrites.
struct Resolved {
    op: PreparedOp,
    sqn: Sqn,
    old: Option<(Sqn, Vec<u8>)>,
    blind: bool,
}

/// The group as it grows.
struct Group {
    next: Sqn,
    resolved: Vec<Resolved>,
    /// Newest operation of each key in the group; kept only if the group has more than one request.
    latest: Option<BTreeMap<(CollectionId, Vec<u8>), usize>>,
    views: BTreeMap<CollectionId, Arc<View>>,
    sync: bool,
    scratch: Extracted,
}

/// What the leader found for one operation.
enum Finding {
    Write { old: Option<(Sqn, Vec<u8>)>, blind: bool },
    NotApplied,
    Again,
}

impl Inner {
    /// Serves a group of requests and answers each.
    pub fn serve(&self, group: &[Arc<Waiting>]) {
        let visible = self.visible();
        let mut work = Group {
            next: visible.next(),
            resolved: vec![],
            latest: (group.len() > 1).then(BTreeMap::new),
            views: BTreeMap::new(),
            sync: self.settings.sync == SyncPolicy::Always,
            scratch: Extracted::default(),
        };
        let mut replies = Vec::with_capacity(group.len());
        for waiting in group {
            let reply = match waiting.take_request() {
                Some(request) => self.resolve(&mut work, request).unwrap_or_else(Reply::Failed),
                None => Reply::Failed(Error::internal("a request was served twice")),
            };
            replies.push(reply);
        }
        let outcome = self.commit(&work);
        for (waiting, reply) in group.iter().zip(replies) {
            match (&outcome, reply) {
                (Err(e), Reply::Done { .. }) => waiting.answer(Reply::Failed(e.clone())),
                (_, reply) => waiting.answer(reply),
            }
        }
        if outcome.is_ok() {
            self.counters.write_groups.add(1);
            self.counters.writes.add(work.resolved.len() as u64);
            self.switch_full_memtables(work.views.values());
        }
    }

    /// Adds a request's operations to the group, or none of them.
    fn resolve(&self, group: &mut Group, request: Request) -> Result<Reply> {
        self.check_writable()?;
        let before = (group.resolved.len(), group.next);
        let mut applied = true;
        let sync = request.sync;
        for mut op in request.ops {
            let view = group.views.entry(op.core.id).or_insert_with(|| op.core.view()).clone();
            let finding = group.look(&view, &op);
            match finding {
                Ok(Finding::Write { old, blind }) => {
                    if group.next > Sqn::MAX {
                        group.roll_back(before);
                        return Err(Error::invalid("sequence numbers are used up (2^56 writes)"));
                    }
                    op.set_blind(blind);
                    if let Some(latest) = &mut group.latest {
                        latest.insert((op.core.id, op.pk.clone()), group.resolved.len());
                    }
                    group.resolved.push(Resolved { op, sqn: group.next, old, blind });
                    group.next = group.next.next();
                }
                Ok(Finding::NotApplied) => applied = false,
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
        group.sync |= sync;
        Ok(Reply::Done { last: group.next.0 - 1, applied })
    }

    /// Logs, inserts and publishes the group.
    fn commit(&self, group: &Group) -> Result<()> {
        let Some(first) = group.resolved.first() else {
            // Nothing to write, but a sync may have been asked for.
            return if group.sync { self.sync_log() } else { Ok(()) };
        };
        let mut payload = Vec::with_capacity(group.resolved.iter().map(|r| r.op.record.len() + 64).sum());
        for r in &group.resolved {
            wal::encode_op(
                &mut payload,
                &wal::Op {
                    collection: r.op.core.id,
                    kind: r.op.kind,
                    sqn: r.sqn,
                    pk: &r.op.pk,
                    header: r.op.header(),
                    value: r.op.value(),
                    old: r.old.as_ref().map(|(sqn, header)| wal::OldVersion { sqn: *sqn, header }),
                },
            );
        }
        let count = u32::try_from(group.resolved.len()).map_err(|_| Error::invalid("a batch has too many writes"))?;
        self.log
            .append(first.sqn, count, &payload, || self.next_number())
            .map_err(|e| self.poison_unless_passing(e))?;
        if group.sync {
            self.sync_log()?;
        }
        self.insert(group)?;
        self.visible.store(group.next.0 - 1, Ordering::Release);
        Ok(())
    }

    /// Makes the log durable; a failure makes the database read-only.
    pub fn sync_log(&self) -> Result<()> {
        self.log.sync().map(|_| ()).map_err(|e| self.poison_unless_passing(e))
    }

    fn insert(&self, group: &Group) -> Result<()> {
        let segment = self.log.current().unwrap_or_default();
        for r in &group.resolved {
            let Some(view) = group.views.get(&r.op.core.id) else {
                return Err(self.poison_unless_passing(Error::internal("a resolved operation has no view")));
            };
            let pair = &view.superversion.active;
            if pair.is_empty() {
                pair.set_log_start(segment);
            }
            insert_op(
                pair,
                &view.set,
                r.sqn,
                r.op.kind,
                &r.op.pk,
                &r.op.record,
                r.blind,
                r.old.as_ref().map(|o| &o.1[..]),
            )
            .map_err(|e| self.poison_unless_passing(e))?;
            let opaque = r.op.kind == Kind::Put && decode_record(&r.op.record).is_ok_and(|(h, _)| h.is_opaque());
            if opaque {
                r.op.core.opaque_values.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Switches the memtables that have reached their size, and those that hold the log back. The leader alone does this, between groups.
    fn switch_full_memtables<'a>(&self, views: impl Iterator<Item = &'a Arc<View>>) {
        let mut switched = false;
        for view in views {
            let pair = &view.superversion.active;
            if pair.memory_bytes() as u64 >= self.settings.memtable_bytes && self.has_room(&view.core_id) {
                switched |= self.collection_by_id(view.core_id).is_some_and(|core| core.switch());
            }
        }
        let (_, retained) = self.log.retained();
        if retained > self.settings.wal_retained_bytes {
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

/// Inserts one operation and its entries: the one path for live writes and for replay.
#[expect(
    clippy::too_many_arguments,
    reason = "the fields of one operation, from two sources that own them differently"
)]
pub(super) fn insert_op(
    pair: &MemPair,
    set: &IndexSet,
    sqn: Sqn,
    kind: Kind,
    pk: &[u8],
    record: &[u8],
    blind: bool,
    old_header: Option<&[u8]>,
) -> Result<()> {
    let (new, _) = decode_record(record)?;
    let old = match old_header {
        Some(bytes) => Some(decode_record(bytes)?.0),
        None => None,
    };
    if blind {
        pair.primary.note_blind(sqn);
    }
    let mut key = vec![];
    let new = (kind == Kind::Put).then_some(&new);
    set.changes(sqn, pk, old.as_ref(), new, &mut key, |key, kind| pair.index.insert(key, sqn, kind, &[]));
    pair.primary.insert(pk, sqn, kind, record);
    Ok(())
}

impl Group {
    fn roll_back(&mut self, (len, next): (usize, Sqn)) {
        for gone in self.resolved.drain(len..).rev() {
            if let Some(latest) = &mut self.latest {
                latest.remove(&(gone.op.core.id, gone.op.pk));
            }
        }
        self.next = next;
        // An earlier request's operation on the same key may have been hidden by what was rolled back.
        if let Some(latest) = &mut self.latest {
            for (at, r) in self.resolved.iter().enumerate() {
                latest.insert((r.op.core.id, r.op.pk.clone()), at);
            }
        }
    }

    /// DB-2: what an operation overwrites.
    fn look(&mut self, view: &View, op: &PreparedOp) -> Result<Finding> {
        if op.generation != view.set.generation {
            return Ok(Finding::Again);
        }
        let earlier = self.latest.as_ref().and_then(|l| l.get(&(op.core.id, op.pk.clone()))).copied();
        let primary = view.superversion.tree(TreeKind::Primary);
        if let Some(read) = &op.read {
            let newer = earlier.is_some()
                || view.superversion.flushed > read.at
                || primary.get_in_memory(&op.pk, Sqn::MAX, |sqn, _, _| sqn > read.at).unwrap_or(false);
            if newer {
                return Ok(Finding::Again);
            }
            let present = read.old.is_some();
            let applies = match op.condition {
                Condition::Always => true,
                Condition::IfAbsent => !present,
                Condition::IfPresent => present,
            };
            return Ok(match applies {
                true => Finding::Write { old: read.old.clone(), blind: false },
                false => Finding::NotApplied,
            });
        }
        if !view.set.has_maintained() {
            return Ok(Finding::Write { old: None, blind: false });
        }
        if let Some(at) = earlier.and_then(|at| self.resolved.get(at)) {
            let old = (at.op.kind == Kind::Put).then(|| (at.sqn, at.op.header().to_vec()));
            return Ok(Finding::Write { old, blind: false });
        }
        let scratch = &mut self.scratch;
        let in_memory = primary.get_in_memory(&op.pk, Sqn::MAX, |sqn, kind, record| match kind {
            Kind::Put => view.set.current_header(record, scratch).map(|header| Some((sqn, header))),
            Kind::Delete => Ok(None),
        });
        let in_memory = match in_memory {
            Some(_)
                if planted(Fault::OldInActiveOnly)
                    && view.superversion.active.primary.get(&op.pk, Sqn::MAX).is_none() =>
            {
                None
            }
            Some(_) if planted(Fault::NoExactDelete) => Some(Ok(None)),
            found => found,
        };
        Ok(match in_memory {
            Some(old) => Finding::Write { old: old?, blind: false },
            None => {
                let blind = view.superversion.version(TreeKind::Primary).may_contain(&op.pk);
                Finding::Write { old: None, blind }
            }
        })
    }
}
