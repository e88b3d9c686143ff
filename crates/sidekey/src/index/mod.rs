//! Secondary indexes: what they are, what a write brings to them, how an attribute is taken out of a value.
//!
//! Owns the compiled [`set::IndexSet`] of a collection (immutable). Depends on version (the stored definitions), on compaction and table (a build's
//! sorted runs), env, base. Takes no lock.
//!
//! IDX-1 and IDX-2 are about the keys and stand in [`crate::base::index_key`].
//!
//! - IDX-3: an attribute is extracted once, when a record is written, and stands in the record's header from then on; a value is parsed
//!   again only if its header is older than the attribute.
//! - IDX-4: a write brings its entries in the same group, log record and memtable switch as its record, so a reader never sees one without
//!   the other.
//! - IDX-5: an unchanged attribute still writes its entry at the new sqn: recency is that of the newest version.
//! - IDX-6: an index holds entries for all records as of its `built` sqn and of all later writes; it answers no older snapshot. Replay derives
//!   entries for it only from operations above that sqn.

pub(crate) mod extract;
pub(crate) mod path;
pub(crate) mod set;
pub(crate) mod sort;
pub mod spec;
