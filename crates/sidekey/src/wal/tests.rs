mod damage;
mod disk;
mod recovery;
mod writer;

use super::op::encode_op;
use super::recover::{Cut, Recovered};
use super::*;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::ids::{CollectionId, Sqn};
use crate::base::key::Kind;
use disk::Disk;
use std::ops::Range;
use std::path::{Path, PathBuf};

fn dir() -> &'static Path {
    Path::new("db")
}

fn path(number: u64) -> PathBuf {
    dir().join(file_name(FileNumber(number)))
}

/// Where a record stands and what it holds.
#[derive(Clone, Debug)]
struct Written {
    file: u64,
    bytes: Range<u64>,
    last_sqn: Sqn,
}

/// A log that is being written, and what was written.
struct Log {
    disk: Disk,
    segments: Vec<u64>,
    segment: Segment,
    written: Vec<Written>,
}

impl Log {
    fn new() -> Log {
        let disk = Disk::default();
        let segment = Segment::create(&disk, dir(), FileNumber(1), 0xA11CE, Sqn(1)).unwrap();
        Log { disk, segments: vec![1], segment, written: vec![] }
    }

    /// Goes on in another segment.
    fn rotate(&mut self) {
        let number = self.segments.last().unwrap() + 1;
        let next = self.segment.last_sqn().next();
        self.segment = Segment::create(&self.disk, dir(), FileNumber(number), 0xB0B + number, next).unwrap();
        self.segments.push(number);
    }

    fn append(&mut self, count: u32, synced_through: u64) -> Result<()> {
        let first = self.segment.last_sqn().next();
        let payload = payload(first, count);
        let start = self.segment.len();
        self.segment.append(first, count, Sqn(synced_through), &mut RecordBuffer::of(&payload))?;
        let (file, bytes) = (self.segment.number().0, start..self.segment.len());
        self.written.push(Written { file, bytes, last_sqn: self.segment.last_sqn() });
        Ok(())
    }

    fn with(records: &[(u32, u64)]) -> Log {
        let mut log = Log::new();
        records.iter().for_each(|(count, synced)| log.append(*count, *synced).unwrap());
        log
    }

    fn recover(&self, durable_through: u64) -> (Result<Recovered>, Vec<Sqn>) {
        recover_on(&self.disk, &self.segments, durable_through)
    }

    /// The same log on a disk of its own.
    fn copy(&self) -> Disk {
        Disk::with(self.disk.contents())
    }
}

/// Recovers those of `segments` that still exist, and checks that what is replayed is what was written.
fn recover_on(disk: &Disk, segments: &[u64], durable_through: u64) -> (Result<Recovered>, Vec<Sqn>) {
    let files = disk.contents();
    let numbers: Vec<_> = segments.iter().filter(|n| files.contains_key(&path(**n))).map(|n| FileNumber(*n)).collect();
    let mut seen = vec![];
    let result = recover(disk, dir(), &numbers, Sqn(durable_through), &mut |op, _| {
        assert_eq!(*op, op_at(op.sqn, &value_at(op.sqn), &op.sqn.0.to_le_bytes()));
        seen.push(op.sqn);
        Ok(())
    });
    (result, seen)
}

fn sqns(through: Sqn) -> Vec<Sqn> {
    (1..=through.0).map(Sqn).collect()
}

fn value_at(sqn: Sqn) -> Vec<u8> {
    vec![sqn.0 as u8; (sqn.0 % 5) as usize]
}

/// Each sqn has its operation: puts and deletes, with and without an old version, in two collections.
fn op_at<'a>(sqn: Sqn, value: &'a [u8], pk: &'a [u8; 8]) -> Op<'a> {
    let put = !sqn.0.is_multiple_of(3);
    Op {
        collection: CollectionId((sqn.0 % 2) as u32),
        kind: if put { Kind::Put } else { Kind::Delete },
        sqn,
        pk,
        header: b"h",
        value: if put { value } else { &[] },
        old: sqn.0.is_multiple_of(4).then(|| OldVersion { sqn: Sqn(sqn.0 - 1), header: b"old" }),
    }
}

fn payload(first: Sqn, count: u32) -> Vec<u8> {
    let mut out = vec![];
    for sqn in (first.0..first.0 + u64::from(count)).map(Sqn) {
        encode_op(&mut out, 0, &op_at(sqn, &value_at(sqn), &sqn.0.to_le_bytes()));
    }
    out
}

/// File and offset of a corruption.
fn corruption(result: Result<Recovered>) -> (PathBuf, u64) {
    match result {
        Err(Error::Corruption { file, offset, .. }) => (file, offset),
        other => panic!("expected a corruption, got {other:?}"),
    }
}

#[test]
fn segment_names_have_one_spelling() {
    assert_eq!(file_name(FileNumber(7)), "000007.wal");
    assert_eq!(file_name(FileNumber(12_345_678)), "12345678.wal");
    for number in [0, 7, 999_999, 12_345_678, u64::MAX] {
        assert_eq!(parse_file_name(&file_name(FileNumber(number))), Some(FileNumber(number)));
    }
    for other in
        ["7.wal", "+00007.wal", "0000007.wal", "000007.tbl", ".wal", "000007.wal.old", "99999999999999999999.wal"]
    {
        assert_eq!(parse_file_name(other), None, "{other}");
    }
}
