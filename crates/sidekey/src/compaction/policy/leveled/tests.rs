use super::*;
use crate::base::ids::TreeKind;
use crate::base::key::Kind;
use crate::version::fixture::TableDir;

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
    Context { oldest_snapshot: Sqn(100), stale_below: Sqn::ZERO, garbage: &|_| false }
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
    assert!(picked(&version(&level0(3)), context()).is_none());
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
