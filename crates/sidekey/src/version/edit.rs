//! Changes of the durable state, and their encoding.
//!
//! A manifest record is a list of edits, each a tag byte and its fields; numbers are varints, strings and keys are
//! length-prefixed. A tag is never given a second meaning.

use super::meta::TableMeta;
use crate::base::coding::{Reader, put_slice, put_varint};
use crate::base::error::Damage;
use crate::base::ids::{AttributeId, CollectionId, Epoch, FileNumber, Incarnation, Sqn, TreeKind};

/// An attribute of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttributeEntry {
    /// Canonical JSON path.
    pub path: String,
    /// Headers of this epoch or a newer one hold the attribute, if the record has it.
    pub epoch: Epoch,
}

/// How far an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum IndexStatus {
    Building = 0,
    Ready = 1,
    Invalid = 2,
}

/// An index of a collection. `structure`, `maintenance` and `validator` are persisted ids (see the index layer).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub name: String,
    pub attribute: AttributeId,
    pub structure: u8,
    /// The structure's layout version.
    pub layout: u8,
    pub maintenance: u8,
    pub validator: u8,
    pub status: IndexStatus,
    /// The index holds entries for records as of this sqn and for all writes after it; it answers no older snapshot.
    pub built: Sqn,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Collection {
        id: CollectionId,
        name: String,
    },
    Attribute {
        collection: CollectionId,
        id: AttributeId,
        entry: AttributeEntry,
    },
    DropAttribute {
        collection: CollectionId,
        id: AttributeId,
    },
    /// The collection's epoch is at least this: also when the newest attribute is gone.
    Epoch {
        collection: CollectionId,
        epoch: Epoch,
    },
    Index {
        collection: CollectionId,
        incarnation: Incarnation,
        entry: IndexEntry,
    },
    IndexStatus {
        collection: CollectionId,
        incarnation: Incarnation,
        status: IndexStatus,
        built: Sqn,
    },
    DropIndex {
        collection: CollectionId,
        incarnation: Incarnation,
    },
    AddTable {
        collection: CollectionId,
        tree: TreeKind,
        level: usize,
        meta: TableMeta,
    },
    RemoveTable {
        collection: CollectionId,
        tree: TreeKind,
        number: FileNumber,
    },
    Flushed {
        collection: CollectionId,
        sqn: Sqn,
    },
    BlindFloor {
        collection: CollectionId,
        sqn: Sqn,
    },
    /// Each counter only rises.
    Counters {
        log_start: FileNumber,
        next_file: FileNumber,
        durable: Sqn,
        next_incarnation: Incarnation,
        next_collection: CollectionId,
    },
}

fn start(out: &mut Vec<u8>, tag: u8, collection: CollectionId) {
    out.push(tag);
    put_varint(out, collection.0.into());
}

impl Edit {
    /// Appends the edit's encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Edit::Collection { id, name } => {
                start(out, 1, *id);
                put_slice(out, name.as_bytes());
            }
            Edit::Attribute { collection, id, entry } => {
                start(out, 2, *collection);
                put_varint(out, id.0.into());
                put_varint(out, entry.epoch.0.into());
                put_slice(out, entry.path.as_bytes());
            }
            Edit::DropAttribute { collection, id } => {
                start(out, 11, *collection);
                put_varint(out, id.0.into());
            }
            Edit::Epoch { collection, epoch } => {
                start(out, 12, *collection);
                put_varint(out, epoch.0.into());
            }
            Edit::Index { collection, incarnation, entry: e } => {
                start(out, 3, *collection);
                put_varint(out, incarnation.0.into());
                put_slice(out, e.name.as_bytes());
                put_varint(out, e.attribute.0.into());
                out.extend([e.structure, e.layout, e.maintenance, e.validator, e.status as u8]);
                put_varint(out, e.built.0);
            }
            Edit::IndexStatus { collection, incarnation, status, built } => {
                start(out, 4, *collection);
                put_varint(out, incarnation.0.into());
                out.push(*status as u8);
                put_varint(out, built.0);
            }
            Edit::DropIndex { collection, incarnation } => {
                start(out, 5, *collection);
                put_varint(out, incarnation.0.into());
            }
            Edit::AddTable { collection, tree, level, meta } => {
                start(out, 6, *collection);
                out.extend([*tree as u8, *level as u8]);
                meta.encode(out);
            }
            Edit::RemoveTable { collection, tree, number } => {
                start(out, 7, *collection);
                out.push(*tree as u8);
                put_varint(out, number.0);
            }
            Edit::Flushed { collection, sqn } => {
                start(out, 8, *collection);
                put_varint(out, sqn.0);
            }
            Edit::BlindFloor { collection, sqn } => {
                start(out, 9, *collection);
                put_varint(out, sqn.0);
            }
            Edit::Counters { log_start, next_file, durable, next_incarnation, next_collection } => {
                start(out, 10, *next_collection);
                for n in [log_start.0, next_file.0, durable.0, next_incarnation.0.into()] {
                    put_varint(out, n);
                }
            }
        }
    }

    /// An edit that changes nothing: counters only rise.
    pub fn nothing() -> Edit {
        Edit::durable(Sqn::ZERO)
    }

    /// An edit that says through which sqn everything is durable.
    pub fn durable(durable: Sqn) -> Edit {
        Edit::Counters {
            log_start: FileNumber::default(),
            next_file: FileNumber::default(),
            durable,
            next_incarnation: Incarnation::default(),
            next_collection: CollectionId::default(),
        }
    }

    /// The next edit of a record.
    pub fn decode(r: &mut Reader<'_>) -> Result<Edit, Damage> {
        let at = r.position();
        let tag = r.u8()?;
        let collection = CollectionId(r.varint32()?);
        let sqn = |r: &mut Reader<'_>| Ok::<_, Damage>(Sqn(r.varint()?));
        Ok(match tag {
            1 => Edit::Collection { id: collection, name: r.string()?.to_owned() },
            2 => {
                let id = AttributeId(r.varint32()?);
                let epoch = Epoch(r.varint32()?);
                Edit::Attribute { collection, id, entry: AttributeEntry { path: r.string()?.to_owned(), epoch } }
            }
            3 => Edit::Index { collection, incarnation: Incarnation(r.varint32()?), entry: decode_index(r)? },
            4 => {
                let incarnation = Incarnation(r.varint32()?);
                Edit::IndexStatus { collection, incarnation, status: decode_status(r)?, built: sqn(r)? }
            }
            5 => Edit::DropIndex { collection, incarnation: Incarnation(r.varint32()?) },
            6 => {
                let tree = decode_tree(r)?;
                let level = usize::from(r.u8()?);
                Edit::AddTable { collection, tree, level, meta: TableMeta::decode(r)? }
            }
            7 => Edit::RemoveTable { collection, tree: decode_tree(r)?, number: FileNumber(r.varint()?) },
            8 => Edit::Flushed { collection, sqn: sqn(r)? },
            9 => Edit::BlindFloor { collection, sqn: sqn(r)? },
            10 => Edit::Counters {
                next_collection: collection,
                log_start: FileNumber(r.varint()?),
                next_file: FileNumber(r.varint()?),
                durable: sqn(r)?,
                next_incarnation: Incarnation(r.varint32()?),
            },
            11 => Edit::DropAttribute { collection, id: AttributeId(r.varint32()?) },
            12 => Edit::Epoch { collection, epoch: Epoch(r.varint32()?) },
            _ => return Err(Damage::new(at, "unknown kind of manifest edit")),
        })
    }
}

fn decode_tree(r: &mut Reader<'_>) -> Result<TreeKind, Damage> {
    match r.u8()? {
        0 => Ok(TreeKind::Primary),
        1 => Ok(TreeKind::Index),
        _ => Err(r.damage("unknown tree")),
    }
}

fn decode_status(r: &mut Reader<'_>) -> Result<IndexStatus, Damage> {
    match r.u8()? {
        0 => Ok(IndexStatus::Building),
        1 => Ok(IndexStatus::Ready),
        2 => Ok(IndexStatus::Invalid),
        _ => Err(r.damage("unknown state of an index")),
    }
}

fn decode_index(r: &mut Reader<'_>) -> Result<IndexEntry, Damage> {
    let name = r.string()?.to_owned();
    let attribute = AttributeId(r.varint32()?);
    let [structure, layout, maintenance, validator] = [r.u8()?, r.u8()?, r.u8()?, r.u8()?];
    let status = decode_status(r)?;
    let built = Sqn(r.varint()?);
    Ok(IndexEntry { name, attribute, structure, layout, maintenance, validator, status, built })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::{self, Kind};

    fn samples() -> Vec<Edit> {
        let collection = CollectionId(3);
        let meta = TableMeta {
            number: FileNumber(9),
            size_bytes: 1000,
            smallest: key::encode(b"a", Sqn(5), Kind::Put),
            largest: key::encode(b"z", Sqn(4), Kind::Delete),
            min_sqn: Sqn(4),
            max_sqn: Sqn(5),
            entries: 2,
            deletes: 1,
            max_blind_sqn: Sqn(4),
            hidden_until_sqn: Sqn(0),
        };
        let entry = IndexEntry {
            name: "by_a".into(),
            attribute: AttributeId(1),
            structure: 1,
            layout: 1,
            maintenance: 2,
            validator: 1,
            status: IndexStatus::Building,
            built: Sqn(7),
        };
        vec![
            Edit::Collection { id: collection, name: "people".into() },
            Edit::Attribute {
                collection,
                id: AttributeId(1),
                entry: AttributeEntry { path: "$.a".into(), epoch: Epoch(1) },
            },
            Edit::Index { collection, incarnation: Incarnation(4), entry },
            Edit::IndexStatus { collection, incarnation: Incarnation(4), status: IndexStatus::Ready, built: Sqn(8) },
            Edit::AddTable { collection, tree: TreeKind::Index, level: 6, meta },
            Edit::RemoveTable { collection, tree: TreeKind::Index, number: FileNumber(9) },
            Edit::DropAttribute { collection, id: AttributeId(1) },
            Edit::Epoch { collection, epoch: Epoch(2) },
            Edit::Flushed { collection, sqn: Sqn(5) },
            Edit::BlindFloor { collection, sqn: Sqn(2) },
            Edit::DropIndex { collection, incarnation: Incarnation(4) },
            Edit::Counters {
                log_start: FileNumber(1),
                next_file: FileNumber(10),
                durable: Sqn(5),
                next_incarnation: Incarnation(5),
                next_collection: CollectionId(4),
            },
        ]
    }

    #[test]
    fn edits_round_trip() {
        let mut bytes = vec![];
        samples().iter().for_each(|e| e.encode(&mut bytes));
        let mut r = Reader::new(&bytes);
        let mut back = vec![];
        while !r.is_empty() {
            back.push(Edit::decode(&mut r).unwrap());
        }
        assert_eq!(back, samples());
    }

    #[test]
    fn every_truncation_is_damage_or_fewer_edits() {
        let mut bytes = vec![];
        samples().iter().for_each(|e| e.encode(&mut bytes));
        for len in 0..bytes.len() {
            let mut r = Reader::new(&bytes[..len]);
            let mut whole = 0;
            while let Ok(e) = Edit::decode(&mut r) {
                assert_eq!(e, samples()[whole]);
                whole += 1;
            }
            assert!(whole < samples().len());
        }
    }
}
