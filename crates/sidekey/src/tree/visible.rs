//! The records of a key range as one snapshot sees them, in either direction.

use crate::base::error::{Error, Result};
use crate::base::ids::Sqn;
use crate::base::iter::SortedIter;
use crate::base::key::{self, Kind};
use crate::iter::MergeIter;
use crate::version::Source;

/// A half-open range of user keys; without an end it reaches to the last key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub start: Vec<u8>,
    pub end: Option<Vec<u8>>,
}

impl KeyRange {
    pub fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }
}

/// Yields the newest version with sqn <= `at` of each key of the range, unless it is a delete. Cost: one seek, then one step for each version in the
/// range.
pub(crate) struct VisibleIter {
    input: MergeIter<Source>,
    range: KeyRange,
    at: Sqn,
    backward: bool,
    started: bool,
    key: Vec<u8>,
    sqn: Sqn,
    /// Backward, the value has to be kept: the input has gone past it.
    value: Vec<u8>,
}

impl VisibleIter {
    pub fn new(input: MergeIter<Source>, range: KeyRange, at: Sqn, backward: bool) -> Self {
        Self { input, range, at, backward, started: false, key: vec![], sqn: Sqn::ZERO, value: vec![] }
    }

    /// The current record's key; after [`VisibleIter::advance`] returned true.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    pub fn sqn(&self) -> Sqn {
        self.sqn
    }

    pub fn value(&self) -> &[u8] {
        if self.backward { &self.value } else { self.input.value() }
    }

    /// Goes to the first or next record; false at the end. After an error the iterator is to be dropped.
    pub fn advance(&mut self) -> Result<bool> {
        if self.range.is_empty() {
            return Ok(false);
        }
        if !std::mem::replace(&mut self.started, true) {
            match (self.backward, &self.range.end) {
                (false, _) => self.input.seek(&key::seek_key(&self.range.start, Sqn::MAX))?,
                (true, Some(end)) => self.input.seek_before(&key::seek_key(end, Sqn::MAX))?,
                (true, None) => self.input.seek_to_last()?,
            }
        } else if !self.backward {
            self.skip_key()?;
        }
        if self.backward { self.find_backward() } else { self.find_forward() }
    }

    /// Past all versions of the current key.
    fn skip_key(&mut self) -> Result<()> {
        while self.input.valid() && key::user_key(self.input.key()) == self.key {
            self.input.next()?;
        }
        Ok(())
    }

    fn find_forward(&mut self) -> Result<bool> {
        while self.input.valid() {
            let (user_key, sqn, kind) = parts(self.input.key())?;
            if self.range.end.as_deref().is_some_and(|end| user_key >= end) {
                return Ok(false);
            }
            if sqn > self.at {
                self.input.next()?;
                continue;
            }
            self.key.clear();
            self.key.extend_from_slice(user_key);
            self.sqn = sqn;
            if kind == Kind::Put {
                return Ok(true);
            }
            self.skip_key()?;
        }
        Ok(false)
    }

    fn find_backward(&mut self) -> Result<bool> {
        while self.input.valid() {
            let (user_key, ..) = parts(self.input.key())?;
            if user_key < &self.range.start[..] {
                return Ok(false);
            }
            self.key.clear();
            self.key.extend_from_slice(user_key);
            // Versions come oldest first: the last visible one decides.
            let mut newest = None;
            while self.input.valid() {
                let (user_key, sqn, kind) = parts(self.input.key())?;
                if user_key != self.key {
                    break;
                }
                if sqn <= self.at {
                    newest = Some(kind);
                    self.sqn = sqn;
                    self.value.clear();
                    self.value.extend_from_slice(self.input.value());
                }
                self.input.prev()?;
            }
            if newest == Some(Kind::Put) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn parts(key: &[u8]) -> Result<(&[u8], Sqn, Kind)> {
    key::decode(key).ok_or_else(|| Error::internal("a tree holds a key that is none"))
}
