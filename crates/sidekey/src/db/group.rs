//! A write group as it grows: the log record that it becomes, and what its operations overwrite (DB-2).

use super::collection::{CollectionCore, View};
use super::prepare::{Condition, PreparedOp, Request, key_hash};
use crate::base::error::{Error, Result};
use crate::base::ids::{CollectionId, Sqn, TreeKind};
use crate::base::key::Kind;
use crate::base::planted::{Fault, planted};
use crate::index::extract::Extracted;
use crate::memtable::Memtable;
use crate::wal::{OldVersion, OpPlace, RecordBuffer};
use arc_swap::Guard;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The group that a leader serves; reused from group to group.
#[derive(Default)]
pub(super) struct Group {
    /// The log record, but for its sqn.
    pub record: RecordBuffer,
    pub first: Sqn,
    pub next: Sqn,
    pub sync: bool,
    /// Of each collection that is written to, pinned: one consistent set of components for the whole group.
    pub views: Vec<Guard<Arc<View>>>,
    /// Reused for the keys of index entries.
    pub entry_key: Vec<u8>,
    /// The operations so far and the newest of each key; kept only if there is more than one request.
    earlier: Option<Earlier>,
    extracted: Extracted,
    old_header: Vec<u8>,
}

/// What the leader found for one operation.
pub(super) enum Finding {
    Write,
    NotApplied,
    Again,
}

/// How far a group has grown.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    next: Sqn,
    payload: usize,
}

impl Group {
    /// Begins a group; the one before was cleared.
    pub fn begin(&mut self, first: Sqn, requests: usize, sync: bool) {
        (self.first, self.next, self.sync) = (first, first, sync);
        self.earlier = (requests > 1).then(Earlier::default);
    }

    /// Lets go of what is pinned, and keeps the memory.
    pub fn clear(&mut self) {
        self.record.clear();
        self.views.clear();
        self.earlier = None;
    }

    pub fn mark(&self) -> Mark {
        Mark { next: self.next, payload: self.record.len() }
    }

    /// Takes back everything since `mark`.
    pub fn roll_back(&mut self, mark: Mark) {
        self.next = mark.next;
        self.record.truncate(mark.payload);
        if let Some(earlier) = &mut self.earlier {
            earlier.roll_back(mark.next);
        }
    }

    /// A request of one operation that comes first brings its buffer along; all others are copied behind it.
    pub fn take_over(&mut self, request: &mut Request) -> bool {
        let alone = request.ops.len() == 1 && self.record.is_empty();
        if alone {
            std::mem::swap(&mut self.record, &mut request.record);
        }
        alone
    }

    /// The pinned view of a collection that is written to.
    pub fn view(&self, id: CollectionId) -> Option<&View> {
        self.views.iter().find(|view| view.core_id == id).map(|view| &***view)
    }

    fn pin(&mut self, core: &CollectionCore) -> usize {
        self.views.iter().position(|view| view.core_id == core.id).unwrap_or_else(|| {
            self.views.push(core.pin());
            self.views.len() - 1
        })
    }

    /// Adds an operation with what it overwrites, or finds why not; then its bytes may be left for the caller to take back.
    /// `from` holds them unless they were taken over.
    pub fn add(&mut self, op: &PreparedOp, from: Option<&RecordBuffer>) -> Result<Finding> {
        let at = self.pin(&op.core);
        let Self { views, record, earlier, extracted, old_header, .. } = self;
        let Some(view) = views.get(at) else { return Err(Error::internal("a pinned view is missing")) };
        if op.generation != view.set.generation {
            return Ok(Finding::Again);
        }
        let mut place = match from {
            Some(other) => record.push_from(other, &op.place),
            None => op.place,
        };
        let payload = record.payload();
        let pk = place.pk(payload);
        let met = earlier.as_ref().and_then(|earlier| earlier.newest(op.core.id, pk, payload));
        let (old, blind) = match op.read {
            Some(read) => {
                if met.is_some() || is_outdated(view, pk, read.at) {
                    return Ok(Finding::Again);
                }
                if !op.condition.holds(read.present) {
                    return Ok(Finding::NotApplied);
                }
                // It stands in the operation already.
                (None, false)
            }
            None if !view.set.has_maintained => (None, false),
            None => match met {
                Some(met) => {
                    old_header.clear();
                    old_header.extend_from_slice(met.place.header(payload));
                    ((met.kind == Kind::Put).then_some(met.sqn), false)
                }
                None => look(view, pk, extracted, old_header)?,
            },
        };
        if self.next > Sqn::MAX {
            return Err(Error::invalid("sequence numbers are used up (2^56 writes)"));
        }
        record.set_blind(&place, blind);
        if let Some(sqn) = old {
            record.add_old(&mut place, &OldVersion { sqn, header: old_header });
        }
        if let Some(earlier) = earlier {
            earlier.push(op, place, self.next, record.payload());
        }
        self.next = self.next.next();
        Ok(Finding::Write)
    }
}

/// Whether a version of the key came after the snapshot that its old version was read at.
fn is_outdated(view: &View, pk: &[u8], at: Sqn) -> bool {
    let primary = view.superversion.tree(TreeKind::Primary);
    view.superversion.flushed > at || primary.get_in_memory(pk, Sqn::MAX, |sqn, _, _| sqn > at).unwrap_or(false)
}

/// What a blind writer overwrites, as far as memory tells: the old put, its header left in `out`, and whether the write stays blind.
fn look(view: &View, pk: &[u8], extracted: &mut Extracted, out: &mut Vec<u8>) -> Result<(Option<Sqn>, bool)> {
    let primary = view.superversion.tree(TreeKind::Primary);
    let in_memory = primary.get_in_memory(pk, Sqn::MAX, |sqn, kind, record| match kind {
        Kind::Put => view.set.copy_current_header(record, extracted, out).map(|()| Some(sqn)),
        Kind::Delete => Ok(None),
    });
    let in_memory = match in_memory {
        Some(_) if planted(Fault::OldInActiveOnly) && view.superversion.active.primary.get(pk, Sqn::MAX).is_none() => {
            None
        }
        Some(_) if planted(Fault::NoExactDelete) => Some(Ok(None)),
        found => found,
    };
    match in_memory {
        Some(old) => Ok((old?, false)),
        None => Ok((None, view.superversion.version(TreeKind::Primary).may_contain(pk))),
    }
}

/// The operations of a group, by key.
#[derive(Default)]
struct Earlier {
    ops: Vec<Met>,
    /// The place in `ops` of the newest operation of each hash.
    newest: BTreeMap<u64, usize>,
}

/// An operation of the group.
struct Met {
    collection: CollectionId,
    kind: Kind,
    sqn: Sqn,
    place: OpPlace,
    hash: u64,
    /// The one before it with the same hash.
    before: Option<usize>,
}

impl Earlier {
    fn newest(&self, collection: CollectionId, pk: &[u8], payload: &[u8]) -> Option<&Met> {
        let mut at = self.newest.get(&key_hash(collection, pk)).copied();
        loop {
            let met = self.ops.get(at?)?;
            if met.collection == collection && met.place.pk(payload) == pk {
                return Some(met);
            }
            at = met.before;
        }
    }

    fn push(&mut self, op: &PreparedOp, place: OpPlace, sqn: Sqn, payload: &[u8]) {
        let hash = key_hash(op.core.id, place.pk(payload));
        let before = self.newest.insert(hash, self.ops.len());
        self.ops.push(Met { collection: op.core.id, kind: op.kind, sqn, place, hash, before });
    }

    /// Forgets the operations from `next` on.
    fn roll_back(&mut self, next: Sqn) {
        while let Some(gone) = self.ops.pop_if(|met| met.sqn >= next) {
            match gone.before {
                Some(before) => self.newest.insert(gone.hash, before),
                None => self.newest.remove(&gone.hash),
            };
        }
    }
}

impl Condition {
    fn holds(self, present: bool) -> bool {
        match self {
            Condition::Always => true,
            Condition::IfAbsent => !present,
            Condition::IfPresent => present,
        }
    }
}

#[cfg(test)]
mod tests;
