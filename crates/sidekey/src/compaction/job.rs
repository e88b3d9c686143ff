//! Runs a plan, or a flush, in steps.

use super::hooks::{EntryFilter, Events};
use super::retain::{Retain, Retained};
use crate::base::error::{Error, Result};
use crate::base::header;
use crate::base::ids::{FileNumber, Sqn, TreeKind};
use crate::base::index_key;
use crate::base::iter::SortedIter;
use crate::base::key::{self, Kind};
use crate::base::planted::{Fault, planted};
use crate::env::{FileSystem, OpenMode};
use crate::iter::MergeIter;
use crate::table::{TableBuilder, TableOptions};
use crate::version::{Source, TableMeta, table_path};
use std::path::PathBuf;
use std::sync::Arc;

/// Where a job is after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

/// How and where a job writes its tables.
#[derive(Clone)]
pub(crate) struct Output {
    pub files: Arc<dyn FileSystem>,
    pub dir: PathBuf,
    pub options: TableOptions,
    /// Size at which a table is closed, in bytes, or [`ONE_TABLE`]; tables are cut between user keys only (CMP-4), and where another index begins.
    pub table_bytes: u64,
    /// Gives out file numbers.
    pub next_number: Arc<dyn Fn() -> FileNumber + Send + Sync>,
}

/// A table size for a job whose whole output is one table: a run of level 0.
pub(crate) const ONE_TABLE: u64 = u64::MAX;

/// What decides about the versions.
pub(crate) struct Rules {
    pub tree: TreeKind,
    /// Every sqn at which somebody may read, with the visible head.
    pub stripes: Vec<Sqn>,
    /// CMP-2.
    pub bottom: bool,
    pub filter: Option<Box<dyn EntryFilter>>,
}

/// What a finished job brings.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub tables: Vec<TableMeta>,
    pub events: Events,
    pub blind_floor: Sqn,
    pub written_bytes: u64,
}

/// A merge in progress.
pub(crate) struct Job {
    input: MergeIter<Source>,
    output: Output,
    retain: Retain,
    filter: Option<Box<dyn EntryFilter>>,
    writer: Writer,
    /// The key whose versions are being collected.
    user_key: Vec<u8>,
    started: bool,
}

/// The table being written and those that are finished.
#[derive(Default)]
struct Writer {
    open: Option<(FileNumber, TableBuilder)>,
    /// The file that was begun and is not among `done` yet.
    unfinished: Option<FileNumber>,
    done: Vec<TableMeta>,
    /// An internal key, rebuilt.
    key: Vec<u8>,
}

/// Entries that one step handles, so that a step takes about a millisecond.
const STEP_ENTRIES: usize = 1024;

impl Job {
    /// `sources` youngest first.
    pub fn new(sources: Vec<Source>, rules: Rules, output: Output) -> Self {
        Self {
            input: MergeIter::new(sources),
            output,
            retain: Retain::new(rules.tree, rules.stripes, rules.bottom),
            filter: rules.filter,
            writer: Writer::default(),
            user_key: vec![],
            started: false,
        }
    }

    /// Handles some entries. After an error the job is to be dropped, which removes what it wrote.
    pub fn step(&mut self) -> Result<Progress> {
        if !self.started {
            self.input.seek_to_first()?;
            self.started = true;
        }
        let Self { input, output, retain, filter, writer, user_key: current, .. } = self;
        for _ in 0..STEP_ENTRIES {
            if !input.valid() {
                end_key(retain, filter, writer, output, current)?;
                return Ok(Progress::Done);
            }
            let (internal_key, value) = (input.key(), input.value());
            let (user_key, sqn, kind) =
                key::decode(internal_key).ok_or_else(|| Error::internal("a merge met a key that is none"))?;
            if user_key != current.as_slice() {
                end_key(retain, filter, writer, output, current)?;
                current.clear();
                current.extend_from_slice(user_key);
            }
            // The usual case: nothing that comes after it can drop a newest version that is a put, so it goes straight to the table.
            if retain.is_empty() && kind == Kind::Put && filter.is_none() {
                writer.cut_before(output, user_key)?;
                writer.write(output, internal_key, value)?;
                retain.add_written(sqn, value);
            } else {
                retain.add(sqn, kind, value)?;
            }
            input.next()?;
        }
        Ok(Progress::More)
    }

    /// Closes the last table. The tables are the caller's then.
    pub fn finish(mut self) -> Result<Outcome> {
        self.writer.close()?;
        Ok(Outcome {
            written_bytes: self.writer.done.iter().map(|t| t.size_bytes).sum(),
            tables: std::mem::take(&mut self.writer.done),
            events: std::mem::take(&mut self.retain.events),
            blind_floor: self.retain.blind_floor,
        })
    }

    /// All steps and the end in one call.
    pub fn run(mut self) -> Result<Outcome> {
        while self.step()? == Progress::More {}
        self.finish()
    }
}

/// Writes what stays of a key and is not written yet.
#[inline]
fn end_key(
    retain: &mut Retain,
    filter: &mut Option<Box<dyn EntryFilter>>,
    writer: &mut Writer,
    output: &Output,
    user_key: &[u8],
) -> Result<()> {
    let mut first = true;
    retain.finish(user_key, filter.as_deref_mut(), |version| {
        let first = std::mem::take(&mut first);
        if let Some(value) = version.value {
            if first || planted(Fault::VersionsCutApart) {
                writer.cut_before(output, user_key)?;
            }
            writer.write_version(output, user_key, &version, value)?;
        }
        writer.settle(output.options.tree, &version)
    })
}

impl Drop for Job {
    /// Tables that nobody took over take up space; on a full disk, for ever, were they left to the next open.
    fn drop(&mut self) {
        let open = self.writer.unfinished.take();
        for number in self.writer.done.iter().map(|t| t.number).chain(open) {
            let _ = self.output.files.remove(&table_path(&self.output.dir, number));
        }
    }
}

impl Writer {
    /// Closes the table if it is full, or if the key begins another index: the entries of a dropped index then fill tables of their own, which the
    /// policy sees by their ends.
    fn cut_before(&mut self, output: &Output, user_key: &[u8]) -> Result<()> {
        let Some((_, builder)) = &self.open else { return Ok(()) };
        let border = output.options.tree == TreeKind::Index
            && output.table_bytes != ONE_TABLE
            && index_key::incarnation(builder.last_key()) != index_key::incarnation(user_key);
        if border || builder.estimated_size() >= output.table_bytes { self.close() } else { Ok(()) }
    }

    /// Appends a version to the open table, or to a new one.
    #[inline]
    fn write(&mut self, output: &Output, internal_key: &[u8], value: &[u8]) -> Result<()> {
        match &mut self.open {
            Some((_, builder)) => builder.add(internal_key, value),
            None => self.begin(output)?.add(internal_key, value),
        }
    }

    fn write_version(&mut self, output: &Output, user_key: &[u8], version: &Retained<'_>, value: &[u8]) -> Result<()> {
        let mut internal_key = std::mem::take(&mut self.key);
        key::encode_into(&mut internal_key, user_key, version.sqn, version.kind);
        let done = self.write(output, &internal_key, value);
        self.key = internal_key;
        done
    }

    /// Gives the version that was written last the doubt it is to carry, and lets the table's properties know of it.
    #[inline]
    fn settle(&mut self, tree: TreeKind, version: &Retained<'_>) -> Result<()> {
        let Some((_, builder)) = &mut self.open else { return Err(Error::internal("no table is open")) };
        let properties = builder.properties_mut();
        if version.doubt.any() {
            properties.max_blind_sqn = properties.max_blind_sqn.max(version.sqn);
        }
        properties.hidden_until_sqn = properties.hidden_until_sqn.max(version.hidden_by);
        if tree == TreeKind::Primary {
            let value = builder.last_value_mut();
            // Resolved or inherited: the flags are set in the header that was written.
            if header::doubt(value) != version.doubt {
                header::set_doubt(value, version.doubt);
            }
        }
        Ok(())
    }

    #[cold]
    fn begin(&mut self, output: &Output) -> Result<&mut TableBuilder> {
        let number = (output.next_number)();
        let path = table_path(&output.dir, number);
        let file =
            output.files.open(&path, OpenMode::CreateNew).map_err(|e| Error::io(&path, "create the table", e))?;
        self.unfinished = Some(number);
        let builder = TableBuilder::new(file, path, number, output.options.clone());
        Ok(&mut self.open.insert((number, builder)).1)
    }

    fn close(&mut self) -> Result<()> {
        if let Some((number, builder)) = self.open.take() {
            let summary = builder.finish()?;
            self.unfinished = None;
            self.done.push(TableMeta::new(number, &summary));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
