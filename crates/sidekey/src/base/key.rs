//! Internal keys: a user key and the version it names.
//!
//! Layout: `user key ++ 8 bytes`, the latter the big-endian complement of `sqn << 8 | kind`. Order: user key ascending by
//! bytes, then sqn descending, then put before delete.
//!
//! KEY-1: at an equal user key and sqn a put sorts before a delete (in index trees: an entry wins over a mark).

use super::ids::Sqn;
use std::cmp::Ordering;

/// What a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A tombstone; in index trees a delete of an entry.
    Delete = 0,
    /// A record; in index trees an entry.
    Put = 1,
}

impl Kind {
    pub fn from_byte(b: u8) -> Option<Kind> {
        match b {
            0 => Some(Kind::Delete),
            1 => Some(Kind::Put),
            _ => None,
        }
    }
}

/// Bytes after the user key.
pub(crate) const TRAILER: usize = 8;

/// The 8 bytes after the user key.
#[inline]
pub(crate) fn trailer(sqn: Sqn, kind: Kind) -> [u8; TRAILER] {
    (!(sqn.0 << 8 | kind as u64)).to_be_bytes()
}

/// Replaces `out` by the internal key.
#[inline]
pub(crate) fn encode_into(out: &mut Vec<u8>, user_key: &[u8], sqn: Sqn, kind: Kind) {
    out.clear();
    out.extend_from_slice(user_key);
    out.extend_from_slice(&trailer(sqn, kind));
}

/// The internal key.
pub(crate) fn encode(user_key: &[u8], sqn: Sqn, kind: Kind) -> Vec<u8> {
    let mut out = Vec::with_capacity(user_key.len() + TRAILER);
    encode_into(&mut out, user_key, sqn, kind);
    out
}

/// The first internal key at or after which versions of `user_key` visible at `at` stand.
pub(crate) fn seek_key(user_key: &[u8], at: Sqn) -> Vec<u8> {
    encode(user_key, at, Kind::Put)
}

/// The user key of a well-formed internal key (empty if the key is too short, which decoders refuse earlier).
#[inline]
pub(crate) fn user_key(key: &[u8]) -> &[u8] {
    &key[..key.len().saturating_sub(TRAILER)]
}

/// User key, sqn and kind; `None` if the bytes are no internal key.
#[inline]
pub(crate) fn decode(key: &[u8]) -> Option<(&[u8], Sqn, Kind)> {
    let (user, tail) = key.split_at_checked(key.len().checked_sub(TRAILER)?)?;
    let packed = !u64::from_be_bytes(tail.try_into().ok()?);
    Some((user, Sqn(packed >> 8), Kind::from_byte(packed as u8)?))
}

/// The sqn of a well-formed internal key.
#[cfg(test)]
pub(crate) fn sqn(key: &[u8]) -> Sqn {
    decode(key).map_or(Sqn::ZERO, |(_, sqn, _)| sqn)
}

/// The order of internal keys.
#[inline]
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    match (a.split_last_chunk::<TRAILER>(), b.split_last_chunk::<TRAILER>()) {
        (Some((a, x)), Some((b, y))) => a.cmp(b).then_with(|| u64::from_be_bytes(*x).cmp(&u64::from_be_bytes(*y))),
        // Too short to be internal keys: their user keys are empty.
        _ => user_key(a).cmp(user_key(b)).then_with(|| a.cmp(b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = Kind> {
        prop_oneof![Just(Kind::Put), Just(Kind::Delete)]
    }

    proptest! {
        #[test]
        fn order_is_user_key_then_newest_first_then_put_first(
            a in proptest::collection::vec(0u8..3, 0..4), b in proptest::collection::vec(0u8..3, 0..4),
            sa in 0u64..4, sb in 0u64..4, ka in kinds(), kb in kinds(),
        ) {
            let (x, y) = (encode(&a, Sqn(sa), ka), encode(&b, Sqn(sb), kb));
            let plain = a.cmp(&b).then(sb.cmp(&sa)).then((kb as u8).cmp(&(ka as u8)));
            prop_assert_eq!(compare(&x, &y), plain);
            prop_assert_eq!(decode(&x), Some((&a[..], Sqn(sa), ka)));
        }
    }

    #[test]
    fn short_or_unknown_keys_are_no_keys() {
        assert_eq!(decode(b"1234567"), None);
        assert_eq!(decode(&[0u8; 8]), None);
        assert_eq!(decode(&encode(b"", Sqn::MAX, Kind::Delete)), Some((&b""[..], Sqn::MAX, Kind::Delete)));
    }
}
