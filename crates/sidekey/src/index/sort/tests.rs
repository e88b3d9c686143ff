use super::*;
use crate::base::ids::Incarnation;
use crate::base::index_key;
use crate::base::iter::SortedIter;
use crate::base::value::Value;
use crate::version::fixture::TableDir;

/// The entries of 500 records in an order that is not sorted, over few values, so that runs overlap everywhere.
fn entries() -> Vec<(Vec<u8>, u64)> {
    let entry = |n: u64| {
        let (mut attribute, mut key) = (vec![], vec![]);
        Value::from(n * 7919 % 13).encode(&mut attribute).unwrap();
        index_key::encode_into(&mut key, Incarnation(1), &attribute, &n.to_be_bytes());
        (key, n + 1)
    };
    (0..500).map(|n| entry(n * 263 % 500)).collect()
}

fn sorted(dir: &TableDir, budget_bytes: usize, entries: &[(Vec<u8>, u64)]) -> (usize, Vec<TableMeta>) {
    let output = Output {
        files: dir.files.clone(),
        dir: dir.dir.clone(),
        options: TableDir::options(TreeKind::Index),
        table_bytes: 1024,
        next_number: dir.numbers(),
    };
    let mut sorter = EntrySorter::new(output, budget_bytes, dir.cache.clone());
    for (key, sqn) in entries {
        sorter.add(key, Sqn(*sqn), Kind::Put).unwrap();
    }
    let runs = sorter.runs.len();
    (runs, sorter.finish().unwrap())
}

fn content(dir: &TableDir, metas: &[TableMeta]) -> Vec<(Vec<u8>, u64)> {
    let mut found = vec![];
    for meta in metas {
        let file = TableFile::open(&dir.files, &dir.dir, meta.clone(), dir.cache.clone()).unwrap();
        let mut iter = file.table.iter(ReadMode::Bulk);
        iter.seek_to_first().unwrap();
        while iter.valid() {
            let (key, sqn, kind) = key::decode(iter.key()).unwrap();
            assert_eq!(kind, Kind::Put);
            found.push((key.to_vec(), sqn.0));
            iter.next().unwrap();
        }
    }
    found
}

#[test]
fn any_budget_gives_the_same_sorted_disjoint_tables() {
    let mut expected = entries();
    expected.sort();
    for (budget, least_runs) in [(usize::MAX, 0), (4096, 2), (256, 50), (1, 500)] {
        let dir = TableDir::new();
        let (runs, metas) = sorted(&dir, budget, &entries());
        assert!(runs >= least_runs, "{runs} runs with {budget} bytes");
        assert_eq!(content(&dir, &metas), expected);
        assert!(metas.len() > 1 && metas.windows(2).all(|pair| pair[0].high() < pair[1].low()));
        // The runs are gone.
        assert_eq!(dir.memory.paths().len(), metas.len());
    }
}

#[test]
fn no_entries_make_no_table() {
    let dir = TableDir::new();
    assert!(sorted(&dir, 1, &[]).1.is_empty());
    assert!(dir.memory.paths().is_empty());
}
