//! Every way to read, against a model.

use crate::env::Env;
use crate::env::memory::MemoryFs;
use crate::{Db, Error, Settings, Snapshot, Target};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<u8>, u8),
    Delete(Vec<u8>),
    Flush,
    Compact,
    Snapshot,
}

/// Keys that share long prefixes, and prefixes of one another.
fn key() -> impl Strategy<Value = Vec<u8>> {
    (0usize..3, vec(0u8..3, 1..5)).prop_map(|(long, tail)| [&b"0000000000"[..long * 5], &tail].concat())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (key(), any::<u8>()).prop_map(|(k, v)| Step::Put(k, v)),
        6 => key().prop_map(Step::Delete),
        3 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Snapshot),
    ]
}

fn db() -> Db {
    Db::open_in(Env::deterministic(Arc::new(MemoryFs::new()), 1), "/db", Settings::tiny()).unwrap()
}

/// Keys and values as a cursor lends them.
fn lent(mut scan: crate::Scan) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = vec![];
    while scan.advance().unwrap() {
        all.push((scan.key().to_vec(), scan.value().to_vec()));
    }
    assert!(!scan.advance().unwrap() && scan.key().is_empty() && scan.value().is_empty());
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn gets_batches_and_scans_in_both_directions_agree_with_a_model(
        steps in vec(step(), 1..120), asked in vec(key(), 1..40), low in key(), high in key(),
    ) {
        let db = db();
        let c = db.collection("c").unwrap();
        let mut model = Model::new();
        let mut old: Option<(Snapshot, Model)> = None;
        for step in steps {
            match step {
                Step::Put(k, v) => {
                    c.put(&k, vec![v; usize::from(v)]).unwrap();
                    model.insert(k, vec![v; usize::from(v)]);
                }
                Step::Delete(k) => {
                    c.delete(&k).unwrap();
                    model.remove(&k);
                }
                Step::Flush => db.flush(Target::All).unwrap(),
                Step::Compact => db.compact(Target::All).unwrap(),
                Step::Snapshot => old = Some((db.snapshot(), model.clone())),
            }
        }
        let expected: Vec<_> = asked.iter().map(|k| model.get(k).cloned()).collect();
        prop_assert_eq!(&c.multi_get(&asked).unwrap(), &expected);
        for (k, value) in asked.iter().zip(&expected) {
            prop_assert_eq!(&c.get(k).unwrap(), value);
            prop_assert_eq!(c.get_with(k, <[u8]>::len).unwrap(), value.as_ref().map(Vec::len));
        }
        let records = |model: &Model| -> Vec<_> { model.iter().map(|(k, v)| (k.clone(), v.clone())).collect() };
        let within: Vec<_> = records(&model).into_iter().filter(|(k, _)| low <= *k && *k < high).collect();
        prop_assert_eq!(&lent(c.scan(low.clone()..high.clone())), &within);
        let mut backward = lent(c.scan(low.clone()..high.clone()).reverse());
        backward.reverse();
        prop_assert_eq!(&backward, &within);
        prop_assert_eq!(&lent(c.scan::<&str>(..)), &records(&model));
        prop_assert_eq!(&c.scan::<&str>(..).collect::<Result<Vec<_>, _>>().unwrap(), &records(&model));
        let (mut forward, mut backward) = (c.scan(low.clone()..high.clone()), c.scan(low.clone()..high.clone()).reverse());
        for k in &asked {
            forward.seek(k).unwrap();
            let first = within.iter().find(|(found, _)| found >= k);
            prop_assert_eq!(forward.advance().unwrap().then(|| forward.key()), first.map(|(k, _)| &k[..]));
            backward.seek(k).unwrap();
            let last = within.iter().rfind(|(found, _)| found <= k);
            prop_assert_eq!(backward.advance().unwrap().then(|| backward.key()), last.map(|(k, _)| &k[..]));
        }
        if let Some((snapshot, model)) = &old {
            prop_assert_eq!(&lent(c.scan::<&str>(..).at(snapshot)), &records(model));
            for k in &asked {
                prop_assert_eq!(&c.get_at(k, snapshot).unwrap(), &model.get(k).cloned());
            }
        }
    }
}

/// Blocks of one number in neighbouring tables of a level are different blocks.
#[test]
fn many_keys_are_each_looked_for_in_their_own_table() {
    let db = db();
    let c = db.collection("c").unwrap();
    let keys: Vec<String> = (0..300).map(|n| format!("k{n:03}")).collect();
    for key in &keys {
        c.put(key, format!("{key}: {}", "x".repeat(100))).unwrap();
    }
    db.compact(Target::All).unwrap();
    assert!(db.stats().collections[0].primary.level_tables[6] > 10);
    for step in [1, 7, 50] {
        let some: Vec<&String> = keys.iter().step_by(step).collect();
        for (key, value) in some.iter().zip(c.multi_get(&some).unwrap()) {
            assert_eq!(value, c.get(key).unwrap(), "{key}, every {step}");
            assert!(value.is_some_and(|v| v.starts_with(key.as_bytes())));
        }
    }
}

#[test]
fn a_scan_goes_on_from_where_it_was_sought_to() {
    let c = db().collection("c").unwrap();
    for k in ["a", "b", "c", "d"] {
        c.put(k, k).unwrap();
    }
    let mut scan = c.scan("b"..);
    scan.seek("c").unwrap();
    assert!(scan.key().is_empty());
    assert_eq!(lent(scan).len(), 2);
    let mut scan = c.scan("b"..);
    scan.seek("a").unwrap();
    assert_eq!(lent(scan)[0].0, b"b");
}

#[test]
fn reads_of_a_closed_database_are_refused_once() {
    let db = db();
    let c = db.collection("c").unwrap();
    c.put("k", "v").unwrap();
    db.close().unwrap();
    assert!(matches!(c.multi_get(&["k"]), Err(Error::Closed)));
    assert!(matches!(c.get_with("k", |_| ()), Err(Error::Closed)));
    let mut scan = c.scan::<&str>(..);
    assert!(matches!(scan.advance(), Err(Error::Closed)));
    assert!(!scan.advance().unwrap());
    assert!(scan.next().is_none());
}

#[test]
fn a_value_may_be_looked_at_while_the_database_is_written() {
    let c = db().collection("c").unwrap();
    c.put("k", "old").unwrap();
    let seen = c.get_with("k", |value| {
        c.put("k", "new").unwrap();
        (value.to_vec(), c.get("k").unwrap())
    });
    assert_eq!(seen.unwrap(), Some((b"old".to_vec(), Some(b"new".to_vec()))));
}
