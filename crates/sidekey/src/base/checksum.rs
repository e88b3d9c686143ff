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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_place_and_file_all_change_the_sum() {
        let sum = checksum(1, 2, &[b"ab", b"c"]);
        assert_eq!(sum, checksum(1, 2, &[b"abc"]));
        assert_ne!(sum, checksum(1, 3, &[b"abc"]));
        assert_ne!(sum, checksum(2, 2, &[b"abc"]));
        assert_ne!(sum, checksum(1, 2, &[b"abd"]));
    }
}
