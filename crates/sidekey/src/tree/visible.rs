//! The records of a key range as one snapshot sees them, in either direction.

use crate::base::error::{Error, Result};
use crate::base::ids::Sqn;
use crate::base::index_key;
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

    /// Whether a closed range holds keys of it.
    pub fn meets(&self, low: &[u8], high: &[u8]) -> bool {
        high >= &self.start[..] && self.end.as_ref().is_none_or(|end| low < &end[..])
    }

    /// What all filter keys are if these are the index keys of one value.
    pub fn index_value(&self) -> Option<&[u8]> {
        let whole = index_key::decode(&self.start).is_ok_and(|parts| parts.pk.is_empty());
        (whole && self.end == index_key::after_prefix(&self.start)).then_some(&self.start[..])
    }
}

/// Where a [`VisibleIter`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nowhere: the first step goes to the start of the range.
    Fresh,
    /// Just before what the next step is to find.
    Placed,
    /// On a record, or at the end.
    Running,
}

/// Yields the newest version with sqn <= `at` of each key of the range, unless it is a delete. Cost: one seek, then one step for each version in the
/// range. Nothing is allocated per record.
pub(crate) struct VisibleIter {
    input: MergeIter<Source>,
    range: KeyRange,
    at: Sqn,
    backward: bool,
    state: State,
    /// The key of the current record, or of the one passed last.
    key: Vec<u8>,
    sqn: Sqn,
    /// Backward, the value has to be kept: the input has gone past it.
    value: Vec<u8>,
}

impl VisibleIter {
    /// `input` holds all versions of the range's keys; other keys it need not hold.
    pub fn new(input: MergeIter<Source>, range: KeyRange, at: Sqn, backward: bool) -> Self {
        Self { input, range, at, backward, state: State::Fresh, key: vec![], sqn: Sqn::ZERO, value: vec![] }
    }

    /// The current record's key; after [`VisibleIter::advance`] returned true.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    pub fn sqn(&self) -> Sqn {
        self.sqn
    }

    #[inline]
    pub fn value(&self) -> &[u8] {
        if self.backward { &self.value } else { self.input.value() }
    }

    /// Goes to just before the first record at or after a key, backward the first at or before it: the next step finds it, if it is in the
    /// range.
    pub fn seek(&mut self, user_key: &[u8]) -> Result<()> {
        self.state = State::Placed;
        let end = self.range.end.as_deref();
        if !self.backward {
            key::encode_into(&mut self.key, user_key.max(&self.range.start), Sqn::MAX, Kind::Put);
            return self.input.seek(&self.key);
        }
        match end.filter(|end| *end <= user_key) {
            Some(end) => key::encode_into(&mut self.key, end, Sqn::MAX, Kind::Put),
            // All versions of the key itself stand before those of its successor, which is the key with a zero byte behind it.
            None => key::encode_into(&mut self.key, &[user_key, &[0]].concat(), Sqn::MAX, Kind::Put),
        }
        self.input.seek_before(&self.key)
    }

    fn seek_to_start(&mut self) -> Result<()> {
        let bound = if self.backward { self.range.end.as_deref() } else { Some(&self.range.start[..]) };
        let Some(bound) = bound else { return self.input.seek_to_last() };
        key::encode_into(&mut self.key, bound, Sqn::MAX, Kind::Put);
        if self.backward { self.input.seek_before(&self.key) } else { self.input.seek(&self.key) }
    }

    /// Goes to the first or next record; false at the end. After an error the iterator is to be dropped.
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        let passing = self.state == State::Running;
        if self.state == State::Fresh && !self.range.is_empty() {
            self.seek_to_start()?;
        }
        self.state = State::Running;
        if self.backward {
            return self.find_backward();
        }
        if passing {
            self.input.next()?;
        }
        self.find_forward(passing)
    }

    /// To the first visible record from where the input stands. `passing`: the versions of the key that was the last are behind us.
    #[inline]
    fn find_forward(&mut self, mut passing: bool) -> Result<bool> {
        while self.input.valid() {
            let (user_key, sqn, kind) = parts(self.input.key())?;
            if !passing || user_key != self.key {
                passing = false;
                if self.range.end.as_deref().is_some_and(|end| user_key >= end) {
                    return Ok(false);
                }
                if sqn <= self.at {
                    self.key.clear();
                    self.key.extend_from_slice(user_key);
                    self.sqn = sqn;
                    if kind == Kind::Put {
                        return Ok(true);
                    }
                    passing = true;
                }
            }
            self.input.next()?;
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

#[inline]
fn parts(key: &[u8]) -> Result<(&[u8], Sqn, Kind)> {
    key::decode(key).ok_or_else(|| Error::internal("a tree holds a key that is none"))
}
