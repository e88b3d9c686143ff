//! Sorting the entries of an index build: in memory up to a budget, beyond it in sorted runs on disk that are merged at the end.

use crate::base::error::{Error, Result};
use crate::base::ids::{FileNumber, Sqn, TreeKind};
use crate::base::key::{self, Kind};
use crate::compaction::job::{Job, Output, Rules};
use crate::env::OpenMode;
use crate::table::{BlockCache, ReadMode, TableBuilder};
use crate::version::{Source, TableFile, TableMeta, table_path};
use std::sync::Arc;

/// Bookkeeping of an entry in memory, in bytes.
const PER_ENTRY: usize = 24;

/// Takes entries in any order and writes them as sorted, disjoint tables.
pub(crate) struct EntrySorter {
    output: Output,
    budget_bytes: usize,
    cache: Arc<BlockCache>,
    keys: Vec<u8>,
    /// Ends of the internal keys in `keys`.
    entries: Vec<(usize, usize)>,
    runs: Vec<Arc<TableFile>>,
}

impl EntrySorter {
    pub fn new(output: Output, budget_bytes: usize, cache: Arc<BlockCache>) -> Self {
        Self { output, budget_bytes, cache, keys: vec![], entries: vec![], runs: vec![] }
    }

    pub fn add(&mut self, user_key: &[u8], sqn: Sqn, kind: Kind) -> Result<()> {
        let start = self.keys.len();
        self.keys.extend_from_slice(user_key);
        self.keys.extend_from_slice(&key::trailer(sqn, kind));
        self.entries.push((start, self.keys.len()));
        if self.keys.len() + self.entries.len() * PER_ENTRY >= self.budget_bytes {
            self.spill()?;
        }
        Ok(())
    }

    /// Writes what is in memory as one run.
    fn spill(&mut self) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let keys = &self.keys;
        let bytes = |(start, end): &(usize, usize)| keys.get(*start..*end).unwrap_or_default();
        self.entries.sort_unstable_by(|a, b| key::compare(bytes(a), bytes(b)));
        let number: FileNumber = (self.output.next_number)();
        let path = table_path(&self.output.dir, number);
        let files = &self.output.files;
        let file = files.open(&path, OpenMode::CreateNew).map_err(|e| Error::io(&path, "create a sorted run", e))?;
        let write = || {
            let mut builder = TableBuilder::new(file, path.clone(), number, self.output.options.clone());
            self.entries.iter().try_for_each(|entry| builder.add(bytes(entry), &[]))?;
            let meta = TableMeta::new(number, &builder.finish()?);
            TableFile::open(files, &self.output.dir, meta, self.cache.clone())
        };
        let run = write().inspect_err(|_| {
            // What stays is an orphan, but it takes up space that may be short.
            let _ = files.remove(&path);
        })?;
        // A run is never named by the manifest: it goes when the sorter does, and is an orphan after a crash.
        run.make_obsolete();
        self.runs.push(run);
        self.keys.clear();
        self.entries.clear();
        Ok(())
    }

    /// The tables with all entries, in key order; none if there were none.
    pub fn finish(mut self) -> Result<Vec<TableMeta>> {
        self.spill()?;
        let sources = self.runs.iter().map(|run| Source::Table(run.table.iter(ReadMode::Bulk))).collect();
        // Every entry is of a version that is the newest at the build's snapshot, so nothing may be dropped: no bottom, no filter, and no
        // two of one key.
        let rules = Rules { tree: TreeKind::Index, stripes: vec![], bottom: false, filter: None };
        Ok(Job::new(sources, rules, self.output.clone()).run()?.tables)
    }
}

#[cfg(test)]
mod tests;
