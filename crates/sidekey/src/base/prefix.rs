//! Comparing byte strings by a few bytes at a known place: the length of what they share, and eight bytes as a number.

/// How many leading bytes `a` and `b` share.
#[inline]
pub(crate) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    let mut shared = 0;
    for (x, y) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differing != 0 {
            return shared + differing.trailing_zeros() as usize / 8;
        }
        shared += 8;
    }
    let tails = a.iter().zip(b).skip(shared);
    shared + tails.take_while(|(x, y)| x == y).count()
}

/// The first 8 bytes as a big-endian number, short strings padded with zeros: if two prefixes differ, they order their
/// strings; if they are equal, the strings must be compared.
#[inline]
pub(crate) fn sort_prefix(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => bytes.iter().zip((0..8).rev()).fold(0, |sum, (&byte, place)| sum | u64::from(byte) << (8 * place)),
    }
}

/// Where `prefix` belongs in a sorted array of prefixes: how many are smaller, and how many smaller or equal. Reads the
/// array alone, without a branch that depends on it; nearly always the two are equal or one apart.
#[inline]
pub(crate) fn run_of<T>(sorted: &[T], prefix: u64, number: impl Fn(&T) -> u64) -> (usize, usize) {
    let low = sorted.partition_point(|stored| number(stored) < prefix);
    let rest = sorted.get(low..).unwrap_or_default();
    let run = match rest {
        [equal, ..] if number(equal) == prefix => rest.partition_point(|stored| number(stored) <= prefix),
        _ => 0,
    };
    (low, low + run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn common_prefix_is_the_longest(a in vec(0u8..2, 0..20), b in vec(0u8..2, 0..20)) {
            let n = common_prefix_len(&a, &b);
            prop_assert_eq!(&a[..n], &b[..n]);
            prop_assert!(n == a.len() || n == b.len() || a[n] != b[n]);
        }

        #[test]
        fn differing_sort_prefixes_order_their_strings(a in vec(0u8..3, 0..12), b in vec(0u8..3, 0..12)) {
            let (x, y) = (sort_prefix(&a), sort_prefix(&b));
            prop_assert!(x == y || x.cmp(&y) == a.cmp(&b));
        }

        #[test]
        fn a_run_is_what_counting_says(mut sorted in vec(0u64..6, 0..20), prefix in 0u64..7) {
            sorted.sort();
            let count = |holds: fn(&u64, &u64) -> bool| sorted.iter().filter(|n| holds(n, &prefix)).count();
            prop_assert_eq!(run_of(&sorted, prefix, |n| *n), (count(|n, p| n < p), count(|n, p| n <= p)));
        }
    }
}
