//! Blocks against a plain list of entries, and against forged bytes.

use super::super::options::Compression;
use super::super::order::{Target, common_prefix_len};
use super::stored::{self, BlockType, Compressor};
use super::*;
use crate::base::coding::put_varint;
use crate::base::ids::{FileNumber, Sqn};
use crate::base::key::{self, Kind};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use std::sync::Arc;

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn entries() -> impl Strategy<Value = Entries> {
    let user = prop_oneof![vec(0u8..3, 0..4), vec(Just(7u8), 0..20), vec(any::<u8>(), 0..200)];
    let keys = btree_set((user, 0u64..5, any::<bool>()), 1..60);
    (keys, vec(vec(any::<u8>(), 0..40), 60)).prop_map(|(keys, values)| {
        let kind = |put| if put { Kind::Put } else { Kind::Delete };
        let mut keys: Vec<_> =
            keys.into_iter().map(|(user, sqn, put)| key::encode(&user, Sqn(sqn), kind(put))).collect();
        keys.sort_by(|a, b| key::compare(a, b));
        keys.into_iter().zip(values).collect()
    })
}

fn payload(entries: &Entries, restart_interval: usize) -> Vec<u8> {
    let mut builder = BlockBuilder::new(restart_interval);
    for (key, value) in entries {
        let shared = common_prefix_len(key::user_key(builder.last_key()), key::user_key(key));
        builder.add(shared, key, value);
    }
    let expected = builder.payload_len();
    let payload = builder.finish().to_vec();
    assert_eq!(payload.len(), expected);
    payload
}

fn open(payload: &[u8]) -> Result<Block, crate::base::error::Damage> {
    Block::decode(Arc::from(payload), 0..payload.len())
}

fn current(cursor: &Cursor, block: &Block) -> Option<(Vec<u8>, Vec<u8>)> {
    let (start, end) = cursor.value();
    cursor.valid().then(|| (cursor.key().to_vec(), block.entries()[start..end].to_vec()))
}

/// Uses every way to read a block that may be forged; must end without a panic.
fn exercise(block: &Block, target: Target<'_>) {
    let mut cursor = Cursor::default();
    let mut more = cursor.first(block);
    while let Ok(true) = more {
        more = cursor.step(block);
    }
    let mut more = cursor.last(block);
    while let Ok(true) = more {
        more = cursor.step_back(block);
    }
    let _ = block.find(target);
    if let Ok(true) = cursor.seek(block, target) {
        let _ = cursor.step(block);
    }
    if let Ok(true) = cursor.seek_before(block, target) {
        let _ = cursor.step_back(block);
    }
}

proptest! {
    #[test]
    fn both_directions_and_searches_agree_with_a_list(
        entries in entries(), interval in 1usize..20, user in vec(0u8..8, 0..5), sqn in 0u64..6, pick: prop::sample::Index,
        near: bool,
    ) {
        let block = open(&payload(&entries, interval)).unwrap();
        let mut cursor = Cursor::default();
        let (mut forward, mut backward) = (vec![], vec![]);
        let mut more = cursor.first(&block).unwrap();
        while more {
            forward.extend(current(&cursor, &block));
            more = cursor.step(&block).unwrap();
        }
        prop_assert_eq!(&forward, &entries);
        let mut more = cursor.last(&block).unwrap();
        while more {
            backward.extend(current(&cursor, &block));
            more = cursor.step_back(&block).unwrap();
        }
        backward.reverse();
        prop_assert_eq!(&backward, &entries);

        let user = if near { key::user_key(&entries[pick.index(entries.len())].0).to_vec() } else { user };
        let wanted = key::encode(&user, Sqn(sqn), Kind::Put);
        let target = Target::key(&wanted);
        let after = entries.iter().position(|(key, _)| key::compare(key, &wanted).is_ge());
        prop_assert_eq!(cursor.seek(&block, target).unwrap(), after.is_some());
        prop_assert_eq!(current(&cursor, &block), after.map(|at| entries[at].clone()));
        if let Some(at) = after {
            cursor.step(&block).unwrap();
            prop_assert_eq!(current(&cursor, &block), entries.get(at + 1).cloned());
        }
        let found = block.find(target).unwrap();
        prop_assert_eq!(found.map(|(_, same)| same), after.map(|at| key::user_key(&entries[at].0) == user));
        let before = after.unwrap_or(entries.len()).checked_sub(1);
        prop_assert_eq!(cursor.seek_before(&block, target).unwrap(), before.is_some());
        prop_assert_eq!(current(&cursor, &block), before.map(|at| entries[at].clone()));
        if let Some(at) = before {
            cursor.step_back(&block).unwrap();
            prop_assert_eq!(current(&cursor, &block), at.checked_sub(1).map(|at| entries[at].clone()));
        }
    }

    #[test]
    fn forged_bytes_never_panic(bytes in vec(any::<u8>(), 0..120), restarts in 1u32..3) {
        let mut bytes = bytes;
        if let Ok(block) = open(&bytes) {
            exercise(&block, Target::version(b"a", Sqn(1)));
        }
        bytes.extend_from_slice(&0u32.to_le_bytes());
        bytes.extend_from_slice(&restarts.to_le_bytes());
        if let Ok(block) = open(&bytes) {
            exercise(&block, Target::version(b"a", Sqn(1)));
        }
    }

    #[test]
    fn changed_bytes_behind_the_checksum_never_panic(
        entries in entries(), interval in 1usize..5, changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = payload(&entries, interval);
        let wanted = entries[entries.len() / 2].0.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(block) = open(&bytes) {
            exercise(&block, Target::key(&wanted));
        }
    }

    #[test]
    fn stored_blocks_round_trip_and_any_changed_bit_is_damage(
        entries in entries(), lz4: bool, at: prop::sample::Index, bit in 0u8..8,
    ) {
        let plain = payload(&entries, 4);
        let mut compressor = Compressor::new(if lz4 { Compression::Lz4 } else { Compression::None });
        let (block_type, bytes) = compressor.compress(&plain);
        let mut stored = vec![0xaa];
        stored::encode(&mut stored, block_type, bytes, FileNumber(3), 77);
        let len = stored.len();
        let block = Block::load(Arc::from(&stored[..]), 1..len, FileNumber(3), 77).unwrap();
        prop_assert_eq!(block.entries(), &plain[..block.entries().len()]);
        prop_assert!(Block::load(Arc::from(&stored[..]), 1..len, FileNumber(4), 77).is_err());
        prop_assert!(Block::load(Arc::from(&stored[..]), 1..len, FileNumber(3), 78).is_err());
        stored[1 + at.index(len - 1)] ^= 1 << bit;
        prop_assert!(Block::load(Arc::from(&stored[..]), 1..len, FileNumber(3), 77).is_err());
    }
}

#[test]
fn a_reserved_bit_in_the_number_of_restarts_is_damage() {
    let plain = payload(&vec![(key::encode(b"a", Sqn(1), Kind::Put), vec![])], 4);
    assert!(open(&plain).is_ok());
    for bit in 4..8 {
        let mut bytes = plain.clone();
        *bytes.last_mut().unwrap() |= 1 << bit;
        assert_eq!(open(&bytes).unwrap_err().what, "number of restarts is impossible");
    }
}

#[test]
fn a_first_key_without_the_common_prefix_is_damage() {
    let mut bytes = payload(&vec![(key::encode(b"abc", Sqn(1), Kind::Put), vec![])], 4);
    let common_at = bytes.len() - 8;
    assert_eq!(bytes[common_at], 3);
    bytes[common_at] = 4;
    assert_eq!(open(&bytes).unwrap_err().what, "the first key lacks the common prefix");
}

#[test]
fn a_block_that_hardly_shrinks_is_stored_plain() {
    let mut compressor = Compressor::new(Compression::Lz4);
    assert_eq!(compressor.compress(&[7; 4096]).0, BlockType::Lz4);
    let noise: Vec<u8> = (0..512u64).flat_map(|n| xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes()).to_le_bytes()).collect();
    assert_eq!(compressor.compress(&noise), (BlockType::Plain, &noise[..]));
}

#[test]
fn a_declared_length_that_lz4_cannot_reach_is_not_allocated() {
    let mut forged = vec![];
    put_varint(&mut forged, 1 << 30);
    forged.extend_from_slice(&[0; 100]);
    let mut stored = vec![];
    stored::encode(&mut stored, BlockType::Lz4, &forged, FileNumber(1), 0);
    let len = stored.len();
    let damage = Block::load(Arc::from(stored), 0..len, FileNumber(1), 0).unwrap_err();
    assert_eq!(damage.what, "declared length of a compressed block is impossible");
}

#[test]
fn a_group_that_unfolds_to_more_than_memory_is_damage() {
    let mut bytes = vec![];
    put_varint(&mut bytes, 0);
    put_varint(&mut bytes, 60_000);
    put_varint(&mut bytes, 0);
    bytes.extend_from_slice(&[b'k'; 60_000]);
    bytes.extend_from_slice(&key::trailer(Sqn(9_000), Kind::Put));
    for sqn in (0..9_000).rev() {
        put_varint(&mut bytes, 60_000);
        put_varint(&mut bytes, 0);
        put_varint(&mut bytes, 0);
        bytes.extend_from_slice(&key::trailer(Sqn(sqn), Kind::Put));
    }
    bytes.extend_from_slice(&[0; 4 + 8]);
    bytes.extend_from_slice(&0u32.to_le_bytes());
    bytes.extend_from_slice(&1u32.to_le_bytes());
    let block = open(&bytes).unwrap();
    assert_eq!(Cursor::default().last(&block).unwrap_err().what, "too many keys after one restart");
}

#[test]
fn payload_of_known_entries_stays_as_it_is() {
    let entries = vec![
        (key::encode(b"apple", Sqn(2), Kind::Put), b"red".to_vec()),
        (key::encode(b"apply", Sqn(1), Kind::Delete), vec![]),
        (key::encode(b"b", Sqn(3), Kind::Put), b"x".to_vec()),
    ];
    let hex: String = payload(&entries, 2).iter().map(|byte| format!("{byte:02x}")).collect();
    let golden = [
        "000503",
        "6170706c65",
        "fffffffffffffdfe",
        "726564",
        "040100",
        "79",
        "fffffffffffffeff",
        "000101",
        "62",
        "fffffffffffffcfe",
        "78",
        "00000000",
        "1f000000",
        "000000656c707061",
        "0000000000000062",
        "00000000",
        "02000000",
    ];
    assert_eq!(hex, golden.concat());
}
