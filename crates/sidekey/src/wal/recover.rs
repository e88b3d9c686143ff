//! What of the log counts after a crash.
//!
//! Two passes: the first finds where the log ends, verifies and decodes everything up to there, and refuses what a crash cannot
//! have done; only then is the rest cut off, what remains is synced, and the second pass replays it. So no operation is ever
//! visited that is later cut off or reported as damaged, and a refused log was not changed. It costs reading the log twice,
//! the second time from the page cache.
//!
//! Where a record is bad or missing behind the last good sqn L:
//! 1. the next segment starts with L+1: the segment was sealed there (WAL-7), and the log goes on in the next;
//! 2. something says that more than L was durable (the manifest, or a later record, whole or torn, in this segment or
//!    the following): corruption;
//! 3. nothing does: an unsynced tail, torn or with holes. It is cut off: later segments are removed, the newest first,
//!    then the segment is shortened. Cut short by another crash, this leaves fewer bytes behind the same end, which is found
//!    again.
//!
//! A file no longer than a header, without a good one, is *stillborn*: its creation was cut short (WAL-3), it holds
//! nothing, and it is removed. Without a good header but longer it is damaged, for its header was durable before its first
//! record; and so it is where a later segment has a header and no earlier one tells what should follow.
//!
//! Not to be told from a crash: damage to, or the loss of, records behind the last sqn of which a later record or the manifest
//! says that it was durable. Everything from the first such byte on is cut off, what was synced or closed cleanly since included.

use super::format::{FILE_HEADER, FileHeader};
use super::op::{Op, decode_ops};
use super::reader::{SegmentReader, Step, Surveyed};
use crate::base::error::{Error, Result};
use crate::base::ids::{FileNumber, Sqn};
use crate::env::{FileSystem, OpenMode};
use std::path::Path;

/// What [`recover`] found and did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// The sqn that the log ends with: the next segment starts behind it. With no record left it is the one before the first
    /// segment's first. `None` if there is no segment with a header.
    pub last_sqn: Option<Sqn>,
    pub records: u64,
    pub ops: u64,
    /// What was cut off, if anything.
    pub cut: Option<Cut>,
    /// The segments that remain, oldest first; all of them durable. They are never appended to again.
    pub kept: Vec<Kept>,
}

/// An unsynced tail that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The segment in which the log ends now.
    pub file: FileNumber,
    /// Where in it. Zero if the file itself is gone.
    pub offset: u64,
    /// What was behind, in this and later segments.
    pub dropped_bytes: u64,
}

/// A segment that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub number: FileNumber,
    pub first_sqn: Sqn,
    /// The one before `first_sqn` if there is no record.
    pub last_sqn: Sqn,
    /// Bytes up to the end of the last record.
    pub len: u64,
    records: u64,
    ops: u64,
}

/// Recovers the log that consists of `segments` (ascending; all from the manifest's log start on) and replays it.
///
/// `durable_through` is what the manifest knows: what the log holds up to that sqn was synced. `visit` gets the operations in
/// sqn order, each with its segment; its error ends recovery and is returned.
///
/// # Errors
/// [`Error::Corruption`] where bytes are damaged or missing that were durable, or that no crash could have damaged;
/// [`Error::Incompatible`] for a segment of a newer format; else what the file system says. A read error never counts as an end.
pub(crate) fn recover(
    fs: &dyn FileSystem,
    dir: &Path,
    segments: &[FileNumber],
    durable_through: Sqn,
    visit: &mut dyn FnMut(&Op<'_>, FileNumber) -> Result<()>,
) -> Result<Recovered> {
    if !segments.is_sorted_by(|a, b| a < b) {
        return Err(Error::internal("log segments are not in ascending order"));
    }
    let log = survey(fs, dir, segments)?;
    let kept = find_end(fs, &log, durable_through)?;
    let cut = cut_behind(fs, dir, &log, &kept)?;
    replay(fs, &log, &kept, visit)?;
    Ok(Recovered {
        last_sqn: kept.last().map(|k| k.last_sqn),
        records: kept.iter().map(|k| k.records).sum(),
        ops: kept.iter().map(|k| k.ops).sum(),
        cut,
        kept,
    })
}

/// Reads all headers and refuses those that no crash can have left like that.
fn survey(fs: &dyn FileSystem, dir: &Path, segments: &[FileNumber]) -> Result<Vec<Surveyed>> {
    let log = segments.iter().map(|n| Surveyed::new(fs, dir, *n)).collect::<Result<Vec<_>>>()?;
    let first_good = log.iter().position(|s| s.header.is_ok()).unwrap_or(0);
    for (i, segment) in log.iter().enumerate() {
        if let Err(damage) = &segment.header
            && (segment.len > FILE_HEADER as u64 || i < first_good)
        {
            let what = format!("{}; it was durable before anything was written behind it", damage.what);
            return Err(Error::corruption(&segment.path, damage.offset as u64, what));
        }
    }
    Ok(log)
}

/// The segments that were created, in order.
fn good(log: &[Surveyed]) -> impl Iterator<Item = (&Surveyed, &FileHeader)> {
    log.iter().filter_map(|s| s.header.as_ref().ok().map(|header| (s, header)))
}

/// Pass one: the segments that count, each up to its last good record.
fn find_end(fs: &dyn FileSystem, log: &[Surveyed], durable_through: Sqn) -> Result<Vec<Kept>> {
    let mut kept = vec![];
    let mut segments = good(log).peekable();
    while let Some((segment, header)) = segments.next() {
        let mut reader = SegmentReader::new(fs, &segment.path, segment.len, header)?;
        let (end, bad) = verify(&mut reader, segment, header)?;
        kept.push(end);
        let what = match (segments.peek(), bad) {
            (Some((_, next)), _) if next.first_sqn == end.last_sqn.next() => continue,
            (_, Some(what)) => what,
            (Some(_), None) => "records are missing between this segment and the next",
            (None, None) => "records are missing at the end of the log",
        };
        if let Some(durable) = durable_beyond(fs, durable_through, &end, &mut reader, segments)? {
            let last = end.last_sqn;
            let what = format!("{what}: the log ends here with sqn {last}, but it was durable through sqn {durable}");
            return Err(Error::corruption(&segment.path, end.len, what));
        }
        break;
    }
    Ok(kept)
}

/// An sqn beyond the end that was found, of which something says that it was durable.
fn durable_beyond<'a>(
    fs: &dyn FileSystem,
    durable_through: Sqn,
    end: &Kept,
    reader: &mut SegmentReader<'_>,
    later: impl Iterator<Item = (&'a Surveyed, &'a FileHeader)>,
) -> Result<Option<Sqn>> {
    if durable_through > end.last_sqn {
        return Ok(Some(durable_through));
    }
    let mut found = reader.witness(end.len, end.last_sqn)?;
    for (segment, header) in later {
        if found.is_none() {
            let mut reader = SegmentReader::new(fs, &segment.path, segment.len, header)?;
            found = reader.witness(FILE_HEADER as u64, end.last_sqn)?;
        }
    }
    Ok(found)
}

/// Verifies and decodes a segment up to its end or the first bad record; says what is bad there.
fn verify(
    reader: &mut SegmentReader<'_>,
    segment: &Surveyed,
    header: &FileHeader,
) -> Result<(Kept, Option<&'static str>)> {
    let mut end = Kept {
        number: segment.number,
        first_sqn: header.first_sqn,
        last_sqn: Sqn(header.first_sqn.0 - 1),
        len: FILE_HEADER as u64,
        records: 0,
        ops: 0,
    };
    loop {
        let record = match reader.step(end.len)? {
            Step::Record(record) => record,
            Step::End => return Ok((end, None)),
            Step::Bad(what) => return Ok((end, Some(what))),
        };
        if record.header.first_sqn != end.last_sqn.next() {
            return Ok((end, Some("a record does not follow the one before it")));
        }
        for op in decode_ops(record.payload, record.header.first_sqn, record.header.count) {
            // Its checksum is right, so it was written like this: never a torn tail, wherever it stands.
            op.map_err(|damage| damage.in_file(&segment.path, record.payload_at))?;
        }
        end.records += 1;
        end.ops += u64::from(record.header.count);
        end.last_sqn = record.header.last_sqn();
        end.len = record.end;
    }
}

/// Removes what does not count and makes what counts durable, so that nothing new is acknowledged on top of what may yet be lost.
fn cut_behind(fs: &dyn FileSystem, dir: &Path, log: &[Surveyed], kept: &[Kept]) -> Result<Option<Cut>> {
    let is_kept = |segment: &&Surveyed| kept.iter().any(|k| k.number == segment.number);
    let doomed: Vec<&Surveyed> = log.iter().rev().filter(|s| !is_kept(s)).collect();
    for segment in &doomed {
        fs.remove(&segment.path).map_err(|e| Error::io(&segment.path, "remove a segment behind the log's end", e))?;
    }
    if !doomed.is_empty() {
        fs.sync_dir(dir).map_err(|e| Error::io(dir, "sync the directory of the log", e))?;
    }
    let last = kept.last();
    let mut tail = 0;
    for segment in log.iter().filter(is_kept) {
        let failed = |doing| move |e| Error::io(&segment.path, doing, e);
        let file = fs.open(&segment.path, OpenMode::ReadWrite).map_err(failed("open a log segment"))?;
        if let Some(last) = last.filter(|last| last.number == segment.number && last.len < segment.len) {
            tail = segment.len - last.len;
            file.set_len(last.len).map_err(failed("cut off the log's torn tail"))?;
        }
        file.sync_data().map_err(failed("sync a recovered log segment"))?;
    }
    let behind = |segment: &&&Surveyed| last.is_none_or(|last| segment.number > last.number);
    let removed: Vec<u64> = doomed.iter().filter(behind).map(|s| s.len).collect();
    if removed.is_empty() && tail == 0 {
        return Ok(None);
    }
    let place = last.map(|last| (last.number, last.len)).or_else(|| log.first().map(|s| (s.number, 0)));
    Ok(place.map(|(file, offset)| Cut { file, offset, dropped_bytes: tail + removed.iter().sum::<u64>() }))
}

/// Pass two.
fn replay(
    fs: &dyn FileSystem,
    log: &[Surveyed],
    kept: &[Kept],
    visit: &mut dyn FnMut(&Op<'_>, FileNumber) -> Result<()>,
) -> Result<()> {
    for ((segment, header), end) in good(log).zip(kept) {
        let mut reader = SegmentReader::new(fs, &segment.path, end.len, header)?;
        let mut offset = FILE_HEADER as u64;
        while offset < end.len {
            let Step::Record(record) = reader.step(offset)? else {
                return Err(Error::corruption(&segment.path, offset, "a record reads differently the second time"));
            };
            for op in decode_ops(record.payload, record.header.first_sqn, record.header.count) {
                let op = op.map_err(|damage| damage.in_file(&segment.path, record.payload_at))?;
                visit(&op, segment.number)?;
            }
            offset = record.end;
        }
    }
    Ok(())
}
