//! Candidates set aside until they are judged, in little memory: one buffer for all primary keys.

use super::view::Candidate;
use crate::base::ids::Sqn;
use std::cmp::Reverse;

/// Candidates in the order they were added, until they are taken best first.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pks: Vec<u8>,
    waiting: Vec<Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    sqn: Sqn,
    start: usize,
    end: usize,
}

impl Gathered {
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn add(&mut self, candidate: Candidate<'_>) {
        let start = self.pks.len();
        self.pks.extend_from_slice(candidate.pk);
        self.waiting.push(Waiting { sqn: candidate.sqn, start, end: self.pks.len() });
    }

    /// Moves the `count` best candidates, or all if there are not so many, to the front, in order: largest sqn first, or smallest
    /// if `oldest`. Time: linear in all, and `count log count`.
    fn order_best(&mut self, count: usize, oldest: bool) -> usize {
        let count = count.min(self.waiting.len());
        let key = |w: &Waiting| if oldest { (w.sqn.0, Reverse(0)) } else { (0, Reverse(w.sqn.0)) };
        if count < self.waiting.len() && count > 0 {
            self.waiting.select_nth_unstable_by_key(count - 1, key);
        }
        if let Some(best) = self.waiting.get_mut(..count) {
            best.sort_unstable_by_key(key);
        }
        count
    }

    /// Hands the candidates to `judge`, best first, until it returns false or an error; forgets all of them. `expected` of them are
    /// put in order at once, and twice as many each time that was not enough.
    pub fn take_best<E>(
        &mut self,
        expected: usize,
        oldest: bool,
        mut judge: impl FnMut(Candidate<'_>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut expected = expected.max(16);
        let mut outcome = Ok(true);
        while matches!(outcome, Ok(true)) && !self.waiting.is_empty() {
            let ordered = self.order_best(expected, oldest);
            for waiting in self.waiting.drain(..ordered) {
                let pk = self.pks.get(waiting.start..waiting.end).unwrap_or_default();
                outcome = judge(Candidate { sqn: waiting.sqn, pk });
                if !matches!(outcome, Ok(true)) {
                    break;
                }
            }
            expected = expected.saturating_mul(2);
        }
        self.waiting.clear();
        self.pks.clear();
        outcome.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn candidates_are_taken_best_first_until_enough(
            sqns in proptest::collection::btree_set(0_u64..10_000, 0..300),
            order: u64,
            expected in 0_usize..40,
            stop in 0_usize..320,
            oldest: bool,
        ) {
            let mut shuffled: Vec<u64> = sqns.iter().copied().collect();
            shuffled.sort_by_key(|s| (s ^ order).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut gathered = Gathered::default();
            for sqn in &shuffled {
                gathered.add(Candidate { sqn: Sqn(*sqn), pk: sqn.to_string().as_bytes() });
            }
            let mut taken = vec![];
            let done: Result<(), ()> = gathered.take_best(expected, oldest, |c| {
                assert_eq!(c.pk, c.sqn.0.to_string().as_bytes());
                taken.push(c.sqn.0);
                Ok(taken.len() < stop)
            });
            prop_assert_eq!(done, Ok(()));
            prop_assert_eq!(gathered.len(), 0);
            let mut best: Vec<u64> = sqns.into_iter().collect();
            if !oldest {
                best.reverse();
            }
            best.truncate(stop.max(1));
            prop_assert_eq!(taken, best);
        }
    }

    #[test]
    fn an_error_ends_the_judging() {
        let mut gathered = Gathered::default();
        for sqn in [3, 1, 2] {
            gathered.add(Candidate { sqn: Sqn(sqn), pk: b"k" });
        }
        let mut seen = vec![];
        let done = gathered.take_best(10, false, |c| {
            seen.push(c.sqn.0);
            if c.sqn.0 == 2 { Err("no") } else { Ok(true) }
        });
        assert_eq!((done, seen), (Err("no"), vec![3, 2]));
    }
}
