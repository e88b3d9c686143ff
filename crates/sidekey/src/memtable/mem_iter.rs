//! The cursor over one part of a memtable: its list or one of its runs.

use super::TieredMemtable;
use super::entry::{Entry, Probe};
use super::list::List;
use super::node::Node;
use super::run::Run;
use crate::base::error::Result;
use crate::base::iter::SortedIter;
use std::sync::Arc;

/// How many items ahead of a step in a run the entry is fetched: neighbours in order are strangers in memory.
const FETCH_AHEAD: usize = 4;

/// A cursor that keeps the memtable alive; it never fails.
///
/// A step back in a list is a search from the top, since nodes know only what follows them: backward scans are the rarer ones, and a
/// second link would cost every insert a store that cannot be published together with the first.
pub(crate) struct MemIter {
    at: Option<Entry>,
    part: Part,
    /// Owns the bytes of all entries.
    _memtable: Arc<TieredMemtable>,
}

enum Part {
    List(Arc<List>, Option<Node>),
    Run(Arc<Run>, usize),
}

impl std::fmt::Debug for MemIter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemIter").field("at", &self.at).finish_non_exhaustive()
    }
}

impl MemIter {
    pub(super) fn over_list(memtable: Arc<TieredMemtable>, list: Arc<List>) -> Self {
        Self { at: None, part: Part::List(list, None), _memtable: memtable }
    }

    pub(super) fn over_run(memtable: Arc<TieredMemtable>, run: Arc<Run>) -> Self {
        Self { at: None, part: Part::Run(run, 0), _memtable: memtable }
    }

    #[inline]
    fn key_at(at: &Option<Entry>) -> &[u8] {
        // SAFETY: the cursor keeps the memtable, and with it the arena, alive.
        at.map_or(&[], |entry| unsafe { entry.key() })
    }

    fn place(&mut self, in_list: impl FnOnce(&List) -> Option<Node>, in_run: impl FnOnce(&Run) -> Option<usize>) {
        self.at = match &mut self.part {
            Part::List(list, node) => {
                *node = in_list(list);
                list.bodies(*node).next().map(|(_, entry)| entry)
            }
            Part::Run(run, at) => in_run(run).and_then(|found| {
                *at = found;
                run.get(found)
            }),
        };
    }
}

impl SortedIter for MemIter {
    #[inline]
    fn valid(&self) -> bool {
        self.at.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        debug_assert!(self.valid());
        Self::key_at(&self.at)
    }

    #[inline]
    fn value(&self) -> &[u8] {
        debug_assert!(self.valid());
        // SAFETY: as above.
        self.at.map_or(&[], |entry| unsafe { entry.value() })
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.place(List::first, |_| Some(0));
        Ok(())
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        let probe = Probe::from_internal(target);
        self.place(|list| list.at_or_after(&probe), |run| Some(run.count_before(&probe)));
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        match &mut self.part {
            Part::Run(run, at) if self.at.is_some() => {
                *at += 1;
                if let Some(ahead) = run.get(*at + FETCH_AHEAD) {
                    ahead.prefetch();
                }
                self.at = run.get(*at);
            }
            Part::List(list, Some(node)) => {
                let next = list.after(*node);
                self.place(|_| next, |_| None);
            }
            _ => {}
        }
        Ok(())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.place(List::last, |run| run.len().checked_sub(1));
        Ok(())
    }

    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        let probe = Probe::from_internal(target);
        self.place(|list| list.before(&probe), |run| run.count_before(&probe).checked_sub(1));
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        match &mut self.part {
            Part::Run(run, at) if self.at.is_some() => {
                self.at = at.checked_sub(1).and_then(|before| {
                    *at = before;
                    run.get(before)
                });
            }
            Part::List(list, node) if self.at.is_some() => {
                *node = list.before(&Probe::from_internal(Self::key_at(&self.at)));
                self.at = list.bodies(*node).next().map(|(_, entry)| entry);
            }
            _ => {}
        }
        Ok(())
    }
}
