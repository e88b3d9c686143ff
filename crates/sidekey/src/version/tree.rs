//! The tables of one tree at one moment.

use super::level::Level;
use super::meta::TableFile;
use crate::base::error::Result;
use crate::base::ids::{FileNumber, Sqn};
use crate::base::key::Kind;
use crate::table::{BlockSlice, LastBlock};
use std::cmp::Reverse;
use std::sync::Arc;

/// Levels of a tree: level 0 and six sorted ones.
pub(crate) const LEVELS: usize = 7;

/// An immutable set of tables (VER-3).
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeVersion {
    levels: [Arc<Level>; LEVELS],
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

    /// A level, to be shared.
    pub fn shared_level(&self, level: usize) -> &Arc<Level> {
        &self.levels[level]
    }

    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableFile>> {
        self.levels.iter().flat_map(|level| level.iter())
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
        let mut levels = self.levels.each_ref().map(|level| level.to_vec());
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
        Self { levels: levels.map(|tables| Arc::new(Level::new(tables))) }
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

    /// The components that may hold a user key, in the order in which they shadow one another.
    #[inline]
    fn candidates<'a>(&'a self, user_key: &'a [u8]) -> impl Iterator<Item = &'a Arc<TableFile>> {
        let [level0, sorted @ ..] = &self.levels;
        level0.tables_for(user_key).chain(sorted.iter().filter_map(move |level| level.table_for(user_key)))
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

    /// The newest versions with sqn <= `at` of those of `keys` whose places are in `open`; tells of each and takes it off. Level by level, and
    /// for keys in order block by block.
    pub fn get_many(
        &self,
        keys: &[&[u8]],
        open: &mut Vec<usize>,
        at: Sqn,
        mut found: impl FnMut(usize, FoundVersion) -> Result<()>,
    ) -> Result<()> {
        for (number, level) in self.levels.iter().enumerate() {
            // In level 0 each table is a component of its own.
            let tables = if number == 0 { level.len() } else { usize::from(!level.is_empty()) };
            for only in 0..tables {
                let mut last = LastBlock::default();
                retain(open, |n| {
                    let Some(&key) = keys.get(n) else { return Ok(true) };
                    let file = match number {
                        0 => level.get(only).filter(|file| file.meta.overlaps(key, key)),
                        _ => level.table_for(key),
                    };
                    let Some(file) = file.filter(|file| file.meta.min_sqn <= at) else { return Ok(true) };
                    match file.table.get_near(key, at, &mut last)? {
                        Some(f) => found(n, FoundVersion { sqn: f.sqn, kind: f.kind, value: f.value }).map(|()| false),
                        None => Ok(true),
                    }
                })?;
            }
        }
        Ok(())
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
        self.levels[level + 1..].iter().flat_map(|l| l.iter()).any(|t| t.meta.overlaps(low, high))
    }

    /// Tables of a level that hold a key of the closed range.
    pub fn overlapping(&self, level: usize, low: &[u8], high: &[u8]) -> Vec<Arc<TableFile>> {
        self.levels[level].iter().filter(|t| t.meta.overlaps(low, high)).cloned().collect()
    }
}

/// Keeps the places for which `keep` says so, in order; stops at its first error.
pub(crate) fn retain(places: &mut Vec<usize>, mut keep: impl FnMut(usize) -> Result<bool>) -> Result<()> {
    let mut kept = 0;
    for at in 0..places.len() {
        if keep(places[at])? {
            places[kept] = places[at];
            kept += 1;
        }
    }
    places.truncate(kept);
    Ok(())
}
