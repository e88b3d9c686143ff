//! What a table says of itself.
//!
//! Payload: fields `varint tag, slice value` with ascending tags; a number is a varint that fills its slice. Every tag
//! below 128 must be known and present; tags from 128 on are skipped, so that later versions may add what older ones need
//! not understand.

use super::options::Compression;
use crate::base::coding::{Reader, put_slice, put_varint};
use crate::base::error::Damage;
use crate::base::ids::{Sqn, TreeKind};
use crate::base::key::{self, Kind};

/// What a table says of itself. The builder counts; the caller sets what only it knows
/// ([`super::TableBuilder::properties_mut`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Properties {
    /// Number of entries, at least 1.
    pub entries: u64,
    /// How many of them are deletes.
    pub deletes: u64,
    /// First internal key.
    pub smallest: Vec<u8>,
    /// Last internal key.
    pub largest: Vec<u8>,
    /// Smallest sqn.
    pub min_sqn: Sqn,
    /// Largest sqn.
    pub max_sqn: Sqn,
    /// Bytes of all internal keys, before prefix compression.
    pub raw_key_bytes: u64,
    /// Bytes of all values, before compression.
    pub raw_value_bytes: u64,
    /// Bytes of all data blocks as stored.
    pub data_bytes: u64,
    /// The largest sqn of a version in the table whose overwritten version was not known when it was written; zero if
    /// there is none. Set by the caller.
    pub max_blind_sqn: Sqn,
    /// The largest sqn of an overwriting version whose overwritten one is kept in this table only because a snapshot
    /// sees it; zero if there is none. Set by the caller.
    pub hidden_until_sqn: Sqn,
    /// How data blocks were asked to be stored.
    pub compression: Compression,
    /// Which tree the table belongs to.
    pub tree: TreeKind,
}

const KNOWN_TAGS: u64 = 13;
const FIRST_SKIPPED_TAG: u64 = 128;

fn tree_byte(tree: TreeKind) -> u8 {
    match tree {
        TreeKind::Primary => 0,
        TreeKind::Index => 1,
    }
}

impl Properties {
    /// Of a table without entries yet.
    pub fn empty(compression: Compression, tree: TreeKind) -> Self {
        Self {
            entries: 0,
            deletes: 0,
            smallest: Vec::new(),
            largest: Vec::new(),
            min_sqn: Sqn::MAX,
            max_sqn: Sqn::ZERO,
            raw_key_bytes: 0,
            raw_value_bytes: 0,
            data_bytes: 0,
            max_blind_sqn: Sqn::ZERO,
            hidden_until_sqn: Sqn::ZERO,
            compression,
            tree,
        }
    }

    /// Counts an entry; [`Properties::largest`] is left to the caller, who has the last key at hand.
    #[inline]
    pub fn count(&mut self, internal_key: &[u8], sqn: Sqn, kind: Kind, value: &[u8]) {
        if self.entries == 0 {
            self.smallest = internal_key.to_vec();
        }
        self.entries += 1;
        self.deletes += u64::from(kind == Kind::Delete);
        self.min_sqn = self.min_sqn.min(sqn);
        self.max_sqn = self.max_sqn.max(sqn);
        self.raw_key_bytes += internal_key.len() as u64;
        self.raw_value_bytes += value.len() as u64;
    }

    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut number = Vec::new();
        let fields = [
            Field::Number(self.entries),
            Field::Number(self.deletes),
            Field::Bytes(&self.smallest),
            Field::Bytes(&self.largest),
            Field::Number(self.min_sqn.0),
            Field::Number(self.max_sqn.0),
            Field::Number(self.raw_key_bytes),
            Field::Number(self.raw_value_bytes),
            Field::Number(self.data_bytes),
            Field::Number(self.max_blind_sqn.0),
            Field::Number(self.hidden_until_sqn.0),
            Field::Number(u64::from(self.compression.to_byte())),
            Field::Number(u64::from(tree_byte(self.tree))),
        ];
        for (tag, field) in (1..).zip(fields) {
            put_varint(&mut out, tag);
            match field {
                Field::Bytes(bytes) => put_slice(&mut out, bytes),
                Field::Number(n) => {
                    number.clear();
                    put_varint(&mut number, n);
                    put_slice(&mut out, &number);
                }
            }
        }
        out
    }

    /// Decodes the payload that [`Properties::encode`] made.
    pub fn decode(payload: &[u8]) -> Result<Properties, Damage> {
        let mut reader = Reader::new(payload);
        let mut found = Properties::empty(Compression::None, TreeKind::Primary);
        let mut last = 0;
        while !reader.is_empty() {
            let at = reader.position();
            let (tag, value) = (reader.varint()?, reader.slice()?);
            let expected = if last < KNOWN_TAGS { tag == last + 1 } else { tag > last && tag >= FIRST_SKIPPED_TAG };
            if !expected {
                return Err(Damage::new(at, "property unknown, missing or out of order"));
            }
            if tag <= KNOWN_TAGS {
                found.set(tag, value).map_err(|damage| Damage::new(at, damage.what))?;
            }
            last = tag;
        }
        if last < KNOWN_TAGS {
            return Err(reader.damage("property missing"));
        }
        found.check()?;
        Ok(found)
    }

    fn set(&mut self, tag: u64, value: &[u8]) -> Result<(), Damage> {
        match tag {
            1 => self.entries = number(value)?,
            2 => self.deletes = number(value)?,
            3 => self.smallest = internal_key(value)?,
            4 => self.largest = internal_key(value)?,
            5 => self.min_sqn = sqn(value)?,
            6 => self.max_sqn = sqn(value)?,
            7 => self.raw_key_bytes = number(value)?,
            8 => self.raw_value_bytes = number(value)?,
            9 => self.data_bytes = number(value)?,
            10 => self.max_blind_sqn = sqn(value)?,
            11 => self.hidden_until_sqn = sqn(value)?,
            12 => {
                let byte = u8::try_from(number(value)?).ok();
                self.compression =
                    byte.and_then(Compression::from_byte).ok_or(Damage::new(0, "unknown compression"))?;
            }
            _ => {
                let tag = number(value)?;
                let tree = TreeKind::ALL.into_iter().find(|tree| u64::from(tree_byte(*tree)) == tag);
                self.tree = tree.ok_or(Damage::new(0, "unknown tree"))?;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Damage> {
        if self.entries == 0 || self.deletes > self.entries {
            return Err(Damage::new(0, "impossible number of entries"));
        }
        if self.min_sqn > self.max_sqn || key::compare(&self.smallest, &self.largest).is_gt() {
            return Err(Damage::new(0, "smallest property above largest"));
        }
        Ok(())
    }
}

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn number(value: &[u8]) -> Result<u64, Damage> {
    let mut reader = Reader::new(value);
    let n = reader.varint()?;
    if reader.is_empty() { Ok(n) } else { Err(Damage::new(0, "bytes after a number")) }
}

fn sqn(value: &[u8]) -> Result<Sqn, Damage> {
    Some(Sqn(number(value)?)).filter(|sqn| *sqn <= Sqn::MAX).ok_or(Damage::new(0, "sqn out of range"))
}

fn internal_key(value: &[u8]) -> Result<Vec<u8>, Damage> {
    key::decode(value).map(|_| value.to_vec()).ok_or(Damage::new(0, "not an internal key"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn sample() -> Properties {
        let mut sample = Properties::empty(Compression::Lz4, TreeKind::Index);
        sample.count(&key::encode(b"a", Sqn(300), Kind::Put), Sqn(300), Kind::Put, b"value");
        sample.count(&key::encode(b"b", Sqn(7), Kind::Delete), Sqn(7), Kind::Delete, b"");
        sample.largest = key::encode(b"b", Sqn(7), Kind::Delete);
        sample.data_bytes = 99;
        sample.max_blind_sqn = Sqn(300);
        sample.hidden_until_sqn = Sqn(Sqn::MAX.0);
        sample
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_damage(bytes in vec(any::<u8>(), 0..100)) {
            let _ = Properties::decode(&bytes);
        }

        #[test]
        fn a_changed_byte_never_panics(at: prop::sample::Index, byte: u8) {
            let mut bytes = sample().encode();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = Properties::decode(&bytes);
        }
    }

    #[test]
    fn properties_round_trip() {
        assert_eq!(Properties::decode(&sample().encode()), Ok(sample()));
    }

    #[test]
    fn later_fields_are_skipped_from_tag_128_and_refused_below() {
        let mut bytes = sample().encode();
        let plain = bytes.len();
        put_varint(&mut bytes, 128);
        put_slice(&mut bytes, b"from a later version");
        assert_eq!(Properties::decode(&bytes), Ok(sample()));
        bytes.truncate(plain);
        put_varint(&mut bytes, 14);
        put_slice(&mut bytes, b"from a later version");
        assert_eq!(Properties::decode(&bytes), Err(Damage::new(plain, "property unknown, missing or out of order")));
    }

    #[test]
    fn a_missing_field_is_damage() {
        let bytes = sample().encode();
        assert_eq!(Properties::decode(&bytes[..bytes.len() - 3]).unwrap_err().what, "property missing");
    }
}
