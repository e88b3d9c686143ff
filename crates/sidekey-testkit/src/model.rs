//! The oracle: what a database must answer, in the plainest form that is right. No engine code.
//!
//! It keeps every version of every key with its sequence number, so a snapshot is a number and every query is a filter over
//! the records that were newest at that number. A cut-off of the history ([`Model::truncate`]) is what a power cut may do.

use crate::attr::{Attr, extract};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::ops::Bound;

/// The order of a query's rows, as the manual names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Largest sequence number first.
    Newest,
    /// By attribute value, then primary key.
    Attribute,
    /// By primary key.
    Key,
}

/// Which attribute values a query asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Equal to a value.
    Equal(Json),
    /// Between two bounds; with one bound only values of its kind.
    Range(Bound<Json>, Bound<Json>),
}

/// One write: a put, or a delete where there is no value.
#[derive(Clone, PartialEq, Eq)]
pub struct Write {
    /// Which collection.
    pub collection: usize,
    /// The primary key.
    pub key: Vec<u8>,
    /// The value; `None` deletes.
    pub value: Option<Vec<u8>>,
}

impl std::fmt::Debug for Write {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "c{} '{}'", self.collection, self.key.escape_ascii())?;
        match &self.value {
            Some(value) if value.len() > 200 => {
                write!(f, " = {}… ({} bytes)", value[..200].escape_ascii(), value.len())
            }
            Some(value) => write!(f, " = {}", value.escape_ascii()),
            None => f.write_str(" deleted"),
        }
    }
}

/// What became visible at once.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Sequence number of its first write.
    pub first: u64,
    /// Sequence number of its last write.
    pub last: u64,
    /// Its writes, one for each key.
    pub writes: Vec<Write>,
}

/// A row of a query's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The primary key.
    pub key: Vec<u8>,
    /// The version's sequence number.
    pub sqn: u64,
    /// The attribute that was asked for.
    pub attr: Attr,
    /// The record's value.
    pub value: Vec<u8>,
}

/// Records: primary key and value.
pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

type Versions = Vec<(u64, Option<Vec<u8>>)>;

/// The history of a database.
#[derive(Clone, Debug, Default)]
pub struct Model {
    collections: BTreeMap<usize, BTreeMap<Vec<u8>, Versions>>,
    commits: Vec<Commit>,
}

impl Model {
    /// Nothing written yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The sequence number of the newest write.
    pub fn sqn(&self) -> u64 {
        self.commits.last().map_or(0, |c| c.last)
    }

    /// Everything committed, in order.
    pub fn commits(&self) -> &[Commit] {
        &self.commits
    }

    /// Commits the writes at once. Several writes of one key collapse to the last of them; what is left takes sequence numbers
    /// in order. Returns the newest sequence number.
    pub fn commit(&mut self, writes: &[Write]) -> u64 {
        let kept: Vec<Write> = writes
            .iter()
            .enumerate()
            .filter(|(at, w)| !writes[at + 1..].iter().any(|v| v.collection == w.collection && v.key == w.key))
            .map(|(_, w)| w.clone())
            .collect();
        if kept.is_empty() {
            return self.sqn();
        }
        let first = self.sqn() + 1;
        for (sqn, write) in (first..).zip(&kept) {
            let keys = self.collections.entry(write.collection).or_default();
            keys.entry(write.key.clone()).or_default().push((sqn, write.value.clone()));
        }
        let last = self.sqn() + kept.len() as u64;
        self.commits.push(Commit { first, last, writes: kept });
        last
    }

    /// Forgets every commit that is not wholly at or below `sqn`.
    pub fn truncate(&mut self, sqn: u64) {
        self.commits.retain(|c| c.last <= sqn);
        let newest = self.sqn();
        for versions in self.collections.values_mut().flat_map(BTreeMap::values_mut) {
            versions.retain(|(s, _)| *s <= newest);
        }
    }

    /// The newest version of a key at a sequence number: its own number and its value.
    pub fn get(&self, collection: usize, key: &[u8], at: u64) -> Option<(u64, &[u8])> {
        newest(self.collections.get(&collection)?.get(key)?, at)
    }

    /// The records in a range of keys, ascending.
    pub fn scan(&self, collection: usize, low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>, at: u64) -> Pairs {
        self.records(collection, at)
            .filter(|(key, ..)| within(&key.to_vec(), low, high))
            .map(|(key, _, value)| (key.to_vec(), value.to_vec()))
            .collect()
    }

    /// Every record that satisfies the predicate, in the order asked for.
    pub fn query(
        &self,
        collection: usize,
        path: &str,
        predicate: &Predicate,
        (order, reverse): (Order, bool),
        at: u64,
    ) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self
            .records(collection, at)
            .filter_map(|(key, sqn, value)| {
                let attr = extract(value, path).filter(|attr| satisfies(attr, predicate))?;
                Some(Hit { key: key.to_vec(), sqn, attr, value: value.to_vec() })
            })
            .collect();
        match order {
            Order::Newest => hits.sort_by_key(|hit| std::cmp::Reverse(hit.sqn)),
            Order::Attribute => hits.sort_by(|a, b| a.attr.cmp(&b.attr).then_with(|| a.key.cmp(&b.key))),
            Order::Key => hits.sort_by(|a, b| a.key.cmp(&b.key)),
        }
        if reverse {
            hits.reverse();
        }
        hits
    }

    fn records(&self, collection: usize, at: u64) -> impl Iterator<Item = (&[u8], u64, &[u8])> {
        let keys = self.collections.get(&collection).into_iter().flatten();
        keys.filter_map(move |(key, versions)| newest(versions, at).map(|(sqn, value)| (&key[..], sqn, value)))
    }
}

fn newest(versions: &Versions, at: u64) -> Option<(u64, &[u8])> {
    let (sqn, value) = versions.iter().rfind(|(sqn, _)| *sqn <= at)?;
    Some((*sqn, value.as_deref()?))
}

/// Whether an attribute value is one that the predicate asks for.
pub fn satisfies(attr: &Attr, predicate: &Predicate) -> bool {
    let side = |bound: &Bound<Json>| match bound {
        Bound::Unbounded => Some(Bound::Unbounded),
        Bound::Included(json) => Attr::from_json(json).map(Bound::Included),
        Bound::Excluded(json) => Attr::from_json(json).map(Bound::Excluded),
    };
    match predicate {
        Predicate::Equal(json) => Attr::from_json(json).is_some_and(|wanted| *attr == wanted),
        Predicate::Range(low, high) => match (side(low), side(high)) {
            // A range with one bound holds values of that bound's kind only.
            (Some(Bound::Unbounded), Some(Bound::Included(b) | Bound::Excluded(b))) if !attr.same_kind(&b) => false,
            (Some(Bound::Included(b) | Bound::Excluded(b)), Some(Bound::Unbounded)) if !attr.same_kind(&b) => false,
            (Some(low), Some(high)) => within(attr, &low, &high),
            _ => false,
        },
    }
}

// Not `RangeBounds::contains`: a range whose ends are the wrong way round is empty here, and costs no thought.
fn within<T: Ord>(item: &T, low: &Bound<T>, high: &Bound<T>) -> bool {
    let above = match low {
        Bound::Unbounded => true,
        Bound::Included(b) => item >= b,
        Bound::Excluded(b) => item > b,
    };
    let below = match high {
        Bound::Unbounded => true,
        Bound::Included(b) => item <= b,
        Bound::Excluded(b) => item < b,
    };
    above && below
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn put(key: &str, value: &str) -> Write {
        Write { collection: 0, key: key.into(), value: Some(value.into()) }
    }

    fn keys(hits: &[Hit]) -> Vec<String> {
        hits.iter().map(|hit| String::from_utf8(hit.key.clone()).unwrap()).collect()
    }

    #[test]
    fn a_batch_collapses_to_the_last_write_of_each_key() {
        let mut model = Model::new();
        let gone = Write { collection: 0, key: "a".into(), value: None };
        assert_eq!(model.commit(&[put("a", "1"), put("b", "2"), gone]), 2);
        assert_eq!(model.get(0, b"a", 2), None);
        assert_eq!(model.get(0, b"b", 2), Some((1, &b"2"[..])));
        assert_eq!(model.get(0, b"b", 0), None);
    }

    #[test]
    fn orders_limits_and_kinds_follow_the_manual() {
        let mut model = Model::new();
        for (key, value) in [("c", "{\"a\":1}"), ("a", "{\"a\":1.0}"), ("b", "{\"a\":\"x\"}"), ("d", "{\"a\":-1}")] {
            model.commit(&[put(key, value)]);
        }
        let all = Predicate::Range(Bound::Unbounded, Bound::Unbounded);
        let query = |p: &Predicate, o, r| keys(&model.query(0, "$.a", p, (o, r), 4));
        assert_eq!(query(&Predicate::Equal(json!(1)), Order::Newest, false), ["a", "c"]);
        assert_eq!(query(&all, Order::Attribute, false), ["d", "a", "c", "b"]);
        assert_eq!(query(&all, Order::Attribute, true), ["b", "c", "a", "d"]);
        let numbers = Predicate::Range(Bound::Excluded(json!(-1)), Bound::Unbounded);
        assert_eq!(query(&numbers, Order::Key, false), ["a", "c"]);
        let mixed = Predicate::Range(Bound::Included(json!(1)), Bound::Included(json!("z")));
        assert_eq!(query(&mixed, Order::Attribute, false), ["a", "c", "b"]);
    }

    #[test]
    fn truncation_forgets_whole_commits_only() {
        let mut model = Model::new();
        model.commit(&[put("a", "1")]);
        model.commit(&[put("a", "2"), put("b", "2")]);
        model.truncate(2);
        assert_eq!(model.sqn(), 1);
        assert_eq!(model.scan(0, &Bound::Unbounded, &Bound::Unbounded, 9), [(b"a".to_vec(), b"1".to_vec())]);
    }
}
