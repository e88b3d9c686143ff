//! Compaction: picks plans, runs jobs, installs outcomes. One at a time, of the tree that needs it most; none waits for ever.

use super::collection::{CollectionCore, View};
use super::inner::Inner;
use super::install::TreeChange;
use crate::base::error::{Error, Result};
use crate::base::ids::{CollectionId, Incarnation, Sqn, TreeKind};
use crate::base::index_key;
use crate::compaction::hooks::{EntryFilter, Events};
use crate::compaction::job::{Job, ONE_TABLE, Rules};
use crate::compaction::plan::Plan;
use crate::compaction::policy::leveled::{self, Context, Limits};
use crate::index::spec::IndexState;
use crate::table::ReadMode;
use crate::validate::{Liveness, StaleFilter};
use crate::version::{Edit, LevelIter, Source, TableMeta};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a tree's urgency gains each time another one is preferred, in thousandths of its limit: one that is just over its limit waits for at most
/// some tens of compactions, however much its neighbours are written to.
const PASSED_OVER: u64 = 100;

/// How often each tree that has something to compact has been passed over since its last turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    passed: BTreeMap<(CollectionId, TreeKind), u64>,
}

impl Inner {
    /// One compaction, of the tree that needs it most. Returns whether there was something to do.
    pub fn compaction_step(&self) -> Result<bool> {
        let mut turns = self.compaction.lock();
        // Only the chosen view is held while the plan runs: the others would keep their memtables and tables alive.
        let mut chosen: Option<(u64, Arc<CollectionCore>, TreeKind, _, Plan)> = None;
        let mut waiting = Turns::default();
        for core in self.all_collections() {
            for tree in TreeKind::ALL {
                let view = core.view();
                let Some(plan) = self.pick(&view, tree) else { continue };
                let passed = turns.passed.get(&(core.id, tree)).copied().unwrap_or(0);
                waiting.passed.insert((core.id, tree), passed + 1);
                let urgency = plan.score.saturating_add(passed * PASSED_OVER);
                if chosen.as_ref().is_none_or(|(most, ..)| *most < urgency) {
                    chosen = Some((urgency, core.clone(), tree, view, plan));
                }
            }
        }
        let Some((_, core, tree, view, plan)) = chosen else { return Ok(false) };
        waiting.passed.remove(&(core.id, tree));
        *turns = waiting;
        self.run_plan(&core, tree, &view, plan)?;
        Ok(true)
    }

    /// Merges everything of a tree down to the last level.
    pub fn compact_whole(&self, core: &Arc<CollectionCore>, tree: TreeKind) -> Result<()> {
        let _one = self.compaction.lock();
        let view = core.view();
        match leveled::whole(view.superversion.version(tree), &BTreeSet::new()) {
            Some(plan) => self.run_plan(core, tree, &view, plan),
            None => Ok(()),
        }
    }

    fn pick(&self, view: &View, tree: TreeKind) -> Option<Plan> {
        let limits = Limits {
            level0_tables: self.settings.level0_tables as usize,
            base_bytes: self.settings.level_base_bytes,
            ratio: self.settings.level_ratio.into(),
        };
        let live = live_incarnations(view);
        let of_dropped = |key: &[u8]| index_key::incarnation(key).is_none_or(|i| !live.contains_key(&i));
        let garbage = |t: &TableMeta| tree == TreeKind::Index && (of_dropped(t.low()) || of_dropped(t.high()));
        let context = Context {
            tree,
            oldest_snapshot: self.stripes_of_readers().first().copied().unwrap_or_default(),
            stale_below: match tree {
                TreeKind::Primary => Sqn::ZERO,
                TreeKind::Index if live.values().all(|l| *l == Liveness::Exact) => Sqn::ZERO,
                TreeKind::Index => view.superversion.stale_below(),
            },
            garbage: &garbage,
        };
        leveled::pick(view.superversion.version(tree), limits, context, &BTreeSet::new())
    }

    fn run_plan(&self, core: &Arc<CollectionCore>, tree: TreeKind, view: &View, plan: Plan) -> Result<()> {
        self.check_writable()?;
        if plan.trivial_move {
            let removed: Vec<_> = plan.inputs.iter().map(|(_, t)| t.clone()).collect();
            let change = TreeChange { tree, added: vec![(plan.output_level, removed[0].clone())], removed };
            self.install_move(core, &change)?;
            self.counters.tables_moved.add(1);
            return Ok(());
        }
        let stripes = self.stripes_of_readers();
        let filter: Option<Box<dyn EntryFilter>> = (tree == TreeKind::Index).then(|| {
            let sv = &view.superversion;
            let primary = sv.version(TreeKind::Primary).clone();
            Box::new(StaleFilter::new(live_incarnations(view), primary, stripes.clone(), sv.flushed, sv.blind_floor))
                as _
        });
        let rules = Rules { tree, stripes, bottom: plan.bottom, filter };
        let mut output = self.output(tree);
        if plan.output_level == 0 {
            // Level 0 counts runs.
            output.table_bytes = ONE_TABLE;
        }
        let outcome = Job::new(sources(&plan), rules, output).run().map_err(|e| self.poison_unless_passing(e))?;
        let opened = self.open_tables(outcome.tables)?;
        let change = TreeChange {
            tree,
            removed: plan.inputs.iter().map(|(_, t)| t.clone()).collect(),
            added: opened.iter().map(|t| (plan.output_level, t.clone())).collect(),
        };
        let floor = outcome.blind_floor;
        let edits = match floor {
            Sqn::ZERO => vec![],
            sqn => vec![Edit::BlindFloor { collection: core.id, sqn }],
        };
        let done = self.install(core, std::slice::from_ref(&change), edits, |view| {
            view.with(|next| {
                change.show(next);
                next.blind_floor = next.blind_floor.max(floor);
            })
        });
        if let Err(e) = done {
            if matches!(e, Error::NoSpace { .. }) {
                self.remove_added(std::slice::from_ref(&change));
            }
            return Err(e);
        }
        self.counters.compactions.add(1);
        self.counters.compaction_read_bytes.add(plan.input_bytes());
        self.counters.compaction_written_bytes.add(outcome.written_bytes);
        self.count_events(&outcome.events);
        self.room.notify_all();
        Ok(())
    }

    /// A table that changes its level stays the same file: it is taken out and put in, and does not become obsolete.
    fn install_move(&self, core: &CollectionCore, change: &TreeChange) -> Result<()> {
        self.install_kept(core, change, |view| view.with(|next| change.show(next)))
    }

    /// Counts a job's events once its edit is installed (CMP-5).
    pub fn count_events(&self, events: &Events) {
        self.counters.versions_superseded.add(events.superseded);
        self.counters.versions_dropped.add(events.dropped);
        self.counters.stale_entries_removed.add(events.stale_entries);
    }
}

/// What the entries of each index are, for compaction; incarnations that are not here are dropped.
pub(super) fn live_incarnations(view: &View) -> BTreeMap<Incarnation, Liveness> {
    let live = view.set.indexes.iter().filter(|i| i.info.state != IndexState::Invalid);
    live.map(|i| (i.incarnation, if i.is_synchronous() { Liveness::Exact } else { Liveness::Validate })).collect()
}

/// The plan's tables as merge sources, youngest first.
fn sources(plan: &Plan) -> Vec<Source> {
    let mut sources = vec![];
    let mut levels: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for (level, table) in &plan.inputs {
        match level {
            0 => sources.push(Source::Table(table.table.iter(ReadMode::Bulk))),
            _ => levels.entry(*level).or_default().push(table.clone()),
        }
    }
    for (_, mut tables) in levels {
        tables.sort_by(|a, b| a.meta.low().cmp(b.meta.low()));
        sources.push(Source::Level(LevelIter::new(tables, ReadMode::Bulk)));
    }
    sources
}
