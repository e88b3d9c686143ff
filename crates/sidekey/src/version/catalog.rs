//! What the manifest says the database holds: collections, attributes, indexes, tables, counters.

use super::edit::{AttributeEntry, Edit, IndexEntry, IndexStatus};
use super::meta::TableMeta;
use super::tree::LEVELS;
use crate::base::ids::{AttributeId, CollectionId, Epoch, FileNumber, Incarnation, Sqn, TreeKind};
use std::collections::BTreeMap;

/// A collection's durable state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CollectionState {
    pub name: String,
    /// Rises with every attribute that is added; an attribute's id is the epoch that it came with, so none is reused.
    pub epoch: Epoch,
    pub attributes: BTreeMap<AttributeId, AttributeEntry>,
    pub indexes: BTreeMap<Incarnation, IndexEntry>,
    /// Everything with a sqn up to this one is in tables.
    pub flushed: Sqn,
    /// The largest sqn of a blind tombstone that was dropped, or of a blind version that it covered: at or below it the blind
    /// versions in tables do not tell whether an entry is stale.
    pub blind_floor: Sqn,
    /// Tables of the two trees by file number, with their levels.
    pub tables: [BTreeMap<FileNumber, (usize, TableMeta)>; 2],
}

/// The whole database's durable state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Catalog {
    pub collections: BTreeMap<CollectionId, CollectionState>,
    /// Log segments below this one are not needed.
    pub log_start: FileNumber,
    /// One past the largest file number that may have been used in a name.
    pub next_file: FileNumber,
    /// Everything written up to this sqn was made durable, in tables or in the log; no table holds anything newer. Sequence numbers go on
    /// after it, whatever the log holds.
    pub durable: Sqn,
    pub next_incarnation: Incarnation,
    pub next_collection: CollectionId,
}

impl CollectionState {
    /// The live attribute of a path, if there is one.
    pub fn attribute_of(&self, path: &str) -> Option<AttributeId> {
        self.attributes.iter().find(|(id, a)| a.path == path && self.is_live(**id)).map(|(id, _)| *id)
    }

    /// Whether an index that is not invalid is on the attribute. One that was dead once stays so: records were written without it.
    pub fn is_live(&self, attribute: AttributeId) -> bool {
        self.indexes.values().any(|i| i.attribute == attribute && i.status != IndexStatus::Invalid)
    }

    fn add_table(&mut self, tree: TreeKind, level: usize, meta: &TableMeta) -> Result<(), &'static str> {
        let tables = &mut self.tables[tree as usize];
        if level >= LEVELS || tables.contains_key(&meta.number) {
            return Err("edit adds a table twice or at an impossible level");
        }
        tables.insert(meta.number, (level, meta.clone()));
        Ok(())
    }

    pub fn tables(&self, tree: TreeKind) -> &BTreeMap<FileNumber, (usize, TableMeta)> {
        &self.tables[tree as usize]
    }
}

impl Catalog {
    pub fn collection_named(&self, name: &str) -> Option<CollectionId> {
        self.collections.iter().find(|(_, c)| c.name == name).map(|(id, _)| *id)
    }

    fn collection(&mut self, id: CollectionId) -> Result<&mut CollectionState, &'static str> {
        self.collections.get_mut(&id).ok_or("edit names an unknown collection")
    }

    /// Applies one edit; the error says what makes it impossible.
    pub fn apply(&mut self, edit: &Edit) -> Result<(), &'static str> {
        match edit {
            Edit::Collection { id, name } => {
                if self.collections.contains_key(id) || self.collection_named(name).is_some() {
                    return Err("edit adds a collection that exists");
                }
                self.next_collection = self.next_collection.max(CollectionId(id.0 + 1));
                self.collections.insert(*id, CollectionState { name: name.clone(), ..Default::default() });
            }
            Edit::Attribute { collection, id, entry } => {
                let c = self.collection(*collection)?;
                c.epoch = c.epoch.max(entry.epoch);
                c.attributes.insert(*id, entry.clone());
            }
            Edit::DropAttribute { collection, id } => {
                let c = self.collection(*collection)?;
                if c.indexes.values().any(|i| i.attribute == *id) {
                    return Err("edit drops an attribute that an index is on");
                }
                c.attributes.remove(id).ok_or("edit drops an unknown attribute")?;
            }
            Edit::Epoch { collection, epoch } => {
                let c = self.collection(*collection)?;
                c.epoch = c.epoch.max(*epoch);
            }
            Edit::Index { collection, incarnation, entry } => {
                let c = self.collection(*collection)?;
                if !c.attributes.contains_key(&entry.attribute) {
                    return Err("edit adds an index on an unknown attribute");
                }
                c.indexes.insert(*incarnation, entry.clone());
                self.next_incarnation = self.next_incarnation.max(Incarnation(incarnation.0 + 1));
            }
            Edit::IndexStatus { collection, incarnation, status, built } => {
                let c = self.collection(*collection)?;
                let index = c.indexes.get_mut(incarnation).ok_or("edit changes an unknown index")?;
                (index.status, index.built) = (*status, *built);
            }
            Edit::DropIndex { collection, incarnation } => {
                self.collection(*collection)?.indexes.remove(incarnation).ok_or("edit drops an unknown index")?;
            }
            Edit::AddTable { collection, tree, level, meta } => {
                self.collection(*collection)?.add_table(*tree, *level, meta)?;
            }
            Edit::RemoveTable { collection, tree, number } => {
                self.collection(*collection)?.tables[*tree as usize]
                    .remove(number)
                    .ok_or("edit removes an unknown table")?;
            }
            Edit::Flushed { collection, sqn } => {
                let c = self.collection(*collection)?;
                c.flushed = c.flushed.max(*sqn);
            }
            Edit::BlindFloor { collection, sqn } => {
                let c = self.collection(*collection)?;
                c.blind_floor = c.blind_floor.max(*sqn);
            }
            Edit::Counters { log_start, next_file, durable, next_incarnation, next_collection } => {
                self.log_start = self.log_start.max(*log_start);
                self.next_file = self.next_file.max(*next_file);
                self.durable = self.durable.max(*durable);
                self.next_incarnation = self.next_incarnation.max(*next_incarnation);
                self.next_collection = self.next_collection.max(*next_collection);
            }
        }
        Ok(())
    }

    /// Edits that make this state from an empty one.
    pub fn as_edits(&self) -> Vec<Edit> {
        let mut edits = vec![];
        for (&collection, c) in &self.collections {
            edits.push(Edit::Collection { id: collection, name: c.name.clone() });
            edits.push(Edit::Epoch { collection, epoch: c.epoch });
            for (&id, entry) in &c.attributes {
                edits.push(Edit::Attribute { collection, id, entry: entry.clone() });
            }
            for (&incarnation, entry) in &c.indexes {
                edits.push(Edit::Index { collection, incarnation, entry: entry.clone() });
            }
            for tree in TreeKind::ALL {
                for (level, meta) in c.tables(tree).values() {
                    edits.push(Edit::AddTable { collection, tree, level: *level, meta: meta.clone() });
                }
            }
            edits.push(Edit::Flushed { collection, sqn: c.flushed });
            edits.push(Edit::BlindFloor { collection, sqn: c.blind_floor });
        }
        edits.push(self.counters());
        edits
    }

    /// The counters as an edit.
    pub fn counters(&self) -> Edit {
        Edit::Counters {
            log_start: self.log_start,
            next_file: self.next_file,
            durable: self.durable,
            next_incarnation: self.next_incarnation,
            next_collection: self.next_collection,
        }
    }

    /// Whether an index that was being built when the database stopped is among the collection's.
    pub fn interrupted_builds(&self) -> Vec<Edit> {
        let mut edits = vec![];
        for (&collection, c) in &self.collections {
            for (&incarnation, index) in &c.indexes {
                if index.status == IndexStatus::Building {
                    let status = IndexStatus::Invalid;
                    edits.push(Edit::IndexStatus { collection, incarnation, status, built: index.built });
                }
            }
        }
        edits
    }
}

#[cfg(test)]
mod tests;
