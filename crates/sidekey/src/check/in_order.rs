//! Look-ups in another tree, gathered and made in that tree's order.
//!
//! Both checks go over one tree and ask the other about each entry, in an order that has nothing to do with the other's. Asked one by one, almost
//! every question decodes a block anew; gathered and sorted, neighbours share it.

use crate::base::error::{Error, Result};
use crate::base::ids::{Sqn, TreeKind};
use crate::base::iter::SortedIter;
use crate::base::key::{self, Kind};
use crate::iter::MergeIter;
use crate::table::ReadMode;
use crate::tree::Superversion;
use crate::version::Source;
use std::ops::Range;

/// Bytes of keys gathered before they are looked up: some hundred thousand, and little beside a database's memory budget.
const GATHERED_BYTES: usize = 16 << 20;
/// Steps forward that are tried before a seek, which costs about as much as so many.
const STEPS: usize = 16;

/// A question: what is the newest version of `key`? Asked on behalf of `about`.
struct Question {
    key: Range<usize>,
    about: Range<usize>,
    sqn: Sqn,
}

/// An answer, with the question.
pub(super) struct Answer<'a> {
    pub key: &'a [u8],
    pub about: &'a [u8],
    /// The sqn that came with the question.
    pub sqn: Sqn,
    /// The newest version of the key, with its value.
    pub newest: Option<(Sqn, Kind, &'a [u8])>,
}

/// Gathers questions to one tree at one snapshot.
pub(super) struct InOrder<'a> {
    superversion: &'a Superversion,
    tree: TreeKind,
    at: Sqn,
    bytes: Vec<u8>,
    questions: Vec<Question>,
}

impl<'a> InOrder<'a> {
    pub fn new(superversion: &'a Superversion, tree: TreeKind, at: Sqn) -> Self {
        Self { superversion, tree, at, bytes: vec![], questions: vec![] }
    }

    /// Takes a question. Once [`InOrder::is_full`], the questions are to be answered.
    pub fn ask(&mut self, key: &[u8], about: &[u8], sqn: Sqn) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(about);
        self.questions.push(Question { key: start..middle, about: middle..self.bytes.len(), sqn });
    }

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= GATHERED_BYTES
    }

    /// Answers all questions, in the order of their keys, and forgets them.
    pub fn answer(&mut self, mut visit: impl FnMut(Answer<'_>) -> Result<()>) -> Result<()> {
        let bytes = &self.bytes;
        let of = |range: &Range<usize>| bytes.get(range.clone()).unwrap_or_default();
        self.questions.sort_unstable_by(|a, b| of(&a.key).cmp(of(&b.key)).then(of(&a.about).cmp(of(&b.about))));
        let mut forward = Forward::new(self.superversion.tree(self.tree).iter(ReadMode::Normal));
        for q in &self.questions {
            let newest = forward.newest(of(&q.key), self.at)?;
            visit(Answer { key: of(&q.key), about: of(&q.about), sqn: q.sqn, newest })?;
        }
        self.questions.clear();
        self.bytes.clear();
        Ok(())
    }
}

/// Point reads of ascending keys: the largest sqn decides, wherever it stands.
struct Forward {
    input: MergeIter<Source>,
    target: Vec<u8>,
    started: bool,
}

impl Forward {
    fn new(input: MergeIter<Source>) -> Self {
        Self { input, target: vec![], started: false }
    }

    fn newest(&mut self, user_key: &[u8], at: Sqn) -> Result<Option<(Sqn, Kind, &[u8])>> {
        key::encode_into(&mut self.target, user_key, at, Kind::Put);
        let mut steps = if std::mem::replace(&mut self.started, true) { STEPS } else { 0 };
        while steps > 0 && self.is_before_target() {
            self.input.next()?;
            steps -= 1;
        }
        if steps == 0 && (self.is_before_target() || !self.input.valid()) {
            self.input.seek(&self.target)?;
        }
        if !self.input.valid() {
            return Ok(None);
        }
        let (found, sqn, kind) =
            key::decode(self.input.key()).ok_or_else(|| Error::internal("a tree holds a key that is none"))?;
        Ok((found == user_key).then(|| (sqn, kind, self.input.value())))
    }

    fn is_before_target(&self) -> bool {
        self.input.valid() && key::compare(self.input.key(), &self.target).is_lt()
    }
}

#[cfg(test)]
mod tests;
