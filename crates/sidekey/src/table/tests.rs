//! Whole tables against an ordered map, and against damage.

mod damage;
mod files;
mod model;

use super::cache::CacheStatistics;
use super::*;
use crate::base::ids::{FileNumber, Sqn};
use crate::base::iter::SortedIter;
use crate::base::key::{self, Kind};
use crate::base::{error::ErrorKind, ids::TreeKind};
use files::TestFiles;
use std::path::PathBuf;
use std::sync::Arc;

const NUMBER: FileNumber = FileNumber(5);

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn path() -> PathBuf {
    PathBuf::from("000005.table")
}

fn tiny() -> TableOptions {
    TableOptions { block_bytes: 64, restart_interval: 3, ..TableOptions::default() }
}

/// Writes a table to fresh files.
fn written(entries: &Entries, options: TableOptions) -> (TestFiles, TableSummary) {
    let files = TestFiles::default();
    let mut builder = TableBuilder::new(files.create(path()), path(), NUMBER, options);
    entries.iter().for_each(|(key, value)| builder.add(key, value).unwrap());
    let summary = builder.finish().unwrap();
    (files, summary)
}

fn open(files: &TestFiles, cache_bytes: u64) -> crate::Result<Arc<Table>> {
    Table::open(files, &path(), NUMBER, Arc::new(BlockCache::new(cache_bytes)))
}

fn table(entries: &Entries, options: TableOptions) -> Arc<Table> {
    open(&written(entries, options).0, 1 << 20).unwrap()
}

fn put(user: &[u8], sqn: u64, value: &[u8]) -> (Vec<u8>, Vec<u8>) {
    (key::encode(user, Sqn(sqn), Kind::Put), value.to_vec())
}

fn forward(iter: &mut TableIter) -> crate::Result<Entries> {
    let mut all = vec![];
    iter.seek_to_first()?;
    while iter.valid() {
        all.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next()?;
    }
    Ok(all)
}

fn backward(iter: &mut TableIter) -> crate::Result<Entries> {
    let mut all = vec![];
    iter.seek_to_last()?;
    while iter.valid() {
        all.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev()?;
    }
    all.reverse();
    Ok(all)
}

/// `count` keys of one version each.
fn plain(count: u64) -> Entries {
    (0..count).map(|n| put(format!("key{n:06}").as_bytes(), n + 1, format!("value {n}").as_bytes())).collect()
}

#[test]
fn keys_that_do_not_ascend_are_an_internal_error() {
    let mut builder = TableBuilder::new(TestFiles::default().create(path()), path(), NUMBER, tiny());
    let (b, _) = put(b"b", 2, b"");
    builder.add(&b, b"").unwrap();
    for wrong in [b.clone(), put(b"b", 3, b"").0, put(b"a", 1, b"").0, b"short".to_vec()] {
        assert_eq!(builder.add(&wrong, b"").unwrap_err().kind(), ErrorKind::Internal, "{wrong:?}");
    }
    builder.add(&put(b"b", 1, b"").0, b"").unwrap();
    assert_eq!(builder.finish().unwrap().properties.entries, 2);
}

#[test]
fn a_table_without_entries_is_an_internal_error() {
    let builder = TableBuilder::new(TestFiles::default().create(path()), path(), NUMBER, tiny());
    assert_eq!(builder.finish().unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn versions_of_a_key_that_fill_several_blocks_are_all_found() {
    let mut entries = vec![put(b"a", 1_000, b"a")];
    entries.extend((1..=200).rev().map(|n| put(b"key", n * 2, format!("version {n}").as_bytes())));
    entries.push(put(b"z", 1_001, b"z"));
    let table = table(&entries, tiny());
    assert!(table.blocks().len() > 20);
    for at in 0..=402 {
        let found = table.get(b"key", Sqn(at)).unwrap();
        let expected = (at >= 2).then_some(at.min(400) / 2);
        assert_eq!(found.as_ref().map(|found| found.sqn), expected.map(|n| Sqn(n * 2)), "at {at}");
        let value = expected.map(|n| format!("version {n}").into_bytes());
        assert_eq!(found.map(|found| found.value.to_vec()), value);
    }
}

#[test]
fn an_absent_key_between_two_blocks_reads_no_block() {
    let entries = plain(100);
    let (files, _) = written(&entries, TableOptions { filter_bits_per_key: 0, ..tiny() });
    let table = open(&files, 0).unwrap();
    let reads = files.reads();
    for block in table.blocks() {
        let mut user = key::user_key(block.last).to_vec();
        user.push(0);
        assert!(table.get(&user, Sqn::MAX).unwrap().is_none());
    }
    assert!(table.get(b"a", Sqn::MAX).unwrap().is_none());
    assert_eq!(files.reads(), reads);
}

#[test]
fn the_filter_spares_reads_of_absent_keys() {
    let (files, _) = written(&plain(1_000), TableOptions::default());
    let table = open(&files, 0).unwrap();
    let reads = files.reads();
    for n in 0..1_000 {
        assert!(table.get(format!("key{n:06}x").as_bytes(), Sqn::MAX).unwrap().is_none());
    }
    let spent = files.reads() - reads;
    assert!(spent < 40, "{spent} reads");
}

#[test]
fn a_prefix_filter_answers_for_prefixes_and_lets_get_alone() {
    fn cut(user: &[u8]) -> &[u8] {
        user.get(..3).unwrap_or(user)
    }
    let filter_key = FilterKey::Prefix(cut);
    let entries: Entries = (0..900u64).map(|n| put(format!("{:03}-{n}", n / 9).as_bytes(), n + 1, b"")).collect();
    let mut sorted = entries;
    sorted.sort_by(|a, b| key::compare(&a.0, &b.0));
    let table = table(&sorted, TableOptions { filter_key, tree: TreeKind::Index, ..TableOptions::default() });
    assert!((0..100).all(|n| table.may_contain(format!("{n:03}").as_bytes())));
    assert!((100..1_000).filter(|n| table.may_contain(format!("{n:03}").as_bytes())).count() < 40);
    assert!(table.get(b"000-1", Sqn::MAX).unwrap().is_some());
    assert_eq!(table.properties().tree, TreeKind::Index);
    assert_eq!(table.verify(filter_key, &mut |_, _| {}), vec![]);
    // 100 prefixes at 10 bits: two lines of 64 bytes, not one bit for each of 900 keys.
    assert!(table.memory_bytes() < table.blocks().len() * 100 + 128 + 64);
}

#[test]
fn a_second_read_hits_the_cache_and_bulk_reads_leave_it_alone() {
    let entries = plain(500);
    let (files, _) = written(&entries, tiny());
    let cache = Arc::new(BlockCache::new(1 << 20));
    let table = Table::open(&files, &path(), NUMBER, cache.clone()).unwrap();
    assert_eq!(forward(&mut table.iter(ReadMode::Bulk)).unwrap(), entries);
    assert_eq!(cache.statistics(), CacheStatistics::default());
    table.get(b"key000007", Sqn::MAX).unwrap().unwrap();
    table.get(b"key000007", Sqn::MAX).unwrap().unwrap();
    let statistics = cache.statistics();
    assert_eq!((statistics.hits, statistics.misses), (1, 1));
    assert!(statistics.bytes > 0);
    table.forget_blocks();
    assert_eq!(cache.statistics().bytes, 0);
}

#[test]
fn bulk_reads_cover_many_blocks_each_way() {
    let entries: Entries = (0..3_000).map(|n| put(format!("{n:06}").as_bytes(), 1 + n, &[b'v'; 1_000])).collect();
    let (files, summary) = written(&entries, TableOptions::default());
    let table = open(&files, 0).unwrap();
    let mut iter = table.iter(ReadMode::Bulk);
    for read_all in [forward, backward] {
        let reads = files.reads();
        assert_eq!(read_all(&mut iter).unwrap(), entries);
        let spent = files.reads() - reads;
        assert!((3..=6).contains(&spent), "{spent} reads for {} bytes", summary.file_size);
    }
}

#[test]
fn a_long_scan_reads_ahead_each_way_and_leaves_a_small_cache_alone() {
    let entries: Entries = (0..3_000).map(|n| put(format!("{n:06}").as_bytes(), 1 + n, &[b'v'; 1_000])).collect();
    let (files, summary) = written(&entries, TableOptions::default());
    let cache = Arc::new(BlockCache::new(100 << 10));
    let table = Table::open(&files, &path(), NUMBER, cache.clone()).unwrap();
    for read_all in [forward, backward] {
        let reads = files.reads();
        assert_eq!(read_all(&mut table.iter(ReadMode::Normal)).unwrap(), entries);
        let (spent, pieces) = (files.reads() - reads, summary.file_size / (128 << 10));
        assert!((pieces..pieces + 12).contains(&spent), "{spent} reads for {} bytes", summary.file_size);
    }
    assert!(cache.statistics().bytes < 10 * 5_000, "{:?}", cache.statistics());
}

#[test]
fn a_long_scan_fills_a_cache_that_has_room() {
    let entries: Entries = (0..3_000).map(|n| put(format!("{n:06}").as_bytes(), 1 + n, &[b'v'; 1_000])).collect();
    let (files, summary) = written(&entries, TableOptions::default());
    let cache = Arc::new(BlockCache::new(16 << 20));
    let table = Table::open(&files, &path(), NUMBER, cache.clone()).unwrap();
    assert_eq!(forward(&mut table.iter(ReadMode::Normal)).unwrap(), entries);
    assert!(cache.statistics().bytes.abs_diff(summary.file_size) < summary.file_size / 20, "{:?}", cache.statistics());
    let reads = files.reads();
    assert_eq!(forward(&mut table.iter(ReadMode::Normal)).unwrap(), entries);
    assert_eq!(backward(&mut table.iter(ReadMode::Normal)).unwrap(), entries);
    assert_eq!(files.reads(), reads);
}

#[test]
fn a_fault_behind_what_a_scan_needs_is_met_only_there() {
    let entries = plain(200);
    let (files, _) = written(&entries, tiny());
    let table = open(&files, 0).unwrap();
    let faulty = table.blocks().nth(20).unwrap();
    let good = entries.partition_point(|(key, _)| key::compare(key, faulty.first).is_lt());
    files.fail_reads_at(&path(), Some(faulty.offset));
    let mut iter = table.iter(ReadMode::Normal);
    iter.seek_to_first().unwrap();
    for (key, _) in &entries[1..good] {
        iter.next().unwrap();
        assert_eq!(iter.key(), key);
    }
    assert_eq!(iter.next().unwrap_err().kind(), ErrorKind::Io);
    assert!(!iter.valid());
}

#[test]
fn a_large_value_has_a_block_of_its_own() {
    let entries = vec![put(b"a", 1, b"small"), put(b"b", 2, &[7; 100_000]), put(b"c", 3, b"small")];
    let table = table(&entries, TableOptions { compression: Compression::Lz4, ..TableOptions::default() });
    assert_eq!(table.blocks().len(), 3);
    assert_eq!(forward(&mut table.iter(ReadMode::Normal)).unwrap(), entries);
    assert!(table.properties().data_bytes < 2_000);
}

#[test]
fn what_the_caller_sets_is_kept_and_the_size_estimate_is_close() {
    let files = TestFiles::default();
    let mut builder = TableBuilder::new(files.create(path()), path(), NUMBER, TableOptions::default());
    plain(20_000).iter().for_each(|(key, value)| builder.add(key, value).unwrap());
    builder.properties_mut().max_blind_sqn = Sqn(17);
    builder.properties_mut().hidden_until_sqn = Sqn(19);
    let estimate = builder.estimated_size();
    let summary = builder.finish().unwrap();
    assert!(estimate.abs_diff(summary.file_size) < summary.file_size / 50);
    assert_eq!(files.len(&path()), summary.file_size);
    assert_eq!(files.synced(&path()), summary.file_size);
    let table = open(&files, 0).unwrap();
    assert_eq!(*table.properties(), summary.properties);
    assert_eq!((table.properties().max_blind_sqn, table.properties().hidden_until_sqn), (Sqn(17), Sqn(19)));
}

#[test]
fn the_value_added_last_may_be_changed_until_the_next_one() {
    for len in [1, 20, 63, 64, 65, 500] {
        let entries: Entries = (0..30).map(|n| put(format!("k{n:02}").as_bytes(), n + 1, &vec![b'x'; len])).collect();
        let files = TestFiles::default();
        let mut builder = TableBuilder::new(files.create(path()), path(), NUMBER, tiny());
        assert!(builder.last_value_mut().is_empty());
        for (key, value) in &entries {
            builder.add(key, value).unwrap();
            assert_eq!(builder.last_key(), key);
            assert_eq!(builder.last_value_mut().len(), len);
            builder.last_value_mut()[0] = b'y';
        }
        builder.finish().unwrap();
        let changed: Entries = entries.into_iter().map(|(key, value)| (key, [b"y", &value[1..]].concat())).collect();
        let table = open(&files, 1 << 20).unwrap();
        assert_eq!(forward(&mut table.iter(ReadMode::Normal)).unwrap(), changed, "values of {len} bytes");
    }
}
