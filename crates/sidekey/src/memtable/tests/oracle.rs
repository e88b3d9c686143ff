//! The memtable without unsafe code: a locked map that copies what it returns. The skip list's twin in property tests.

use super::super::{Found, Memtable};
use crate::base::error::Result;
use crate::base::ids::Sqn;
use crate::base::iter::SortedIter;
use crate::base::key::{self, Kind};
use crate::env::sync::RwLock;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// An internal key in the order of [`key::compare`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ordered(pub Vec<u8>);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        key::compare(&self.0, &other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Values are leaked, so that `get` can lend them out from under the lock; tests are short.
#[derive(Debug, Default)]
pub(super) struct Oracle {
    map: RwLock<BTreeMap<Ordered, &'static [u8]>>,
    max_blind: RwLock<Sqn>,
}

impl Oracle {
    fn sqns(&self) -> Vec<Sqn> {
        self.map.read().keys().map(|k| key::sqn(&k.0)).collect()
    }
}

impl Memtable for Oracle {
    type Iter = OracleIter;

    fn insert_parts(&self, user_key: &[u8], sqn: Sqn, kind: Kind, value: [&[u8]; 2]) {
        let key = Ordered(key::encode(user_key, sqn, kind));
        self.map.write().entry(key).or_insert_with(|| Box::leak(value.concat().into_boxed_slice()));
    }

    fn get(&self, user_key: &[u8], at: Sqn) -> Option<Found<'_>> {
        let map = self.map.read();
        let (key, value) = map.range(Ordered(key::seek_key(user_key, at))..).next()?;
        let (found, sqn, kind) = key::decode(&key.0)?;
        (found == user_key).then_some(Found { sqn, kind, value })
    }

    fn cursors(self: &Arc<Self>) -> Vec<OracleIter> {
        vec![self.iter()]
    }

    fn iter(self: &Arc<Self>) -> OracleIter {
        OracleIter { table: Arc::clone(self), at: None }
    }

    fn memory_bytes(&self) -> usize {
        self.map.read().iter().map(|(k, v)| k.0.len() + v.len()).sum()
    }

    fn len(&self) -> usize {
        self.map.read().len()
    }

    fn max_sqn(&self) -> Sqn {
        self.sqns().into_iter().max().unwrap_or(Sqn::ZERO)
    }

    fn note_blind(&self, sqn: Sqn) {
        let mut max = self.max_blind.write();
        *max = (*max).max(sqn);
    }

    fn max_blind_sqn(&self) -> Sqn {
        *self.max_blind.read()
    }
}

#[derive(Debug)]
pub(super) struct OracleIter {
    table: Arc<Oracle>,
    at: Option<(Ordered, &'static [u8])>,
}

impl OracleIter {
    fn place_at_first_of(&mut self, range: (Bound<Ordered>, Bound<Ordered>)) -> Result<()> {
        self.at = self.table.map.read().range(range).next().map(|(k, v)| (k.clone(), *v));
        Ok(())
    }

    fn place_at_last_of(&mut self, range: (Bound<Ordered>, Bound<Ordered>)) -> Result<()> {
        self.at = self.table.map.read().range(range).next_back().map(|(k, v)| (k.clone(), *v));
        Ok(())
    }
}

impl SortedIter for OracleIter {
    fn valid(&self) -> bool {
        self.at.is_some()
    }

    fn key(&self) -> &[u8] {
        self.at.as_ref().map_or(&[], |(k, _)| &k.0)
    }

    fn value(&self) -> &[u8] {
        self.at.as_ref().map_or(&[], |(_, v)| v)
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.place_at_first_of((Bound::Unbounded, Bound::Unbounded))
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.place_at_first_of((Bound::Included(Ordered(target.to_vec())), Bound::Unbounded))
    }

    fn next(&mut self) -> Result<()> {
        match self.at.take() {
            Some((key, _)) => self.place_at_first_of((Bound::Excluded(key), Bound::Unbounded)),
            None => Ok(()),
        }
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.place_at_last_of((Bound::Unbounded, Bound::Unbounded))
    }

    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        self.place_at_last_of((Bound::Unbounded, Bound::Excluded(Ordered(target.to_vec()))))
    }

    fn prev(&mut self) -> Result<()> {
        match self.at.take() {
            Some((key, _)) => self.place_at_last_of((Bound::Unbounded, Bound::Excluded(key))),
            None => Ok(()),
        }
    }
}
