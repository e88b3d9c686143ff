//! The key filter: a Bloom filter whose bits for one key all lie in one cache line.
//!
//! Payload, little-endian: `filtered u8 (0 nothing, 1 whole keys, 2 prefixes) | lines u32 | 64-byte line *lines`.
//! The filter key is hashed by XXH3-64; the upper half of the hash chooses the line, six 9-bit slices of a remix of it
//! choose the bits. (Blocked Bloom filters: Putze, Sanders, Singler 2007. Six probes because one line of 512 bits at 10
//! bits a key loses little by it against seven, and 6 x 9 bits come from one multiplication.)

use crate::base::coding::Reader;
use crate::base::error::Damage;
use crate::base::planted::{Fault, planted};
use xxhash_rust::xxh3::xxh3_64;

/// Which part of a user key the filter is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FilterKey {
    /// The user key.
    WholeKey,
    /// What the function cuts off: in index trees the part up to and with the attribute. Keys that share it are
    /// adjacent in the table, and it is hashed once for them. A key that starts with the prefix of another has that prefix.
    Prefix(for<'a> fn(&'a [u8]) -> &'a [u8]),
}

impl FilterKey {
    /// The filter key of a user key.
    #[inline]
    pub fn of<'a>(&self, user_key: &'a [u8]) -> &'a [u8] {
        match self {
            Self::WholeKey => user_key,
            Self::Prefix(cut) => cut(user_key),
        }
    }

    /// What a filter over this records as its subject.
    pub fn filtered(&self) -> Filtered {
        match self {
            Self::WholeKey => Filtered::WholeKeys,
            Self::Prefix(_) => Filtered::Prefixes,
        }
    }
}

/// What a filter was built over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Filtered {
    /// There is no filter.
    Nothing = 0,
    /// User keys.
    WholeKeys = 1,
    /// Prefixes of user keys.
    Prefixes = 2,
}

const LINE_BITS: u64 = 512;
const LINE_BYTES: usize = 64;
const PROBES: u32 = 6;
const HEAD_BYTES: usize = 1 + 4;
/// An odd constant with well-mixed bits (the golden ratio in 64 bits).
const REMIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// One cache line of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
struct Line([u64; 8]);

impl Line {
    /// The bits of a hash.
    #[inline]
    fn of(hash: u64) -> Line {
        let mut line = Line::default();
        let mut slices = hash.wrapping_mul(REMIX);
        for _ in 0..PROBES {
            let bit = slices >> 55;
            line.0[(bit >> 6) as usize] |= 1 << (bit & 63);
            slices <<= 9;
        }
        line
    }
}

impl Line {
    /// Whether all bits of a hash are set. Looks at all of them: which one is missing cannot be predicted.
    #[inline]
    fn has(&self, hash: u64) -> bool {
        let mut slices = hash.wrapping_mul(REMIX);
        let mut all = 1;
        for _ in 0..PROBES {
            let bit = slices >> 55;
            all &= self.0[(bit >> 6) as usize] >> (bit & 63);
            slices <<= 9;
        }
        all & 1 == 1
    }
}

/// The line of a hash: its upper half scaled to the number of lines.
#[inline]
fn line_of(hash: u64, lines: usize) -> usize {
    (((hash >> 32) * lines as u64) >> 32) as usize
}

/// Collects the hashes of a table.
#[derive(Debug)]
pub(crate) struct FilterBuilder {
    bits_per_key: u32,
    filtered: Filtered,
    hashes: Vec<u64>,
}

impl FilterBuilder {
    pub fn new(bits_per_key: u32, filtered: Filtered) -> Self {
        let filtered = if bits_per_key == 0 { Filtered::Nothing } else { filtered };
        Self { bits_per_key, filtered, hashes: Vec::new() }
    }

    /// Adds a filter key. The caller leaves out repetitions.
    #[inline]
    pub fn add(&mut self, filter_key: &[u8]) {
        if self.filtered != Filtered::Nothing {
            let hash = xxh3_64(filter_key);
            if !(planted(Fault::FilterLacksKeys) && hash.is_multiple_of(8)) {
                self.hashes.push(hash);
            }
        }
    }

    /// About how many bytes the filter has now.
    pub fn estimated_bytes(&self) -> usize {
        self.hashes.len() * self.bits_per_key as usize / 8
    }

    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let bits = self.hashes.len() as u64 * u64::from(self.bits_per_key);
        let lines = bits.div_ceil(LINE_BITS).min(u64::from(u32::MAX)) as usize;
        let mut filter = vec![Line::default(); lines];
        for &hash in &self.hashes {
            if let Some(line) = filter.get_mut(line_of(hash, lines)) {
                line.0.iter_mut().zip(Line::of(hash).0).for_each(|(word, bits)| *word |= bits);
            }
        }
        let mut out = Vec::with_capacity(HEAD_BYTES + lines * LINE_BYTES);
        out.push(self.filtered as u8);
        out.extend_from_slice(&(lines as u32).to_le_bytes());
        filter.iter().flat_map(|line| line.0).for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        out
    }
}

/// A filter in memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    filtered: Filtered,
    lines: Box<[Line]>,
}

impl Filter {
    /// Decodes the payload that [`FilterBuilder::encode`] made.
    pub fn decode(payload: &[u8]) -> Result<Filter, Damage> {
        let mut reader = Reader::new(payload);
        let filtered = match reader.u8()? {
            0 => Filtered::Nothing,
            1 => Filtered::WholeKeys,
            2 => Filtered::Prefixes,
            _ => return Err(Damage::new(0, "unknown kind of filter")),
        };
        let lines = reader.u32()? as usize;
        let (words, odd) = reader.rest().as_chunks::<8>();
        let (chunks, more) = words.as_chunks::<8>();
        if !odd.is_empty() || !more.is_empty() || chunks.len() != lines {
            return Err(Damage::new(HEAD_BYTES, "filter has another length than declared"));
        }
        if (lines == 0) != (filtered == Filtered::Nothing) {
            return Err(Damage::new(0, "filter's kind and length contradict each other"));
        }
        Ok(Filter { filtered, lines: chunks.iter().map(|line| Line(line.map(u64::from_le_bytes))).collect() })
    }

    /// What the filter was built over.
    #[inline]
    pub fn filtered(&self) -> Filtered {
        self.filtered
    }

    /// False only if no key of the table has this filter key. True without a filter.
    #[inline]
    pub fn may_contain(&self, filter_key: &[u8]) -> bool {
        if self.lines.is_empty() {
            return true;
        }
        let hash = xxh3_64(filter_key);
        self.lines.get(line_of(hash, self.lines.len())).is_none_or(|line| line.has(hash))
    }

    pub fn memory_bytes(&self) -> usize {
        self.lines.len() * LINE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{hash_set, vec};
    use proptest::prelude::*;

    fn filter(bits: u32, keys: impl IntoIterator<Item = Vec<u8>>) -> Filter {
        let mut builder = FilterBuilder::new(bits, Filtered::WholeKeys);
        keys.into_iter().for_each(|key| builder.add(&key));
        Filter::decode(&builder.encode()).unwrap()
    }

    proptest! {
        #[test]
        fn no_added_key_is_denied(keys in hash_set(vec(any::<u8>(), 0..12), 1..300), bits in 1u32..20) {
            let built = filter(bits, keys.iter().cloned());
            prop_assert!(keys.iter().all(|key| built.may_contain(key)));
        }

        #[test]
        fn any_bytes_decode_or_are_damage(bytes in vec(any::<u8>(), 0..300)) {
            let _ = Filter::decode(&bytes);
        }
    }

    #[test]
    fn ten_bits_a_key_let_few_absent_keys_pass() {
        let key = |n: u32| n.to_be_bytes().to_vec();
        let built = filter(10, (0..20_000).map(key));
        let passed = (20_000..120_000).filter(|&n| built.may_contain(&key(n))).count();
        assert!(passed < 1_500, "{passed} of 100,000 absent keys passed");
    }

    #[test]
    fn no_bits_make_a_filter_that_denies_nothing() {
        let built = filter(0, [b"a".to_vec()]);
        assert_eq!(built.filtered(), Filtered::Nothing);
        assert!(built.may_contain(b"b"));
    }

    #[test]
    fn payload_of_a_known_key_stays_as_it_is() {
        let mut builder = FilterBuilder::new(10, Filtered::Prefixes);
        builder.add(b"apple");
        let bytes = builder.encode();
        let set: Vec<(usize, u8)> = bytes.iter().copied().enumerate().filter(|(_, byte)| *byte != 0).collect();
        assert_eq!(bytes.len(), 69);
        // Kind 2, one line, six bits.
        assert_eq!(set, [(0, 2), (1, 1), (23, 4), (28, 64), (38, 32), (39, 32), (52, 1), (55, 16)]);
    }
}
