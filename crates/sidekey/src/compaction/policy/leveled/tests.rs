use super::*;
use crate::base::ids::TreeKind;
use crate::base::key::Kind;
use crate::version::fixture::TableDir;
use proptest::prelude::*;

const LIMITS: Limits = Limits { level0_tables: 4, base_bytes: 1000, ratio: 10 };

/// What a test says about one table: level, key range, size, sqns.
#[derive(Clone, Copy)]
struct Fake {
    level: usize,
    range: (&'static str, &'static str),
    bytes: u64,
    sqns: (u64, u64),
    deletes: u64,
    hidden_until: u64,
}

fn fake(level: usize, low: &'static str, high: &'static str, bytes: u64) -> Fake {
    Fake { level, range: (low, high), bytes, sqns: (1, 2), deletes: 0, hidden_until: 0 }
}

fn version(fakes: &[Fake]) -> TreeVersion {
    let dir = TableDir::new();
    let tables: Vec<_> = fakes
        .iter()
        .map(|f| {
            let ends: BTreeSet<&str> = [f.range.0, f.range.1].into();
            let versions: Vec<_> = ends.into_iter().map(|k| (k.as_bytes().to_vec(), 1, Kind::Put, vec![])).collect();
            let table = dir.table_with(TreeKind::Primary, &versions, |meta| {
                meta.size_bytes = f.bytes;
                (meta.min_sqn, meta.max_sqn) = (Sqn(f.sqns.0), Sqn(f.sqns.1));
                (meta.deletes, meta.hidden_until_sqn) = (f.deletes, Sqn(f.hidden_until));
            });
            (f.level, table)
        })
        .collect();
    TreeVersion::default().with(&[], &tables)
}

fn context() -> Context<'static> {
    Context { tree: TreeKind::Primary, oldest_snapshot: Sqn(100), stale_below: Sqn::ZERO, garbage: &|_| false }
}

fn picked(version: &TreeVersion, context: Context<'_>) -> Option<Plan> {
    pick(version, LIMITS, context, &BTreeSet::new())
}

/// The inputs as (level, smallest key).
fn inputs(plan: &Plan) -> Vec<(usize, String)> {
    plan.inputs.iter().map(|(l, t)| (*l, String::from_utf8_lossy(t.meta.low()).into_owned())).collect()
}

fn level0(count: usize) -> Vec<Fake> {
    (0..count as u64).map(|n| Fake { sqns: (10 + 2 * n, 11 + 2 * n), ..fake(0, "b", "d", 100) }).collect()
}

#[test]
fn an_empty_or_small_tree_is_left_alone() {
    assert!(picked(&TreeVersion::default(), context()).is_none());
    let below = fake(LAST, "a", "b", 1);
    assert!(picked(&version(&[level0(3), vec![below]].concat()), context()).is_none());
    assert!(picked(&version(&[fake(LAST, "a", "z", 1 << 40)]), context()).is_none());
}

#[test]
fn level_0_of_a_small_tree_goes_to_the_last_level_with_what_it_overlaps() {
    let mut fakes = level0(4);
    fakes.extend([fake(LAST, "a", "b", 10), fake(LAST, "c", "e", 10), fake(LAST, "f", "g", 10)]);
    let plan = picked(&version(&fakes), context()).unwrap();
    assert_eq!(plan.output_level, LAST);
    assert!(plan.bottom && !plan.trivial_move);
    let level0 = (0, "b".to_owned());
    let expected = [vec![level0; 4], vec![(LAST, "a".into()), (LAST, "c".into())]].concat();
    assert_eq!(inputs(&plan), expected);
}

#[test]
fn a_large_last_level_opens_the_levels_above_it() {
    for (last_bytes, base) in [(9_999, LAST), (10_000, LAST - 1), (99_999, LAST - 1), (100_000, LAST - 2)] {
        let mut fakes = level0(4);
        fakes.push(fake(LAST, "x", "z", last_bytes));
        assert_eq!(picked(&version(&fakes), context()).unwrap().output_level, base, "{last_bytes}");
    }
}

#[test]
fn a_level_with_tables_stays_in_use_when_the_last_one_has_shrunk() {
    let mut fakes = level0(4);
    fakes.extend([fake(2, "c", "c", 10), fake(LAST, "a", "z", 10)]);
    let plan = picked(&version(&fakes), context()).unwrap();
    assert_eq!(plan.output_level, 2, "level 0 may not be put below level 2");
    assert!(!plan.bottom, "level 6 holds keys of the range");
}

#[test]
fn a_level_over_its_target_gives_the_table_that_is_cheapest_to_move() {
    let fakes = [
        fake(LAST - 1, "a", "c", 900),
        fake(LAST - 1, "d", "f", 900),
        fake(LAST, "a", "b", 9000),
        fake(LAST, "e", "e", 100),
        fake(LAST, "g", "z", 900),
    ];
    let plan = picked(&version(&fakes), context()).unwrap();
    assert_eq!(inputs(&plan), [(LAST - 1, "d".to_owned()), (LAST, "e".into())]);
    assert!(plan.bottom && plan.output_level == LAST);
}

#[test]
fn bottom_counts_what_the_widened_range_meets_below() {
    // Level 4's table reaches only to c; the table of level 5 that joins it reaches to m, and level 6 holds k.
    let fakes = [fake(4, "a", "c", 90_000), fake(5, "b", "m", 10), fake(LAST, "k", "k", 10)];
    let plan = picked(&version(&fakes), context()).unwrap();
    assert_eq!(inputs(&plan), [(4, "a".to_owned()), (5, "b".into())]);
    assert!(!plan.bottom);
}

#[test]
fn busy_tables_are_not_planned_again() {
    let fakes = [fake(5, "a", "c", 1500), fake(5, "d", "f", 1600)];
    let version = version(&fakes);
    let first = picked(&version, context()).unwrap();
    let busy = BTreeSet::from([first.inputs[0].1.meta.number]);
    let second = pick(&version, LIMITS, context(), &busy).unwrap();
    assert_ne!(second.inputs[0].1.meta.number, first.inputs[0].1.meta.number);
    assert!(whole(&version, &busy).is_none());
}

#[test]
fn a_move_to_the_last_place_carries_nothing_along_unexamined() {
    let clean = fake(5, "a", "c", 5000);
    let moves = |f: Fake, below: Option<Fake>, stale_below: u64| {
        let fakes: Vec<Fake> = [Some(f), below].into_iter().flatten().collect();
        picked(&version(&fakes), Context { stale_below: Sqn(stale_below), ..context() }).unwrap().trivial_move
    };
    assert!(moves(clean, None, 0));
    assert!(moves(clean, None, 1), "entries at or above the sqn cannot be stale");
    assert!(!moves(clean, None, 2), "an entry may be stale");
    assert!(!moves(Fake { deletes: 1, ..clean }, None, 0), "a tombstone could be dropped");
    assert!(!moves(Fake { hidden_until: 200, ..clean }, None, 0), "a hidden version could be dropped");
    assert!(!moves(clean, Some(fake(LAST, "b", "b", 10)), 0), "an overlap must be merged");
    // From level 4 to 5 above a table of level 6 it is not the last place: a tombstone may go along.
    let above = Fake { level: 4, deletes: 1, ..clean };
    assert!(moves(Fake { bytes: 500_000, ..above }, Some(fake(LAST, "b", "b", 10)), 0));
}

#[test]
fn tables_that_a_snapshot_kept_dirty_are_rewritten_after_its_release_only() {
    let version = version(&[Fake { hidden_until: 50, ..fake(LAST, "a", "c", 10) }]);
    let at = |oldest| Context { oldest_snapshot: Sqn(oldest), ..context() };
    assert!(picked(&version, at(49)).is_none());
    let plan = picked(&version, at(50)).unwrap();
    assert!(plan.bottom && !plan.trivial_move && plan.output_level == LAST);
}

#[test]
fn a_table_of_a_dropped_index_is_rewritten_in_its_place() {
    let version = version(&[fake(5, "a", "c", 10), fake(LAST, "b", "d", 10)]);
    let plan = picked(&version, Context { garbage: &|t| t.low() == b"a", ..context() }).unwrap();
    assert_eq!((plan.output_level, plan.bottom, inputs(&plan).len()), (5, false, 1));
}

#[test]
fn whole_takes_every_table_to_the_last_level() {
    let mut fakes = level0(2);
    fakes.extend([fake(3, "a", "c", 10), fake(LAST, "b", "d", 10)]);
    let plan = whole(&version(&fakes), &BTreeSet::new()).unwrap();
    assert_eq!((plan.inputs.len(), plan.output_level, plan.bottom), (4, LAST, true));
    assert!(whole(&TreeVersion::default(), &BTreeSet::new()).is_none());
}

/// Runs of level 0 over the same keys, youngest first, and a last level under them.
fn over(runs: &[u64], last_bytes: u64) -> TreeVersion {
    let young_first = (0..runs.len() as u64).rev();
    let mut fakes: Vec<Fake> = runs
        .iter()
        .zip(young_first)
        .map(|(b, n)| Fake { sqns: (10 + 2 * n, 11 + 2 * n), ..fake(0, "b", "d", *b) })
        .collect();
    fakes.push(fake(LAST, "a", "z", last_bytes));
    version(&fakes)
}

#[test]
fn level_0_goes_down_only_when_it_is_as_large_as_what_it_would_rewrite() {
    let outcome = |runs: &[u64], last| {
        let plan = picked(&over(runs, last), context()).unwrap();
        (plan.inputs.len(), plan.output_level)
    };
    assert_eq!(outcome(&[100, 100, 100, 100], 400), (5, LAST));
    // As many of the youngest runs as cost the fewest bytes for each run that goes.
    assert_eq!(outcome(&[100, 100, 100, 100], 401), (4, 0));
    assert_eq!(outcome(&[100, 100, 100, 1000], 5000), (3, 0));
    assert_eq!(outcome(&[100, 100, 300, 1000], 5000), (2, 0));
    assert_eq!(outcome(&[100, 100, 1000, 1200], 2400), (5, LAST));
    let plan = picked(&over(&[100, 100, 100, 1000], 5000), context()).unwrap();
    assert!(!plan.bottom && !plan.trivial_move, "older versions lie below");
    assert_eq!(plan.inputs.iter().map(|(_, t)| t.meta.max_sqn.0).collect::<Vec<_>>(), [17, 15, 13]);
}

#[test]
fn a_level_0_of_one_run_at_its_limit_goes_down_whatever_lies_below() {
    let limits = Limits { level0_tables: 1, ..LIMITS };
    let plan = pick(&over(&[100], 5000), limits, context(), &BTreeSet::new()).unwrap();
    assert_eq!((plan.inputs.len(), plan.output_level), (2, LAST));
}

#[test]
fn sequential_runs_change_their_level_as_they_are() {
    let run = |n: u64, low, high| Fake { sqns: (10 * n, 10 * n + 1), ..fake(0, low, high, 100) };
    let last = fake(LAST - 2, "a", "c", 10);
    let moved = |fakes: &[Fake], context| {
        let plan = picked(&version(fakes), context).filter(|plan| plan.trivial_move);
        plan.map(|plan| (inputs(&plan), plan.output_level))
    };
    let to = |low: &str, level| Some((vec![(0, low.to_owned())], level));
    assert_eq!(moved(&[run(1, "d", "f")], context()), to("d", LAST), "the first run of a tree");
    assert_eq!(moved(&[last, run(1, "d", "f"), run(2, "g", "i")], context()), to("d", LAST - 2), "the oldest first");
    assert_eq!(
        moved(&[last, run(1, "b", "f"), run(2, "g", "i")], context()),
        to("g", LAST - 2),
        "past one that must wait"
    );
    assert_eq!(moved(&[last, run(1, "b", "f"), run(2, "f", "i")], context()), None, "never past an older version");
    assert_eq!(
        moved(&[last, run(1, "d", "f"), run(2, "f", "i")], context()),
        to("d", LAST - 2),
        "from under a younger one"
    );
    assert_eq!(moved(&[Fake { deletes: 1, ..run(1, "d", "f") }], context()), None, "a tombstone could be dropped");
    let index = Context { tree: TreeKind::Index, ..context() };
    assert_eq!(moved(&[run(1, "aaaa1", "aaaa2")], index), to("aaaa1", LAST));
    assert_eq!(moved(&[run(1, "aaaa1", "aaab1")], index), None, "its ends would not tell of an index between them");
}

#[test]
fn the_score_is_the_excess_over_the_limit() {
    let score = |version: &TreeVersion| picked(version, context()).unwrap().score;
    assert_eq!(score(&over(&[100; 4], 10)), 1000);
    assert_eq!(score(&over(&[100; 6], 10)), 1500);
    assert_eq!(score(&version(&[fake(LAST - 1, "a", "c", 2500), fake(LAST, "a", "b", 10)])), 2500);
    assert_eq!(score(&version(&[Fake { hidden_until: 50, ..fake(LAST, "a", "c", 10) }])), 0);
    assert_eq!(score(&version(&level0(1))), MOVE_SCORE);
}

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// Runs of level 0 by their two ends and sizes, and the ends of the tables of two sorted levels.
fn versions() -> impl Strategy<Value = TreeVersion> {
    let run = (0usize..8, 0usize..8, 1u64..2000);
    let level = || proptest::collection::btree_set(0usize..8, 0..8);
    (proptest::collection::vec(run, 0..7), level(), level()).prop_map(|(runs, upper, lower)| {
        let mut fakes: Vec<Fake> = runs
            .iter()
            .zip(10..)
            .map(|((x, y, bytes), n)| Fake {
                sqns: (10 * n, 10 * n + 1),
                deletes: bytes % 2,
                ..fake(0, NAMES[*x.min(y)], NAMES[*x.max(y)], *bytes)
            })
            .collect();
        for (level, ends) in [(LAST - 1, upper), (LAST, lower)] {
            let ends: Vec<usize> = ends.into_iter().collect();
            fakes.extend(ends.chunks(2).map(|e| fake(level, NAMES[e[0]], NAMES[e[e.len() - 1]], 3000)));
        }
        version(&fakes)
    })
}

proptest! {
    /// The order in which readers look (level 0 youngest first, then the levels) is the order in time of each key's versions, before and after.
    #[test]
    fn no_plan_puts_a_version_below_an_older_one(version in versions()) {
        let Some(plan) = picked(&version, context()) else {
            prop_assert!(version.level(0).len() < LIMITS.level0_tables);
            return Ok(());
        };
        let taken: BTreeSet<_> = plan.inputs.iter().map(|(_, t)| t.meta.number).collect();
        let low = plan.inputs.iter().map(|(_, t)| t.meta.low()).min().unwrap();
        let high = plan.inputs.iter().map(|(_, t)| t.meta.high()).max().unwrap();
        let oldest = plan.inputs.iter().map(|(_, t)| t.meta.min_sqn).min().unwrap();
        let youngest = plan.inputs.iter().map(|(_, t)| t.meta.max_sqn).max().unwrap();
        for level in 0..LEVELS {
            for left in version.level(level).iter().filter(|t| !taken.contains(&t.meta.number)) {
                let meets = plan.inputs.iter().any(|(_, t)| t.meta.overlaps(left.meta.low(), left.meta.high()));
                match level {
                    0 if plan.output_level == 0 => {
                        prop_assert!(left.meta.min_sqn > youngest || left.meta.max_sqn < oldest, "runs would cross");
                    }
                    0 => {
                        let younger = plan.inputs.iter().all(|(l, t)| *l > 0 || t.meta.max_sqn < left.meta.min_sqn);
                        prop_assert!(!meets || younger, "an older run would lie above");
                    }
                    _ if level <= plan.output_level => {
                        let from = plan.inputs.iter().map(|(l, _)| *l).min().unwrap();
                        let passed = level > from && left.meta.overlaps(low, high);
                        prop_assert!(!passed, "level {} would be jumped over or overlap", level);
                    }
                    _ => prop_assert!(!plan.bottom || !left.meta.overlaps(low, high), "not the last place"),
                }
            }
        }
        prop_assert!(!plan.trivial_move || plan.inputs.len() == 1);
        prop_assert!(!plan.bottom || !plan.trivial_move || plan.inputs[0].1.meta.deletes == 0);
    }
}
