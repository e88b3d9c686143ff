//! How a sorted source of internal keys is read.

use super::error::Result;

/// A cursor over sorted internal keys (see [`super::key`]) and their values.
///
/// ITER-1: a cursor is unpositioned until one of the seeks; after a forward seek only `next` may be called, after a backward
/// seek only `prev`. This keeps merging cheap (no source ever turns round) and costs users nothing: a scan has one direction.
/// ITER-2: after an error the cursor is invalid and stays so until the next seek; an error never looks like an end.
pub(crate) trait SortedIter {
    /// Whether the cursor stands on an entry.
    fn valid(&self) -> bool;
    /// The internal key; only while valid.
    fn key(&self) -> &[u8];
    /// The value; only while valid.
    fn value(&self) -> &[u8];
    /// Forward: to the first entry.
    fn seek_to_first(&mut self) -> Result<()>;
    /// Forward: to the first entry whose internal key is at or after `target`.
    fn seek(&mut self, target: &[u8]) -> Result<()>;
    /// Forward: to the following entry.
    fn next(&mut self) -> Result<()>;
    /// Backward: to the last entry.
    fn seek_to_last(&mut self) -> Result<()>;
    /// Backward: to the last entry whose internal key is before `target`.
    fn seek_before(&mut self, target: &[u8]) -> Result<()>;
    /// Backward: to the preceding entry.
    fn prev(&mut self) -> Result<()>;
}
