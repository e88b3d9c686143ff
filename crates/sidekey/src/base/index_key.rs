//! Keys of the index tree: `incarnation (4 bytes, big-endian) ++ encoded attribute value ++ primary key`.
//!
//! IDX-1: the encoded value is self-delimiting and order-preserving, so keys of one index sort by value, then by primary key, and all keys
//! of one value share the
//! prefix that stands before the primary key.
//! IDX-2: an incarnation is never reused, so entries of a dropped index are told apart for ever.

use super::error::Damage;
use super::ids::Incarnation;
use super::value;

/// Bytes of the incarnation.
pub(crate) const INCARNATION: usize = 4;

/// Replaces `out` by an entry's key.
#[inline]
pub(crate) fn encode_into(out: &mut Vec<u8>, incarnation: Incarnation, attribute: &[u8], pk: &[u8]) {
    out.clear();
    out.extend_from_slice(&incarnation.0.to_be_bytes());
    out.extend_from_slice(attribute);
    out.extend_from_slice(pk);
}

/// The first bytes of all keys of an index, or of one value in it.
pub(crate) fn prefix(incarnation: Incarnation, attribute: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(INCARNATION + attribute.len());
    encode_into(&mut out, incarnation, attribute, &[]);
    out
}

/// The parts of an entry's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexKey<'a> {
    pub incarnation: Incarnation,
    pub attribute: &'a [u8],
    pub pk: &'a [u8],
}

/// Takes a key apart.
#[inline]
pub(crate) fn decode(key: &[u8]) -> Result<IndexKey<'_>, Damage> {
    let (head, rest) = key.split_first_chunk::<INCARNATION>().ok_or(Damage::new(0, "index key is too short"))?;
    let len = value::encoded_len(rest).map_err(|d| Damage::new(INCARNATION + d.offset, d.what))?;
    let (attribute, pk) = rest.split_at_checked(len).ok_or(Damage::new(INCARNATION, "index key ends early"))?;
    Ok(IndexKey { incarnation: Incarnation(u32::from_be_bytes(*head)), attribute, pk })
}

/// The incarnation alone; `None` if the key is too short.
#[inline]
pub(crate) fn incarnation(key: &[u8]) -> Option<Incarnation> {
    key.first_chunk::<INCARNATION>().map(|head| Incarnation(u32::from_be_bytes(*head)))
}

/// What the filters of index tables hold: incarnation and value. A key that is none is its own filter key.
pub(crate) fn filter_key(key: &[u8]) -> &[u8] {
    match decode(key) {
        Ok(parts) => &key[..INCARNATION + parts.attribute.len()],
        Err(_) => key,
    }
}

/// The smallest byte string above all that start with `prefix`; `None` if there is none.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != 0xff)?;
    let mut out = prefix[..=last].to_vec();
    out[last] += 1;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::value::Value;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_come_apart_as_they_were_made(n: u32, text: String, pk: Vec<u8>) {
            let mut attribute = vec![];
            Value::from(text).encode(&mut attribute).unwrap();
            let mut key = vec![];
            encode_into(&mut key, Incarnation(n), &attribute, &pk);
            prop_assert_eq!(decode(&key).unwrap(), IndexKey { incarnation: Incarnation(n), attribute: &attribute, pk: &pk });
            prop_assert_eq!(filter_key(&key), &prefix(Incarnation(n), &attribute)[..]);
        }

        #[test]
        fn after_prefix_bounds_exactly_the_strings_with_the_prefix(prefix: Vec<u8>, other: Vec<u8>) {
            match after_prefix(&prefix) {
                Some(end) => prop_assert_eq!(other.starts_with(&prefix), other >= prefix && other < end),
                None => prop_assert!(prefix.iter().all(|b| *b == 0xff)),
            }
        }

        #[test]
        fn any_bytes_are_a_key_or_damage(bytes: Vec<u8>) {
            if let Ok(parts) = decode(&bytes) {
                prop_assert_eq!(INCARNATION + parts.attribute.len() + parts.pk.len(), bytes.len());
            }
            filter_key(&bytes);
        }
    }
}
