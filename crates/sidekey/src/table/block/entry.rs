//! One entry of a data block, decoded in place; the layout is in [`super`].

use crate::base::coding::Reader;
use crate::base::error::Damage;
use crate::base::key::TRAILER;

/// Where the parts of an entry lie in the block's entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Bytes of the user key taken over from the entry before.
    pub shared: usize,
    /// The rest of the user key; the key's trailer follows it.
    pub suffix: (usize, usize),
    /// The value; the next entry starts at its end.
    pub value: (usize, usize),
}

impl Entry {
    /// Length of the user key.
    #[inline]
    pub fn user_len(&self) -> usize {
        self.shared + self.suffix.1 - self.suffix.0
    }

    /// The suffix and the trailer after it.
    #[inline]
    pub fn key_bytes<'a>(&self, entries: &'a [u8]) -> &'a [u8] {
        entries.get(self.suffix.0..self.value.0).unwrap_or_default()
    }

    /// The trailer as a big-endian number, which orders as the bytes do.
    #[inline]
    pub fn trailer(&self, entries: &[u8]) -> u64 {
        let bytes = entries.get(self.suffix.1..).and_then(|rest| rest.first_chunk::<TRAILER>());
        u64::from_be_bytes(bytes.copied().unwrap_or_default())
    }
}

/// Decodes the entry at `at`. Everything it names lies within `entries`, and its kind is one.
///
/// Inlined by force: a call would pass the result through memory, which costs more than the decoding.
#[inline(always)]
pub(crate) fn entry(entries: &[u8], at: usize) -> Result<Entry, Damage> {
    const LONG: u32 = 0x80;
    // Every entry has at least 11 bytes, so that four can be looked at in one piece: three lengths of one byte each, or a
    // value's length of two behind two of one.
    let word = entries.get(at..).and_then(|rest| rest.first_chunk::<4>()).map_or(u32::MAX, |b| u32::from_le_bytes(*b));
    let [shared, unshared, low, high] = [word & 0xff, word >> 8 & 0xff, word >> 16 & 0xff, word >> 24];
    let (shared, unshared, value_len, head) = if word & (LONG << 16 | LONG << 8 | LONG) == 0 {
        (shared, unshared, low, 3)
    } else if word & (LONG << 24 | LONG << 8 | LONG) == 0 && high != 0 {
        (shared, unshared, low & 0x7f | high << 7, 4)
    } else {
        long_lengths(entries, at)?
    };
    // 64 bits hold the sum of a position and three 32-bit lengths on any target.
    let suffix_start = at as u64 + head;
    let suffix_end = suffix_start + u64::from(unshared);
    let value_start = suffix_end + TRAILER as u64;
    let value_end = value_start + u64::from(value_len);
    if value_end > entries.len() as u64 {
        return Err(Damage::new(at, "entry reaches past its block"));
    }
    // All of these are within `entries`, so they fit usize.
    let (suffix, value) = ((suffix_start as usize, suffix_end as usize), (value_start as usize, value_end as usize));
    // The trailer's last byte is the complement of the kind, which is 0 or 1.
    if entries.get(value.0 - 1).is_none_or(|kind| *kind < 0xfe) {
        return Err(Damage::new(at, "unknown kind of version"));
    }
    Ok(Entry { shared: shared as usize, suffix, value })
}

#[cold]
fn long_lengths(entries: &[u8], at: usize) -> Result<(u32, u32, u32, u64), Damage> {
    let mut reader = Reader::new(entries.get(at..).unwrap_or_default());
    let mut lengths = || Ok((reader.varint32()?, reader.varint32()?, reader.varint32()?, reader.position() as u64));
    lengths().map_err(|damage: Damage| Damage::new(at + damage.offset, damage.what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::coding::put_varint;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lengths_of_every_size_are_read_as_one_varint_after_another(
            shared in 0u32..300, unshared in 0usize..300, value in prop_oneof![0usize..300, 16_000usize..17_000], before in 0usize..3,
        ) {
            let mut bytes = vec![0xff; before];
            [shared as usize, unshared, value].iter().for_each(|n| put_varint(&mut bytes, *n as u64));
            let head = bytes.len();
            bytes.resize(head + unshared + TRAILER, 0xff);
            bytes.resize(head + unshared + TRAILER + value, 7);
            let found = entry(&bytes, before).unwrap();
            prop_assert_eq!((found.shared, found.suffix), (shared as usize, (head, head + unshared)));
            prop_assert_eq!(found.value, (head + unshared + TRAILER, bytes.len()));
            prop_assert_eq!(entry(&bytes[..bytes.len() - 1], before).unwrap_err().what, "entry reaches past its block");
        }

        #[test]
        fn any_bytes_are_read_as_a_plain_reader_reads_them(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0u8..4, Just(0xff)], 0..40), at in 0usize..45,
        ) {
            let mut reader = Reader::new(bytes.get(at..).unwrap_or_default());
            let lengths = (reader.varint32(), reader.varint32(), reader.varint32());
            let plain = match lengths {
                (Ok(shared), Ok(unshared), Ok(value)) => {
                    let start = (at + reader.position()) as u64;
                    let end = start + u64::from(unshared) + TRAILER as u64 + u64::from(value);
                    let kind = bytes.get((start + u64::from(unshared)) as usize + TRAILER - 1);
                    let sound = end <= bytes.len() as u64 && kind.is_some_and(|kind| *kind >= 0xfe);
                    sound.then_some((shared as usize, start as usize, end as usize))
                }
                _ => None,
            };
            prop_assert_eq!(entry(&bytes, at).ok().map(|e| (e.shared, e.suffix.0, e.value.1)), plain);
        }
    }
}
