//! A segment that is read: its header, one record after the other, and a search for witnesses in what does not verify.

use super::format::{self, ALIGN, BadHeader, FILE_HEADER, FileHeader, RECORD_HEADER, RecordHeader};
use crate::base::error::{Damage, Error, Result};
use crate::base::format::FORMAT_VERSION;
use crate::base::ids::{FileNumber, Sqn};
use crate::env::{Advice, File, FileSystem, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Read at once; larger only where one record is.
const WINDOW_BYTES: u64 = 256 << 10;
const READING: &str = "read a write-ahead log segment";

/// A segment's file as it was found. Holds no open file, since there may be many segments.
#[derive(Debug)]
pub(super) struct Surveyed {
    pub number: FileNumber,
    pub path: PathBuf,
    pub len: u64,
    pub header: Result<FileHeader, Damage>,
}

impl Surveyed {
    /// Reads the header. Fails where the file cannot be read or a newer build wrote it.
    pub fn new(fs: &dyn FileSystem, dir: &Path, number: FileNumber) -> Result<Surveyed> {
        let path = dir.join(super::file_name(number));
        let failed = |e| Error::io(&path, READING, e);
        let file = fs.open(&path, OpenMode::Read).map_err(failed)?;
        let len = file.len().map_err(failed)?;
        let mut bytes = [0; FILE_HEADER];
        let there = &mut bytes[..len.min(FILE_HEADER as u64) as usize];
        file.read_exact_at(there, 0).map_err(failed)?;
        let header = match FileHeader::decode(there, number) {
            Ok(header) => Ok(header),
            Err(BadHeader::Damaged(damage)) => Err(damage),
            Err(BadHeader::Newer(version)) => {
                return Err(Error::Incompatible(format!(
                    "{}: written in format {version} of the write-ahead log, and this build reads up to format \
                     {FORMAT_VERSION}: open the database with the build that wrote it, or a newer one",
                    path.display()
                )));
            }
        };
        Ok(Surveyed { number, path, len, header })
    }
}

/// What stands at an offset.
#[derive(Debug)]
pub(super) enum Step<'a> {
    Record(Record<'a>),
    /// The bytes to read end here.
    End,
    /// What is wrong with what stands here.
    Bad(&'static str),
}

/// A record that verifies.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub header: RecordHeader,
    pub payload: &'a [u8],
    /// Where the payload starts.
    pub payload_at: u64,
    /// Where the next record starts.
    pub end: u64,
}

/// An open segment and a window of its bytes: memory is bounded by the largest record that its header vouches for.
#[derive(Debug)]
pub(super) struct SegmentReader<'a> {
    path: &'a Path,
    file: Arc<dyn File>,
    salt: u64,
    len: u64,
    window: Vec<u8>,
    window_at: u64,
}

impl<'a> SegmentReader<'a> {
    /// Reads the first `len` bytes, which the file has.
    pub fn new(fs: &dyn FileSystem, path: &'a Path, len: u64, header: &FileHeader) -> Result<SegmentReader<'a>> {
        let file = fs.open(path, OpenMode::Read).map_err(|e| Error::io(path, READING, e))?;
        file.advise(0, len, Advice::Sequential);
        Ok(SegmentReader { path, file, salt: header.salt, len, window: Vec::new(), window_at: 0 })
    }

    /// What stands at `offset`, which is at most the file's length and a multiple of 8.
    pub fn step(&mut self, offset: u64) -> Result<Step<'_>> {
        let left = self.len.saturating_sub(offset);
        if left == 0 {
            return Ok(Step::End);
        }
        if left < RECORD_HEADER as u64 {
            return Ok(Step::Bad("a record header is cut off"));
        }
        let salt = self.salt;
        let header = match RecordHeader::decode(self.bytes(offset, RECORD_HEADER as u64)?, salt, offset) {
            Ok(header) => header,
            Err(damage) => return Ok(Step::Bad(damage.what)),
        };
        if header.record_len() > left {
            return Ok(Step::Bad("a record is cut off"));
        }
        let bytes = self.bytes(offset, header.record_len())?;
        let (payload, padding) = bytes[RECORD_HEADER..].split_at(header.payload_len as usize);
        if format::payload_sum(salt, offset, payload) != header.payload_sum {
            return Ok(Step::Bad("a record's payload does not verify"));
        }
        if padding.iter().any(|b| *b != 0) {
            return Ok(Step::Bad("a record's padding is not zero"));
        }
        let (payload_at, end) = (offset + RECORD_HEADER as u64, offset + header.record_len());
        Ok(Step::Record(Record { header, payload, payload_at, end }))
    }

    /// Looks at and behind `from` for a record that was written when an sqn beyond `beyond` was durable. Its header suffices.
    ///
    /// Linear: a header that verifies is skipped with its payload, and one that does not costs 40 bytes of work, for the marks that
    /// a value might imitate do not help it past the salted checksum.
    pub fn witness(&mut self, from: u64, beyond: Sqn) -> Result<Option<Sqn>> {
        let mut offset = from.next_multiple_of(ALIGN);
        while offset.saturating_add(RECORD_HEADER as u64) <= self.len {
            let salt = self.salt;
            match RecordHeader::decode(self.bytes(offset, RECORD_HEADER as u64)?, salt, offset) {
                Ok(header) if header.synced_through > beyond => return Ok(Some(header.synced_through)),
                Ok(header) => offset += header.record_len(),
                Err(_) => offset += ALIGN,
            }
        }
        Ok(None)
    }

    /// A range that lies within the file.
    #[inline]
    fn bytes(&mut self, offset: u64, len: u64) -> Result<&[u8]> {
        let covered = offset >= self.window_at && offset + len <= self.window_at + self.window.len() as u64;
        if !covered {
            self.load(offset, len.max(WINDOW_BYTES).min(self.len - offset))?;
        }
        let start = (offset - self.window_at) as usize;
        Ok(&self.window[start..start + len as usize])
    }

    fn load(&mut self, offset: u64, len: u64) -> Result<()> {
        self.window.clear();
        self.window_at = offset;
        let fits = usize::try_from(len).ok().filter(|len| self.window.try_reserve_exact(*len).is_ok());
        let read = match fits {
            Some(len) => {
                self.window.resize(len, 0);
                self.file.read_exact_at(&mut self.window, offset)
            }
            None => Err(io::Error::from(io::ErrorKind::OutOfMemory)),
        };
        read.map_err(|e| {
            self.window.clear();
            Error::io(self.path, READING, e)
        })
    }
}
