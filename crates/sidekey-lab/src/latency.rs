//! How long single operations took: every 16th is timed, so that the clock (about 25 ns a reading) does not show in the rest.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Instant;

const SAMPLED: u64 = 16;
const MINUTE_NS: u64 = 60_000_000_000;

/// A summary, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Half were not longer.
    pub p50_ns: u64,
    /// 99 % were not longer.
    pub p99_ns: u64,
    /// 99.9 % were not longer.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Operations that were timed.
    pub samples: u64,
}

/// Collects times.
pub struct Timer {
    histogram: Histogram<u64>,
    every: u64,
    count: u64,
}

impl Timer {
    /// Times every 16th operation.
    pub fn sampled() -> Self {
        Self::every(SAMPLED)
    }

    /// Times one operation in `every`.
    pub fn every(every: u64) -> Self {
        let histogram = Histogram::new_with_bounds(1, MINUTE_NS, 3).expect("bounds and digits are constants in range");
        Self { histogram, every, count: 0 }
    }

    /// Runs an operation, and times it if it is its turn.
    #[inline]
    pub fn time<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        self.count += 1;
        if !self.count.is_multiple_of(self.every) {
            return operation();
        }
        let start = Instant::now();
        let answer = operation();
        self.histogram.saturating_record(start.elapsed().as_nanos() as u64);
        answer
    }

    /// The summary, if anything was timed.
    pub fn summary(&self) -> Option<Latency> {
        let h = &self.histogram;
        (!h.is_empty()).then(|| Latency {
            p50_ns: h.value_at_quantile(0.5),
            p99_ns: h.value_at_quantile(0.99),
            p999_ns: h.value_at_quantile(0.999),
            max_ns: h.max(),
            samples: h.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_sixteenth_operation_is_timed() {
        let mut timer = Timer::sampled();
        assert_eq!(timer.summary(), None);
        let sum: u64 = (0..160).map(|i| timer.time(|| i)).sum();
        assert_eq!(sum, 159 * 80);
        assert_eq!(timer.summary().unwrap().samples, 10);
    }

    #[test]
    fn a_slow_operation_is_the_maximum() {
        let mut timer = Timer::every(1);
        for i in 0..10 {
            timer.time(|| std::thread::sleep(Duration::from_millis(if i == 3 { 20 } else { 0 })));
        }
        let summary = timer.summary().unwrap();
        assert!(summary.max_ns >= 20_000_000 && summary.p50_ns < summary.max_ns);
    }
}
