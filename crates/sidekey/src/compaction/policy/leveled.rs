//! Leveled compaction.
//!
//! Level sizes are derived from the last level, level 6: each level above it is `ratio` times smaller, and no level is opened whose size
//! would fall under `base_bytes`. A small tree is therefore level 0 and one sorted level. Source: RocksDB's dynamic level sizes and merges within
//! level 0; LevelDB for the rest.
//!
//! Level 0 is compacted when it has `level0_tables` runs. It goes down only when it is at least as large as what it would rewrite below; until then
//! its youngest runs are merged among themselves. A byte is thus written about twice where it enters the sorted levels, not (as with a fixed number
//! of runs) once for each `level0_tables` flushes that the base level is large: with 64 MiB memtables and 2.4 GB, 2.8 times instead of 6, with
//! readers seeing the same number of runs at most. A factor of 0.75 to 2 instead of 1 changed that by a twentieth at most.
//!
//! A run that nothing older overlaps changes its level as it is, so that sequential writes are never rewritten.

use crate::base::ids::{FileNumber, Sqn, TreeKind};
use crate::base::index_key;
use crate::compaction::plan::Plan;
use crate::version::{LEVELS, TableFile, TableMeta, TreeVersion};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The numbers that the policy goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub level0_tables: usize,
    pub base_bytes: u64,
    pub ratio: u64,
}

/// What the tree's content allows.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub tree: TreeKind,
    /// The oldest sqn that anybody may read at.
    pub oldest_snapshot: Sqn,
    /// Tables all of whose entries are newer may hold no stale entry. [`Sqn::ZERO`] for trees whose entries are never stale.
    pub stale_below: Sqn,
    /// Whether a table is known to hold what nobody can ask for any more (a dropped index).
    pub garbage: &'a dyn Fn(&TableMeta) -> bool,
}

const LAST: usize = LEVELS - 1;

/// The score of a move: it costs next to nothing and takes a run away.
const MOVE_SCORE: u64 = u64::MAX / 2;

/// Target sizes of the levels; zero for levels that are not in use. The first one in use receives level 0.
fn targets(version: &TreeVersion, limits: Limits) -> ([u64; LEVELS], usize) {
    let mut targets = [0; LEVELS];
    let mut size = version.level_bytes(LAST).max(limits.base_bytes);
    let mut base = LAST;
    targets[LAST] = u64::MAX;
    while base > 1 {
        let above = size / limits.ratio;
        // A level with tables in it stays in use until it is empty, even if it has become small.
        let populated = (1..base).any(|l| !version.level(l).is_empty());
        if above < limits.base_bytes && !populated {
            break;
        }
        base -= 1;
        size = above;
        targets[base] = above.max(limits.base_bytes);
    }
    (targets, base)
}

/// The next compaction, if there is anything to do; `busy` tables are being compacted.
pub(crate) fn pick(
    version: &TreeVersion,
    limits: Limits,
    context: Context<'_>,
    busy: &BTreeSet<FileNumber>,
) -> Option<Plan> {
    let (targets, base) = targets(version, limits);
    if let Some(plan) = level0_move(version, base, context, busy) {
        return Some(plan);
    }
    let mut scores: Vec<(u64, usize)> = vec![];
    let level0 = version.level(0).len();
    if level0 >= limits.level0_tables {
        scores.push((1000 * level0 as u64 / limits.level0_tables as u64, 0));
    }
    for (level, target) in targets.iter().enumerate().take(LAST).skip(1) {
        let bytes = version.level_bytes(level);
        if bytes > (*target).max(1) {
            scores.push((1000 * bytes / (*target).max(1), level));
        }
    }
    scores.sort_unstable_by_key(|(score, level)| (std::cmp::Reverse(*score), *level));
    scores
        .into_iter()
        .find_map(|(score, level)| {
            let plan = match level {
                0 => level0_plan(version, base, context, busy),
                _ => level_plan(version, level, context, busy),
            };
            plan.map(|plan| Plan { score, ..plan })
        })
        .or_else(|| dirty_plan(version, context, busy))
}

/// The oldest run of level 0 that overlaps neither an older run nor anything down to the base level: it goes there unchanged. Younger runs may
/// overlap it; they stay above it.
fn level0_move(version: &TreeVersion, base: usize, context: Context<'_>, busy: &BTreeSet<FileNumber>) -> Option<Plan> {
    let runs = version.level(0);
    (0..runs.len()).rev().find_map(|at| {
        let table = &runs[at];
        let met = runs[at + 1..].iter().any(|older| older.meta.overlaps(table.meta.low(), table.meta.high()));
        let plan = if met { None } else { plan(version, 0, vec![table.clone()], base, context, busy) };
        plan.filter(|plan| plan.trivial_move).map(|plan| Plan { score: MOVE_SCORE, ..plan })
    })
}

/// All of level 0 with what it overlaps in the base level (older tables are never left behind), if that is no more than level 0 itself.
fn level0_plan(version: &TreeVersion, base: usize, context: Context<'_>, busy: &BTreeSet<FileNumber>) -> Option<Plan> {
    let runs = version.level(0);
    let down = plan(version, 0, runs.to_vec(), base, context, busy)?;
    let own = version.level_bytes(0);
    if runs.len() < 2 || down.input_bytes() - own <= own { Some(down) } else { Some(merge_runs(runs)) }
}

/// The youngest runs of level 0 into one: as many as cost the fewest bytes for each run that goes. What they overlap lies below, so it is not the
/// last place.
fn merge_runs(runs: &[Arc<TableFile>]) -> Plan {
    let bytes = |count: usize| runs[..count].iter().map(|t| t.meta.size_bytes).sum::<u64>();
    let count = (2..=runs.len()).min_by_key(|count| bytes(*count) / (*count as u64 - 1)).unwrap_or(runs.len());
    let inputs = runs[..count].iter().map(|t| (0, t.clone())).collect();
    Plan { inputs, output_level: 0, bottom: false, trivial_move: false, score: 0 }
}

/// The table with the least bytes to rewrite below per byte of its own, into the next level.
fn level_plan(version: &TreeVersion, level: usize, context: Context<'_>, busy: &BTreeSet<FileNumber>) -> Option<Plan> {
    let cost = |t: &Arc<TableFile>| {
        let below = version.overlapping(level + 1, t.meta.low(), t.meta.high());
        let bytes: u64 = below.iter().map(|t| t.meta.size_bytes).sum();
        1000 * bytes / t.meta.size_bytes.max(1)
    };
    let mut tables: Vec<_> = version.level(level).iter().map(|t| (cost(t), t)).collect();
    tables.sort_by_key(|(cost, t)| (*cost, t.meta.number));
    tables.into_iter().find_map(|(_, t)| plan(version, level, vec![t.clone()], level + 1, context, busy))
}

/// A table whose hidden versions no snapshot holds any more, or with entries of a dropped index, which nothing else would rewrite.
fn dirty_plan(version: &TreeVersion, context: Context<'_>, busy: &BTreeSet<FileNumber>) -> Option<Plan> {
    (1..LEVELS).find_map(|level| {
        let dirty = |t: &&Arc<TableFile>| {
            let released = t.meta.hidden_until_sqn > Sqn::ZERO && t.meta.hidden_until_sqn <= context.oldest_snapshot;
            (released || (context.garbage)(&t.meta)) && !busy.contains(&t.meta.number)
        };
        let table = version.level(level).iter().find(dirty)?;
        Some(Plan {
            bottom: !version.overlaps_below(level, table.meta.low(), table.meta.high()),
            inputs: vec![(level, table.clone())],
            output_level: level,
            trivial_move: false,
            score: 0,
        })
    })
}

/// Everything of a tree, merged to the last level; `None` if there is nothing that a rewrite could change.
pub(crate) fn whole(version: &TreeVersion, busy: &BTreeSet<FileNumber>) -> Option<Plan> {
    let inputs: Vec<_> = (0..LEVELS).flat_map(|l| version.level(l).iter().map(move |t| (l, t.clone()))).collect();
    if inputs.is_empty() || inputs.iter().any(|(_, t)| busy.contains(&t.meta.number)) {
        return None;
    }
    Some(Plan { inputs, output_level: LAST, bottom: true, trivial_move: false, score: 0 })
}

fn plan(
    version: &TreeVersion,
    level: usize,
    tables: Vec<Arc<TableFile>>,
    output_level: usize,
    context: Context<'_>,
    busy: &BTreeSet<FileNumber>,
) -> Option<Plan> {
    let low = tables.iter().map(|t| t.meta.low()).min()?.to_vec();
    let high = tables.iter().map(|t| t.meta.high()).max()?.to_vec();
    let mut inputs: Vec<_> = tables.into_iter().map(|t| (level, t)).collect();
    // Levels between (empty ones, unless the shape has just changed) must not be jumped over.
    for between in level + 1..=output_level {
        inputs.extend(version.overlapping(between, &low, &high).into_iter().map(|t| (between, t)));
    }
    let low = inputs.iter().map(|(_, t)| t.meta.low()).min()?.to_vec();
    let high = inputs.iter().map(|(_, t)| t.meta.high()).max()?.to_vec();
    // Tables of the levels between may have widened the range: take along what that range meets in the output level.
    for wider in version.overlapping(output_level, &low, &high) {
        if !inputs.iter().any(|(_, t)| t.meta.number == wider.meta.number) {
            inputs.push((output_level, wider));
        }
    }
    if inputs.iter().any(|(_, t)| busy.contains(&t.meta.number)) {
        return None;
    }
    let low = inputs.iter().map(|(_, t)| t.meta.low()).min()?;
    let high = inputs.iter().map(|(_, t)| t.meta.high()).max()?;
    let bottom = !version.overlaps_below(output_level, low, high);
    let single = &inputs[0].1.meta;
    let trivial_move = inputs.len() == 1 && (!bottom || is_clean(single, context)) && !spans_indexes(single, context);
    Some(Plan { trivial_move, inputs, output_level, bottom, score: 0 })
}

/// A move to the last place must not carry tombstones, hidden versions, unresolved flags or stale entries along unexamined.
fn is_clean(table: &TableMeta, context: Context<'_>) -> bool {
    table.deletes == 0
        && table.hidden_until_sqn == Sqn::ZERO
        && table.max_blind_sqn == Sqn::ZERO
        && table.min_sqn >= context.stale_below
}

/// Whether entries of several indexes are in the table, as in runs of level 0. In a sorted level the ends of a table must tell whether it holds
/// those of a dropped one.
fn spans_indexes(table: &TableMeta, context: Context<'_>) -> bool {
    context.tree == TreeKind::Index && index_key::incarnation(table.low()) != index_key::incarnation(table.high())
}

#[cfg(test)]
mod tests;
