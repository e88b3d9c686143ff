//! A segment that grows.

use super::format::{FILE_HEADER, FileHeader, RecordHeader};
use super::record::RecordBuffer;
use crate::base::error::{Error, Result};
use crate::base::ids::{FileNumber, Sqn};
use crate::env::{File, FileSystem, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const APPENDING: &str = "append to the write-ahead log";
const CREATING: &str = "create a write-ahead log segment";

/// The segment that records are appended to. One appending thread.
#[derive(Debug)]
pub(crate) struct Segment {
    file: Arc<dyn File>,
    path: PathBuf,
    number: FileNumber,
    salt: u64,
    /// Where the next record goes: behind the last good byte.
    len: u64,
    last_sqn: Sqn,
    sealed: bool,
}

impl Segment {
    /// Creates the file and makes its header and name durable (WAL-3): one sync per segment, and a header that does not verify
    /// in a file with records is then damage and never the trace of a crash.
    ///
    /// `salt` is random; `first_sqn` follows the last sqn of the log. If this fails, no file is left behind and the number must not be
    /// used again.
    pub fn create(fs: &dyn FileSystem, dir: &Path, number: FileNumber, salt: u64, first_sqn: Sqn) -> Result<Segment> {
        if first_sqn == Sqn::ZERO || first_sqn > Sqn::MAX {
            return Err(Error::internal(format!("a log segment cannot start with sqn {first_sqn}")));
        }
        let path = dir.join(super::file_name(number));
        let failed = |e| Error::io(&path, CREATING, e);
        let file = fs.open(&path, OpenMode::CreateNew).map_err(failed)?;
        let header = FileHeader { number, salt, first_sqn }.encode();
        let durable = file.write_at(&[&header], 0).and_then(|()| file.sync_data()).and_then(|()| fs.sync_dir(dir));
        if let Err(e) = durable {
            // A file without a good header must not stand before a later segment. Where it cannot be removed, that is the graver
            // error, for it must stop the caller from creating the next one.
            fs.remove(&path).map_err(|e| Error::Io {
                file: path.clone(),
                doing: "remove a log segment that could not be created",
                source: Arc::new(e),
            })?;
            return Err(failed(e));
        }
        let last_sqn = Sqn(first_sqn.0 - 1);
        Ok(Segment { file, path, number, salt, len: FILE_HEADER as u64, last_sqn, sealed: false })
    }

    /// Appends a record of `count` operations by one write, without a sync.
    ///
    /// After [`Error::NoSpace`] nothing of the record is in the file, and what was there is durable; the segment is sealed, and
    /// the same record may go into a new segment. After any other error the record may be in the log or not: the caller
    /// stops writing.
    pub fn append(&mut self, first_sqn: Sqn, count: u32, synced: Sqn, record: &mut RecordBuffer) -> Result<()> {
        let payload_len = record.len();
        let header = self.header_for(first_sqn, count, synced, payload_len)?;
        let written = self.file.write_at(&[record.seal(&header, self.salt, self.len)], self.len);
        record.truncate(payload_len);
        match written {
            Ok(()) => {
                self.len += header.record_len();
                self.last_sqn = header.last_sqn();
                Ok(())
            }
            Err(e) => Err(self.seal_after(e)),
        }
    }

    /// All of a record's header but the payload's sum.
    fn header_for(&self, first_sqn: Sqn, count: u32, synced: Sqn, payload_len: usize) -> Result<RecordHeader> {
        if self.sealed {
            return Err(Error::internal("append to a sealed log segment"));
        }
        let last = first_sqn.0.checked_add(u64::from(count)).map_or(u64::MAX, |end| end.saturating_sub(1));
        if first_sqn != self.last_sqn.next() || synced >= first_sqn || count == 0 || last > Sqn::MAX.0 {
            return Err(Error::internal(format!(
                "a log record of {count} operations from sqn {first_sqn}, synced through {synced}, behind sqn {}",
                self.last_sqn
            )));
        }
        let payload_len =
            u32::try_from(payload_len).map_err(|_| Error::invalid("a group of writes is larger than 4 GiB"))?;
        Ok(RecordHeader { payload_sum: 0, payload_len, count, first_sqn, synced_through: synced })
    }

    /// After a failed write. Where space was lacking, cuts the file back and makes the cut durable: were the record to come
    /// back after a power cut, it would carry the same sqns as the one that the next segment starts with.
    fn seal_after(&mut self, cause: io::Error) -> Error {
        self.sealed = true;
        let error = match cause.kind() {
            io::ErrorKind::WriteZero => Error::NoSpace { file: self.path.clone(), doing: APPENDING },
            _ => Error::io(&self.path, APPENDING, cause),
        };
        if !matches!(error, Error::NoSpace { .. }) {
            return error;
        }
        match self.file.set_len(self.len).and_then(|()| self.file.sync_data()) {
            Ok(()) => error,
            Err(e) => Error::Io {
                file: self.path.clone(),
                doing: "cut a write-ahead log segment back after the file system filled up",
                source: Arc::new(e),
            },
        }
    }

    /// The file, to be synced without holding a lock. What a sync makes durable is what was appended before it started.
    pub fn file(&self) -> Arc<dyn File> {
        Arc::clone(&self.file)
    }

    pub fn number(&self) -> FileNumber {
        self.number
    }

    /// Bytes up to the end of the last record.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether no record was appended yet.
    pub fn is_empty(&self) -> bool {
        self.len == FILE_HEADER as u64
    }

    /// The last sqn of the log so far; the one before the segment's first if nothing was appended.
    #[cfg(test)]
    pub fn last_sqn(&self) -> Sqn {
        self.last_sqn
    }

    /// Whether a write failed, so that nothing more can be appended.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }
}
