//! The block index: where each data block lies, its first and last key, its smallest and largest sqn.
//!
//! Payload: `varint blocks`, then for each block
//! `varint size, slice first key, slice last key, varint smallest sqn, varint largest - smallest`.
//! Blocks follow one another from offset 0, so a size (with the block's type and checksum) gives the offset too, and a
//! gap between blocks cannot be written down (TABLE-1).
//!
//! In memory it is flat arrays: offsets, one arena of keys, and u64 prefixes of the first keys (after the prefix that all
//! user keys of the table share), which is all that most of a binary search touches.

use super::order::{Target, common_prefix_len, run_of, sort_prefix};
use crate::base::coding::{Reader, put_slice, put_varint};
use crate::base::error::Damage;
use crate::base::ids::Sqn;
use crate::base::key;
use std::cmp::Ordering;

/// What the index knows of a data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockInfo<'a> {
    /// Offset in the file.
    pub offset: u64,
    /// Stored bytes, with type and checksum.
    pub size: u64,
    /// First internal key.
    pub first: &'a [u8],
    /// Last internal key.
    pub last: &'a [u8],
    /// Smallest sqn of the block's keys.
    pub min_sqn: Sqn,
    /// Largest sqn of the block's keys.
    pub max_sqn: Sqn,
}

/// Collects the blocks of a table.
#[derive(Debug, Default)]
pub(crate) struct IndexBuilder {
    blocks: u64,
    bytes: Vec<u8>,
}

impl IndexBuilder {
    /// Adds the next block; its offset is the end of the one before.
    pub fn add(&mut self, block: &BlockInfo<'_>) {
        self.blocks += 1;
        put_varint(&mut self.bytes, block.size);
        put_slice(&mut self.bytes, block.first);
        put_slice(&mut self.bytes, block.last);
        put_varint(&mut self.bytes, block.min_sqn.0);
        put_varint(&mut self.bytes, block.max_sqn.0 - block.min_sqn.0);
    }

    /// About how many bytes the index has now.
    pub fn estimated_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(10 + self.bytes.len());
        put_varint(&mut out, self.blocks);
        out.extend_from_slice(&self.bytes);
        out
    }
}

/// The least bytes that a block takes in the payload: size, two slices of a trailer alone, two sqns.
const MIN_ENTRY_BYTES: usize = 1 + 9 + 9 + 1 + 1;

/// The index in memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// Where each block starts; one more for where the last ends.
    offsets: Vec<u64>,
    /// First and last key of each block, one after the other.
    keys: Vec<u8>,
    /// Where each key ends in `keys`: two for each block.
    key_ends: Vec<u32>,
    sqns: Vec<(Sqn, Sqn)>,
    /// Length of the prefix that all user keys share.
    common: usize,
    /// Prefix of each first user key after the common part.
    prefixes: Vec<u64>,
}

impl Index {
    /// Decodes the payload that [`IndexBuilder::encode`] made, and checks that keys ascend.
    pub fn decode(payload: &[u8]) -> Result<Index, Damage> {
        let mut reader = Reader::new(payload);
        let blocks = reader.varint32()? as usize;
        if blocks == 0 || blocks > reader.remaining() / MIN_ENTRY_BYTES || u32::try_from(payload.len()).is_err() {
            return Err(Damage::new(0, "number of blocks is impossible"));
        }
        let mut index = Index {
            offsets: Vec::with_capacity(blocks + 1),
            keys: Vec::with_capacity(payload.len() - blocks * 5),
            key_ends: Vec::with_capacity(blocks * 2),
            sqns: Vec::with_capacity(blocks),
            common: 0,
            prefixes: Vec::with_capacity(blocks),
        };
        index.offsets.push(0);
        for block in 0..blocks {
            index.decode_block(block, &mut reader)?;
        }
        if !reader.is_empty() {
            return Err(reader.damage("bytes after the last block of the index"));
        }
        index.common = common_prefix_len(key::user_key(index.smallest()), key::user_key(index.largest()));
        for block in 0..blocks {
            let tail = key::user_key(index.first(block)).get(index.common..).unwrap_or_default();
            index.prefixes.push(sort_prefix(tail));
        }
        Ok(index)
    }

    fn decode_block(&mut self, block: usize, reader: &mut Reader<'_>) -> Result<(), Damage> {
        let at = reader.position();
        let damage = |what| Damage::new(at, what);
        let (offset, size) = (self.end(), reader.varint()?);
        let end = offset.checked_add(size).filter(|_| size > 0).ok_or(damage("block size is impossible"))?;
        let (first, last) = (reader.slice()?, reader.slice()?);
        let (min, span) = (reader.varint()?, reader.varint()?);
        let max = min.checked_add(span).filter(|max| *max <= Sqn::MAX.0).ok_or(damage("sqn out of range"))?;
        let sqn_of = |key| key::decode(key).map(|(_, sqn, _)| sqn.0).ok_or(damage("not an internal key"));
        let within = min..=max;
        if !within.contains(&sqn_of(first)?) || !within.contains(&sqn_of(last)?) {
            return Err(damage("sqn of a key outside its block's range"));
        }
        let follows = block == 0 || key::compare(self.last(block - 1), first) == Ordering::Less;
        if !follows || key::compare(first, last) == Ordering::Greater {
            return Err(damage("keys of the index out of order"));
        }
        self.offsets.push(end);
        self.sqns.push((Sqn(min), Sqn(max)));
        for key in [first, last] {
            self.keys.extend_from_slice(key);
            // The keys are part of the payload, whose length fits 32 bits.
            self.key_ends.push(self.keys.len() as u32);
        }
        Ok(())
    }

    /// Number of data blocks, at least 1.
    #[inline]
    pub fn len(&self) -> usize {
        self.sqns.len()
    }

    /// Where the data blocks end.
    pub fn end(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Offset and stored size of a block; an empty range at the end beyond the last.
    #[inline]
    pub fn place(&self, block: usize) -> (u64, u64) {
        match self.offsets.get(block..) {
            Some([start, end, ..]) => (*start, end - start),
            _ => (self.end(), 0),
        }
    }

    /// A block's first key.
    #[inline]
    pub fn first(&self, block: usize) -> &[u8] {
        self.key(block * 2)
    }

    /// A block's last key.
    #[inline]
    pub fn last(&self, block: usize) -> &[u8] {
        self.key(block * 2 + 1)
    }

    /// Smallest and largest sqn of a block.
    #[inline]
    pub fn sqns(&self, block: usize) -> (Sqn, Sqn) {
        self.sqns.get(block).copied().unwrap_or_default()
    }

    pub fn smallest(&self) -> &[u8] {
        self.first(0)
    }

    pub fn largest(&self) -> &[u8] {
        self.last(self.len().saturating_sub(1))
    }

    /// Everything about a block.
    pub fn info(&self, block: usize) -> BlockInfo<'_> {
        let ((offset, size), (min_sqn, max_sqn)) = (self.place(block), self.sqns(block));
        BlockInfo { offset, size, first: self.first(block), last: self.last(block), min_sqn, max_sqn }
    }

    /// How many blocks have a first key at or before `target`.
    #[inline]
    pub fn blocks_starting_up_to(&self, target: Target<'_>) -> usize {
        self.first_keys_up_to(target, Ordering::Equal)
    }

    /// The block that holds the first key at or after `target`; the number of blocks if there is no such key.
    #[inline]
    pub fn block_at_or_after(&self, target: Target<'_>) -> usize {
        match self.blocks_starting_up_to(target).checked_sub(1) {
            Some(block) if target.order_of(self.last(block)) == Ordering::Less => block + 1,
            Some(block) => block,
            None => 0,
        }
    }

    /// The block that holds the last key before `target`.
    pub fn block_before(&self, target: Target<'_>) -> Option<usize> {
        self.first_keys_up_to(target, Ordering::Less).checked_sub(1)
    }

    pub fn memory_bytes(&self) -> usize {
        let per_block = size_of::<u64>() * 2 + size_of::<u32>() * 2 + size_of::<(Sqn, Sqn)>();
        self.keys.capacity() + self.len() * per_block
    }

    /// How many first keys stand to `target` as `most` or less.
    #[inline]
    fn first_keys_up_to(&self, target: Target<'_>, most: Ordering) -> usize {
        let common = self.smallest().get(..self.common).unwrap_or_default();
        match target.order_of_prefix(common) {
            Some(Ordering::Greater) => return 0,
            Some(_) => return self.len(),
            None => {}
        }
        let prefix = sort_prefix(target.user.get(self.common..).unwrap_or_default());
        let (mut low, mut high) = run_of(&self.prefixes, prefix, |stored| *stored);
        while low < high {
            let middle = low + (high - low) / 2;
            if target.order_of(self.first(middle)) <= most { low = middle + 1 } else { high = middle }
        }
        low
    }

    #[inline]
    fn key(&self, which: usize) -> &[u8] {
        let end_of = |which: usize| self.key_ends.get(which).map(|end| *end as usize);
        let start = which.checked_sub(1).map_or(Some(0), end_of);
        match (start, end_of(which)) {
            (Some(start), Some(end)) => self.keys.get(start..end).unwrap_or_default(),
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::Kind;
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    fn build(keys: &[Vec<u8>]) -> IndexBuilder {
        let mut builder = IndexBuilder::default();
        for pair in keys.chunks(2) {
            let (first, last) = (&pair[0], &pair[pair.len() - 1]);
            let (a, b) = (key::sqn(first), key::sqn(last));
            builder.add(&BlockInfo { offset: 0, size: 7, first, last, min_sqn: a.min(b), max_sqn: a.max(b) });
        }
        builder
    }

    fn sorted_keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
        btree_set((vec(0u8..3, 0..12), 0u64..4), 1..40).prop_map(|set| {
            let mut keys: Vec<_> = set.into_iter().map(|(user, sqn)| key::encode(&user, Sqn(sqn), Kind::Put)).collect();
            keys.sort_by(|a, b| key::compare(a, b));
            keys
        })
    }

    proptest! {
        #[test]
        fn search_finds_the_block_that_a_scan_finds(
            keys in sorted_keys(), user in vec(0u8..3, 0..12), sqn in 0u64..4,
        ) {
            let index = Index::decode(&build(&keys).encode()).unwrap();
            let wanted = key::encode(&user, Sqn(sqn), Kind::Put);
            let target = Target::key(&wanted);
            let blocks: Vec<_> = (0..index.len()).map(|block| index.info(block)).collect();
            let after = blocks.iter().position(|b| key::compare(b.last, &wanted).is_ge()).unwrap_or(blocks.len());
            prop_assert_eq!(index.block_at_or_after(target), after);
            prop_assert_eq!(index.block_before(target), blocks.iter().rposition(|b| key::compare(b.first, &wanted).is_lt()));
            let last = blocks.len() - 1;
            prop_assert_eq!(blocks[last].offset, 7 * last as u64);
            prop_assert_eq!(index.end(), 7 * blocks.len() as u64);
        }

        #[test]
        fn any_bytes_decode_or_are_damage(bytes in vec(any::<u8>(), 0..200)) {
            let _ = Index::decode(&bytes);
        }

        #[test]
        fn a_changed_byte_never_panics(keys in sorted_keys(), at: prop::sample::Index, byte: u8) {
            let mut bytes = build(&keys).encode();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(index) = Index::decode(&bytes) {
                index.block_at_or_after(Target::version(b"x", Sqn(1)));
            }
        }
    }

    #[test]
    fn keys_out_of_order_are_refused() {
        let keys = [key::encode(b"b", Sqn(1), Kind::Put), key::encode(b"a", Sqn(1), Kind::Put)];
        assert_eq!(Index::decode(&build(&keys).encode()).unwrap_err().what, "keys of the index out of order");
    }
}
