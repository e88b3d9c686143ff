//! The tables of one level, found by their bounds without touching them.

use super::meta::{TableFile, TableMeta};
use crate::base::key;
use crate::base::prefix::{common_prefix_len, run_of, sort_prefix};
use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

/// The tables of a level, and flat arrays of what their bounds start with.
///
/// A table's own bounds lie three pointers away, in memory that is cold when the tables are many; a search here reads one array of
/// numbers, and a table's bounds only where two numbers are equal.
#[derive(Debug, Default)]
pub(crate) struct Level {
    tables: Vec<Arc<TableFile>>,
    /// What all bounds start with.
    common: Vec<u8>,
    /// The [`sort_prefix`] of each table's smallest user key, behind the common part.
    lows: Vec<u64>,
    /// The same of each table's largest user key.
    highs: Vec<u64>,
}

/// A user key to look for in a level.
#[derive(Clone, Copy)]
struct Sought<'a> {
    key: &'a [u8],
    prefix: u64,
}

impl Sought<'_> {
    /// How the bound with this prefix stands to the key; `bound` is asked for only if the prefixes do not tell.
    #[inline]
    fn order_of<'b>(&self, prefix: u64, bound: impl FnOnce() -> &'b [u8]) -> Ordering {
        prefix.cmp(&self.prefix).then_with(|| bound().cmp(self.key))
    }
}

impl Deref for Level {
    type Target = [Arc<TableFile>];

    #[inline]
    fn deref(&self) -> &[Arc<TableFile>] {
        &self.tables
    }
}

impl Level {
    /// Tables in the level's own order: see VER-3.
    pub fn new(tables: Vec<Arc<TableFile>>) -> Self {
        let smallest = tables.iter().map(|t| t.meta.low()).min().unwrap_or_default();
        let largest = tables.iter().map(|t| t.meta.high()).max().unwrap_or_default();
        let common = smallest.get(..common_prefix_len(smallest, largest)).unwrap_or_default().to_vec();
        let prefix = |bound: &[u8]| sort_prefix(bound.get(common.len()..).unwrap_or_default());
        let lows = tables.iter().map(|t| prefix(t.meta.low())).collect();
        let highs = tables.iter().map(|t| prefix(t.meta.high())).collect();
        Self { lows, highs, common, tables }
    }

    /// `Err`: how all bounds stand to the key.
    #[inline]
    fn sought<'a>(&self, key: &'a [u8]) -> Result<Sought<'a>, Ordering> {
        match key.strip_prefix(&self.common[..]) {
            Some(tail) => Ok(Sought { key, prefix: sort_prefix(tail) }),
            None => Err(self.common[..].cmp(key)),
        }
    }

    /// How many of the bounds, which ascend, are before the key; `prefixes` are theirs.
    #[inline]
    fn count_before(&self, prefixes: &[u64], sought: Sought<'_>, bound: impl Fn(&TableMeta) -> &[u8]) -> usize {
        let (at, equal) = run_of(prefixes, sought.prefix, |prefix| *prefix);
        let in_doubt = self.tables.get(at..equal).unwrap_or_default();
        at + in_doubt.partition_point(|table| bound(&table.meta) < sought.key)
    }

    /// How many tables, of a level in key order, end before a user key.
    #[inline]
    pub fn ending_before(&self, user_key: &[u8]) -> usize {
        match self.sought(user_key) {
            Ok(sought) => self.count_before(&self.highs, sought, TableMeta::high),
            Err(Ordering::Less) => self.tables.len(),
            Err(_) => 0,
        }
    }

    /// How many tables, of a level in key order, start before a user key.
    pub fn starting_before(&self, user_key: &[u8]) -> usize {
        match self.sought(user_key) {
            Ok(sought) => self.count_before(&self.lows, sought, TableMeta::low),
            Err(Ordering::Less) => self.tables.len(),
            Err(_) => 0,
        }
    }

    /// The table, of a level in key order, that may hold a user key.
    #[inline]
    pub fn table_for(&self, user_key: &[u8]) -> Option<&Arc<TableFile>> {
        if self.tables.is_empty() {
            return None;
        }
        let sought = self.sought(user_key).ok()?;
        let at = self.count_before(&self.highs, sought, TableMeta::high);
        let (low, table) = (self.lows.get(at)?, self.tables.get(at)?);
        sought.order_of(*low, || table.meta.low()).is_le().then_some(table)
    }

    /// The tables, in any order, that may hold a user key; in the level's order.
    #[inline]
    pub fn tables_for(&self, user_key: &[u8]) -> impl Iterator<Item = &Arc<TableFile>> {
        let sought = self.sought(user_key).ok();
        let bounds = self.lows.iter().zip(&self.highs).zip(&self.tables);
        bounds.filter_map(move |((low, high), table)| {
            let sought = sought?;
            let covers = sought.order_of(*low, || table.meta.low()).is_le()
                && sought.order_of(*high, || table.meta.high()).is_ge();
            covers.then_some(table)
        })
    }

    /// The first table, of a level in key order, whose largest internal key is at or after `target`.
    pub fn reaching(&self, target: &[u8]) -> usize {
        // Versions of one user key are all in one table (VER-3), so only the one that ends with that key is in doubt.
        let at = self.ending_before(key::user_key(target));
        let short = self.tables.get(at).is_some_and(|t| key::compare(&t.meta.largest, target).is_lt());
        at + usize::from(short)
    }

    /// How many tables, of a level in key order, have a smallest internal key before `target`.
    pub fn beginning_before(&self, target: &[u8]) -> usize {
        let at = self.starting_before(key::user_key(target));
        let before = self.tables.get(at).is_some_and(|t| key::compare(&t.meta.smallest, target).is_lt());
        at + usize::from(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{Sqn, TreeKind};
    use crate::base::key::Kind;
    use crate::version::fixture::TableDir;
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    fn table(dir: &TableDir, keys: &[Vec<u8>]) -> Arc<TableFile> {
        let versions: Vec<_> = keys.iter().map(|k| (k.clone(), 5, Kind::Put, vec![])).collect();
        dir.table(TreeKind::Index, &versions)
    }

    /// Keys that share much, and prefixes of one another.
    fn user() -> impl Strategy<Value = Vec<u8>> {
        (any::<bool>(), vec(0u8..3, 0..10)).prop_map(|(long, tail)| {
            let head: &[u8] = if long { b"shared" } else { b"share" };
            [head, &tail].concat()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_search_finds_what_a_look_at_every_table_finds(
            keys in btree_set(user(), 1..12), wanted in prop_oneof![user(), vec(any::<u8>(), 0..3)], sqn in 4u64..7,
            one_of_them in proptest::option::of(any::<prop::sample::Index>()),
        ) {
            let dir = TableDir::new();
            let keys: Vec<_> = keys.into_iter().collect();
            // Half of the time a key that is there, so that the ends of tables are asked for.
            let wanted = one_of_them.map_or(wanted, |index| index.get(&keys).clone());
            let level = Level::new(keys.chunks(2).map(|pair| table(&dir, pair)).collect());
            let covers = |t: &&Arc<TableFile>| t.meta.overlaps(&wanted, &wanted);
            prop_assert_eq!(level.table_for(&wanted).map(|t| t.meta.number), level.iter().find(covers).map(|t| t.meta.number));
            prop_assert_eq!(level.ending_before(&wanted), level.iter().filter(|t| t.meta.high() < &wanted[..]).count());
            prop_assert_eq!(level.starting_before(&wanted), level.iter().filter(|t| t.meta.low() < &wanted[..]).count());
            let target = key::encode(&wanted, Sqn(sqn), Kind::Put);
            let before = |bound: &[u8]| key::compare(bound, &target).is_lt();
            prop_assert_eq!(level.reaching(&target), level.iter().filter(|t| before(&t.meta.largest)).count());
            prop_assert_eq!(level.beginning_before(&target), level.iter().filter(|t| before(&t.meta.smallest)).count());
            let overlapping = Level::new(keys.windows(3).map(|some| table(&dir, some)).collect());
            let found: Vec<_> = overlapping.tables_for(&wanted).map(|t| t.meta.number).collect();
            let expected: Vec<_> = overlapping.iter().filter(covers).map(|t| t.meta.number).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_level_without_tables_has_none_for_any_key() {
        let level = Level::default();
        assert!(level.table_for(b"").is_none() && level.tables_for(b"k").next().is_none());
        assert_eq!((level.ending_before(b"k"), level.starting_before(b"k")), (0, 0));
    }
}
