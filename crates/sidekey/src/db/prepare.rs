//! What a writer does before it joins the queue: check limits, extract attributes, and, where it must know the version it overwrites, take the key's
//! stripe and read it. No disk is read later, inside the group.

use super::batch::BatchOp;
use super::collection::CollectionCore;
use super::inner::{Inner, STRIPES};
use crate::base::error::{Error, Result};
use crate::base::header;
use crate::base::ids::{Sqn, TreeKind};
use crate::base::key::Kind;
use crate::base::planted::{Fault, planted};
use crate::env::sync::MutexGuard;
use crate::index::extract::Extracted;
use std::collections::BTreeSet;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Limits, checked at the door.
pub(super) const MAX_KEY: usize = 64 * 1024;
pub(super) const MAX_VALUE: usize = 1 << 30;
pub(super) const MAX_BATCH: usize = 1 << 30;

/// When an operation applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Always,
    IfAbsent,
    IfPresent,
}

/// The version that an operation overwrites, as read under the key's stripe.
#[derive(Debug)]
pub(super) struct ReadOld {
    /// The snapshot of the read: a newer version may have come since.
    pub at: Sqn,
    /// A put's sqn and header under the collection's present attributes.
    pub old: Option<(Sqn, Vec<u8>)>,
}

/// One write, ready for the leader.
pub(super) struct PreparedOp {
    pub core: Arc<CollectionCore>,
    /// The index set that the record was prepared under.
    pub generation: u64,
    pub kind: Kind,
    pub pk: Vec<u8>,
    /// Header and value.
    pub record: Vec<u8>,
    pub header_len: usize,
    pub condition: Condition,
    pub read: Option<ReadOld>,
}

/// The writes of one call.
pub(super) struct Request {
    pub ops: Vec<PreparedOp>,
    pub sync: bool,
}

impl Request {
    pub fn bytes(&self) -> usize {
        self.ops.iter().map(|o| o.pk.len() + o.record.len()).sum()
    }
}

/// Refuses keys and values that are too long.
pub(super) fn check_limits(op: &BatchOp) -> Result<()> {
    let len = op.key.len();
    if len == 0 || len > MAX_KEY {
        return Err(Error::invalid(format!("a key has 1 to {MAX_KEY} bytes; this one has {len}")));
    }
    if op.value.len() > MAX_VALUE {
        return Err(Error::invalid(format!("a value has at most {MAX_VALUE} bytes; this one has {}", op.value.len())));
    }
    Ok(())
}

/// The operations that survive their batch: the last one of each key, in order.
pub(super) fn collapse(ops: &[BatchOp]) -> Vec<&BatchOp> {
    let mut seen = BTreeSet::new();
    let mut kept: Vec<&BatchOp> = ops
        .iter()
        .rev()
        .filter(|op| seen.insert((op.collection.core.id, op.key.as_slice())) || planted(Fault::BatchNotCollapsed))
        .collect();
    kept.reverse();
    kept
}

/// A prepared request and the stripes that it holds until it is visible.
pub(super) type Prepared<'a> = (Request, Vec<MutexGuard<'a, ()>>);

impl Inner {
    /// Prepares the operations of one call.
    pub fn prepare(&self, ops: &[&BatchOp], condition: Condition, sync: bool) -> Result<Prepared<'_>> {
        let must_read = |op: &BatchOp| condition != Condition::Always || op.collection.core.view().set.must_read_old();
        let stripes = self.take_stripes(ops.iter().filter(|op| must_read(op)));
        let mut scratch = Extracted::default();
        let mut prepared = Vec::with_capacity(ops.len());
        for op in ops {
            let core = &op.collection.core;
            // Pinned before the sqn is taken (TREE-1).
            let view = core.view();
            let at = self.visible();
            let set = &view.set;
            let mut record = Vec::with_capacity(16 + op.value.len());
            match op.kind {
                Kind::Put => {
                    set.put_header(&op.value, &mut scratch, &mut record)?;
                }
                Kind::Delete => set.delete_header(&mut record)?,
            }
            let header_len = record.len();
            record.extend_from_slice(&op.value);
            let read = if condition != Condition::Always || set.must_read_old() {
                let old = view.superversion.tree(TreeKind::Primary).get(&op.key, at)?;
                let old = match old.filter(|o| o.kind == Kind::Put) {
                    Some(o) => Some((o.sqn, set.current_header(o.value(), &mut scratch)?)),
                    None => None,
                };
                Some(ReadOld { at, old })
            } else {
                None
            };
            prepared.push(PreparedOp {
                core: core.clone(),
                generation: set.generation,
                kind: op.kind,
                pk: op.key.clone(),
                record,
                header_len,
                condition,
                read,
            });
        }
        Ok((Request { ops: prepared, sync }, stripes))
    }

    /// Takes the stripes of the operations' keys, in order, so that two writers never wait for each other.
    fn take_stripes<'a, 'b>(&'a self, ops: impl Iterator<Item = &'b &'b BatchOp>) -> Vec<MutexGuard<'a, ()>> {
        let stripe = |op: &BatchOp| xxh3_64_with_seed(&op.key, u64::from(op.collection.core.id.0)) as usize % STRIPES;
        let wanted: BTreeSet<usize> = ops.map(|op| stripe(op)).collect();
        wanted.into_iter().filter_map(|n| self.stripes.get(n)).map(|s| s.lock()).collect()
    }
}

impl PreparedOp {
    /// The header's bytes.
    pub fn header(&self) -> &[u8] {
        self.record.get(..self.header_len).unwrap_or_default()
    }

    /// The value's bytes.
    pub fn value(&self) -> &[u8] {
        self.record.get(self.header_len..).unwrap_or_default()
    }

    pub fn set_blind(&mut self, blind: bool) {
        header::set_blind(&mut self.record, blind);
    }
}
