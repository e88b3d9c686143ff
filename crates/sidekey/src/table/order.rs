//! Comparing keys before (or without) decoding them: split search keys, and the prefixes of [`crate::base::prefix`].

use crate::base::ids::Sqn;
use crate::base::key::{self, Kind, TRAILER};
pub(crate) use crate::base::prefix::{common_prefix_len, run_of, sort_prefix};
use std::cmp::Ordering;

/// An internal key to search for, taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub user: &'a [u8],
    /// The 8 bytes after the user key as a big-endian number, which orders as the bytes do.
    pub trailer: u64,
}

impl<'a> Target<'a> {
    /// The internal key at or after which the versions of `user` visible at `at` stand.
    #[inline]
    pub fn version(user: &'a [u8], at: Sqn) -> Self {
        Self { user, trailer: u64::from_be_bytes(key::trailer(at, Kind::Put)) }
    }

    /// An internal key. Bytes too short to be one stand for a user key before all its versions.
    #[inline]
    pub fn key(key: &'a [u8]) -> Self {
        match key.split_last_chunk::<TRAILER>() {
            Some((user, trailer)) => Self { user, trailer: u64::from_be_bytes(*trailer) },
            None => Self { user: key, trailer: 0 },
        }
    }

    /// How the internal key `key` stands to this one.
    #[inline]
    pub fn order_of(&self, key: &[u8]) -> Ordering {
        let other = Target::key(key);
        other.user.cmp(self.user).then(other.trailer.cmp(&self.trailer))
    }

    /// How all keys that start with `prefix` stand to this one, if that can be said: `None` if the user key starts with it.
    #[inline]
    pub fn order_of_prefix(&self, prefix: &[u8]) -> Option<Ordering> {
        if self.user.starts_with(prefix) {
            return None;
        }
        // A user key that is a proper prefix of `prefix` comes before all of them, and compares so.
        Some(prefix.cmp(self.user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn target_orders_as_internal_keys_do(
            a in vec(0u8..2, 0..3), b in vec(0u8..2, 0..3), x in 0u64..3, y in 0u64..3,
        ) {
            let (x, y) = (key::encode(&a, Sqn(x), Kind::Put), key::encode(&b, Sqn(y), Kind::Delete));
            prop_assert_eq!(Target::key(&x).order_of(&y), key::compare(&y, &x));
        }
    }

    #[test]
    fn a_prefix_decides_unless_the_target_starts_with_it() {
        let target = Target::version(b"mm", Sqn(1));
        assert_eq!(target.order_of_prefix(b"m"), None);
        assert_eq!(target.order_of_prefix(b"mmm"), Some(Ordering::Greater));
        assert_eq!(target.order_of_prefix(b"ma"), Some(Ordering::Less));
        assert_eq!(target.order_of_prefix(b"n"), Some(Ordering::Greater));
    }
}
