//! The write-ahead log: what was acknowledged and is not in tables yet.
//!
//! Owns the format of `NNNNNN.wal` files, how they grow, and what of them counts after a crash. Depends on `base` and `env`.
//! The log as a whole (which segments exist, when to start another, when to sync) is the database's.
//!
//! Threads: a [`Segment`] has one appending thread (the leader of the write group). Its file may be synced by others meanwhile.
//!
//! - WAL-1: one record holds one write group, is written by one call, and counts as a whole or not at all.
//! - WAL-2: sqns are consecutive, within a record, over records and over segments: every segment's header names the sqn that its
//!   first record carries. So nothing can be missing from the middle without being missed.
//! - WAL-3: a segment's header and name are durable before its first record is written, and before the next segment is
//!   created.
//! - WAL-4: a record's `synced_through` is an sqn that was known to be durable when the record was written. To sync through an
//!   sqn is to sync every segment up to the one that holds it, oldest first.
//! - WAL-5: every byte of a record is covered by a checksum that is seeded with the segment's random salt and the offset, or is
//!   padding and must be zero; the segment's header has a checksum of its own, with no seed. Bytes of other
//!   files, stale bytes and values made to look like records do not verify.
//! - WAL-6: replay is a pure function of the log's bytes; an operation holds all that is needed to redo it.
//! - WAL-7: nothing is appended behind damage: a tail that does not verify is cut off and the cut is durable, or the segment is
//!   sealed and the next one continues with the following sqn.
//!
//! The crash argument. After a power cut a segment holds any part of the bytes that were not synced. The longest run of whole
//! records with consecutive sqns, from the first segment on, is a prefix of commit order (WAL-1, WAL-2), and it contains all that
//! was synced (WAL-4). What follows it was not acknowledged as durable, unless something names a larger synced sqn: a
//! later record (WAL-4), or the manifest. Then bytes that were durable are gone, which no crash does: that is corruption,
//! and it is said so instead of shortening history.

mod format;
mod op;
mod reader;
mod record;
mod recover;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use op::{OldVersion, Op, OpPlace, decode_ops};
pub(crate) use record::RecordBuffer;
pub(crate) use recover::recover;
pub(crate) use writer::Segment;

use crate::base::ids::FileNumber;
use std::path::{Path, PathBuf};

const EXTENSION: &str = ".wal";

/// The name of a segment's file.
pub(crate) fn file_name(number: FileNumber) -> String {
    format!("{:06}{EXTENSION}", number.0)
}

/// The path of a segment.
pub(crate) fn segment_path(dir: &Path, number: FileNumber) -> PathBuf {
    dir.join(file_name(number))
}

/// The number in a segment's file name; `None` if no segment is named so.
pub(crate) fn parse_file_name(name: &str) -> Option<FileNumber> {
    let number = FileNumber(name.strip_suffix(EXTENSION)?.parse().ok()?);
    // Only the one spelling: "+1.wal" and "1.wal" are somebody else's.
    (file_name(number) == name).then_some(number)
}
