//! The few bytes of keys that a merge compares first.

use crate::base::key::{self, TRAILER};
use crate::base::prefix::common_prefix_len;

/// The code of a key that does not start with the window's base: it comes after all that do.
pub(super) const OUTSIDE: u64 = u64::MAX;

/// How far before the end of what two next keys share the window starts: keys may go on by 4 bytes before they leave it, and 4
/// bytes of what differs are in it.
const SLACK: usize = 4;

/// A window that was left after fewer uses than this was laid too narrowly.
const FEW_USES: u32 = 32;

/// Eight bytes of user keys behind a base that the next keys of a merge share, as a number.
///
/// Keys of one collection often share a long prefix (decimal numbers, the incarnation and value of index keys), so the first eight
/// bytes of a key would say nothing. The base is of the key that comes first at the time. Since a merge moves one way, a later key
/// that does not start with the base comes after all that do, so [`OUTSIDE`] may stand for it; and when the first of all
/// keys is outside, the window is laid anew.
#[derive(Debug)]
pub(super) struct Window {
    base: Vec<u8>,
    backward: bool,
    /// How often it was used since it was laid.
    uses: u32,
}

impl Default for Window {
    fn default() -> Self {
        Self { base: vec![], backward: false, uses: FEW_USES }
    }
}

impl Window {
    /// Begins a new merge.
    pub fn forget(&mut self, backward: bool) {
        self.backward = backward;
        self.uses = FEW_USES;
    }

    /// Notes that a comparison of codes was needed.
    #[inline]
    pub fn count_use(&mut self) {
        self.uses = self.uses.saturating_add(1);
    }

    /// Lays the window over `first` and, if it fits, `other`, which is at or behind it.
    pub fn cover(&mut self, first: &[u8], other: &[u8]) {
        let first = key::user_key(first);
        let mut start = common_prefix_len(first, key::user_key(other)).saturating_sub(SLACK);
        if self.uses < FEW_USES {
            // The two share more than keys in general do (they may be the same key): go by the place where the base was left.
            start = start.min(common_prefix_len(first, &self.base).saturating_sub(SLACK / 2));
        }
        self.base.clear();
        self.base.extend_from_slice(first.get(..start).unwrap_or_default());
        self.uses = 0;
    }

    /// A number for an internal key: where those of two keys differ, they order the keys in the direction of the merge.
    #[inline]
    pub fn code(&self, key: &[u8]) -> u64 {
        let Some(tail) = key.strip_prefix(&self.base[..]) else { return OUTSIDE };
        // The trailer is at least as long as the window, so there are 8 bytes; those that are not of the user key count as zero.
        let (Some(chunk), Some(user_len)) = (tail.first_chunk::<8>(), tail.len().checked_sub(TRAILER)) else {
            return OUTSIDE;
        };
        let mut code = u64::from_be_bytes(*chunk);
        if user_len < 8 {
            code &= !(u64::MAX >> (8 * user_len));
        }
        if self.backward {
            code = !code;
        }
        code.min(OUTSIDE - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::Sqn;
    use crate::base::key::Kind;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn differing_codes_order_keys_at_or_behind_the_first(
            mut users in vec(vec(prop_oneof![0u8..3, 254u8..], 0..14), 2..5), backward: bool, few_uses: bool,
        ) {
            users.sort();
            let mut keys: Vec<_> = users.iter().map(|user| key::encode(user, Sqn(u64::MAX >> 8), Kind::Put)).collect();
            if backward {
                keys.reverse();
            }
            let mut window = Window::default();
            window.forget(backward);
            if few_uses {
                window.cover(&keys[0], &keys[0]);
            }
            window.cover(&keys[0], &keys[1]);
            prop_assert!(window.code(&keys[0]) != OUTSIDE);
            for pair in keys.windows(2) {
                prop_assert!(window.code(&pair[0]) <= window.code(&pair[1]), "{:?}", window);
                prop_assert!(key::user_key(&pair[0]) != key::user_key(&pair[1]) || window.code(&pair[0]) == window.code(&pair[1]));
            }
        }
    }

    #[test]
    fn a_window_over_decimal_keys_tells_neighbours_apart() {
        let key = |n: u32| key::encode(format!("{n:016}").as_bytes(), Sqn(1), Kind::Put);
        let mut window = Window::default();
        window.cover(&key(123_456), &key(123_461));
        assert!((123_456..1_000_000).step_by(999).all(|n| window.code(&key(n)) < window.code(&key(n + 1))));
    }
}
