//! Which tables make up each tree, and the durable record of it.
//!
//! Owns: the immutable [`TreeVersion`], table files' lifetime ([`TableFile`] removes its file when the last user of an obsolete one is
//! gone), the manifest and the edits in it. Depends on table, memtable, env, base. Threads: a version never changes; the manifest has one
//! user at a time (the database's install lock).
//!
//! - VER-1: an edit is applied in memory only after it is durable in the manifest.
//! - VER-2: a file is removed only after the edit that makes it obsolete is durable, and nobody reads it.
//! - VER-3: in level 0 tables stand newest first and their sqn ranges are disjoint; in every other level tables are
//!   sorted and their user-key ranges disjoint, so all versions of a key in a level are in one table.
//! - VER-4: an incarnation is durable in the manifest before any key starts with it, so it is never reused. A file number is not reused while a file
//!   or an edit of that number is left: every edit names one past the largest number given out, and opening goes on behind that and behind every file
//!   it finds. (The number of a file that came and went between two edits may be given out again after a crash; nothing knows it.)
//!
//! Crash: a record that was not wholly written is not applied, and what it would have named are orphans that the next open removes.

pub(crate) mod catalog;
pub(crate) mod edit;
#[cfg(test)]
pub(crate) mod fixture;
mod level;
mod manifest;
pub(crate) mod meta;
mod source;
mod tree;

pub(crate) use edit::Edit;
pub(crate) use manifest::{Manifest, current_path, is_manifest};
pub(crate) use meta::{TableFile, TableMeta, is_table, table_path};
pub(crate) use source::{LevelIter, Source};
pub(crate) use tree::{LEVELS, TreeVersion, retain};
