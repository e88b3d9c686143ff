//! What a crash can leave.

use super::super::format::FILE_HEADER;
use super::*;

/// Three segments, nothing known to be synced.
fn unsynced() -> Log {
    let mut log = Log::with(&[(1, 0), (2, 0), (1, 0)]);
    log.rotate();
    (0..3).for_each(|_| log.append(2, 0).unwrap());
    log.rotate();
    log.append(1, 0).unwrap();
    log
}

#[test]
fn everything_written_is_replayed_in_order() {
    let log = unsynced();
    log.disk.take_calls();
    let (recovered, seen) = log.recover(11);
    let recovered = recovered.unwrap();
    assert_eq!(seen, sqns(Sqn(11)));
    assert_eq!((recovered.last_sqn, recovered.records, recovered.ops, recovered.cut), (Some(Sqn(11)), 7, 11, None));
    let kept: Vec<_> = recovered.kept.iter().map(|k| (k.number.0, k.first_sqn.0, k.last_sqn.0)).collect();
    assert_eq!(kept, [(1, 1, 4), (2, 5, 10), (3, 11, 11)]);
    assert_eq!(log.disk.take_calls(), ["sync 000001.wal", "sync 000002.wal", "sync 000003.wal"]);
}

#[test]
fn no_segments_are_an_empty_log() {
    let (recovered, seen) = recover_on(&Disk::default(), &[], 50);
    assert_eq!((recovered.unwrap().last_sqn, seen.len()), (None, 0));
}

#[test]
fn an_empty_segment_still_says_where_the_log_goes_on() {
    let disk = Disk::default();
    Segment::create(&disk, dir(), FileNumber(4), 9, Sqn(101)).unwrap();
    let (recovered, _) = recover_on(&disk, &[4], 100);
    assert_eq!(recovered.unwrap().last_sqn, Some(Sqn(100)));
}

#[test]
fn every_cut_of_an_unsynced_log_leaves_a_prefix_and_the_rest_is_removed() {
    let log = unsynced();
    for file in 1..=3u64 {
        for len in 0..log.disk.bytes(&path(file)).len() as u64 {
            if file == 1 && len < FILE_HEADER as u64 {
                continue; // Its header was durable before the next segment was created: see the test of damage.
            }
            let disk = log.copy();
            disk.edit(&path(file), |bytes| bytes.truncate(len as usize));
            let lost = log.written.iter().position(|w| w.file == file && w.bytes.end > len);
            let last_sqn = lost.map_or(Sqn(11), |i| if i == 0 { Sqn(0) } else { log.written[i - 1].last_sqn });

            let (recovered, seen) = recover_on(&disk, &log.segments, 0);
            let recovered = recovered.unwrap();
            assert_eq!(seen, sqns(last_sqn), "segment {file} cut to {len}");
            assert_eq!(recovered.last_sqn, Some(last_sqn));
            let left = disk.contents();
            assert_eq!(left.len(), recovered.kept.len(), "segments behind the end are gone");
            assert!(recovered.kept.iter().all(|k| left[&path(k.number.0)].len() as u64 == k.len));

            let (again, seen_again) = recover_on(&disk, &log.segments, 0);
            let again = again.unwrap();
            assert_eq!((again.cut, again.last_sqn, seen_again), (None, recovered.last_sqn, seen));
            assert_eq!(disk.contents(), left, "the second recovery changes nothing");
        }
    }
}

#[test]
fn a_torn_single_segment_leaves_a_prefix_at_every_length() {
    let log = Log::with(&[(1, 0), (3, 0), (2, 0)]);
    for len in 0..=log.disk.bytes(&path(1)).len() as u64 {
        let disk = log.copy();
        disk.edit(&path(1), |bytes| bytes.truncate(len as usize));
        let last = log.written.iter().rev().find(|w| w.bytes.end <= len).map_or(Sqn(0), |w| w.last_sqn);
        let (recovered, seen) = recover_on(&disk, &[1], 0);
        let expected = (len >= FILE_HEADER as u64).then_some(last);
        assert_eq!((recovered.unwrap().last_sqn, seen), (expected, sqns(last)), "{len}");
        assert_eq!(disk.contents().is_empty(), len < FILE_HEADER as u64);
    }
}

#[test]
fn zeros_behind_the_log_are_cut_off() {
    for zeros in [1, 8, 4096, 300_000] {
        let log = Log::with(&[(1, 0), (3, 1)]);
        let before = log.disk.contents();
        log.disk.edit(&path(1), |bytes| bytes.resize(bytes.len() + zeros, 0));
        let (recovered, seen) = log.recover(4);
        let cut = Cut { file: FileNumber(1), offset: log.segment.len(), dropped_bytes: zeros as u64 };
        assert_eq!((recovered.unwrap().cut, seen), (Some(cut), sqns(Sqn(4))));
        assert_eq!(log.disk.contents(), before);
    }
}

#[test]
fn a_hole_before_unsynced_records_ends_the_log_there() {
    let log = Log::with(&[(1, 0), (2, 1), (1, 1), (1, 1)]);
    let hole = log.written[1].bytes.clone();
    let end = log.segment.len();
    log.disk.edit(&path(1), |bytes| bytes[hole.start as usize..hole.end as usize].fill(0));
    let (recovered, seen) = log.recover(1);
    let cut = Cut { file: FileNumber(1), offset: hole.start, dropped_bytes: end - hole.start };
    assert_eq!((recovered.unwrap().cut, seen), (Some(cut), sqns(Sqn(1))));
}

#[test]
fn a_missing_tail_removes_later_segments_newest_first_before_it_is_cut() {
    let log = unsynced();
    log.disk.edit(&path(1), |bytes| bytes.truncate(bytes.len() - 1));
    log.disk.take_calls();
    let (recovered, seen) = log.recover(0);
    assert_eq!(seen, sqns(Sqn(3)));
    assert_eq!(recovered.unwrap().cut.unwrap().offset, log.written[2].bytes.start);
    assert_eq!(
        log.disk.take_calls(),
        ["remove 000003.wal", "remove 000002.wal", "sync_dir db", "set_len 000001.wal", "sync 000001.wal"]
    );
}

#[test]
fn a_whole_record_missing_at_the_end_of_a_segment_is_a_hole() {
    let log = unsynced();
    let last = log.written[2].bytes.start;
    log.disk.edit(&path(1), |bytes| bytes.truncate(last as usize));
    let (recovered, seen) = log.recover(0);
    let cut = recovered.unwrap().cut.unwrap();
    assert_eq!((cut.file, cut.offset, seen), (FileNumber(1), last, sqns(Sqn(3))));
    assert_eq!(log.disk.contents().len(), 1);
}

#[test]
fn a_sealed_torn_tail_is_passed_over_and_kept_as_it_is() {
    let mut log = Log::with(&[(1, 0), (2, 0)]);
    let torn = log.segment.len();
    log.append(3, 0).unwrap();
    log.disk.edit(&path(1), |bytes| bytes.truncate(torn as usize + 50));
    // What a writer does after a failed append: the next segment continues behind the last good record.
    Segment::create(&log.disk, dir(), FileNumber(2), 77, Sqn(4))
        .unwrap()
        .append(Sqn(4), 2, Sqn(3), &mut RecordBuffer::of(&payload(Sqn(4), 2)))
        .unwrap();
    log.segments.push(2);
    let before = log.disk.contents();
    let (recovered, seen) = log.recover(5);
    assert_eq!((recovered.unwrap().cut, seen), (None, sqns(Sqn(5))));
    assert_eq!(log.disk.contents(), before);
}

#[test]
fn segments_whose_creation_was_cut_short_are_removed() {
    for stillborn in [vec![], vec![0; 64], vec![1; 40], b"SKEYWAL\n".to_vec()] {
        let mut log = Log::with(&[(2, 0)]);
        log.disk.put(&path(2), stillborn.clone());
        log.segments.push(2);
        let (recovered, seen) = log.recover(2);
        let dropped_bytes = stillborn.len() as u64;
        let cut = Cut { file: FileNumber(1), offset: log.segment.len(), dropped_bytes };
        assert_eq!((recovered.unwrap().cut, seen), (Some(cut), sqns(Sqn(2))));
        assert!(!log.disk.contents().contains_key(&path(2)));

        // Between two segments that follow one another it takes nothing away.
        log.rotate();
        log.append(1, 2).unwrap();
        assert_eq!(log.segments, [1, 2, 3]);
        log.disk.put(&path(2), stillborn);
        let (recovered, seen) = log.recover(2);
        assert_eq!((recovered.unwrap().cut, seen), (None, sqns(Sqn(3))));
    }
}

#[test]
fn recovery_that_dies_at_any_call_ends_the_same_when_it_is_repeated() {
    let log = unsynced();
    log.disk.edit(&path(1), |bytes| bytes.truncate(bytes.len() - 1));
    log.disk.put(&path(9), vec![0; 10]);
    let segments = [1, 2, 3, 9];
    let whole = log.copy();
    let (expected, seen) = recover_on(&whole, &segments, 0);
    let expected = expected.unwrap();
    let calls = whole.take_calls().len();
    assert_eq!(calls, 6);
    for first in 0..calls {
        for second in 0..calls {
            let disk = log.copy();
            for death in [first, second] {
                disk.take_calls();
                disk.die_at_call(death);
                let _ = recover_on(&disk, &segments, 0);
            }
            disk.die_at_call(usize::MAX);
            let (again, seen_again) = recover_on(&disk, &segments, 0);
            assert_eq!((again.unwrap().kept, seen_again), (expected.kept.clone(), seen.clone()));
            assert_eq!(disk.contents(), whole.contents());
        }
    }
}

#[test]
fn nothing_is_replayed_that_cannot_be_made_durable() {
    let log = unsynced();
    log.disk.take_calls();
    log.disk.die_at_call(2);
    let (recovered, seen) = log.recover(0);
    assert_eq!((recovered.unwrap_err().kind(), seen.len()), (ErrorKind::Io, 0));
}

#[test]
fn an_unreadable_segment_is_an_error_and_no_end() {
    let log = unsynced();
    let before = log.disk.contents();
    log.disk.fail_reads();
    assert_eq!(log.recover(0).0.unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(log.disk.contents(), before);
}

#[test]
fn an_error_of_the_visitor_ends_recovery() {
    let log = unsynced();
    let mut left = 3;
    let result = recover(&log.disk, dir(), &[FileNumber(1), FileNumber(2), FileNumber(3)], Sqn(0), &mut |_, _| {
        left -= 1;
        if left == 0 { Err(Error::Closed) } else { Ok(()) }
    });
    assert_eq!((result.unwrap_err().kind(), left), (ErrorKind::Closed, 0));
}

#[test]
fn records_larger_than_the_window_and_across_its_border_are_read_whole() {
    let mut log = Log::new();
    let mut expected = vec![];
    for (i, len) in [200_000usize, 100_000, 5, 900_000, 262_144, 70_000].into_iter().enumerate() {
        let sqn = Sqn(i as u64 + 1);
        let value = vec![i as u8; len];
        let mut payload = vec![];
        encode_op(&mut payload, 0, &Op { value: &value, kind: Kind::Put, old: None, ..op_at(sqn, &[], &[0; 8]) });
        log.segment.append(sqn, 1, Sqn(0), &mut RecordBuffer::of(&payload)).unwrap();
        expected.push((sqn, value));
    }
    let mut seen = vec![];
    recover(&log.disk, dir(), &[FileNumber(1)], Sqn(6), &mut |op, _| {
        seen.push((op.sqn, op.value.to_vec()));
        Ok(())
    })
    .unwrap();
    assert!(seen == expected);
}
