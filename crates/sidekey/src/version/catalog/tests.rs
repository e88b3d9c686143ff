use super::*;
use crate::base::key::{self, Kind};
use proptest::prelude::*;

fn meta(number: u64) -> TableMeta {
    TableMeta {
        number: FileNumber(number),
        size_bytes: 100 + number,
        smallest: key::encode(b"a", Sqn(number), Kind::Put),
        largest: key::encode(b"b", Sqn(1), Kind::Delete),
        min_sqn: Sqn(1),
        max_sqn: Sqn(number),
        entries: 2,
        deletes: 1,
        max_blind_sqn: Sqn(number / 2),
        hidden_until_sqn: Sqn(number / 3),
    }
}

fn index(attribute: u32, n: u64) -> IndexEntry {
    IndexEntry {
        name: format!("index{n}"),
        attribute: AttributeId(attribute),
        structure: 1,
        layout: 1,
        maintenance: 1 + (n % 2) as u8,
        validator: 1,
        status: [IndexStatus::Building, IndexStatus::Ready, IndexStatus::Invalid][n as usize % 3],
        built: Sqn(n),
    }
}

/// Any edit over few collections, attributes, indexes and tables, so that they meet.
fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = (0u8..12, 0u32..3, 0u32..4, 0u64..8).prop_map(|(kind, c, id, n)| {
        let collection = CollectionId(c);
        let tree = TreeKind::ALL[id as usize % 2];
        match kind {
            0 => Edit::Collection { id: collection, name: format!("c{n}") },
            1 => {
                let entry = AttributeEntry { path: format!("$.p{n}"), epoch: Epoch(id) };
                Edit::Attribute { collection, id: AttributeId(id), entry }
            }
            2 => Edit::DropAttribute { collection, id: AttributeId(id) },
            3 => Edit::Epoch { collection, epoch: Epoch(n as u32) },
            4 => Edit::Index { collection, incarnation: Incarnation(n as u32), entry: index(id, n) },
            5 => {
                let status = index(id, n).status;
                Edit::IndexStatus { collection, incarnation: Incarnation(id), status, built: Sqn(n) }
            }
            6 => Edit::DropIndex { collection, incarnation: Incarnation(id) },
            7 => Edit::AddTable { collection, tree, level: id as usize * 2 + 1, meta: meta(n) },
            8 => Edit::RemoveTable { collection, tree, number: FileNumber(n) },
            9 => Edit::Flushed { collection, sqn: Sqn(n) },
            10 => Edit::BlindFloor { collection, sqn: Sqn(n) },
            _ => Edit::Counters {
                log_start: FileNumber(n),
                next_file: FileNumber(n + 1),
                durable: Sqn(n + 2),
                next_incarnation: Incarnation(id),
                next_collection: collection,
            },
        }
    });
    proptest::collection::vec(edit, 0..60)
}

/// What can be applied of a list of edits.
fn applied(edits: &[Edit]) -> Catalog {
    let mut catalog = Catalog::default();
    for collection in 0..2 {
        let id = CollectionId(collection);
        catalog.apply(&Edit::Collection { id, name: format!("first{collection}") }).unwrap();
    }
    for edit in edits {
        let _ = catalog.apply(edit);
    }
    catalog
}

proptest! {
    #[test]
    fn a_catalog_is_what_its_own_edits_make(edits in edits()) {
        let catalog = applied(&edits);
        let mut again = Catalog::default();
        for edit in catalog.as_edits() {
            prop_assert!(again.apply(&edit).is_ok(), "{:?}", edit);
        }
        prop_assert_eq!(again, catalog);
    }

    #[test]
    fn a_refused_edit_changes_nothing_and_counters_never_fall(edits in edits(), last in edits()) {
        let mut catalog = applied(&edits);
        for edit in last {
            let before = catalog.clone();
            let done = catalog.apply(&edit);
            prop_assert!(done.is_ok() || catalog == before);
            prop_assert!(catalog.durable >= before.durable && catalog.next_file >= before.next_file);
            prop_assert!(catalog.next_incarnation >= before.next_incarnation);
            for (id, c) in &before.collections {
                let now = &catalog.collections[id];
                prop_assert!(now.epoch >= c.epoch && now.flushed >= c.flushed && now.blind_floor >= c.blind_floor);
            }
        }
    }

    #[test]
    fn no_build_is_left_after_interrupted_builds(edits in edits()) {
        let mut catalog = applied(&edits);
        for edit in catalog.interrupted_builds() {
            catalog.apply(&edit).unwrap();
        }
        let mut indexes = catalog.collections.values().flat_map(|c| c.indexes.values());
        prop_assert!(indexes.all(|i| i.status != IndexStatus::Building));
    }
}
