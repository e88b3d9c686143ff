//! From values to a range of index keys.

use crate::base::error::Result;
use crate::base::ids::Incarnation;
use crate::base::index_key;
use crate::base::value::Value;
use crate::tree::KeyRange;
use std::ops::{Bound, RangeBounds};

fn prefix_of(incarnation: Incarnation, value: &Value) -> Result<Vec<u8>> {
    let mut attribute = vec![];
    value.encode(&mut attribute)?;
    Ok(index_key::prefix(incarnation, &attribute))
}

/// The keys of one value. A value too long to be indexed is refused by its encoding.
pub(crate) fn lookup_bounds(incarnation: Incarnation, value: &Value) -> Result<KeyRange> {
    let start = prefix_of(incarnation, value)?;
    let end = index_key::after_prefix(&start);
    Ok(KeyRange { start, end })
}

/// The keys of a range of values. An absent bound is limited to the type of the other one, so that "at least 5" means numbers; without both,
/// the range is the whole index.
pub(crate) fn range_bounds(incarnation: Incarnation, range: &impl RangeBounds<Value>) -> Result<KeyRange> {
    let whole = index_key::prefix(incarnation, &[]);
    // The upper half of an encoded value's first byte is its type.
    let type_of = |v: &Value| -> Result<u8> {
        let encoded = prefix_of(incarnation, v)?;
        Ok(encoded.get(index_key::INCARNATION).copied().unwrap_or(0) & 0xf0)
    };
    let with = |byte: u8| index_key::prefix(incarnation, &[byte]);
    let start = match range.start_bound() {
        Bound::Included(v) => prefix_of(incarnation, v)?,
        Bound::Excluded(v) => index_key::after_prefix(&prefix_of(incarnation, v)?).unwrap_or_default(),
        Bound::Unbounded => match range.end_bound() {
            Bound::Included(v) | Bound::Excluded(v) => with(type_of(v)?),
            Bound::Unbounded => whole.clone(),
        },
    };
    let end = match range.end_bound() {
        Bound::Included(v) => index_key::after_prefix(&prefix_of(incarnation, v)?),
        Bound::Excluded(v) => Some(prefix_of(incarnation, v)?),
        Bound::Unbounded => match range.start_bound() {
            Bound::Included(v) | Bound::Excluded(v) => Some(with(type_of(v)? + 0x10)),
            Bound::Unbounded => index_key::after_prefix(&whole),
        },
    };
    Ok(KeyRange { start, end })
}

#[cfg(test)]
mod tests;
