//! Which versions of one key a merge keeps.

use super::hooks::{EntryFilter, Events};
use crate::base::error::Result;
use crate::base::header::{self, Doubt};
use crate::base::ids::{Sqn, TreeKind};
use crate::base::key::Kind;
use crate::base::planted::{Fault, planted};

/// One version of the current key.
#[derive(Clone, Copy, Debug)]
struct Kept {
    sqn: Sqn,
    kind: Kind,
    /// Where its value lies in the buffer; `None` if the caller has written it already.
    value: Option<(usize, usize)>,
    doubt: Doubt,
    /// The sqn of the version that hides it; zero if it is the newest.
    hidden_by: Sqn,
}

/// A version to be written.
#[derive(Debug)]
pub(super) struct Retained<'a> {
    pub sqn: Sqn,
    pub kind: Kind,
    /// `None` for the version that was handed in by [`Retain::add_written`].
    pub value: Option<&'a [u8]>,
    pub doubt: Doubt,
    pub hidden_by: Sqn,
}

/// Collects the versions of one user key, newest first, and says which stay.
///
/// Most keys have one version, and a newest version that is a put stays whatever comes after it (but for an [`EntryFilter`]): the caller may write
/// it at once, without a copy, and learns at the end of the key what doubt it is to carry.
pub(super) struct Retain {
    tree: TreeKind,
    /// Every sqn at which somebody may read, ascending; the visible head is the last.
    stripes: Vec<Sqn>,
    bottom: bool,
    kept: Vec<Kept>,
    values: Vec<u8>,
    previous: Option<Sqn>,
    pub events: Events,
    /// What the collection's blind floor must rise to.
    pub blind_floor: Sqn,
}

impl Retain {
    pub fn new(tree: TreeKind, mut stripes: Vec<Sqn>, bottom: bool) -> Self {
        stripes.sort_unstable();
        let bottom = bottom || planted(Fault::TombstoneDroppedEarly);
        Self {
            tree,
            stripes,
            bottom,
            kept: vec![],
            values: vec![],
            previous: None,
            events: Events::default(),
            blind_floor: Sqn::ZERO,
        }
    }

    /// Whether no version of the key has been handed in.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.previous.is_none()
    }

    /// Takes the newest version of the key, a put, which the caller has written; there is no filter then.
    #[inline]
    pub fn add_written(&mut self, sqn: Sqn, value: &[u8]) {
        debug_assert!(self.is_empty(), "only the newest version stays for certain");
        self.previous = Some(sqn);
        let doubt = self.doubt(value);
        self.kept.push(Kept { sqn, kind: Kind::Put, value: None, doubt, hidden_by: Sqn::ZERO });
    }

    #[inline]
    fn doubt(&self, value: &[u8]) -> Doubt {
        match self.tree {
            TreeKind::Primary => header::doubt(value),
            TreeKind::Index => Doubt::default(),
        }
    }

    /// Takes the next older version of the key.
    pub fn add(&mut self, sqn: Sqn, kind: Kind, value: &[u8]) -> Result<()> {
        let doubt = self.doubt(value);
        let hidden_by = self.previous.replace(sqn).unwrap_or(Sqn::ZERO);
        if hidden_by == sqn && self.tree == TreeKind::Index {
            // A delete at the entry's own sqn: the entry wins (KEY-1).
            self.events.dropped += 1;
            return Ok(());
        }
        if let Some(newer) = self.kept.last_mut() {
            self.events.superseded += 1;
            // What was overwritten blindly has been met: it is behind.
            if std::mem::take(&mut newer.doubt.blind) {
                self.events.superseded_blindly += 1;
                newer.doubt.behind = !planted(Fault::MetNotRemembered);
            }
            if !seen(&self.stripes, sqn, hidden_by) {
                self.events.dropped += 1;
                // CMP-3: whoever survives it inherits its doubt.
                if !planted(Fault::FlagNotInherited) {
                    newer.doubt.blind |= doubt.blind;
                    newer.doubt.behind |= doubt.behind;
                }
                return Ok(());
            }
        }
        let start = self.values.len();
        self.values.extend_from_slice(value);
        self.kept.push(Kept { sqn, kind, value: Some((start, start + value.len())), doubt, hidden_by });
        Ok(())
    }

    /// Ends the key: hands what stays to `write`, newest first, and forgets it.
    pub fn finish(
        &mut self,
        user_key: &[u8],
        filter: Option<&mut (dyn EntryFilter + 'static)>,
        mut write: impl FnMut(Retained<'_>) -> Result<()>,
    ) -> Result<()> {
        if let Some(filter) = filter {
            self.refuse(user_key, filter)?;
        }
        if self.bottom {
            self.settle_oldest();
        } else if planted(Fault::ClearedEarly)
            && let Some(oldest) = self.kept.last_mut()
        {
            oldest.doubt.blind = false;
        }
        for k in &self.kept {
            let value = k.value.map(|(start, end)| &self.values[start..end]);
            write(Retained { sqn: k.sqn, kind: k.kind, value, doubt: k.doubt, hidden_by: k.hidden_by })?;
        }
        self.kept.clear();
        self.values.clear();
        self.previous = None;
        Ok(())
    }

    /// At the last place nothing older exists: tombstones at the end have nothing left to hide, and whoever is the oldest then overwrote nothing that
    /// has not been met.
    fn settle_oldest(&mut self) {
        while let Some(oldest) = self.kept.last_mut() {
            oldest.doubt.blind = false;
            if oldest.kind == Kind::Put {
                return;
            }
            let (sqn, behind) = (oldest.sqn, oldest.doubt.behind);
            self.kept.pop();
            self.events.dropped += 1;
            if behind {
                match self.kept.last_mut() {
                    Some(survivor) => survivor.doubt.behind = true,
                    None if planted(Fault::FloorNotRaised) => {}
                    None => self.blind_floor = self.blind_floor.max(sqn),
                }
            }
        }
    }

    fn refuse(&mut self, user_key: &[u8], filter: &mut (dyn EntryFilter + 'static)) -> Result<()> {
        if !filter.keep_key(user_key) {
            self.events.dropped += self.kept.len() as u64;
            self.kept.clear();
            return Ok(());
        }
        let mut at = 0;
        while at < self.kept.len() {
            let entry = self.kept[at];
            if entry.kind == Kind::Put && !filter.keep_entry(user_key, entry.sqn)? {
                self.events.stale_entries += 1;
                self.events.dropped += 1;
                self.kept.remove(at);
            } else {
                at += 1;
            }
        }
        Ok(())
    }
}

/// Whether some reader at a sqn in `[version, newer)` may exist.
fn seen(stripes: &[Sqn], version: Sqn, newer: Sqn) -> bool {
    let first = stripes.partition_point(|s| *s < version);
    stripes.get(first).is_some_and(|s| *s < newer)
}

#[cfg(test)]
mod tests;
