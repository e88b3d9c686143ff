//! Queries by attribute: plan → candidates → snapshot filter → validator → top-K → fetch.
//!
//! Owns nothing; works on a pinned superversion and one snapshot. Depends on index (definitions), validate, tree, table, env, base. Takes no
//! lock.
//!
//! - QRY-1: a row is returned if and only if the newest version of its key at the snapshot is a put whose attribute matches.
//! - QRY-2: with a limit K in newest order the rows are the K matching ones of largest sqn: candidates are judged newest first, and none is left out
//!   because of the place where it stands.
//! - QRY-3: the newest version of an index key at the snapshot decides about that key: a delete hides every older entry.

mod bounds;
mod candidates;
mod gathered;
mod newest;
mod rows;
pub mod types;
mod view;

pub(crate) use bounds::{lookup_bounds, range_bounds};
pub(crate) use rows::RowStream;
pub(crate) use view::{QueryCounters, QueryView};
