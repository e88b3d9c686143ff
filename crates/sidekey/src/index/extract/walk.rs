//! One pass over a document, guided by the merged paths.
//!
//! A place where a path ends is taken as raw text and read here; what no path asks for is skipped by the parser, which
//! keeps no stack for it. So nothing is built that is not stored, and everything is held to the same grammar whether
//! asked for or not (EXT-1): the parser is stricter with numbers and strings that it delivers (`1e999` and half a surrogate
//! pair are refused) than with those that it skips, and how it delivers numbers hangs on features that any crate of a build
//! may set.
//!
//! Two things are delivered: keys, and what stands where paths only lead *through*, which has to be entered before it is
//! known to be an object or array. When that fails, the document is walked again with `careful` set, which takes them as
//! raw text, too, and parses an object or array from there: slower, and met only by documents that hold such a key, number
//! or string. The same is done at places where one path ends and another leads on.

use super::MAX_ELEMENTS;
use super::trie::{Node, Trie};
use crate::base::value::{MAX_ENCODED_ATTRIBUTE, Value, encode_str, encoded_str_len};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Range;

/// Buffers that are kept for the next record: enough for what records usually hold, not for the largest one ever met.
const SPARE_BUFFERS: usize = 64;

/// Findings of one array beyond which duplicates are dropped before the array ends.
const SQUEEZE_AT: usize = 4 * MAX_ELEMENTS;

/// One value found, for one attribute.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    /// The attribute.
    pub slot: u32,
    /// Zero, or the size of an encoding over the limit. No error yet: a duplicate key may replace the value.
    pub oversize: usize,
    /// The encoded value; empty if oversized.
    pub bytes: Vec<u8>,
    /// Where in the trie it was found.
    node: u32,
}

/// What was found so far, and spare buffers.
#[derive(Debug, Default)]
pub(super) struct Findings {
    found: Vec<Found>,
    spare: Vec<Vec<u8>>,
}

impl Findings {
    pub fn iter(&self) -> impl Iterator<Item = &Found> {
        self.found.iter()
    }

    pub fn drain(&mut self) -> impl Iterator<Item = Found> + '_ {
        self.found.drain(..)
    }

    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, mut bytes: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS {
            bytes.clear();
            self.spare.push(bytes);
        }
    }

    fn truncate(&mut self, len: usize) {
        while self.found.len() > len
            && let Some(found) = self.found.pop()
        {
            self.recycle(found.bytes);
        }
    }

    /// Sorts what was found from `start` on, drops what is there twice, and of each attribute all beyond one more than the
    /// limit: that one tells.
    pub fn squeeze(&mut self, start: usize) {
        let Some(tail) = self.found.get_mut(start..) else { return };
        tail.sort_unstable();
        let mut kept = 0usize;
        let mut of_slot = 0;
        for i in 0..tail.len() {
            if let Some(last) = kept.checked_sub(1) {
                let (last, this) = (&tail[last], &tail[i]);
                if last.slot != this.slot {
                    of_slot = 0;
                } else if of_slot > MAX_ELEMENTS || (last.oversize == this.oversize && last.bytes == this.bytes) {
                    continue;
                }
            }
            tail.swap(kept, i);
            kept += 1;
            of_slot += 1;
        }
        self.truncate(start + kept);
    }

    /// Drops what was found from `start` on at `nodes`: a later duplicate of the key has replaced it.
    fn forget(&mut self, start: usize, nodes: &Range<u32>) {
        let mut kept = start;
        for i in start..self.found.len() {
            if !nodes.contains(&self.found[i].node) {
                self.found.swap(kept, i);
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    fn push(&mut self, trie: &Trie, node: u32, oversize: usize, encode: impl Fn(&mut Vec<u8>) -> bool) {
        for &slot in &trie.node(node).slots {
            let mut bytes = self.spare.pop().unwrap_or_default();
            if oversize > 0 || encode(&mut bytes) {
                self.found.push(Found { slot, oversize, bytes, node });
            }
        }
    }
}

/// Walks `text`; an error means that it is no JSON or, unless `careful`, that it must be walked carefully.
pub(super) fn walk(trie: &Trie, text: &str, careful: bool, findings: &mut Findings) -> serde_json::Result<()> {
    let mut parser = serde_json::Deserializer::from_str(text);
    Walk { trie, node: 0, careful, findings }.deserialize(&mut parser)?;
    parser.end()
}

/// The walk at one place of the document.
struct Walk<'a> {
    trie: &'a Trie,
    node: u32,
    careful: bool,
    findings: &'a mut Findings,
}

impl Walk<'_> {
    fn child(&mut self, node: u32) -> Walk<'_> {
        Walk { trie: self.trie, node, careful: self.careful, findings: self.findings }
    }

    fn value(&mut self, value: Value) {
        // Only NaN could fail to encode, which JSON cannot say.
        self.findings.push(self.trie, self.node, 0, |out| value.encode(out).is_ok());
    }

    fn text(&mut self, text: &str) {
        let size = encoded_str_len(text);
        let oversize = if size > MAX_ENCODED_ATTRIBUTE { size } else { 0 };
        self.findings.push(self.trie, self.node, oversize, |out| encode_str(out, text).is_ok());
    }

    /// A value of the document in its raw form, well-formed by JSON's grammar.
    fn raw(&mut self, raw: &str) {
        match raw.as_bytes().first() {
            Some(b't') => self.value(Value::Bool(true)),
            Some(b'f') => self.value(Value::Bool(false)),
            Some(b'"') => match raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
                Some(inner) if !inner.contains('\\') => self.text(inner),
                _ => {
                    if let Ok(text) = serde_json::from_str::<String>(raw) {
                        self.text(&text);
                    }
                }
            },
            Some(b'-' | b'0'..=b'9') => {
                if let Some(number) = number(raw) {
                    self.value(number);
                }
            }
            _ => {}
        }
    }
}

/// A number in JSON's notation. The standard library rounds correctly.
fn number(raw: &str) -> Option<Value> {
    if let Ok(n) = raw.parse() {
        return Some(Value::Int(n));
    }
    if let Ok(n) = raw.parse() {
        return Some(Value::UInt(n));
    }
    raw.parse().ok().map(Value::Float)
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(mut self, parser: D) -> Result<(), D::Error> {
        let node = self.trie.node(self.node);
        if !self.careful && node.slots.is_empty() {
            return parser.deserialize_any(self);
        }
        let raw = <&'de RawValue>::deserialize(parser)?.get();
        if !node.is_leaf() && raw.starts_with(['{', '[']) {
            return serde_json::Deserializer::from_str(raw).deserialize_any(self).map_err(D::Error::custom);
        }
        self.raw(raw);
        Ok(())
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let start = self.findings.found.len();
        let mut seen = 0u64; // a bit may stand for several fields: then `forget` is called in vain
        let key = Key { node: self.trie.node(self.node), careful: self.careful };
        while let Some(field) = fields.next_key_seed(key)? {
            let Some((place, child)) = field else {
                fields.next_value::<IgnoredAny>()?;
                continue;
            };
            let bit = 1 << (place % 64);
            if seen & bit != 0 {
                self.findings.forget(start, &self.trie.subtree(child));
            }
            seen |= bit;
            fields.next_value_seed(self.child(child))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        let start = self.findings.found.len();
        let mut squeeze_at = start + SQUEEZE_AT;
        let mut n = 0u32;
        loop {
            let more = match self.trie.node(self.node).element(n) {
                Some(child) => elements.next_element_seed(self.child(child))?.is_some(),
                None => elements.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                return Ok(());
            }
            // A value has at most 1 GiB, so that the last number is never reached.
            n = n.saturating_add(1);
            if self.findings.found.len() > squeeze_at {
                self.findings.squeeze(start);
                squeeze_at = self.findings.found.len() + SQUEEZE_AT;
            }
        }
    }

    // Scalars where paths only lead through yield nothing.

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a key and finds the field of a node that it names: its place among the fields, and the child.
#[derive(Clone, Copy)]
struct Key<'a> {
    node: &'a Node,
    careful: bool,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<(usize, u32)>;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        if !self.careful {
            return parser.deserialize_str(self);
        }
        let raw = <&'de RawValue>::deserialize(parser)?.get();
        // A key with half of a surrogate pair is no text and names no field.
        Ok(serde_json::from_str::<String>(raw).ok().and_then(|name| self.node.field(&name)))
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<(usize, u32)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.node.field(name))
    }
}
