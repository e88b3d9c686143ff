//! The record header: what the engine knows of a version without reading its value.
//!
//! Purpose: stands before the value in the WAL, the memtable and primary tables, so that maintenance, deferred deletes
//! and index builds read attributes without parsing a value. Owns its format. Depends on ids, coding and the encoding of
//! values. Threads: plain data.
//!
//! Layout:
//!
//! ```text
//! flags      1 byte   bit 0 BLIND: the version that this one overwrote was not known when it was written
//!                     bit 1 OPAQUE: the value was not JSON, so it has no attributes
//!                     bit 2 BEHIND: a version that was overwritten blindly is known to lie behind this one, and its index entries may be left
//! epoch      varint   the state of the attribute catalog that the attributes were extracted under
//! count      varint   number of attributes
//! per attribute, ascending by (id, value), no two the same:
//!   delta    varint   id minus the id before (0 before the first); 0 after the first: one more value of that id
//!   length   varint   1 to 4,096
//!   value    bytes    encoded, see the module `value`
//! ```
//!
//! A tombstone has a header as well: flags and epoch, no attributes.
//!
//! HDR-1: what [`HeaderRef::decode`] accepted iterates without error, and is the only encoding of what it says. The
//! *contents* of the values are not looked at: whoever decodes one gets damage then.
//! HDR-2: flags sit in the first byte alone, so that a writer can set or clear BLIND and BEHIND in bytes that are otherwise final.

use super::coding::{Reader, put_slice, put_varint};
use super::error::{Damage, Error, Result};
use super::ids::{AttributeId, Epoch};
use super::value::{MAX_ENCODED_ATTRIBUTE, Value};
use std::fmt;

#[cfg(test)]
mod tests;

/// The most bytes that a header may take.
pub(crate) const MAX_HEADER: usize = 64 * 1024;

const BLIND: u8 = 1;
const OPAQUE: u8 = 2;
const BEHIND: u8 = 4;

/// What a version leaves in doubt about index entries of older versions of its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// What it overwrote is unknown, and nothing older has been met since.
    pub blind: bool,
    /// It, or a version that it hid, overwrote one blindly, so that entries of that one may be left.
    pub behind: bool,
}

impl Doubt {
    /// Whether an older entry may be stale on its account.
    pub fn any(self) -> bool {
        self.blind || self.behind
    }
}

/// A header in the bytes that hold it; decoding allocates nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeaderRef<'a> {
    bytes: &'a [u8],
    /// What stands after the count.
    list: &'a [u8],
    count: u64,
    epoch: Epoch,
    flags: u8,
}

impl<'a> HeaderRef<'a> {
    /// The header at the front of `bytes`, and what follows it: the value.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<(HeaderRef<'a>, &'a [u8]), Damage> {
        let mut reader = Reader::new(bytes);
        let flags = reader.u8()?;
        if flags & !(BLIND | OPAQUE | BEHIND) != 0 {
            return Err(Damage::new(0, "unknown flag in a record header"));
        }
        let epoch = Epoch(reader.varint32()?);
        let count = reader.varint()?;
        let list_start = reader.position();
        if count > 0 {
            if flags & OPAQUE != 0 {
                return Err(Damage::new(list_start, "record header of an opaque value has attributes"));
            }
            check_list(&mut reader, count)?;
        }
        let (bytes, rest) = bytes.split_at(reader.position());
        if bytes.len() > MAX_HEADER {
            return Err(Damage::new(0, "record header is over its limit"));
        }
        Ok((HeaderRef { bytes, list: &bytes[list_start..], count, epoch, flags }, rest))
    }

    /// Whether the overwritten version was unknown to the writer.
    pub fn is_blind(&self) -> bool {
        self.flags & BLIND != 0
    }

    /// Whether the value is no JSON.
    pub fn is_opaque(&self) -> bool {
        self.flags & OPAQUE != 0
    }

    /// What the attributes were extracted under.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The attributes, ascending by id and then by encoded value.
    #[inline]
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes { reader: Reader::new(self.list), left: self.count, id: 0 }
    }

    /// The encoded values of one attribute, ascending.
    pub fn values_of(&self, id: AttributeId) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let of_id = self.attributes().skip_while(move |(other, _)| *other < id);
        of_id.take_while(move |(other, _)| *other == id).map(|(_, value)| value)
    }

    /// The header's own encoding.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Iterator over the attributes of a header.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'a> {
    reader: Reader<'a>,
    left: u64,
    id: u32,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (AttributeId, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        // HDR-1: the same bytes passed the same reads in `check_list`.
        let Ok((id, value)) = read_attribute(&mut self.reader, self.id) else {
            debug_assert!(false, "a decoded header iterates without error");
            return None;
        };
        self.id = id;
        Some((AttributeId(id), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

#[inline]
fn read_attribute<'a>(reader: &mut Reader<'a>, id_before: u32) -> Result<(u32, &'a [u8]), Damage> {
    let start = reader.position();
    let delta = reader.varint32()?;
    let id = id_before.checked_add(delta).ok_or(Damage::new(start, "attribute id overflows"))?;
    let value = reader.slice()?;
    if value.is_empty() || value.len() > MAX_ENCODED_ATTRIBUTE {
        return Err(Damage::new(start, "attribute has an impossible length"));
    }
    Ok((id, value))
}

fn check_list(reader: &mut Reader<'_>, count: u64) -> Result<(), Damage> {
    let mut before: Option<(u32, &[u8])> = None;
    for _ in 0..count {
        let start = reader.position();
        let (id, value) = read_attribute(reader, before.map_or(0, |(id, _)| id))?;
        if before.is_some_and(|(id_before, value_before)| id == id_before && value <= value_before) {
            return Err(Damage::new(start, "values of an attribute are not ascending"));
        }
        before = Some((id, value));
    }
    Ok(())
}

/// Appends a header. `attributes` must be strictly ascending by (id, value). Over [`MAX_HEADER`] bytes it is refused, and
/// `out` stays as it was.
pub(crate) fn encode<V: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    blind: bool,
    opaque: bool,
    epoch: Epoch,
    attributes: &[(AttributeId, V)],
) -> Result<()> {
    if opaque && !attributes.is_empty() {
        return Err(Error::internal("an opaque value was given attributes"));
    }
    let start = out.len();
    out.push(if blind { BLIND } else { 0 } | if opaque { OPAQUE } else { 0 });
    put_varint(out, epoch.0.into());
    put_varint(out, attributes.len() as u64);
    let mut before: Option<(AttributeId, &[u8])> = None;
    for (id, value) in attributes {
        let this = (*id, value.as_ref());
        if before.is_some_and(|before| before >= this) || this.1.is_empty() || this.1.len() > MAX_ENCODED_ATTRIBUTE {
            out.truncate(start);
            return Err(Error::internal(format!("attribute {id} of a record header is malformed or out of order")));
        }
        put_varint(out, (id.0 - before.map_or(0, |(id, _)| id.0)).into());
        put_slice(out, this.1);
        before = Some(this);
    }
    let size = out.len() - start;
    if size > MAX_HEADER {
        out.truncate(start);
        return Err(Error::invalid(format!(
            "the attributes of a record take {size} bytes with their header, over the limit of {MAX_HEADER}"
        )));
    }
    Ok(())
}

/// Whether the header at the front of `bytes` carries BLIND, without decoding it.
#[inline]
pub(crate) fn is_blind(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|flags| flags & BLIND != 0)
}

/// What the header at the front of `bytes` leaves in doubt, without decoding it.
#[inline]
pub(crate) fn doubt(bytes: &[u8]) -> Doubt {
    let flags = bytes.first().copied().unwrap_or(0);
    Doubt { blind: flags & BLIND != 0, behind: flags & BEHIND != 0 }
}

/// Sets what an encoded header leaves in doubt, in place (HDR-2).
#[inline]
pub(crate) fn set_doubt(header: &mut [u8], doubt: Doubt) {
    debug_assert!(!header.is_empty(), "a header has at least its flags");
    if let Some(flags) = header.first_mut() {
        let wanted = if doubt.blind { BLIND } else { 0 } | if doubt.behind { BEHIND } else { 0 };
        *flags = *flags & !(BLIND | BEHIND) | wanted;
    }
}

/// Sets or clears BLIND in an encoded header, in place (HDR-2).
#[inline]
pub(crate) fn set_blind(header: &mut [u8], blind: bool) {
    debug_assert!(!header.is_empty(), "a header has at least its flags");
    if let Some(flags) = header.first_mut() {
        *flags = (*flags & !BLIND) | if blind { BLIND } else { 0 };
    }
}

/// The text that inspection prints: `epoch 3 blind {1: 42, 2: "a", 2: "b"}`.
impl fmt::Display for HeaderRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {}", self.epoch)?;
        for (flag, name) in
            [(self.is_blind(), " blind"), (self.flags & BEHIND != 0, " behind"), (self.is_opaque(), " opaque")]
        {
            f.write_str(if flag { name } else { "" })?;
        }
        f.write_str(" {")?;
        for (i, (id, bytes)) in self.attributes().enumerate() {
            write!(f, "{}{id}: ", if i == 0 { "" } else { ", " })?;
            match Value::decode(bytes) {
                Ok((value, used)) if used == bytes.len() => write!(f, "{value}")?,
                Ok(_) => write!(f, "damaged (bytes after the value)")?,
                Err(damage) => write!(f, "damaged ({})", damage.what)?,
            }
        }
        f.write_str("}")
    }
}

impl fmt::Debug for HeaderRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header({self})")
    }
}
