//! Flush: the oldest immutable memtables of a collection become tables, both trees in one edit.
//!
//! - DB-5: memtables of a collection are flushed oldest first, and both trees in one edit (TREE-2).
//! - DB-6: before the edit is installed, the log is durable through the largest sqn flushed: otherwise a power cut could leave a hole in
//!   commit order.

use super::collection::CollectionCore;
use super::inner::Inner;
use super::install::TreeChange;
use crate::base::error::{Error, Result};
use crate::base::ids::TreeKind;
use crate::base::planted::{Fault, planted};
use crate::compaction::job::{Job, ONE_TABLE, Outcome, Rules};
use crate::memtable::Memtable;
use crate::tree::MemPair;
use crate::version::{Edit, Source};
use std::sync::Arc;

impl Inner {
    /// Flushes one immutable memtable pair, if there is one: the one that the log needs longest. Returns whether there was.
    pub fn flush_step(&self) -> Result<bool> {
        let _one = self.flushing.lock();
        let oldest = self.all_collections().into_iter().filter_map(|core| {
            let pair = core.view().superversion.immutable.last().cloned()?;
            Some((pair.log_start(), core.id, core, pair))
        });
        match oldest.min_by_key(|(start, id, ..)| (*start, *id)) {
            Some((_, _, core, pair)) => self.flush_pair(&core, &pair).map(|()| true),
            None => Ok(false),
        }
    }

    /// Flushes everything that a collection holds in memory as of now.
    pub fn flush_collection(&self, core: &Arc<CollectionCore>) -> Result<()> {
        self.check_writable()?;
        let through = self.queue.lead(|| {
            core.switch();
            self.visible()
        });
        let _one = self.flushing.lock();
        // Not what is written meanwhile: that might never end.
        while let Some(pair) =
            core.view().superversion.immutable.last().filter(|p| p.primary.max_sqn() <= through).cloned()
        {
            self.flush_pair(core, &pair)?;
        }
        Ok(())
    }

    fn flush_pair(&self, core: &CollectionCore, pair: &Arc<MemPair>) -> Result<()> {
        self.check_writable()?;
        let through = pair.primary.max_sqn();
        let mut changes = vec![];
        let mut written = 0;
        let mut events = vec![];
        for tree in TreeKind::ALL {
            if pair.of(tree).is_empty() || planted(Fault::FlushPrimaryOnly) && tree == TreeKind::Index {
                continue;
            }
            let flushed = self.flush_tree(tree, pair).and_then(|outcome| {
                written += outcome.written_bytes;
                events.push(outcome.events);
                self.open_tables(outcome.tables)
            });
            let added = flushed.inspect_err(|_| self.remove_added(&changes))?;
            changes.push(TreeChange { tree, removed: vec![], added: added.into_iter().map(|t| (0, t)).collect() });
        }
        // DB-6.
        if self.log.durable() < through && !planted(Fault::FlushBeforeLog) {
            self.sync_log()?;
        }
        let edits = vec![Edit::Flushed { collection: core.id, sqn: through }];
        let done = self.install(core, &changes, edits, |view| {
            view.with(|next| {
                next.immutable.retain(|m| !Arc::ptr_eq(m, pair));
                next.flushed = next.flushed.max(through);
                changes.iter().for_each(|change| change.show(next));
            })
        });
        if let Err(e) = done {
            if matches!(e, Error::NoSpace { .. }) {
                self.remove_added(&changes);
            }
            return Err(e);
        }
        self.counters.flushes.add(1);
        self.counters.flush_written_bytes.add(written);
        events.iter().for_each(|e| self.count_events(e));
        self.room.notify_all();
        Ok(())
    }

    fn flush_tree(&self, tree: TreeKind, pair: &MemPair) -> Result<Outcome> {
        let mut output = self.output(tree);
        // A memtable becomes one table: level 0 counts runs.
        output.table_bytes = ONE_TABLE;
        let rules = Rules { tree, stripes: self.stripes_of_readers(), bottom: false, filter: None };
        Job::new(vec![Source::Memory(pair.of(tree).iter())], rules, output)
            .run()
            .map_err(|e| self.poison_unless_passing(e))
    }
}
