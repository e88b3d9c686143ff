//! The version of the file formats: one number for all files, raised when older builds could not read what is written.

/// What this build writes, and the newest that it reads.
pub(crate) const FORMAT_VERSION: u32 = 1;
