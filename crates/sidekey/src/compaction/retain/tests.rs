use super::*;
use crate::base::ids::Epoch;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Version {
    sqn: u64,
    kind: Kind,
    doubt: Doubt,
    hidden_by: u64,
}

struct Merged {
    kept: Vec<Version>,
    floor: u64,
    events: Events,
}

fn value(doubt: Doubt) -> Vec<u8> {
    let mut out = vec![];
    header::encode::<&[u8]>(&mut out, false, false, Epoch(0), &[]).unwrap();
    header::set_doubt(&mut out, doubt);
    out
}

const SURE: Doubt = Doubt { blind: false, behind: false };
const BLIND: Doubt = Doubt { blind: true, behind: false };
const BEHIND: Doubt = Doubt { blind: false, behind: true };

fn merge(
    tree: TreeKind,
    versions: &[Version],
    stripes: &[u64],
    bottom: bool,
    filter: Option<&mut (dyn EntryFilter + 'static)>,
) -> Merged {
    merge_with(tree, versions, stripes, bottom, filter, false)
}

/// The same; `eager` hands in a newest put as written, as a job without a filter does.
fn merge_with(
    tree: TreeKind,
    versions: &[Version],
    stripes: &[u64],
    bottom: bool,
    filter: Option<&mut (dyn EntryFilter + 'static)>,
    eager: bool,
) -> Merged {
    let mut retain = Retain::new(tree, stripes.iter().map(|s| Sqn(*s)).collect(), bottom);
    for v in versions {
        if eager && retain.is_empty() && v.kind == Kind::Put {
            retain.add_written(Sqn(v.sqn), &value(v.doubt));
        } else {
            retain.add(Sqn(v.sqn), v.kind, &value(v.doubt)).unwrap();
        }
    }
    let mut kept = vec![];
    retain
        .finish(b"k", filter, |r| {
            assert_eq!(r.value.is_none(), eager && kept.is_empty() && r.kind == Kind::Put && r.hidden_by == Sqn::ZERO);
            kept.push(Version { sqn: r.sqn.0, kind: r.kind, doubt: r.doubt, hidden_by: r.hidden_by.0 });
            Ok(())
        })
        .unwrap();
    Merged { kept, floor: retain.blind_floor.0, events: retain.events }
}

/// What a reader at `at` sees: nothing, or the sqn of a put.
fn seen(versions: &[Version], at: u64) -> Option<u64> {
    versions.iter().find(|v| v.sqn <= at).filter(|v| v.kind == Kind::Put).map(|v| v.sqn)
}

/// Newest first, distinct sqns; below the head, the largest stripe.
fn versions() -> impl Strategy<Value = Vec<Version>> {
    let doubt = (proptest::bool::weighted(0.3), proptest::bool::weighted(0.1));
    let doubt = doubt.prop_map(|(blind, behind)| Doubt { blind, behind });
    let one = (1u64..30, any::<bool>(), doubt);
    proptest::collection::vec(one, 0..8).prop_map(|list| {
        let mut seen = BTreeSet::new();
        let mut list: Vec<Version> = list
            .into_iter()
            .filter(|(sqn, ..)| seen.insert(*sqn))
            .map(|(sqn, put, doubt)| {
                let kind = if put { Kind::Put } else { Kind::Delete };
                Version { sqn, kind, doubt, hidden_by: 0 }
            })
            .collect();
        list.sort_by_key(|v| std::cmp::Reverse(v.sqn));
        list
    })
}

proptest! {
    #[test]
    fn every_reader_sees_what_it_saw_and_nothing_needless_stays(
        versions in versions(), mut stripes in proptest::collection::vec(0u64..30, 0..4), head in 29u64..35, bottom: bool,
    ) {
        // Only what was published before is merged.
        stripes.push(head);
        let merged = merge(TreeKind::Primary, &versions, &stripes, bottom, None);
        // Every snapshot, and every later one.
        for at in stripes.iter().copied().chain(head..40) {
            prop_assert_eq!(seen(&merged.kept, at), seen(&versions, at), "at {}", at);
        }
        for (n, v) in merged.kept.iter().enumerate() {
            let newer = versions.iter().map(|o| o.sqn).filter(|s| *s > v.sqn).min();
            prop_assert_eq!(v.hidden_by, newer.unwrap_or(0));
            let needed = newer.is_none_or(|newer| stripes.iter().any(|s| v.sqn <= *s && *s < newer));
            prop_assert!(needed, "{:?} is kept for nobody", v);
            let last_tombstone = bottom && n + 1 == merged.kept.len() && v.kind == Kind::Delete;
            prop_assert!(!last_tombstone, "a tombstone over nothing");
        }
        prop_assert_eq!(merged.events.dropped as usize, versions.len() - merged.kept.len());
        prop_assert_eq!(merged.events.superseded as usize, versions.len().saturating_sub(1));
    }

    #[test]
    fn a_newest_put_written_at_once_ends_as_one_that_waited(
        versions in versions(), mut stripes in proptest::collection::vec(0u64..30, 0..4), bottom: bool,
    ) {
        stripes.push(35);
        let waited = merge_with(TreeKind::Primary, &versions, &stripes, bottom, None, false);
        let eager = merge_with(TreeKind::Primary, &versions, &stripes, bottom, None, true);
        prop_assert_eq!((eager.kept, eager.floor, eager.events), (waited.kept, waited.floor, waited.events));
    }

    /// CMP-3: whatever entry was in doubt because of a version that something overwrote blindly stays in doubt.
    #[test]
    fn what_told_of_a_blind_version_is_never_lost(
        versions in versions(), mut stripes in proptest::collection::vec(0u64..30, 0..4), bottom: bool,
    ) {
        stripes.push(35);
        let merged = merge(TreeKind::Primary, &versions, &stripes, bottom, None);
        let oldest = versions.last().map_or(0, |v| v.sqn);
        // What lies behind is known, met here, or (above the last place) may still be met.
        let tells = |v: &&Version| v.doubt.behind || v.doubt.blind && (v.sqn > oldest || !bottom);
        let before = versions.iter().filter(tells).map(|v| v.sqn).max().unwrap_or(0);
        let after = merged.kept.iter().filter(|v| v.doubt.any()).map(|v| v.sqn).max().unwrap_or(0).max(merged.floor);
        prop_assert!(after >= before, "{} told of something, {} is left", before, after);
        prop_assert!(after == 0 || versions.iter().any(|v| v.doubt.any()), "a flag out of nothing");
        for v in &merged.kept {
            let was = versions.iter().find(|o| o.sqn == v.sqn).map_or(SURE, |o| o.doubt);
            prop_assert!(v.doubt.behind || !was.behind, "a kept version knows what it knew");
            let cleared = was.blind && !v.doubt.any();
            prop_assert!(!cleared || bottom && v.sqn == oldest, "cleared although something older may exist");
            prop_assert!(!bottom || !v.doubt.blind, "at the last place nothing is unresolved");
        }
    }
}

fn put(sqn: u64, doubt: Doubt) -> Version {
    Version { sqn, kind: Kind::Put, doubt, hidden_by: 0 }
}

fn delete(sqn: u64, doubt: Doubt) -> Version {
    Version { sqn, kind: Kind::Delete, doubt, hidden_by: 0 }
}

#[test]
fn a_blind_tombstone_dropped_at_the_bottom_raises_the_floor() {
    let merged = merge(TreeKind::Primary, &[delete(7, BLIND), put(5, SURE)], &[9], true, None);
    assert_eq!((merged.kept.len(), merged.floor), (0, 7));
    // The tombstone inherits what the put that it hides knows, and hands it to the floor.
    let merged = merge(TreeKind::Primary, &[delete(7, SURE), put(5, BEHIND)], &[9], true, None);
    assert_eq!((merged.kept.len(), merged.floor), (0, 7));
}

#[test]
fn a_blind_version_that_meets_nothing_older_at_the_bottom_overwrote_nothing() {
    let merged = merge(TreeKind::Primary, &[put(7, BLIND)], &[9], true, None);
    assert_eq!((merged.kept[0].doubt, merged.floor), (SURE, 0));
    let merged = merge(TreeKind::Primary, &[delete(7, BLIND)], &[9], true, None);
    assert_eq!((merged.kept.len(), merged.floor), (0, 0));
    let merged = merge(TreeKind::Primary, &[put(7, BLIND)], &[9], false, None);
    assert_eq!(merged.kept[0].doubt, BLIND);
}

#[test]
fn a_blind_version_that_meets_an_older_one_is_known_to_have_something_behind_it() {
    let merged = merge(TreeKind::Primary, &[put(7, BLIND), put(5, SURE)], &[9], false, None);
    assert_eq!(merged.kept[0].doubt, BEHIND);
    // The hidden one was unresolved itself: the survivor stays so too.
    let merged = merge(TreeKind::Primary, &[put(7, BLIND), put(5, BLIND)], &[9], false, None);
    assert_eq!(merged.kept[0].doubt, Doubt { blind: true, behind: true });
}

#[test]
fn a_tombstone_dropped_below_a_kept_version_hands_its_doubt_to_it() {
    // The snapshot at 7 sees the tombstone; nothing older is left for it to hide.
    let merged = merge(TreeKind::Primary, &[put(8, SURE), delete(7, BEHIND)], &[7, 9], true, None);
    assert_eq!(merged.kept, [put(8, BEHIND)]);
    assert_eq!(merged.floor, 0);
}

#[test]
fn a_delete_of_an_entry_at_its_own_sqn_loses() {
    let merged = merge(TreeKind::Index, &[put(5, SURE), delete(5, SURE)], &[9], false, None);
    assert_eq!(merged.kept, [put(5, SURE)]);
}

#[test]
fn entries_carry_no_blind_flag_whatever_their_bytes() {
    let merged = merge(TreeKind::Index, &[put(5, BLIND)], &[9], false, None);
    assert_eq!(merged.kept[0].doubt, SURE);
}

/// Refuses the entries at these sqns, or whole keys.
struct Refuse(Vec<u64>, bool);

impl EntryFilter for Refuse {
    fn keep_key(&mut self, _: &[u8]) -> bool {
        self.1
    }

    fn keep_entry(&mut self, _: &[u8], sqn: Sqn) -> Result<bool> {
        Ok(!self.0.contains(&sqn.0))
    }
}

#[test]
fn the_filter_takes_entries_but_not_deletes_and_whole_keys() {
    let versions = [put(9, SURE), delete(7, SURE), put(5, SURE)];
    let stripes = [6, 8, 20];
    let merged = merge(TreeKind::Index, &versions, &stripes, false, Some(&mut Refuse(vec![9, 7], true)));
    assert_eq!(merged.kept.iter().map(|v| v.sqn).collect::<Vec<_>>(), [7, 5]);
    assert_eq!(merged.events.stale_entries, 1);
    let merged = merge(TreeKind::Index, &versions, &stripes, false, Some(&mut Refuse(vec![], false)));
    assert_eq!((merged.kept.len(), merged.events.dropped), (0, 3));
}

#[test]
fn a_tombstone_that_the_filter_bared_goes_at_the_bottom() {
    let versions = [put(9, SURE), delete(7, SURE), put(5, SURE)];
    let merged = merge(TreeKind::Index, &versions, &[6, 20], true, Some(&mut Refuse(vec![5], true)));
    assert_eq!(merged.kept.iter().map(|v| v.sqn).collect::<Vec<_>>(), [9]);
}
