//! What a query asks and what it returns.

use crate::base::value::Value;

/// The order of a query's rows; [`crate::Query::reverse`] turns any of them round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Largest sequence number first: what was written last. A record that is put again is new again.
    Newest,
    /// By attribute value, then by primary key.
    Attribute,
    /// By primary key, bytewise. For look-ups of one value; over a range it is refused.
    Key,
}

/// How much of each record a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Read {
    /// Primary keys and sequence numbers: the index answers, and the records are read only to validate entries that may be stale.
    Keys,
    /// Also the attributes in the record's header; the value is not returned.
    Attributes,
    /// The value; no attributes are decoded, which are part of it.
    Records,
}

/// One row of a query's answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// The primary key.
    pub key: Vec<u8>,
    /// The version's sequence number.
    pub sqn: u64,
    /// JSON path and value of each indexed attribute that the record has; empty unless asked for.
    pub attributes: Vec<(String, Value)>,
    /// The record's value, if asked for.
    pub value: Option<Vec<u8>>,
}
