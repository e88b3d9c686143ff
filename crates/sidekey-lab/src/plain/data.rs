//! Keys and values.

use crate::random::{Random, mix};

/// Bytes of a key.
pub const KEY_BYTES: usize = 16;

/// The values are cut from a pool of this size: with the machine's L2 cache in mind, which is the stores' to use.
const POOL_BYTES: usize = 256 << 10;

/// Half of each piece of the pool repeats the other half, as `db_bench` has it: half-compressible, for the day that a run compresses.
const PIECE_BYTES: usize = 100;

/// The key with number `n`: 15 decimal digits and `k`, so that keys sort as their numbers do.
#[inline]
pub fn key(n: u64) -> [u8; KEY_BYTES] {
    numbered(n, b'k')
}

/// A key between [`key`]`(n)` and the next that no workload writes.
#[inline]
pub fn missing_key(n: u64) -> [u8; KEY_BYTES] {
    numbered(n, b'm')
}

fn numbered(mut n: u64, last: u8) -> [u8; KEY_BYTES] {
    let mut bytes = [b'0'; KEY_BYTES];
    bytes[KEY_BYTES - 1] = last;
    for digit in bytes[..KEY_BYTES - 1].iter_mut().rev() {
        if n == 0 {
            break;
        }
        *digit = b'0' + (n % 10) as u8;
        n /= 10;
    }
    bytes
}

/// The number of a key that [`key`] made.
pub fn number_of(key: &[u8]) -> Option<u64> {
    let digits = key.strip_suffix(b"k").filter(|digits| digits.len() == KEY_BYTES - 1)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Makes values: each is a function of key and generation.
pub struct Values {
    pool: Vec<u8>,
    value_bytes: usize,
}

impl Values {
    /// Values of so many bytes.
    pub fn new(seed: u64, value_bytes: usize) -> Self {
        let mut random = Random::new(seed, 1);
        let mut pool = Vec::with_capacity(POOL_BYTES + value_bytes);
        while pool.len() < POOL_BYTES + value_bytes {
            let half: Vec<u8> = (0..PIECE_BYTES / 2).map(|_| b' ' + random.below(95) as u8).collect();
            pool.extend_from_slice(&half);
            pool.extend_from_slice(&half);
        }
        Self { pool, value_bytes }
    }

    /// The value of key `n` in a generation: each workload that writes is one.
    #[inline]
    pub fn value(&self, n: u64, generation: u8) -> &[u8] {
        let at = mix(n.wrapping_mul(256) + u64::from(generation)) as usize % POOL_BYTES;
        &self.pool[at..at + self.value_bytes]
    }

    /// Bytes of each value.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }
}
