//! The write path up to the queue: back-pressure, preparing, retrying what was overtaken.

use super::batch::BatchOp;
use super::inner::Inner;
use super::prepare::{Condition, WriteOp, check_limits, collapse};
use super::queue::Reply;
use super::scratch::Scratch;
use crate::base::error::Result;
use crate::env::Background;
use std::time::Duration;

/// Options of one write: the default, or [`WriteOptions::synced`].
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = sidekey::Db::open(dir.path().join("db"), Default::default())?;
/// use sidekey::{Batch, WriteOptions};
/// let mut batch = Batch::new();
/// batch.put(&db.collection("payments")?, "p-1", r#"{"amount": 100}"#);
/// let sqn = db.write_with(batch, WriteOptions::synced())?;
/// assert!(db.durable_sqn() >= sqn);
/// # Ok::<(), sidekey::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Make the write durable against power loss before it is acknowledged, whatever the policy.
    pub sync: bool,
}

impl WriteOptions {
    /// Durable before it is acknowledged.
    pub fn synced() -> Self {
        Self { sync: true }
    }
}

/// How long a writer waits at once when level 0 is half full.
const SLOW_DOWN: Duration = Duration::from_millis(1);

/// What stands in a writer's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    Enough,
    Little,
    None,
}

impl Inner {
    /// Writes a batch.
    pub fn write_batch(&self, batch: &[BatchOp], options: WriteOptions) -> Result<u64> {
        self.check_writable()?;
        check_limits(batch.iter().map(WriteOp::from))?;
        Ok(self.write(&collapse(batch), Condition::Always, options)?.0)
    }

    /// Writes operations on different keys atomically. Returns the sqn of the last one (the visible one if there is none), and whether the condition
    /// held.
    pub fn write(&self, ops: &[WriteOp<'_>], condition: Condition, options: WriteOptions) -> Result<(u64, bool)> {
        self.check_writable()?;
        check_limits(ops.iter().copied())?;
        let mut scratch = Scratch::take();
        let written = self.write_until_served(ops, condition, options, &mut scratch);
        scratch.give_back();
        let written = written?;
        if self.env.background == Background::Caller {
            self.sync_if_due()?;
        }
        Ok(written)
    }

    fn write_until_served(
        &self,
        ops: &[WriteOp<'_>],
        condition: Condition,
        options: WriteOptions,
        scratch: &mut Scratch,
    ) -> Result<(u64, bool)> {
        let Scratch { request, forming, group } = scratch;
        loop {
            self.wait_for_room(ops)?;
            request.clear();
            request.sync = options.sync;
            let _stripes = self.prepare(ops, condition, request, forming)?;
            match self.queue.submit(request, |requests| self.serve(group, requests)) {
                Reply::Done { last, applied } => return Ok((last, applied)),
                Reply::Again => {}
                Reply::Failed(e) => return Err(e),
            }
        }
    }

    /// What is in the way of the operations: the least room that one of their collections has.
    fn room_for(&self, ops: &[WriteOp<'_>]) -> Room {
        let mut least = Room::Enough;
        let mut last = None;
        for op in ops.iter().filter(|op| last.replace(op.core.id) != Some(op.core.id)) {
            least = least.max(self.room(op.core));
        }
        least
    }

    /// Waits until the collections of the operations can take more: slows down first, then stops. A write never fails for being early.
    fn wait_for_room(&self, ops: &[WriteOp<'_>]) -> Result<()> {
        let mut found = self.room_for(ops);
        if found == Room::Enough {
            return Ok(());
        }
        if found == Room::Little {
            self.post_work();
            self.env.clock.sleep(SLOW_DOWN);
            return Ok(());
        }
        self.counters.write_stalls.add(1);
        let started = self.env.clock.monotonic();
        let failures = self.work.lock().failures;
        while found == Room::None {
            self.check_writable()?;
            self.make_room(failures)?;
            found = self.room_for(ops);
        }
        let waited = self.env.clock.monotonic().saturating_sub(started);
        self.counters.write_stall_micros.add(waited.as_micros() as u64);
        Ok(())
    }

    /// One turn of waiting: does a step of background work, or waits for the threads that do. An error of theirs that may pass (a full disk) is the
    /// writer's too, if it came after the first `failures`: an older one tells nothing about the disk as it is.
    fn make_room(&self, failures: u64) -> Result<()> {
        if self.env.background == Background::Caller {
            self.background_step()?;
            return Ok(());
        }
        self.post_work();
        let state = self.work.lock();
        if let Some(failed) = state.failed.as_ref().filter(|_| state.failures > failures) {
            return Err(failed.clone());
        }
        drop(self.room.wait_timeout(state, Duration::from_millis(10)));
        Ok(())
    }

    fn room(&self, core: &super::collection::CollectionCore) -> Room {
        let view = core.pin();
        let sv = &view.superversion;
        let full = sv.active.memory_bytes() as u64 >= self.settings.memtable_bytes;
        let level0 = sv.level0_tables();
        let (trigger, max) = (self.settings.level0_tables as usize, self.settings.level0_tables_max as usize);
        if level0 >= max || full && sv.immutable.len() + 1 >= self.settings.memtables_max as usize {
            Room::None
        } else if level0 > trigger + (max - trigger) / 2 {
            Room::Little
        } else {
            Room::Enough
        }
    }
}
