//! What a writer does before it joins the queue: check limits, extract attributes, and, where it must know the version it overwrites, take the key's
//! stripe and read it. No disk is read later, inside the group. Each operation is encoded as the log holds it, for the leader to complete.

use super::batch::BatchOp;
use super::collection::{CollectionCore, View};
use super::inner::{Inner, STRIPES};
use super::queue::Reply;
use super::scratch::Forming;
use crate::base::error::{Error, Result};
use crate::base::ids::{CollectionId, Sqn, TreeKind};
use crate::base::key::Kind;
use crate::base::planted::{Fault, planted};
use crate::env::sync::MutexGuard;
use crate::index::extract::Extracted;
use crate::wal::{OldVersion, Op, OpPlace, RecordBuffer};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Limits, checked at the door.
pub(super) const MAX_KEY: usize = 64 * 1024;
pub(super) const MAX_VALUE: usize = 1 << 30;
pub(super) const MAX_BATCH: usize = 1 << 30;

/// A write as its caller gives it.
#[derive(Clone, Copy)]
pub(super) struct WriteOp<'a> {
    pub core: &'a Arc<CollectionCore>,
    pub kind: Kind,
    pub key: &'a [u8],
    pub value: &'a [u8],
}

impl<'a> From<&'a BatchOp> for WriteOp<'a> {
    fn from(op: &'a BatchOp) -> Self {
        WriteOp { core: &op.collection.core, kind: op.kind, key: &op.key, value: &op.value }
    }
}

/// When an operation applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Always,
    IfAbsent,
    IfPresent,
}

/// What was read of the version that an operation overwrites, under the key's stripe.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadOld {
    /// The snapshot of the read: a newer version may have come since.
    pub at: Sqn,
    /// Whether it is a put. Then it is named in the encoded operation.
    pub present: bool,
}

/// One write, ready for the leader.
pub(super) struct PreparedOp {
    pub core: Arc<CollectionCore>,
    /// The index set that the record was prepared under.
    pub generation: u64,
    pub kind: Kind,
    pub opaque: bool,
    /// Where it stands in the request's record.
    pub place: OpPlace,
    pub condition: Condition,
    pub read: Option<ReadOld>,
}

/// The writes of one call.
#[derive(Default)]
pub(super) struct Request {
    pub ops: Vec<PreparedOp>,
    /// The operations, encoded.
    pub record: RecordBuffer,
    pub sync: bool,
    /// The leader's answer.
    pub reply: Option<Reply>,
}

impl Request {
    /// Makes the request empty.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.record.clear();
    }

    pub fn bytes(&self) -> usize {
        self.record.len()
    }
}

/// Refuses keys and values that are too long, and more than a batch may hold.
pub(super) fn check_limits<'a>(ops: impl Iterator<Item = WriteOp<'a>>) -> Result<()> {
    let mut bytes = 0;
    for op in ops {
        let len = op.key.len();
        if len == 0 || len > MAX_KEY {
            return Err(Error::invalid(format!("a key has 1 to {MAX_KEY} bytes; this one has {len}")));
        }
        let len = op.value.len();
        if len > MAX_VALUE {
            return Err(Error::invalid(format!("a value has at most {MAX_VALUE} bytes; this one has {len}")));
        }
        bytes += op.key.len() + len;
    }
    if bytes > MAX_BATCH {
        return Err(Error::invalid(format!("a batch has at most {MAX_BATCH} bytes; this one has {bytes}")));
    }
    Ok(())
}

/// The operations that survive their batch: the last one of each key, in order.
pub(super) fn collapse(ops: &[BatchOp]) -> Vec<WriteOp<'_>> {
    let mut kept: Vec<(usize, WriteOp<'_>)> = ops.iter().map(WriteOp::from).enumerate().collect();
    if kept.len() > 1 && !planted(Fault::BatchNotCollapsed) {
        // The last one of a key first among those of the key.
        kept.sort_unstable_by(|(a, x), (b, y)| (x.core.id, x.key, b).cmp(&(y.core.id, y.key, a)));
        kept.dedup_by(|(_, later), (_, kept)| later.core.id == kept.core.id && later.key == kept.key);
        kept.sort_unstable_by_key(|(at, _)| *at);
    }
    kept.into_iter().map(|(_, op)| op).collect()
}

/// A hash of a key, for stripes and groups.
pub(super) fn key_hash(collection: CollectionId, pk: &[u8]) -> u64 {
    xxh3_64_with_seed(pk, u64::from(collection.0))
}

/// The stripes that a request holds until it is visible.
#[derive(Default)]
pub(super) struct Stripes<'a> {
    one: Option<MutexGuard<'a, ()>>,
    /// Of a batch.
    more: Vec<MutexGuard<'a, ()>>,
}

/// Whether a writer must know what it overwrites before it joins the queue.
fn must_read(view: &View, condition: Condition) -> bool {
    condition != Condition::Always || view.set.must_read_old
}

impl Inner {
    /// Prepares the operations of one call into an empty request.
    pub fn prepare(
        &self,
        ops: &[WriteOp<'_>],
        condition: Condition,
        request: &mut Request,
        forming: &mut Forming,
    ) -> Result<Stripes<'_>> {
        let stripes = self.take_stripes(ops, condition);
        for op in ops {
            // Pinned before the sqn is taken (TREE-1).
            let view = op.core.pin();
            let at = self.visible();
            let prepared = prepare_op(op, condition, &view, at, request, forming)?;
            request.ops.push(prepared);
        }
        Ok(stripes)
    }

    /// Takes the stripes of the operations that read, in order, so that two writers never wait for each other.
    fn take_stripes(&self, ops: &[WriteOp<'_>], condition: Condition) -> Stripes<'_> {
        let wanted = |op: &WriteOp<'_>| {
            must_read(&op.core.pin(), condition).then(|| key_hash(op.core.id, op.key) as usize % STRIPES)
        };
        let mut stripes = Stripes::default();
        if let [op] = ops {
            stripes.one = wanted(op).and_then(|n| self.stripes.get(n)).map(|s| s.lock());
            return stripes;
        }
        let mut numbers: Vec<usize> = ops.iter().filter_map(wanted).collect();
        numbers.sort_unstable();
        numbers.dedup();
        stripes.more = numbers.into_iter().filter_map(|n| self.stripes.get(n)).map(|s| s.lock()).collect();
        stripes
    }
}

fn prepare_op(
    op: &WriteOp<'_>,
    condition: Condition,
    view: &View,
    at: Sqn,
    request: &mut Request,
    forming: &mut Forming,
) -> Result<PreparedOp> {
    let set = &view.set;
    let Forming { extracted, header, old_header } = forming;
    header.clear();
    let opaque = match op.kind {
        Kind::Put => set.put_header(op.value, extracted, header)?,
        Kind::Delete => {
            set.delete_header(header)?;
            false
        }
    };
    let (mut read, mut old) = (None, None);
    if must_read(view, condition) {
        let sqn = read_old(view, op.key, at, extracted, old_header)?;
        read = Some(ReadOld { at, present: sqn.is_some() });
        old = sqn.map(|sqn| OldVersion { sqn, header: old_header });
    }
    let place = request.record.push(&Op {
        collection: op.core.id,
        kind: op.kind,
        sqn: Sqn::ZERO,
        pk: op.key,
        header,
        value: op.value,
        old,
    });
    let core = op.core.clone();
    Ok(PreparedOp { core, generation: set.generation, kind: op.kind, opaque, place, condition, read })
}

/// The sqn of the put that a key had at a snapshot, and in `out` its header under the collection's present attributes.
fn read_old(view: &View, key: &[u8], at: Sqn, extracted: &mut Extracted, out: &mut Vec<u8>) -> Result<Option<Sqn>> {
    let mut keep = |sqn, kind, record: &[u8]| match kind {
        Kind::Put => view.set.copy_current_header(record, extracted, out).map(|()| Some(sqn)),
        Kind::Delete => Ok(None),
    };
    let superversion = &view.superversion;
    // Memtables first: there only the header is copied.
    if let Some(found) = superversion.tree(TreeKind::Primary).get_in_memory(key, at, &mut keep) {
        return found;
    }
    match superversion.version(TreeKind::Primary).get(key, at)? {
        Some(found) => keep(found.sqn, found.kind, &found.value),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests;
