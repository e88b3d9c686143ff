//! The K newest (or oldest) valid rows of a range, exactly (QRY-2).
//!
//! Candidates are gathered up to a bounded number; then they are judged in order of sqn until K are valid, everything beyond the Kth is
//! thrown away, and
//! from then on only candidates that beat the Kth are gathered. Judging in order keeps the number of validations near K. Memory: the larger of
//! 4 K and 4,096 candidates, or all candidates without a limit.

use super::candidates::Candidates;
use super::gathered::Gathered;
use super::view::{Candidate, QueryView};
use crate::base::error::Result;
use crate::base::ids::Sqn;
use crate::base::planted::{Fault, planted};
use crate::query::types::{Read, Row};

const GATHER_AT_LEAST: usize = 4096;

/// Collects the rows; `oldest` turns the order round. Time: all entries of the range, plus putting those in order that are judged.
pub(crate) fn collect(
    view: &QueryView,
    mut candidates: Candidates,
    limit: Option<usize>,
    oldest: bool,
    read: Read,
) -> Result<Vec<Row>> {
    let room = limit.map_or(usize::MAX, |k| k.saturating_mul(4).max(GATHER_AT_LEAST));
    let mut best = Best { view, limit: limit.unwrap_or(usize::MAX), oldest, rows: vec![], read };
    if best.limit == 0 {
        return Ok(vec![]);
    }
    let mut gathered = Gathered::default();
    while let Some(candidate) = candidates.next()? {
        if best.may_take(candidate.sqn) {
            gathered.add(candidate);
        }
        if planted(Fault::FirstKByPlace) && Some(gathered.len()) == limit {
            break;
        }
        if gathered.len() >= room {
            best.judge(&mut gathered)?;
        }
    }
    best.judge(&mut gathered)?;
    Ok(best.rows)
}

/// The best rows so far, in order.
struct Best<'a> {
    view: &'a QueryView,
    limit: usize,
    oldest: bool,
    read: Read,
    rows: Vec<Row>,
}

impl Best<'_> {
    fn beats(&self, a: u64, b: u64) -> bool {
        if self.oldest { a < b } else { a > b }
    }

    fn may_take(&self, sqn: Sqn) -> bool {
        match self.rows.last() {
            Some(last) if self.rows.len() >= self.limit => self.beats(sqn.0, last.sqn),
            _ => true,
        }
    }

    /// Merges the gathered candidates, best first, into the rows.
    fn judge(&mut self, gathered: &mut Gathered) -> Result<()> {
        let mut merged = Vec::with_capacity(self.rows.len());
        let mut old = std::mem::take(&mut self.rows).into_iter().peekable();
        // Some will be stale.
        let expected = self.limit.saturating_add(self.limit / 2);
        gathered.take_best(expected, self.oldest, |candidate: Candidate<'_>| {
            while merged.len() < self.limit && old.peek().is_some_and(|row| self.beats(row.sqn, candidate.sqn.0)) {
                merged.extend(old.next());
            }
            if merged.len() >= self.limit {
                return Ok(false);
            }
            merged.extend(self.view.resolve(candidate, self.read)?);
            Ok(merged.len() < self.limit)
        })?;
        let left = self.limit - merged.len();
        merged.extend(old.take(left));
        self.rows = merged;
        Ok(())
    }
}
