//! Creating and dropping indexes.
//!
//! A build blocks writers: it runs as the leader of the write queue, so the records that it reads are exactly those up to the visible sqn.
//!
//! - DB-8: an index's incarnation is durable as `building` before the first entry is written; entries and `ready` come in one edit. A
//!   crash between leaves an
//!   index that the next open declares invalid, and orphans.
//! - DB-9: the log is durable through the build's sqn before the entries are installed: a table may hold nothing that recovery could lose.
//! - DB-10: entries go to the last level, as the oldest of the tree: their incarnation is the largest so far, so their keys stand after all others.

use super::collection::{CollectionCore, View, no_index};
use super::inner::Inner;
use super::install::TreeChange;
use crate::base::error::{Error, Result};
use crate::base::ids::{AttributeId, Epoch, Incarnation, Sqn, TreeKind};
use crate::base::index_key;
use crate::base::key::Kind;
use crate::base::planted::{Fault, planted};
use crate::index::extract::Extracted;
use crate::index::path::JsonPath;
use crate::index::set::{IndexSet, decode_record, entry_of};
use crate::index::sort::EntrySorter;
use crate::index::spec::{IndexSpec, IndexState};
use crate::table::ReadMode;
use crate::tree::{KeyRange, VisibleIter};
use crate::version::catalog::Catalog;
use crate::version::edit::{AttributeEntry, IndexEntry, IndexStatus};
use crate::version::{Edit, LEVELS, TableFile};
use std::sync::Arc;

/// Indexes of one collection.
const MAX_INDEXES: usize = 64;
/// Bytes of an index's name.
const MAX_NAME: usize = 255;

/// Where a new index stands.
struct Planned {
    incarnation: Incarnation,
    attribute: AttributeId,
    entry: IndexEntry,
}

impl Inner {
    /// See [`crate::Collection::create_index`].
    pub fn create_index(&self, core: &Arc<CollectionCore>, spec: &IndexSpec) -> Result<()> {
        self.check_writable()?;
        let (path, spec) = checked(spec)?;
        let _one = self.compaction.lock();
        let _no_flush = self.flushing.lock();
        self.queue.lead(|| {
            let view = core.view();
            if let Some(existing) = view.set.named(&spec.name) {
                if existing.info.spec != spec {
                    return Err(Error::Conflict(format!(
                        "index '{}' exists with another definition: {}; drop it first, or choose another name",
                        spec.name,
                        describe(&existing.info.spec)
                    )));
                }
                if existing.info.state == IndexState::Ready {
                    return Ok(());
                }
                self.drop_incarnation(core, existing.incarnation)?;
            } else if view.set.indexes.len() >= MAX_INDEXES {
                return Err(Error::invalid(format!("a collection has at most {MAX_INDEXES} indexes")));
            }
            let planned = self.begin_build(core, &spec, &path)?;
            let built = self.build(core, &planned);
            if built.is_err() {
                // Durably, if that is possible; if not, the next open says the same.
                let _ = self.set_status(core, planned.incarnation, IndexStatus::Invalid, Sqn::ZERO);
            }
            built
        })
    }

    /// Makes the attribute and the index, as `building`, durable.
    fn begin_build(&self, core: &CollectionCore, spec: &IndexSpec, path: &JsonPath) -> Result<Planned> {
        let (incarnation, attribute, epoch) = {
            let manifest = self.manifest.lock();
            let catalog = manifest.catalog();
            let state =
                catalog.collections.get(&core.id).ok_or_else(|| Error::internal("an open collection is unknown"))?;
            let incarnation = Incarnation(catalog.next_incarnation.0.max(1));
            match state.attribute_of(&path.to_string()) {
                Some(id) => (incarnation, id, None),
                None => (incarnation, AttributeId(state.epoch.0 + 1), Some(Epoch(state.epoch.0 + 1))),
            }
        };
        let entry = entry_of(spec, attribute)?;
        let mut edits = vec![];
        if let Some(epoch) = epoch {
            let entry = AttributeEntry { path: path.to_string(), epoch };
            edits.push(Edit::Attribute { collection: core.id, id: attribute, entry });
        }
        edits.push(Edit::Index { collection: core.id, incarnation, entry: entry.clone() });
        self.install_edits(edits)?;
        self.recompile(core)?;
        Ok(Planned { incarnation, attribute, entry })
    }

    /// Reads every visible record, writes the entries, installs them with `ready`.
    fn build(&self, core: &Arc<CollectionCore>, planned: &Planned) -> Result<()> {
        let view = core.view();
        let built = self.visible();
        // DB-9.
        self.sync_log()?;
        let output = self.output(TreeKind::Index);
        let mut sorter = EntrySorter::new(output, self.settings.memory_budget_bytes as usize / 4, self.cache.clone());
        self.collect_entries(&view, planned, built, &mut sorter)?;
        let metas = sorter.finish()?;
        let tables = self.open_tables(metas)?;
        let added: Vec<(usize, Arc<TableFile>)> = tables.into_iter().map(|t| (LEVELS - 1, t)).collect();
        let change = TreeChange { tree: TreeKind::Index, removed: vec![], added };
        let edit = Edit::IndexStatus {
            collection: core.id,
            incarnation: planned.incarnation,
            status: IndexStatus::Ready,
            built,
        };
        let mut set = None;
        {
            // The compiled set that goes with the edit, made before it is installed so that both are shown at once.
            let manifest = self.manifest.lock();
            let mut catalog: Catalog = manifest.catalog().clone();
            catalog.apply(&edit).map_err(Error::internal)?;
            if let Some(state) = catalog.collections.get(&core.id) {
                set = Some(Arc::new(IndexSet::compile(state, view.set.generation + 1)?));
            }
        }
        let set = set.ok_or_else(|| Error::internal("an open collection is unknown"))?;
        let done = self.install(core, std::slice::from_ref(&change), vec![edit], |view| View {
            set: set.clone(),
            ..view.with(|next| change.show(next))
        });
        if matches!(done, Err(Error::NoSpace { .. })) {
            self.remove_added(std::slice::from_ref(&change));
        }
        done
    }

    fn collect_entries(&self, view: &View, planned: &Planned, built: Sqn, sorter: &mut EntrySorter) -> Result<()> {
        let input = view.superversion.tree(TreeKind::Primary).iter(ReadMode::Bulk);
        let mut records = VisibleIter::new(input, KeyRange::default(), built, false);
        let mut scratch = Extracted::default();
        let mut key = vec![];
        while records.advance()? {
            // A record older than the attribute does not have it in its header: its value is parsed.
            let header = view.set.complete_header(records.value(), &mut scratch).map_err(|e| {
                let pk = String::from_utf8_lossy(records.key());
                Error::invalid(format!("index '{}': record '{pk}': {e}", planned.entry.name))
            })?;
            let header = if planted(Fault::BuildTrustsOldHeaders) { records.value().to_vec() } else { header };
            let (header, _) = decode_record(&header)?;
            for value in header.values_of(planned.attribute) {
                index_key::encode_into(&mut key, planned.incarnation, value, records.key());
                sorter.add(&key, records.sqn(), Kind::Put)?;
            }
        }
        Ok(())
    }

    /// See [`crate::Collection::drop_index`].
    pub fn drop_index(&self, core: &Arc<CollectionCore>, name: &str) -> Result<()> {
        self.check_writable()?;
        self.queue.lead(|| {
            let view = core.view();
            let index = view.set.named(name).ok_or_else(|| no_index(core, &view.set, name))?;
            self.drop_incarnation(core, index.incarnation)
        })?;
        self.post_work();
        Ok(())
    }

    /// Drops an index, and its attribute if no other index is on it. Only the leader calls this.
    fn drop_incarnation(&self, core: &CollectionCore, incarnation: Incarnation) -> Result<()> {
        let view = core.view();
        let mut edits = vec![Edit::DropIndex { collection: core.id, incarnation }];
        let dropped = view.set.indexes.iter().find(|i| i.incarnation == incarnation);
        if let Some(dropped) = dropped {
            let others = view.set.indexes.iter().filter(|i| i.attribute == dropped.attribute).count();
            if others == 1 {
                edits.push(Edit::Epoch { collection: core.id, epoch: view.set.epoch });
                edits.push(Edit::DropAttribute { collection: core.id, id: dropped.attribute });
            }
        }
        self.install_edits(edits)?;
        self.recompile(core)
    }

    fn set_status(
        &self,
        core: &CollectionCore,
        incarnation: Incarnation,
        status: IndexStatus,
        built: Sqn,
    ) -> Result<()> {
        self.install_edits(vec![Edit::IndexStatus { collection: core.id, incarnation, status, built }])?;
        self.recompile(core)
    }

    /// Shows the manifest's index set to readers and writers.
    fn recompile(&self, core: &CollectionCore) -> Result<()> {
        let manifest = self.manifest.lock();
        let state = manifest.catalog().collections.get(&core.id);
        let state = state.ok_or_else(|| Error::internal("an open collection is unknown"))?;
        let set = Arc::new(IndexSet::compile(state, core.view().set.generation + 1)?);
        core.change(|view| View { set: set.clone(), ..view.clone() });
        Ok(())
    }
}

/// The parsed path, and the definition with the path in its canonical form.
fn checked(spec: &IndexSpec) -> Result<(JsonPath, IndexSpec)> {
    if spec.name.is_empty() || spec.name.len() > MAX_NAME {
        return Err(Error::invalid(format!(
            "an index's name has 1 to {MAX_NAME} bytes; this one has {}",
            spec.name.len()
        )));
    }
    let path = JsonPath::parse(&spec.attribute)?;
    if path.is_multi() {
        return Err(Error::Unsupported(format!(
            "index '{}': multi-valued paths ([*]) are not built in this version; '{path}' has one",
            spec.name
        )));
    }
    entry_of(spec, AttributeId::default())?;
    let canonical = IndexSpec { attribute: path.to_string(), ..spec.clone() };
    Ok((path, canonical))
}

fn describe(spec: &IndexSpec) -> String {
    format!("{} on {}, {} maintenance, validator {}", spec.structure, spec.attribute, spec.maintenance, spec.validator)
}
