use super::*;
use crate::version::edit::AttributeEntry;
use proptest::prelude::*;
use std::collections::BTreeSet;

const NOW: Sqn = Sqn(100);

/// Attributes 1 to 4, each with indexes (attribute, built).
fn set(indexes: &[(u32, u64)]) -> IndexSet {
    let mut state = CollectionState::default();
    for id in 1..5 {
        let path = format!("$.a{id}[*]");
        state.attributes.insert(AttributeId(id), AttributeEntry { path, epoch: Epoch(id) });
    }
    for (n, (attribute, built)) in (1..).zip(indexes) {
        let spec = IndexSpec::new(format!("i{n}"), "$.a");
        let entry = entry_of(&spec, AttributeId(*attribute)).unwrap();
        let entry = IndexEntry { status: IndexStatus::Ready, built: Sqn(*built), ..entry };
        state.indexes.insert(Incarnation(n), entry);
    }
    IndexSet::compile(&state, 0).unwrap()
}

fn headers() -> impl Strategy<Value = Option<BTreeSet<(u32, u8)>>> {
    proptest::option::of(proptest::collection::btree_set((1..5u32, 0..6u8), 0..12))
}

fn encoded(attributes: &BTreeSet<(u32, u8)>) -> Vec<u8> {
    let list: Vec<_> = attributes.iter().map(|(id, v)| (AttributeId(*id), vec![*v])).collect();
    let mut out = vec![];
    header::encode(&mut out, false, false, Epoch(4), &list).unwrap();
    out
}

proptest! {
    #[test]
    fn a_write_adds_its_entries_and_deletes_those_that_only_the_old_version_has(
        indexes in proptest::collection::vec((1..5u32, prop_oneof![Just(0u64), Just(NOW.0), Just(NOW.0 + 1)]), 0..6),
        old in headers(),
        new in headers(),
    ) {
        let mut expected = BTreeSet::new();
        for (n, (attribute, _)) in (1..).zip(&indexes).filter(|(_, (_, built))| *built < NOW.0) {
            let of = |header: &Option<BTreeSet<(u32, u8)>>| -> BTreeSet<u8> {
                header.iter().flatten().filter(|(id, _)| id == attribute).map(|(_, v)| *v).collect()
            };
            expected.extend(of(&new).into_iter().map(|v| (n, v, Kind::Put as u8)));
            expected.extend(of(&old).difference(&of(&new)).map(|v| (n, *v, Kind::Delete as u8)));
        }
        let (old, new) = (old.as_ref().map(encoded), new.as_ref().map(encoded));
        let old = old.as_ref().map(|bytes| decode_header(bytes).unwrap());
        let new = new.as_ref().map(|bytes| decode_header(bytes).unwrap());
        let mut emitted = vec![];
        set(&indexes).changes(NOW, b"pk", old.as_ref(), new.as_ref(), &mut vec![], |key, kind| {
            let (incarnation, rest) = key.split_first_chunk().unwrap();
            assert_eq!(&rest[1..], b"pk");
            emitted.push((u32::from_be_bytes(*incarnation), rest[0], kind as u8));
        });
        prop_assert_eq!(emitted.len(), expected.len());
        prop_assert_eq!(emitted.into_iter().collect::<BTreeSet<_>>(), expected);
    }
}
