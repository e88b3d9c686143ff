//! Extraction: from a record's value to its encoded attributes, in one pass.
//!
//! Purpose: what the write path runs once a record, and index builds run over records older than an attribute.
//! Owns: the rules of what counts as a value of a path; the merged paths ([`trie`]) and the walk ([`walk`]). Depends on
//! paths, values and `serde_json`. Threads: an [`Extractor`] is shared by all writers, an [`Extracted`] belongs to one.
//!
//! The rules. A value that is not JSON in UTF-8 is *opaque*: no attributes, no error. A path yields a value where it leads
//! to a bool, number or string; nothing where it leads nowhere or to null, an object or an array. `[*]` yields the
//! distinct scalars among the elements. Of duplicate keys the last one counts, whatever it holds. Integers that fit `i64`
//! or `u64` are exact, all other numbers round to the nearest f64, beyond its range to infinity. A string with half of a
//! surrogate pair is no text: nothing.
//!
//! EXT-1: what a path yields, and whether a value is opaque, depends on the value alone, never on which other attributes
//! are asked for. (Otherwise a new attribute could make the entries of an old one vanish without a newer version.)
//! EXT-2: the stack used is bounded by the depth of the paths, not of the document, and the memory by the size of the
//! largest value plus [`MAX_ELEMENTS`] encoded values an attribute.
//! EXT-3: the result is strictly ascending by (attribute, encoded value), as record headers want it.

use super::path::JsonPath;
use crate::base::error::{Error, Result};
use crate::base::ids::AttributeId;
use crate::base::value::MAX_ENCODED_ATTRIBUTE;
use trie::Trie;
use walk::{Findings, Found, walk};

#[cfg(test)]
mod tests;
mod trie;
mod walk;

/// The most distinct values that one attribute may have in one record.
pub(crate) const MAX_ELEMENTS: usize = 1024;

/// What a record's value yielded; reused from record to record, so that the steady state allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Extracted {
    /// The value is not JSON.
    pub opaque: bool,
    /// Encoded values, strictly ascending by (attribute, value).
    pub attributes: Vec<(AttributeId, Vec<u8>)>,
    findings: Findings,
}

impl Extracted {
    fn reset(&mut self) {
        self.opaque = false;
        for (_, bytes) in self.attributes.drain(..) {
            self.findings.recycle(bytes);
        }
        self.findings.clear();
    }
}

/// The attributes of a collection, ready to be extracted.
#[derive(Debug)]
pub(crate) struct Extractor {
    /// By id, ascending; the place of an attribute is its slot.
    attributes: Vec<(AttributeId, JsonPath)>,
    trie: Trie,
}

impl Extractor {
    /// Compiles attributes of (id, path, whether multi-valued). A path is multi-valued if and only if it has a `[*]`.
    pub fn new(attributes: impl IntoIterator<Item = (AttributeId, JsonPath, bool)>) -> Result<Extractor> {
        let mut list = vec![];
        for (id, path, multi) in attributes {
            if multi && !path.is_multi() {
                return Err(Error::invalid(format!("path {path} has no [*], so it cannot be multi-valued")));
            }
            if !multi && path.is_multi() {
                return Err(Error::invalid(format!("path {path} has a [*], so it must be declared multi-valued")));
            }
            list.push((id, path));
        }
        list.sort_by_key(|(id, _)| *id);
        if let Some(pair) = list.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::internal(format!("attribute id {} was given twice", pair[0].0)));
        }
        let trie = Trie::build(list.iter().map(|(_, path)| path));
        Ok(Extractor { attributes: list, trie })
    }

    /// Replaces `out` by what `value` yields. Without attributes the value is not looked at (and not called opaque).
    /// Refused: an encoded value over [`MAX_ENCODED_ATTRIBUTE`], more than [`MAX_ELEMENTS`] distinct values of a path.
    pub fn extract(&self, value: &[u8], out: &mut Extracted) -> Result<()> {
        self.find(value, out)?;
        match self.beyond_limits(out.findings.iter()) {
            Some((_, error)) => Err(error),
            None => {
                self.finish(out, &[]);
                Ok(())
            }
        }
    }

    /// Like [`Extractor::extract`], for a value that was stored before all attributes were there: one that the value goes beyond
    /// the limits of yields nothing.
    pub fn extract_what_fits(&self, value: &[u8], out: &mut Extracted) -> Result<()> {
        self.find(value, out)?;
        let mut without = vec![];
        while let Some((slot, _)) = self.beyond_limits(out.findings.iter().filter(|f| !without.contains(&f.slot))) {
            without.push(slot);
        }
        self.finish(out, &without);
        Ok(())
    }

    fn find(&self, value: &[u8], out: &mut Extracted) -> Result<()> {
        out.reset();
        if self.attributes.is_empty() {
            return Ok(());
        }
        // Checked here for the whole value: the parser looks at the encoding of what it delivers only (EXT-1).
        let Ok(text) = std::str::from_utf8(value) else {
            out.opaque = true;
            return Ok(());
        };
        if walk(&self.trie, text, false, &mut out.findings).is_err() {
            out.findings.clear();
            if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
                out.opaque = true;
                return Ok(());
            }
            // JSON by its grammar, with a number or string that the parser will not deliver: see `walk`.
            walk(&self.trie, text, true, &mut out.findings)
                .map_err(|error| Error::internal(format!("valid JSON could not be walked: {error}")))?;
        }
        out.findings.squeeze(0);
        Ok(())
    }

    /// The first attribute that is beyond the limits, and how. `findings` by slot.
    fn beyond_limits<'a>(&self, findings: impl IntoIterator<Item = &'a Found>) -> Option<(u32, Error)> {
        let mut of_slot = (u32::MAX, 0);
        for found in findings {
            of_slot = (found.slot, if of_slot.0 == found.slot { of_slot.1 + 1 } else { 1 });
            let Some((_, path)) = self.attributes.get(found.slot as usize) else { continue };
            let what = if found.oversize > 0 {
                format!(
                    "the value at {path} takes {} bytes encoded, over the limit of {MAX_ENCODED_ATTRIBUTE} for an attribute",
                    found.oversize
                )
            } else if of_slot.1 > MAX_ELEMENTS {
                format!("path {path} yields more than {MAX_ELEMENTS} distinct values, the limit for one record")
            } else {
                continue;
            };
            return Some((found.slot, Error::invalid(what)));
        }
        None
    }

    /// Turns what was found into attributes, but for those of the slots `without`.
    fn finish(&self, out: &mut Extracted, without: &[u32]) {
        let Extracted { attributes, findings, .. } = out;
        let kept = findings.drain().filter(|found| !without.contains(&found.slot));
        attributes.extend(kept.filter_map(|f| Some((self.attributes.get(f.slot as usize)?.0, f.bytes))));
    }
}
