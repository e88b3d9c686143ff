//! Readers beside the inserting thread.
#![allow(clippy::disallowed_methods, reason = "real threads are what is tested")]

use super::super::*;
use super::{merged, rotating};
use crate::base::key;
use crate::env::sync::atomic::{AtomicU64, Ordering};

const KEYS: u64 = 64;
const WRITES: u64 = 30_000;

/// Ascending runs, returns and jumps, so that inserts with and without the finger take part.
fn key_of(sqn: u64) -> [u8; 8] {
    (sqn * sqn / 7 % KEYS).to_be_bytes()
}

fn value_of(sqn: u64) -> Vec<u8> {
    vec![sqn as u8; (sqn % 90) as usize]
}

/// The newest version of each key at `at`, by arithmetic.
fn newest(key: u64, at: u64) -> Option<u64> {
    (1..=at).rev().find(|sqn| key_of(*sqn) == key.to_be_bytes())
}

fn scan_is_sorted_and_complete(table: &Arc<TieredMemtable>, at: u64) {
    let mut iter = merged(table);
    iter.seek_to_first().unwrap();
    let (mut visible, mut last) = (0, Vec::new());
    while iter.valid() {
        let (_, sqn, _) = key::decode(iter.key()).unwrap();
        assert!(last.is_empty() || key::compare(&last, iter.key()).is_lt());
        assert_eq!(iter.value(), value_of(sqn.0));
        visible += u64::from(sqn.0 <= at);
        last = iter.key().to_vec();
        iter.next().unwrap();
    }
    assert_eq!(visible, at, "every published version is met");
}

fn scan_back_is_complete(table: &Arc<TieredMemtable>, at: u64) {
    let mut iter = merged(table);
    iter.seek_before(&key::encode(&(KEYS / 8).to_be_bytes(), Sqn::MAX, Kind::Put)).unwrap();
    let mut visible = 0;
    while iter.valid() {
        visible += u64::from(key::sqn(iter.key()).0 <= at);
        iter.prev().unwrap();
    }
    let expected = (1..=at).filter(|sqn| key_of(*sqn) < (KEYS / 8).to_be_bytes()).count() as u64;
    assert_eq!(visible, expected);
}

#[test]
fn readers_see_every_published_version_while_one_thread_inserts() {
    readers_see_every_published_version(super::plain_list());
}

#[test]
fn readers_see_every_published_version_while_lists_become_runs_and_runs_are_merged() {
    readers_see_every_published_version(rotating(700, 20_000, Lookups::Many));
    readers_see_every_published_version(rotating(3000, 0, Lookups::Few));
}

fn readers_see_every_published_version(table: TieredMemtable) {
    let table = Arc::new(table);
    let published = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for reader in 0..3u64 {
            let (table, published) = (&table, &published);
            scope.spawn(move || {
                let mut round = reader;
                loop {
                    let at = published.load(Ordering::Acquire);
                    match round % 40 {
                        0 => scan_is_sorted_and_complete(table, at),
                        1 => scan_back_is_complete(table, at),
                        _ => {
                            let key = round * 7 % KEYS;
                            let found = table.get(&key.to_be_bytes(), Sqn(at));
                            assert_eq!(found.map(|f| f.sqn.0), newest(key, at));
                            assert_eq!(found.map(|f| f.value.to_vec()), newest(key, at).map(value_of));
                        }
                    }
                    assert!(table.max_sqn() >= Sqn(at) && table.len() as u64 >= at);
                    if at == WRITES {
                        break;
                    }
                    round += 1;
                }
            });
        }
        for sqn in 1..=WRITES {
            table.insert(&key_of(sqn), Sqn(sqn), Kind::Put, &value_of(sqn));
            published.store(sqn, Ordering::Release);
        }
    });
    assert_eq!(table.len() as u64, WRITES);
}

#[test]
fn inserts_from_several_threads_take_turns() {
    let table = rotating(700, 0, Lookups::Many);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let table = &table;
            scope.spawn(move || {
                for i in 0..2000 {
                    let n = i * 4 + thread;
                    table.insert(&n.to_be_bytes(), Sqn(n), Kind::Put, b"");
                }
            });
        }
    });
    assert_eq!(table.len(), 8000);
    assert!((0..8000u64).all(|n| table.get(&n.to_be_bytes(), Sqn::MAX).is_some()));
}
