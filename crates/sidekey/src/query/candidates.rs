//! Index entries of a key range, visible at a snapshot, in key order or against it.

use super::view::{Candidate, QueryView};
use crate::base::error::{Error, Result};
use crate::base::index_key;
use crate::table::ReadMode;
use crate::tree::{KeyRange, VisibleIter};

/// A stream of unjudged entries (QRY-3). Cost: one seek, then one step for each version of each entry in the range; nothing is
/// allocated for an entry.
pub(crate) struct Candidates(VisibleIter);

impl Candidates {
    pub fn new(view: &QueryView, range: KeyRange, backward: bool) -> Self {
        let input = view.entries().within(&range, ReadMode::Normal);
        Self(VisibleIter::new(input, range, view.at, backward))
    }

    /// The next entry.
    pub fn next(&mut self) -> Result<Option<Candidate<'_>>> {
        if !self.0.advance()? {
            return Ok(None);
        }
        let parts = index_key::decode(self.0.key())
            .map_err(|d| Error::internal(format!("index key behind a good checksum: {}", d.what)))?;
        Ok(Some(Candidate { sqn: self.0.sqn(), pk: parts.pk }))
    }
}
