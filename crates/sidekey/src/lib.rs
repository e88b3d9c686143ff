//! Sidekey: an embedded, log-structured key-value store whose secondary indexes are first-class.

pub(crate) mod base;
pub(crate) mod check;
pub(crate) mod compaction;
pub mod env;
pub(crate) mod index;
pub(crate) mod iter;
pub(crate) mod memtable;
pub(crate) mod query;
pub(crate) mod table;
pub(crate) mod tree;
pub(crate) mod validate;
pub(crate) mod version;
pub(crate) mod wal;

pub use base::error::{Error, ErrorKind, Result};
pub use base::value::Value;
