//! Repeatable chance and time: everything here is a function of a seed and of the calls made.

use std::time::Duration;

use crate::env::sync::atomic::{AtomicU64, Ordering};
use crate::env::{Clock, Randomness};

/// The increment of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The dice that decide what a crash leaves.
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// Dice for one thing among many: what is rolled for it does not depend on the others.
    pub fn new(seed: u64, about: u64) -> Self {
        Self(mix(seed.wrapping_add(GAMMA)) ^ mix(about.wrapping_mul(GAMMA)))
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// A number below `n`, which is not zero. The bias of the remainder does not matter here.
    pub fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    pub fn coin(&mut self) -> bool {
        self.roll() & 1 == 1
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.roll().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// A clock that stands still but for sleeps, and for the microsecond that each look at it takes: loops that wait for a deadline
/// end, and intervals are never zero.
#[derive(Debug, Default)]
pub(in crate::env) struct StillClock {
    nanos: AtomicU64,
}

impl Clock for StillClock {
    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.nanos.fetch_add(1_000, Ordering::Relaxed))
    }

    fn sleep(&self, how_long: Duration) {
        let nanos = u64::try_from(how_long.as_nanos()).unwrap_or(u64::MAX / 2);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

/// Splitmix64 from a seed.
#[derive(Debug)]
pub(in crate::env) struct SeededRandomness {
    state: AtomicU64,
}

impl SeededRandomness {
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }
}

impl Randomness for SeededRandomness {
    fn next_u64(&self) -> u64 {
        mix(self.state.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_moves_by_sleeps_and_looks_only() {
        let clock = StillClock::default();
        assert_eq!(clock.monotonic(), Duration::ZERO);
        clock.sleep(Duration::from_secs(5));
        assert_eq!(clock.monotonic(), Duration::from_secs(5) + Duration::from_micros(1));
    }

    #[test]
    fn same_seed_gives_the_published_numbers() {
        // The first outputs of the reference implementation for seed 1234567.
        let random = SeededRandomness::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }
}
