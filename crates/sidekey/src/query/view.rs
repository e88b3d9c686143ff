//! What a query looks at: one collection, one index, one snapshot.

use crate::base::error::{Error, Result};
use crate::base::ids::{Sqn, TreeKind};
use crate::base::planted::{Fault, planted};
use crate::env::sync::atomic::{AtomicU64, Ordering};
use crate::index::extract::Extracted;
use crate::index::set::{IndexDef, IndexSet, decode_record};
use crate::query::types::{Read, Row};
use crate::tree::{Record, Superversion};
use crate::validate::{Verdict, by_primary};
use std::sync::Arc;

/// What queries count.
#[derive(Debug, Default)]
pub(crate) struct QueryCounters {
    /// Primary look-ups made only to judge an entry.
    pub validations: AtomicU64,
    /// Entries found stale.
    pub stale: AtomicU64,
}

/// The pinned state that a query runs on.
#[derive(Clone, Debug)]
pub(crate) struct QueryView {
    pub superversion: Arc<Superversion>,
    pub at: Sqn,
    pub set: Arc<IndexSet>,
    pub counters: Arc<QueryCounters>,
    validates: bool,
}

/// An index entry visible at the snapshot, not yet judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate<'a> {
    pub sqn: Sqn,
    pub pk: &'a [u8],
}

impl QueryView {
    /// The superversion must have been pinned before `at` was taken (TREE-1).
    pub fn new(
        superversion: Arc<Superversion>,
        at: Sqn,
        set: Arc<IndexSet>,
        index: &IndexDef,
        counters: Arc<QueryCounters>,
    ) -> Result<Self> {
        let name = &index.info.spec.name;
        if !index.is_ready() {
            return Err(Error::Busy(format!(
                "index '{name}' is {} and answers no query; {}",
                index.info.state, "wait for its build, or drop it and create it again if it is invalid"
            )));
        }
        if at < index.built {
            return Err(Error::InvalidArgument(format!(
                "index '{name}' was built at sequence number {}; it cannot answer for the older snapshot {at}",
                index.built
            )));
        }
        let validates = !index.is_synchronous() && !planted(Fault::NotValidated);
        let at = if planted(Fault::SnapshotSeesLater) { Sqn::MAX } else { at };
        Ok(Self { superversion, at, set, counters, validates })
    }

    /// Judges a candidate and reads what is asked for; `None` if the entry is stale.
    pub fn resolve(&self, candidate: Candidate<'_>, read: Read) -> Result<Option<Row>> {
        let Candidate { sqn, pk } = candidate;
        let may_be_stale = || self.validates && self.superversion.may_be_stale(pk, sqn);
        if read == Read::Keys {
            if !may_be_stale() {
                return Ok(Some(Row { key: pk.to_vec(), sqn: sqn.0, attributes: vec![], value: None }));
            }
            self.counters.validations.fetch_add(1, Ordering::Relaxed);
        }
        // Where the record is wanted anyway, the verdict comes with it.
        match by_primary(&self.superversion, pk, sqn, self.at)? {
            Verdict::Valid(record) => self.row(pk.to_vec(), &record, read).map(Some),
            Verdict::Stale if may_be_stale() => {
                self.counters.stale.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
            Verdict::Stale => Err(Error::internal(format!(
                "a clean index holds an entry at sequence number {sqn} whose record has no such version"
            ))),
        }
    }

    fn row(&self, key: Vec<u8>, record: &Record, read: Read) -> Result<Row> {
        let mut row = Row { key, sqn: record.sqn.0, attributes: vec![], value: None };
        match read {
            Read::Keys => {}
            Read::Attributes => row.attributes = self.attributes(record.value())?,
            Read::Records => row.value = Some(decode_record(record.value())?.1.to_vec()),
        }
        Ok(row)
    }

    fn attributes(&self, record: &[u8]) -> Result<Vec<(String, crate::Value)>> {
        let (stored, _) = decode_record(record)?;
        let newer;
        let header = if stored.epoch() >= self.set.epoch {
            stored
        } else {
            newer = self.set.current_header(record, &mut Extracted::default())?;
            decode_record(&newer)?.0
        };
        let mut attributes = vec![];
        for (id, encoded) in header.attributes() {
            let Some((_, path)) = self.set.paths.iter().find(|(known, _)| *known == id) else { continue };
            let (value, _) = crate::Value::decode(encoded)
                .map_err(|d| Error::internal(format!("attribute behind a good checksum: {}", d.what)))?;
            attributes.push((path.to_string(), value));
        }
        Ok(attributes)
    }

    /// The tree with the entries.
    pub fn entries(&self) -> crate::tree::TreeView<'_> {
        self.superversion.tree(TreeKind::Index)
    }
}
