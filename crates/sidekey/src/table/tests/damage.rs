//! Tables whose bytes are not what was written.

use super::*;
use crate::base::checksum::checksum;
use crate::base::error::Error;
use crate::table::block::stored;
use crate::table::footer::{FOOTER_BYTES, Footer};
use crate::table::verify::Finding;
use proptest::prelude::*;

fn sample() -> (TestFiles, Entries) {
    let entries = plain(30);
    let (files, _) = written(&entries, TableOptions { compression: Compression::Lz4, ..tiny() });
    (files, entries)
}

/// Opens and reads everything.
fn read_all(files: &TestFiles) -> crate::Result<Entries> {
    forward(&mut open(files, 0)?.iter(ReadMode::Bulk))
}

fn footer(files: &TestFiles) -> Footer {
    files.change(&path(), |bytes| Footer::decode(&bytes[bytes.len() - FOOTER_BYTES..], bytes.len() as u64).unwrap())
}

/// Signs the stored block at `start..end` anew.
fn sign(bytes: &mut [u8], start: u64, end: u64) {
    let (start, sum_at) = (start as usize, end as usize - 4);
    let sum = checksum(NUMBER.0, start as u64, &[&bytes[start..sum_at]]);
    bytes[sum_at..sum_at + 4].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn every_single_changed_byte_is_corruption() {
    let (files, entries) = sample();
    let len = files.len(&path()) as usize;
    for at in 0..len {
        for mask in [1, 0x80, 0xff] {
            files.change(&path(), |bytes| bytes[at] ^= mask);
            let error = read_all(&files).expect_err("a changed byte goes unseen");
            assert!(matches!(&error, Error::Corruption { file, .. } if *file == path()), "byte {at}: {error}");
            files.change(&path(), |bytes| bytes[at] ^= mask);
        }
    }
    assert_eq!(read_all(&files).unwrap(), entries);
}

#[test]
fn every_truncation_and_an_extension_are_corruption() {
    let (files, _) = sample();
    let whole = files.change(&path(), |bytes| bytes.clone());
    for len in (0..whole.len()).chain([whole.len() + 1]) {
        files.change(&path(), |bytes| {
            bytes.clone_from(&whole);
            bytes.resize(len, 0);
        });
        assert_eq!(open(&files, 0).unwrap_err().kind(), ErrorKind::Corruption, "length {len}");
    }
}

#[test]
fn another_file_is_no_table_and_another_table_is_named() {
    let files = TestFiles::default();
    files.create(path()).write_at(&[&[b'x'; 500]], 0).unwrap();
    assert!(open(&files, 0).unwrap_err().to_string().ends_with("not a Sidekey table"));
    let (files, _) = sample();
    let error = Table::open(&files, &path(), FileNumber(6), Arc::new(BlockCache::new(0))).unwrap_err();
    assert!(error.to_string().ends_with("this is table 5, where table 6 should be"), "{error}");
}

#[test]
fn a_newer_format_is_incompatible_and_names_both_versions() {
    let (files, _) = sample();
    files.change(&path(), |bytes| {
        let at = bytes.len() - FOOTER_BYTES;
        bytes[at + 48] = 9;
        let sum = checksum(NUMBER.0, at as u64, &[&bytes[at..at + 60], &bytes[at + 64..]]);
        bytes[at + 60..at + 64].copy_from_slice(&sum.to_le_bytes());
    });
    let error = open(&files, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incompatible);
    assert!(error.to_string().contains("format 9 is newer than this build, which reads up to 1"), "{error}");
}

#[test]
fn blocks_that_changed_places_are_corruption() {
    let (files, _) = written(&plain(30), tiny());
    let places: Vec<_> = open(&files, 0).unwrap().blocks().map(|b| (b.offset as usize, b.size as usize)).collect();
    let [(a, len), (b, same)] = places[1..3] else { panic!("too few blocks") };
    assert_eq!(len, same);
    files.change(&path(), |bytes| (0..len).for_each(|n| bytes.swap(a + n, b + n)));
    assert_eq!(read_all(&files).unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn an_iterator_that_fails_is_invalid_and_can_seek_again() {
    let (files, entries) = written_plain();
    let table = open(&files, 0).unwrap();
    let block = table.blocks().nth(2).unwrap();
    for mode in [ReadMode::Normal, ReadMode::Bulk] {
        let mut iter = table.iter(mode);
        files.fail_reads_at(&path(), Some(block.offset));
        assert_eq!(forward(&mut iter).unwrap_err().kind(), ErrorKind::Io);
        assert!(!iter.valid());
        iter.next().unwrap();
        assert!(!iter.valid());
        files.fail_reads_at(&path(), None);
        iter.seek(block.first).unwrap();
        assert_eq!(iter.key(), block.first);
        assert_eq!(forward(&mut iter).unwrap(), entries);
    }
}

fn written_plain() -> (TestFiles, Entries) {
    let entries = plain(30);
    (written(&entries, tiny()).0, entries)
}

#[test]
fn verify_reports_every_damaged_block_and_goes_on() {
    let (files, entries) = written_plain();
    let table = open(&files, 1 << 20).unwrap();
    forward(&mut table.iter(ReadMode::Normal)).unwrap();
    let damaged: Vec<u64> = [1, 3].iter().filter_map(|n| table.blocks().nth(*n)).map(|b| b.offset).collect();
    damaged.iter().for_each(|at| files.change(&path(), |bytes| bytes[*at as usize] ^= 1));
    let mut visited = 0;
    let findings = table.verify(FilterKey::WholeKey, &mut |_, _| visited += 1);
    assert_eq!(findings.iter().map(|finding| finding.offset).collect::<Vec<_>>(), damaged);
    assert!(visited > 0 && visited < entries.len());
}

#[test]
fn verify_sees_through_right_checksums() {
    let (files, _) = written_plain();
    let table = open(&files, 0).unwrap();
    let block = table.blocks().nth(1).unwrap();
    let (start, end) = (block.offset, block.offset + block.size);
    let whole = files.change(&path(), |bytes| bytes.clone());
    let verify_changed = |change: &dyn Fn(&mut Vec<u8>)| {
        files.change(&path(), |bytes| {
            bytes.clone_from(&whole);
            change(bytes);
        });
        let table = open(&files, 0).unwrap();
        table.verify(FilterKey::WholeKey, &mut |_, _| {}).into_iter().map(|f| f.what).collect::<Vec<_>>().join("; ")
    };
    // The first user key of the block starts after three length bytes: another one is not what index and filter say.
    let report = verify_changed(&|bytes| {
        bytes[start as usize + 3] ^= 0x20;
        sign(bytes, start, end);
    });
    for expected in ["first key is not what the index states", "is not after the one before", "the filter denies key"] {
        assert!(report.contains(expected), "{report}");
    }
    // Count, common length and one restart prefix end the payload.
    let prefix_at = end as usize - stored::TRAILER - 8 - 8;
    let report = verify_changed(&|bytes| {
        bytes[prefix_at] ^= 1;
        sign(bytes, start, end);
    });
    assert!(report.contains("a restart's prefix is not that of its key"), "{report}");
    // A delete in the place of a put; the last byte of the first trailer is the complement of the kind.
    let kind_at = start as usize + 3 + b"key000000".len() + 7;
    let report = verify_changed(&|bytes| {
        bytes[kind_at] ^= 1;
        sign(bytes, start, end);
    });
    assert!(report.contains("differ from a recount"), "{report}");
    // The filter, emptied.
    let filter = footer(&files).filter;
    let report = verify_changed(&|bytes| {
        let lines = filter.offset as usize + 5..(filter.offset + filter.size) as usize - stored::TRAILER;
        bytes[lines].fill(0);
        sign(bytes, filter.offset, filter.offset + filter.size);
    });
    assert_eq!(report.matches("the filter denies key").count(), 30, "{report}");
}

#[test]
fn verify_sees_a_file_that_changed_after_open() {
    let (files, _) = written_plain();
    let table = open(&files, 0).unwrap();
    let properties = footer(&files).properties;
    files.change(&path(), |bytes| bytes[properties.offset as usize] ^= 1);
    let findings = table.verify(FilterKey::WholeKey, &mut |_, _| {});
    assert_eq!(findings, [Finding { offset: properties.offset, what: "block checksum does not match".into() }]);
}

#[test]
fn the_bytes_of_a_small_table_stay_as_they_are() {
    let entries = vec![put(b"apple", 2, b"red"), (key::encode(b"apply", Sqn(1), Kind::Delete), vec![])];
    let (files, _) = written(&entries, TableOptions { filter_bits_per_key: 0, ..tiny() });
    let hex: String = files.change(&path(), |bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect());
    assert_eq!(hex, include_str!("small_table.hex").split_whitespace().collect::<String>());
}

proptest! {
    #[test]
    fn any_bytes_with_right_checksums_never_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (files, _) = sample();
        let places: Vec<_> = open(&files, 0).unwrap().blocks().map(|b| (b.offset, b.offset + b.size)).collect();
        let found = footer(&files);
        let parts = [found.filter, found.index, found.properties].map(|part| (part.offset, part.offset + part.size));
        files.change(&path(), |bytes| {
            for (at, byte) in changes {
                let at = at.index(bytes.len() - FOOTER_BYTES);
                bytes[at] = byte;
            }
            places.iter().chain(&parts).for_each(|(start, end)| sign(bytes, *start, *end));
        });
        if let Ok(table) = open(&files, 0) {
            let _ = forward(&mut table.iter(ReadMode::Bulk));
            let _ = backward(&mut table.iter(ReadMode::Normal));
            let _ = table.get(b"key000011", Sqn::MAX);
            table.verify(FilterKey::WholeKey, &mut |_, _| {});
        }
    }
}
