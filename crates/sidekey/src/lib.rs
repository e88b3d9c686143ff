//! Sidekey: an embedded, log-structured key-value store whose *secondary* indexes are first-class.
//!
//! Records live in named collections under primary keys of the caller's. An index on a JSON path of the records is one line; from then
//! on every write maintains it, and a query by attribute returns exactly the records that match now, the newest first.
//!
//! ```standalone_crate
//! use sidekey::{Batch, Db, IndexSpec, Order, Read, Settings, Value};
//!
//! fn main() -> sidekey::Result<()> {
//! #   let dir = tempfile::tempdir().unwrap();
//! #   std::env::set_current_dir(dir.path()).unwrap();
//!     let db = Db::open("shop", Settings::default())?;
//!     let orders = db.collection("orders")?;
//!     orders.create_index(IndexSpec::new("by_city", "$.city"))?; // an index is one line
//!     orders.create_index(IndexSpec::new("by_total", "$.total"))?;
//!
//!     orders.put("1", r#"{"city": "Oslo", "total": 99.5}"#)?;
//!     orders.put("2", r#"{"city": "Rome", "total": 12}"#)?;
//!     orders.put("3", r#"{"city": "Oslo", "total": 40}"#)?;
//!
//!     // The newest K of a value; here the newest one.
//!     assert_eq!(orders.lookup("by_city", "Oslo").limit(1).keys()?, [b"3"]);
//!
//!     // A range, in the order of the attribute, and newest first.
//!     assert_eq!(orders.range("by_total", Value::from(20)..).keys()?, [b"3", b"1"]);
//!     let dear = orders.range("by_total", Value::from(10)..=Value::from(50)).order(Order::Newest);
//!     for row in dear.limit(10).rows(Read::Records)? {
//!         let row = row?; // key, sequence number, value
//!         println!("{:?} {:?}", row.key, row.value);
//!     }
//!
//!     // A snapshot sees every collection as it was.
//!     let before = db.snapshot();
//!
//!     // A batch spans collections and is there as a whole or not at all.
//!     let mut batch = Batch::new();
//!     batch.put(&orders, "2", r#"{"city": "Oslo", "total": 12}"#); // replaces; the indexes follow
//!     batch.put(&db.collection("log")?, "0001", r#"{"moved": "2"}"#);
//!     batch.delete(&orders, "1");
//!     db.write(batch)?;
//!
//!     assert_eq!(orders.lookup("by_city", "Oslo").keys()?, [b"2", b"3"]);
//!     assert_eq!(orders.lookup("by_city", "Oslo").at(&before).keys()?, [b"3", b"1"]);
//!
//!     db.close()
//! }
//! ```
//!
//! Where to go on:
//!
//! - [`Db`] opens and closes, writes batches, takes snapshots, verifies; [`Collection`] reads, writes and queries one collection;
//!   [`Query`] sets order, limit and snapshot. All of them are cheap to clone and may be used from any number of threads.
//! - [`IndexSpec`] says what is indexed and how; [`Maintenance`] has the choice that matters most.
//! - [`Settings`] and [`SyncPolicy`] say what is durable when, [`WriteOptions`] the same for one write.
//! - [`Error`] has few kinds, each worded as what to do.
//! - [Environments](mod@env) put a database on a disk in memory that can lose power and fail, for the tests of programs that use Sidekey.
//!
//! One process at a time has a database open.

pub(crate) mod base;
pub(crate) mod check;
pub(crate) mod compaction;
pub(crate) mod db;
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
#[cfg(planted)]
pub use base::planted;
pub use base::value::Value;
pub use check::finding::Finding;
pub use db::{
    Batch, Collection, CollectionStats, CompressionSetting, Db, IndexStats, Query, Rows, Scan, Settings, Snapshot,
    Stats, SyncPolicy, Target, TreeStats, WriteOptions,
};
pub use index::spec::{IndexInfo, IndexSpec, IndexState, Maintenance, Structure, Validator};
pub use query::types::{Order, Read, Row};

/// The code in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
