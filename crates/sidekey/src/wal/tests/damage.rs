//! What no crash can leave, and bytes that try to pass for something else.

use super::super::format::{FILE_HEADER, RECORD_HEADER, RecordHeader};
use super::*;
use crate::base::checksum::checksum;
use proptest::prelude::*;

/// Flips each byte of a file in turn.
fn each_flip(log: &Log, file: u64, mut check: impl FnMut(u64, &Disk)) {
    for at in 0..log.disk.bytes(&path(file)).len() {
        for mask in [0x01, 0xFF] {
            let disk = log.copy();
            disk.edit(&path(file), |bytes| bytes[at] ^= mask);
            check(at as u64, &disk);
        }
    }
}

/// Flipped bytes in records up to `synced` are corruption, at the record's start; later ones end the log before the record.
fn flips_are_judged_by_what_was_synced(log: &Log, durable_through: u64, synced: Sqn) {
    for file in &log.segments {
        each_flip(log, *file, |at, disk| {
            let before = disk.contents();
            let (recovered, seen) = recover_on(disk, &log.segments, durable_through);
            let Some(hit) = log.written.iter().position(|w| w.file == *file && w.bytes.contains(&at)) else {
                assert_eq!(corruption(recovered).0, path(*file), "a header is durable before the first record");
                return;
            };
            let good = if hit == 0 { Sqn(0) } else { log.written[hit - 1].last_sqn };
            if good < synced {
                // Where a segment's first record is hit, the log ends in this segment all the same.
                assert_eq!(corruption(recovered), (path(*file), log.written[hit].bytes.start), "{at}");
                assert_eq!((seen.len(), disk.contents()), (0, before), "a refused log is neither replayed nor changed");
            } else {
                assert_eq!((recovered.unwrap().last_sqn, seen), (Some(good), sqns(good)), "{at}");
            }
        });
    }
}

#[test]
fn a_flipped_byte_is_corruption_where_a_later_record_says_synced() {
    let log = Log::with(&[(1, 0), (2, 0), (1, 0), (2, 4), (1, 4), (1, 4)]);
    flips_are_judged_by_what_was_synced(&log, 0, Sqn(4));
}

#[test]
fn a_flipped_byte_is_corruption_where_a_later_segment_says_synced() {
    let mut log = Log::with(&[(1, 0), (2, 0)]);
    log.rotate();
    log.append(1, 0).unwrap();
    log.append(1, 2).unwrap();
    log.rotate();
    log.append(1, 0).unwrap();
    log.append(1, 4).unwrap();
    log.append(1, 4).unwrap();
    flips_are_judged_by_what_was_synced(&log, 0, Sqn(4));
}

#[test]
fn a_flipped_byte_is_corruption_where_the_manifest_says_synced() {
    let mut log = Log::with(&[(1, 0), (2, 0)]);
    log.rotate();
    log.append(2, 0).unwrap();
    log.append(1, 0).unwrap();
    flips_are_judged_by_what_was_synced(&log, 5, Sqn(5));
}

#[test]
fn synced_records_missing_at_the_end_are_corruption() {
    let log = Log::with(&[(2, 0), (2, 0)]);
    assert!(log.recover(4).0.is_ok());
    assert_eq!(corruption(log.recover(5).0), (path(1), log.segment.len()));
}

#[test]
fn a_torn_record_still_bears_witness_by_its_header() {
    let log = Log::with(&[(1, 0), (1, 0), (1, 2)]);
    let (hole, torn) = (&log.written[1].bytes, &log.written[2].bytes);
    log.disk.edit(&path(1), |bytes| {
        bytes[hole.start as usize] ^= 1;
        bytes.truncate(torn.start as usize + RECORD_HEADER);
    });
    assert_eq!(corruption(log.recover(0).0), (path(1), hole.start));
}

#[test]
fn a_bad_segment_header_is_damage_where_records_or_segments_follow() {
    let mut log = Log::with(&[(1, 0)]);
    log.disk.edit(&path(1), |bytes| bytes[..FILE_HEADER].fill(0));
    assert_eq!(corruption(log.recover(0).0), (path(1), 0), "records follow");
    log.disk.edit(&path(1), |bytes| bytes.truncate(FILE_HEADER));
    log.rotate();
    assert_eq!(corruption(log.recover(0).0), (path(1), 0), "a segment follows");
}

#[test]
fn a_lost_middle_segment_is_corruption_or_ends_the_log() {
    for synced in [0, 2, 3] {
        let mut log = Log::with(&[(2, 0)]);
        log.rotate();
        log.append(1, 0).unwrap();
        log.rotate();
        log.append(1, synced).unwrap();
        let (recovered, seen) = recover_on(&log.disk, &[1, 3], 0);
        if synced > 2 {
            assert_eq!(corruption(recovered), (path(1), log.written[0].bytes.end));
        } else {
            assert_eq!((recovered.unwrap().last_sqn, seen), (Some(Sqn(2)), sqns(Sqn(2))));
        }
    }
}

#[test]
fn swapped_segments_are_damage() {
    let mut log = Log::with(&[(2, 0)]);
    log.rotate();
    log.append(1, 0).unwrap();
    let (one, two) = (log.disk.bytes(&path(1)), log.disk.bytes(&path(2)));
    log.disk.put(&path(1), two);
    log.disk.put(&path(2), one);
    assert_eq!(corruption(log.recover(0).0).0, path(1));
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let log = Log::with(&[(1, 0)]);
    log.disk.edit(&path(1), |bytes| {
        bytes[8] = 2;
        let sum = checksum(0, 0, &[&bytes[..60]]);
        bytes[60..64].copy_from_slice(&sum.to_le_bytes());
    });
    let before = log.disk.contents();
    assert_eq!(log.recover(0).0.unwrap_err().kind(), ErrorKind::Incompatible);
    assert_eq!(log.disk.contents(), before);
}

#[test]
fn operations_that_do_not_decode_in_a_record_that_verifies_are_never_cut_off() {
    let mut log = Log::with(&[(1, 0)]);
    let at = log.segment.len() + RECORD_HEADER as u64;
    let mut bytes = payload(Sqn(2), 1);
    let bad = bytes.len() as u64;
    bytes.push(2);
    log.segment.append(Sqn(2), 2, Sqn(0), &mut RecordBuffer::of(&bytes)).unwrap();
    let (recovered, seen) = log.recover(0);
    assert_eq!((corruption(recovered), seen.len()), ((path(1), at + bad), 0));
}

#[test]
fn segments_out_of_order_are_refused() {
    let log = Log::with(&[(1, 0)]);
    let twice = recover(&log.disk, dir(), &[FileNumber(1), FileNumber(1)], Sqn(0), &mut |_, _| Ok(()));
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::Internal);
}

/// Values that hold records which claim that all is synced, made for the very place where the value stands if `lead` is 1: with a
/// salt that is guessed, and with the right one, which nobody outside knows, for a place nearby. Both right is the counter-check.
#[test]
fn a_value_that_looks_like_a_record_is_none_when_the_record_around_it_is_torn() {
    let salt = 0xA11CE;
    for (forged_salt, shift, taken) in [(salt + 1, 48, false), (salt, 56, false), (salt, 48, true)] {
        let log = Log::with(&[(1, 0)]);
        let start = log.segment.len();
        let forge = |place: u64| {
            let (first_sqn, synced_through) = (Sqn(3 + place), Sqn(2 + place));
            let header = RecordHeader { payload_sum: 0, payload_len: 0, count: 1, first_sqn, synced_through };
            super::super::format::tests::encode(&header, forged_salt, start + shift + place * 32)
        };
        let forged: Vec<u8> = (0..40).flat_map(forge).collect();
        for lead in 0..8 {
            let disk = log.copy();
            let value = [&vec![0; lead][..], &forged].concat();
            let mut payload = vec![];
            encode_op(&mut payload, 0, &Op { kind: Kind::Put, old: None, ..op_at(Sqn(2), &value, &[0; 8]) });
            payload.resize(payload.len().next_multiple_of(8), 0);
            disk.edit(&path(1), |file| file.extend_from_slice(&[&[0; RECORD_HEADER][..], &payload].concat()));
            let (recovered, seen) = recover_on(&disk, &[1], 1);
            if taken && lead == 1 {
                assert_eq!(corruption(recovered).1, start);
            } else {
                assert_eq!((recovered.unwrap().cut.unwrap().offset, seen), (start, sqns(Sqn(1))), "{lead}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_recovered_or_refused_without_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400), headed: bool, durable in 0u64..3,
    ) {
        let log = Log::new();
        let header = if headed { log.disk.bytes(&path(1)) } else { vec![] };
        log.disk.put(&path(1), [header, bytes].concat());
        let (_, seen) = log.recover(durable);
        prop_assert!(seen.is_empty());
    }

    /// However a log is mangled: a prefix of what was written, with all that was synced, or a refusal that changed nothing.
    #[test]
    fn a_mangled_log_gives_a_prefix_that_holds_what_was_synced_or_is_refused(
        records in proptest::collection::vec((1u32..4, any::<bool>(), any::<bool>()), 1..8),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..4, any::<u8>()), 0..4),
    ) {
        let mut log = Log::new();
        let mut synced = Sqn(0);
        for (count, sync, rotate) in &records {
            log.append(*count, synced.0).unwrap();
            if *sync {
                synced = log.segment.last_sqn();
            }
            if *rotate {
                log.rotate();
            }
        }
        let disk = log.copy();
        for (file, at, how, byte) in &edits {
            disk.edit(&path(log.segments[file.index(log.segments.len())]), |bytes| {
                let at = at.index(bytes.len() + 1);
                match how {
                    0 => bytes.truncate(at),
                    1 => bytes.extend_from_slice(&[*byte; 9]),
                    2 => bytes[at..].iter_mut().take(16).for_each(|b| *b = 0),
                    _ => bytes[at..].iter_mut().take(1).for_each(|b| *b = *byte),
                }
            });
        }
        let before = disk.contents();
        match recover_on(&disk, &log.segments, synced.0) {
            (Ok(recovered), seen) => {
                let last = recovered.last_sqn.unwrap_or(Sqn(0));
                prop_assert_eq!(seen, sqns(last));
                // A file cut below its header cannot be told from one that was never written: see the module.
                prop_assert!(last >= synced || recovered.last_sqn.is_none());
                prop_assert!(last == Sqn(0) || log.written.iter().any(|w| w.last_sqn == last), "half a record");
                let left = disk.contents();
                let (again, _) = recover_on(&disk, &log.segments, synced.0);
                let again = again.unwrap();
                prop_assert_eq!((again.cut, again.kept), (None, recovered.kept));
                prop_assert_eq!(disk.contents(), left);
            }
            (Err(error), seen) => {
                prop_assert_eq!((error.kind(), seen.len()), (ErrorKind::Corruption, 0));
                prop_assert_eq!(disk.contents(), before);
            }
        }
    }
}
