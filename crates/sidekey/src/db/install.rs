//! Installing what background work produced: make the edit durable, then show it.

use super::collection::{CollectionCore, View};
use super::inner::Inner;
use crate::base::error::{Error, Result};
use crate::base::ids::{FileNumber, Sqn, TreeKind};
use crate::env::sync::MutexGuard;
use crate::env::sync::atomic::Ordering;
use crate::tree::{MemPair, Superversion};
use crate::version::{Edit, Manifest, TableFile, TableMeta, TreeVersion, table_path};
use std::sync::Arc;

/// A change of one tree's tables.
#[derive(Clone, Debug)]
pub(super) struct TreeChange {
    pub tree: TreeKind,
    pub removed: Vec<Arc<TableFile>>,
    /// With the level each goes to.
    pub added: Vec<(usize, Arc<TableFile>)>,
}

impl TreeChange {
    fn edits(&self, core: &CollectionCore) -> impl Iterator<Item = Edit> {
        let (collection, tree) = (core.id, self.tree);
        let removed = self.removed.iter().map(move |t| Edit::RemoveTable { collection, tree, number: t.meta.number });
        let added = self.added.iter().map(move |(level, t)| Edit::AddTable {
            collection,
            tree,
            level: *level,
            meta: t.meta.clone(),
        });
        removed.chain(added)
    }

    /// Applies this change to a superversion.
    pub fn show(&self, superversion: &mut Superversion) {
        let version = &mut superversion.versions[self.tree as usize];
        *version = Arc::new(self.apply(version));
    }

    /// The version with this change applied.
    pub fn apply(&self, version: &TreeVersion) -> TreeVersion {
        let removed: Vec<FileNumber> = self.removed.iter().map(|t| t.meta.number).collect();
        version.with(&removed, &self.added)
    }
}

impl Inner {
    /// Opens tables that a job has written; on failure removes them.
    pub fn open_tables(&self, metas: Vec<TableMeta>) -> Result<Vec<Arc<TableFile>>> {
        let opened: Result<Vec<_>> = metas
            .iter()
            .map(|meta| TableFile::open(&self.env.files, &self.dir, meta.clone(), self.cache.clone()))
            .collect();
        if opened.is_err() {
            self.remove_tables(metas.iter().map(|m| m.number));
        }
        opened
    }

    /// Removes files of tables that no edit names; what stays is an orphan that the next open removes.
    pub fn remove_tables(&self, numbers: impl Iterator<Item = FileNumber>) {
        for number in numbers {
            let _ = self.env.files.remove(&table_path(&self.dir, number));
        }
    }

    /// Removes the new tables of changes that certainly are in no edit.
    pub fn remove_added(&self, changes: &[TreeChange]) {
        self.remove_tables(changes.iter().flat_map(|c| &c.added).map(|(_, t)| t.meta.number));
    }

    /// Makes `edits` and the changes of `core`'s trees durable in one record, then shows them by `show`, a pure function of the state.
    /// Re-checks that the inputs are still there.
    pub fn install(
        &self,
        core: &CollectionCore,
        changes: &[TreeChange],
        edits: Vec<Edit>,
        show: impl Fn(&View) -> View,
    ) -> Result<()> {
        self.install_kept_or_not(core, changes, edits, show, false)
    }

    /// Like [`Inner::install`], for a change whose removed table goes on under another level.
    pub fn install_kept(&self, core: &CollectionCore, change: &TreeChange, show: impl Fn(&View) -> View) -> Result<()> {
        self.install_kept_or_not(core, std::slice::from_ref(change), vec![], show, true)
    }

    fn install_kept_or_not(
        &self,
        core: &CollectionCore,
        changes: &[TreeChange],
        mut edits: Vec<Edit>,
        show: impl Fn(&View) -> View,
        keep_files: bool,
    ) -> Result<()> {
        let mut manifest = self.manifest.lock();
        let view = core.view();
        for change in changes {
            let version = view.superversion.version(change.tree);
            if let Some(gone) = change.removed.iter().find(|t| version.find(t.meta.number).is_none()) {
                return Err(Error::internal(format!("table {} left before the job that read it", gone.meta.number)));
            }
            if let Some(what) = change.apply(version).disorder() {
                return Err(Error::internal(format!("collection '{}', {:?} tree: {what}", core.name, change.tree)));
            }
            edits.extend(change.edits(core));
        }
        // The tables' names must be durable before an edit refers to them.
        if changes.iter().any(|c| !c.added.is_empty()) {
            self.env
                .files
                .sync_dir(&self.dir)
                .map_err(|e| self.poison_unless_passing(Error::io(&self.dir, "sync the directory", e)))?;
        }
        let shown = show(&view);
        let log_start = self.log_start(Some((core, &shown)));
        self.commit_edits(&mut manifest, edits, log_start)?;
        core.change(&show);
        drop(manifest);
        if !keep_files {
            changes.iter().flat_map(|c| &c.removed).for_each(|t| t.make_obsolete());
        }
        self.log.remove_below(log_start);
        self.fit_cache();
        Ok(())
    }

    /// Lets the manifest know what is durable, so that later damage to the log's end is told from a tail that was torn by a crash.
    pub fn note_durable(&self) -> Result<()> {
        let mut manifest = self.manifest.lock();
        if manifest.catalog().durable == self.log.durable() {
            return Ok(());
        }
        let edit = Edit::durable(self.log.durable());
        manifest.commit(&[edit]).map_err(|e| self.poison_unless_passing(e))
    }

    /// Makes edits durable that change no table.
    pub fn install_edits(&self, edits: Vec<Edit>) -> Result<()> {
        let mut manifest = self.manifest.lock();
        let log_start = self.log_start(None);
        self.commit_edits(&mut manifest, edits, log_start)
    }

    fn commit_edits(
        &self,
        manifest: &mut MutexGuard<'_, Manifest>,
        mut edits: Vec<Edit>,
        log_start: FileNumber,
    ) -> Result<()> {
        self.check_writable()?;
        let catalog = manifest.catalog();
        edits.push(Edit::Counters {
            log_start,
            next_file: FileNumber(self.next_file.load(Ordering::Relaxed)),
            durable: self.log.durable(),
            next_incarnation: catalog.next_incarnation,
            next_collection: catalog.next_collection,
        });
        manifest.commit(&edits).map_err(|e| self.poison_unless_passing(e))?;
        if manifest.is_long(self.settings.manifest_bytes) {
            let number = self.next_number();
            manifest.set_next_file(number);
            let rewritten = manifest.rewrite();
            self.next_file.fetch_max(manifest.catalog().next_file.0, Ordering::Relaxed);
            match rewritten {
                // The old manifest is still whole and in use.
                Err(Error::NoSpace { .. }) => {}
                other => other.map_err(|e| self.poison_unless_passing(e))?,
            }
        }
        Ok(())
    }
}

/// The state of a collection without any data.
pub(super) fn empty_superversion(memtable_bytes: u64) -> Superversion {
    Superversion {
        active: Arc::new(MemPair::new(memtable_bytes)),
        immutable: vec![],
        versions: Default::default(),
        flushed: Sqn::ZERO,
        blind_floor: Sqn::ZERO,
    }
}
