//! The tables of one tree at one moment.

use super::meta::TableFile;
use crate::base::error::Result;
use crate::base::ids::{FileNumber, Sqn};
use crate::base::key::Kind;
use crate::table::BlockSlice;
use std::cmp::Reverse;
use std::sync::Arc;

/// Levels of a tree: level 0 and six sorted ones.
pub(crate) const LEVELS: usize = 7;

/// An immutable set of tables (VER-3).
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeVersion {
    levels: [Vec<Arc<TableFile>>; LEVELS],
}

/// A version that was found.
#[derive(Debug)]
pub(crate) struct FoundVersion {
    pub sqn: Sqn,
    pub kind: Kind,
    pub value: BlockSlice,
}

impl TreeVersion {
    pub fn level(&self, level: usize) -> &[Arc<TableFile>] {
        &self.levels[level]
    }

    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableFile>> {
        self.levels.iter().flatten()
    }

    pub fn level_bytes(&self, level: usize) -> u64 {
        self.levels[level].iter().map(|t| t.meta.size_bytes).sum()
    }

    pub fn max_blind_sqn(&self) -> Sqn {
        self.tables().map(|t| t.meta.max_blind_sqn).max().unwrap_or(Sqn::ZERO)
    }

    pub fn find(&self, number: FileNumber) -> Option<(usize, &Arc<TableFile>)> {
        (0..LEVELS).find_map(|l| self.levels[l].iter().find(|t| t.meta.number == number).map(|t| (l, t)))
    }

    /// This version without the tables `removed` and with `added`, each at its level.
    pub fn with(&self, removed: &[FileNumber], added: &[(usize, Arc<TableFile>)]) -> Self {
        let mut levels = self.levels.clone();
        for level in &mut levels {
            level.retain(|t| !removed.contains(&t.meta.number));
        }
        for (level, table) in added {
            levels[*level].push(table.clone());
        }
        levels[0].sort_by_key(|t| Reverse((t.meta.max_sqn, t.meta.number)));
        for level in &mut levels[1..] {
            level.sort_by(|a, b| a.meta.low().cmp(b.meta.low()));
        }
        Self { levels }
    }

    /// What breaks VER-3, if anything.
    pub fn disorder(&self) -> Option<String> {
        for pair in self.levels[0].windows(2) {
            if pair[0].meta.min_sqn <= pair[1].meta.max_sqn {
                return Some(format!(
                    "level 0: tables {} and {} have crossing sequence numbers",
                    pair[0].meta.number, pair[1].meta.number
                ));
            }
        }
        for (level, tables) in self.levels.iter().enumerate().skip(1) {
            for pair in tables.windows(2) {
                if pair[0].meta.high() >= pair[1].meta.low() {
                    return Some(format!(
                        "level {level}: tables {} and {} overlap",
                        pair[0].meta.number, pair[1].meta.number
                    ));
                }
            }
        }
        None
    }

    /// The table of a sorted level that may hold a user key.
    #[inline]
    pub fn table_for(&self, level: usize, user_key: &[u8]) -> Option<&Arc<TableFile>> {
        let tables = &self.levels[level];
        let at = tables.partition_point(|t| t.meta.high() < user_key);
        tables.get(at).filter(|t| t.meta.low() <= user_key)
    }

    /// The components that may hold a user key, in the order in which they shadow one another.
    fn candidates<'a>(&'a self, user_key: &'a [u8]) -> impl Iterator<Item = &'a Arc<TableFile>> {
        let covers = move |t: &&Arc<TableFile>| t.meta.low() <= user_key && user_key <= t.meta.high();
        let sorted = (1..LEVELS).filter_map(move |level| self.table_for(level, user_key));
        self.levels[0].iter().filter(covers).chain(sorted)
    }

    /// The newest version of a key with sqn <= `at`. In the primary tree and in the index tree (which holds no late marks) components
    /// shadow one another in the order visited (VER-3), so the first hit is the newest.
    pub fn get(&self, user_key: &[u8], at: Sqn) -> Result<Option<FoundVersion>> {
        for file in self.candidates(user_key) {
            if file.meta.min_sqn > at {
                continue;
            }
            if let Some(found) = file.table.get(user_key, at)? {
                return Ok(Some(FoundVersion { sqn: found.sqn, kind: found.kind, value: found.value }));
            }
        }
        Ok(None)
    }

    /// False only if no table holds any version of the key; asks memory alone.
    pub fn may_contain(&self, user_key: &[u8]) -> bool {
        self.candidates(user_key).any(|file| file.table.may_contain(user_key))
    }

    /// False only if no table holds a version of the key above `sqn` that may have left an entry of an older one behind; asks memory alone.
    pub fn may_outdate(&self, user_key: &[u8], sqn: Sqn) -> bool {
        let doubtful = |file: &&Arc<TableFile>| file.meta.max_blind_sqn > sqn;
        self.candidates(user_key).filter(doubtful).any(|file| file.table.may_contain(user_key))
    }

    /// Whether a level below `level` holds a key of the closed range.
    pub fn overlaps_below(&self, level: usize, low: &[u8], high: &[u8]) -> bool {
        self.levels[level + 1..].iter().flatten().any(|t| t.meta.overlaps(low, high))
    }

    /// Tables of a level that hold a key of the closed range.
    pub fn overlapping(&self, level: usize, low: &[u8], high: &[u8]) -> Vec<Arc<TableFile>> {
        self.levels[level].iter().filter(|t| t.meta.overlaps(low, high)).cloned().collect()
    }
}
