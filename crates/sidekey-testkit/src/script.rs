//! The script language: one JSON object a line, one JSON answer a line. The same files serve as regression tests, bug reports
//! and input of the command line's `sidekey script`.
//!
//! | op | fields | answer |
//! |---|---|---|
//! | `open` | `path`, `env` ("disk", "memory"), `settings` | |
//! | `collection` | `name`: created or opened; becomes current | |
//! | `create_index` | `name`, `attribute`, `structure`, `maintenance`, `validator` | `state` |
//! | `drop_index` | `name` | |
//! | `put`, `delete` | `key`, `value` or `value_hex` | `sqn` |
//! | `put_if_absent`, `put_if_present` | `key`, `value` or `value_hex` | `applied` |
//! | `batch` | `ops`: puts and deletes, which may name a `collection` | `sqn` |
//! | `get` | `key`, `snapshot` | `found`, `value` |
//! | `scan` | `low` (included), `high` (excluded), `reverse`, `limit`, `snapshot` | `keys` |
//! | `lookup` | `index`, `value`, `limit`, `order` ("newest", "key"), `read` ("keys", "attributes", "records"), `snapshot` | `keys`,
//! `attributes` or `records` if read |
//! | `range` | `index`, `low`, `high`, `low_open`, `high_open`, `order` ("attribute", "newest"), `reverse`, `limit`, `snapshot` | `keys` |
//! | `count` | `index`, `value` or the bounds of `range` | `count` |
//! | `snapshot`, `release` | `name` | |
//! | `flush`, `compact` | `target` ("all", "primary", "indexes") | |
//! | `sync`, `reopen`, `crash` | | |
//! | `raw_entries` | `index` | `count` |
//! | `verify` | | `findings` |
//! | `stats` | | the counters |
//! | `repeat` | `times`, `ops` | `times` |
//!
//! A key is a string or `{"hex":"00ff"}`. Every line may hold `expect` (fields of the answer and what they must be) or
//! `expect_error` (the kind of error that it must give). An unknown field is refused. `#` starts a comment line.
//!
//! What the language has words for but this version of the engine does not do answers an error of kind `Unsupported`.
//!
//! ```
//! let script = r#"
//! {"op":"open","env":"memory"}
//! {"op":"nonsense","expect_error":"InvalidArgument"}
//! "#;
//! let mut answers = Vec::new();
//! let outcome = sidekey_testkit::script::Runner::new().run(script.as_bytes(), &mut answers).unwrap();
//! assert_eq!((outcome.lines, outcome.failed), (2, 0));
//! ```

mod answer;
mod fields;
mod queries;
mod records;
mod repeat;
mod runner;
mod store;
mod text;

pub use answer::Answer;
pub use runner::{Outcome, Runner};
pub use text::define;
