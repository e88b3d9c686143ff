//! CRC-32C over stored bytes, bound to where they are stored.
//!
//! SUM-1: a checksum is seeded with the file's identity and the offset, so that a block or record that was read from
//! the wrong place or the wrong file does not verify.

/// CRC-32C of `parts` one after the other, seeded with `salt` (the file's identity) and `offset`.
pub(crate) fn checksum(salt: u64, offset: u64, parts: &[&[u8]]) -> u32 {
    let mut seed = [0u8; 16];
    seed[..8].copy_from_slice(&salt.to_le_bytes());
    seed[8..].copy_from_slice(&offset.to_le_bytes());
    parts.iter().fold(crc32c::crc32c(&seed), |sum, part| crc32c::crc32c_append(sum, part))
}

/// Bytes that [`checksum_behind`] wants in front of what it sums.
pub(crate) const SEED: usize = 16;

/// [`checksum`] of what stands behind the first [`SEED`] bytes of `room`, which are overwritten: one run over contiguous bytes instead of two, which
/// is most of the cost where little is summed. Zero if there are fewer.
#[inline]
pub(crate) fn checksum_behind(salt: u64, offset: u64, room: &mut [u8]) -> u32 {
    let Some(seed) = room.first_chunk_mut::<SEED>() else { return 0 };
    seed[..8].copy_from_slice(&salt.to_le_bytes());
    seed[8..].copy_from_slice(&offset.to_le_bytes());
    crc32c::crc32c(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_behind_its_seed_is_the_same_sum() {
        for len in 0..50 {
            let bytes: Vec<u8> = (0..SEED as u8 + len).collect();
            let sum = checksum(u64::MAX - 5, 77, &[&bytes[SEED..]]);
            assert_eq!(checksum_behind(u64::MAX - 5, 77, &mut bytes.clone()), sum, "{len}");
        }
    }

    #[test]
    fn content_place_and_file_all_change_the_sum() {
        let sum = checksum(1, 2, &[b"ab", b"c"]);
        assert_eq!(sum, checksum(1, 2, &[b"abc"]));
        assert_ne!(sum, checksum(1, 3, &[b"abc"]));
        assert_ne!(sum, checksum(2, 2, &[b"abc"]));
        assert_ne!(sum, checksum(1, 2, &[b"abd"]));
    }
}
