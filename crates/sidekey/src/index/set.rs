//! The attributes and indexes of a collection, compiled for writers and readers.

use super::extract::{Extracted, Extractor};
use super::path::JsonPath;
use super::spec::{IndexInfo, IndexSpec, IndexState, Maintenance, Structure, Validator};
use crate::base::error::{Error, Result};
use crate::base::header::{self, Attributes, HeaderRef};
use crate::base::ids::{AttributeId, Epoch, Incarnation, Sqn};
use crate::base::index_key;
use crate::base::key::Kind;
use crate::version::catalog::CollectionState;
use crate::version::edit::{IndexEntry, IndexStatus};

/// The persisted numbers of the choices (never given a second meaning).
pub(crate) mod persisted {
    /// The layout version of composite keys that this build writes and reads.
    pub const COMPOSITE_LAYOUT: u8 = 1;
    pub const COMPOSITE: u8 = 1;
    pub const SYNCHRONOUS: u8 = 1;
    pub const VALIDATED: u8 = 2;
    pub const PRIMARY: u8 = 1;
}

/// One index.
#[derive(Clone, Debug)]
pub(crate) struct IndexDef {
    pub incarnation: Incarnation,
    pub attribute: AttributeId,
    pub built: Sqn,
    pub info: IndexInfo,
}

impl IndexDef {
    pub fn is_ready(&self) -> bool {
        self.info.state == IndexState::Ready
    }

    pub fn is_synchronous(&self) -> bool {
        self.info.spec.maintenance == Maintenance::Synchronous
    }
}

/// Everything about a collection's attributes and indexes; replaced as a whole when one changes.
#[derive(Debug)]
pub(crate) struct IndexSet {
    /// Rises with every change of the set, so that what was prepared under an older one is noticed.
    pub generation: u64,
    pub epoch: Epoch,
    pub indexes: Vec<IndexDef>,
    /// Paths by attribute id.
    pub paths: Vec<(AttributeId, JsonPath)>,
    /// Whether there are indexes that writes must keep up.
    pub has_maintained: bool,
    /// Whether a writer must know the version that it overwrites.
    pub must_read_old: bool,
    /// By attribute.
    maintained: Vec<Maintained>,
    extractor: Extractor,
}

/// An index that writes must keep up: what a write needs of it.
#[derive(Clone, Copy, Debug)]
struct Maintained {
    attribute: AttributeId,
    incarnation: Incarnation,
    built: Sqn,
}

/// How a stored index differs from what this build can serve.
fn spec_of(entry: &IndexEntry, path: &str, file_says: &str) -> Result<IndexSpec> {
    let refuse = |what: &str, stored: u8| {
        Err(Error::Incompatible(format!(
            "index '{}' of collection '{file_says}' was stored with {what} {stored}, which this build does not have; open it \
             with the version that made it and drop the index, or use a newer Sidekey",
            entry.name
        )))
    };
    let structure = match (entry.structure, entry.layout) {
        (persisted::COMPOSITE, persisted::COMPOSITE_LAYOUT) => Structure::Composite,
        (persisted::COMPOSITE, layout) => return refuse("layout version", layout),
        (other, _) => return refuse("structure", other),
    };
    let maintenance = match entry.maintenance {
        persisted::SYNCHRONOUS => Maintenance::Synchronous,
        persisted::VALIDATED => Maintenance::Validated,
        other => return refuse("maintenance", other),
    };
    if entry.validator != persisted::PRIMARY {
        return refuse("validator", entry.validator);
    }
    Ok(IndexSpec {
        name: entry.name.clone(),
        attribute: path.to_owned(),
        structure,
        maintenance,
        validator: Validator::Primary,
    })
}

/// The stored form of a definition, or why this build cannot serve it.
pub(crate) fn entry_of(spec: &IndexSpec, attribute: AttributeId) -> Result<IndexEntry> {
    let unsupported = |what: String| Err(Error::Unsupported(format!("index '{}': {what}", spec.name)));
    if spec.structure != Structure::Composite {
        return unsupported(format!("structure {} is not built in this version; composite is", spec.structure));
    }
    let maintenance = match spec.maintenance {
        Maintenance::Synchronous => persisted::SYNCHRONOUS,
        Maintenance::Validated => persisted::VALIDATED,
        Maintenance::Deferred => {
            return unsupported(
                "maintenance deferred is not built in this version; synchronous and validated are".into(),
            );
        }
    };
    if spec.validator != Validator::Primary {
        return unsupported(format!("validator {} is not built in this version; primary is", spec.validator));
    }
    Ok(IndexEntry {
        name: spec.name.clone(),
        attribute,
        structure: persisted::COMPOSITE,
        layout: persisted::COMPOSITE_LAYOUT,
        maintenance,
        validator: persisted::PRIMARY,
        status: IndexStatus::Building,
        built: Sqn::ZERO,
    })
}

impl IndexSet {
    /// Compiles a collection's state.
    pub fn compile(state: &CollectionState, generation: u64) -> Result<IndexSet> {
        let mut paths = vec![];
        // An attribute that invalid indexes alone are on is dead: it refuses no value and stands in no new header.
        for (id, attribute) in state.attributes.iter().filter(|(id, _)| state.is_live(**id)) {
            paths.push((*id, JsonPath::parse(&attribute.path)?));
        }
        let mut indexes = vec![];
        for (incarnation, entry) in &state.indexes {
            let path = state.attributes.get(&entry.attribute).map_or("", |a| &a.path);
            let index_state = match entry.status {
                IndexStatus::Building => IndexState::Building,
                IndexStatus::Ready => IndexState::Ready,
                IndexStatus::Invalid => IndexState::Invalid,
            };
            let spec = spec_of(entry, path, &state.name)?;
            let info = IndexInfo { spec, state: index_state };
            indexes.push(IndexDef { incarnation: *incarnation, attribute: entry.attribute, built: entry.built, info });
        }
        let extractor = Extractor::new(paths.iter().map(|(id, p)| (*id, p.clone(), p.is_multi())))?;
        let ready = || indexes.iter().filter(|i| i.is_ready());
        let mut maintained: Vec<Maintained> = ready()
            .map(|i| Maintained { attribute: i.attribute, incarnation: i.incarnation, built: i.built })
            .collect();
        maintained.sort_by_key(|index| index.attribute);
        let (has_maintained, must_read_old) = (!maintained.is_empty(), ready().any(IndexDef::is_synchronous));
        let epoch = state.epoch;
        Ok(IndexSet { generation, epoch, indexes, paths, has_maintained, must_read_old, maintained, extractor })
    }

    pub fn named(&self, name: &str) -> Option<&IndexDef> {
        self.indexes.iter().find(|i| i.info.spec.name == name)
    }

    /// Appends the header of a put; the value is parsed once, here. Tells whether the value is opaque.
    pub fn put_header(&self, value: &[u8], scratch: &mut Extracted, out: &mut Vec<u8>) -> Result<bool> {
        self.extractor.extract(value, scratch)?;
        header::encode(out, false, scratch.opaque, self.epoch, &scratch.attributes)?;
        Ok(scratch.opaque)
    }

    /// Appends the header of a tombstone.
    pub fn delete_header(&self, out: &mut Vec<u8>) -> Result<()> {
        header::encode::<&[u8]>(out, false, false, self.epoch, &[])
    }

    /// The header of a stored record under this set's epoch: the stored one, or, if it is older, one made by parsing the value. An attribute that the
    /// value is too long for is left out: no index has it, for a record that is the newest made the build fail, and others are older than the index.
    pub fn current_header(&self, record: &[u8], scratch: &mut Extracted) -> Result<Vec<u8>> {
        let mut out = vec![];
        self.copy_current_header(record, scratch, &mut out)?;
        Ok(out)
    }

    /// Like [`IndexSet::current_header`], into a buffer, whose contents it replaces.
    pub fn copy_current_header(&self, record: &[u8], scratch: &mut Extracted, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let (stored, value) = decode_record(record)?;
        if stored.epoch() >= self.epoch {
            out.extend_from_slice(stored.bytes());
            return Ok(());
        }
        self.extractor.extract_what_fits(value, scratch)?;
        header::encode(out, false, scratch.opaque, self.epoch, &scratch.attributes)
    }

    /// Like [`IndexSet::current_header`], but a record that an attribute cannot take is refused, as it would be if it were written now.
    pub fn complete_header(&self, record: &[u8], scratch: &mut Extracted) -> Result<Vec<u8>> {
        let (stored, value) = decode_record(record)?;
        if stored.epoch() >= self.epoch {
            return Ok(stored.bytes().to_vec());
        }
        let mut out = vec![];
        self.put_header(value, scratch, &mut out)?;
        Ok(out)
    }

    /// The attributes that a value has now, parsed anew.
    pub fn attributes_of(&self, value: &[u8], scratch: &mut Extracted) -> Result<()> {
        self.extractor.extract_what_fits(value, scratch)
    }

    /// What a write brings to the index tree: for each maintained index newer than `built_before` the entries of the new header, and
    /// deletes of the old
    /// header's entries whose key the new one does not have. An unchanged attribute still gets its entry, at the new sqn.
    pub fn changes(
        &self,
        sqn: Sqn,
        pk: &[u8],
        old: Option<&HeaderRef<'_>>,
        new: Option<&HeaderRef<'_>>,
        key: &mut Vec<u8>,
        mut emit: impl FnMut(&[u8], Kind),
    ) {
        // Both headers and the indexes are in the order of attributes: one pass over each, but for several indexes on one attribute.
        let (mut olds, mut news) = (Values::new(old), Values::new(new));
        for index in self.maintained.iter().filter(|i| i.built < sqn) {
            olds.skip_to(index.attribute);
            news.skip_to(index.attribute);
            let (mut olds, mut news) = (olds.clone(), news.clone());
            loop {
                let (old, new) = (olds.value_of(index.attribute), news.value_of(index.attribute));
                let (value, kind) = match (old, new) {
                    (None, None) => break,
                    (Some(old), None) => (old, Kind::Delete),
                    (Some(old), Some(new)) if old < new => (old, Kind::Delete),
                    (_, Some(new)) => (new, Kind::Put),
                };
                if old == Some(value) {
                    olds.advance();
                }
                if new == Some(value) {
                    news.advance();
                }
                index_key::encode_into(key, index.incarnation, value, pk);
                emit(key, kind);
            }
        }
    }
}

/// A walk over the attributes of a header, or of none.
#[derive(Clone)]
struct Values<'a> {
    next: Option<(AttributeId, &'a [u8])>,
    rest: Option<Attributes<'a>>,
}

impl<'a> Values<'a> {
    fn new(header: Option<&HeaderRef<'a>>) -> Self {
        let mut values = Values { next: None, rest: header.map(HeaderRef::attributes) };
        values.advance();
        values
    }

    #[inline]
    fn advance(&mut self) {
        self.next = self.rest.as_mut().and_then(Iterator::next);
    }

    fn skip_to(&mut self, attribute: AttributeId) {
        while self.next.is_some_and(|(id, _)| id < attribute) {
            self.advance();
        }
    }

    /// The value at hand, if it is one of the attribute.
    #[inline]
    fn value_of(&self, attribute: AttributeId) -> Option<&'a [u8]> {
        self.next.filter(|(id, _)| *id == attribute).map(|(_, value)| value)
    }
}

/// Takes a stored record apart.
#[inline]
pub(crate) fn decode_record(record: &[u8]) -> Result<(HeaderRef<'_>, &[u8])> {
    HeaderRef::decode(record)
        .map_err(|d| Error::internal(format!("record header behind a good checksum, byte {}: {}", d.offset, d.what)))
}

/// Decodes a record header that stands alone.
pub(crate) fn decode_header(header: &[u8]) -> Result<HeaderRef<'_>> {
    decode_record(header).map(|(header, _)| header)
}

#[cfg(test)]
mod tests;
