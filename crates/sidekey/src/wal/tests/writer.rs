use super::*;
use std::io;

#[test]
fn a_new_segments_header_and_name_are_durable_before_it_is_used() {
    let log = Log::new();
    assert_eq!(log.disk.take_calls(), ["create 000001.wal", "write 000001.wal", "sync 000001.wal", "sync_dir db"]);
}

#[test]
fn a_segment_that_cannot_be_created_leaves_no_file() {
    for free in [0, 63] {
        let disk = Disk::default();
        disk.set_free(Some(free));
        let error = Segment::create(&disk, dir(), FileNumber(1), 1, Sqn(1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert!(disk.contents().is_empty());
    }
    let log = Log::new();
    let again = Segment::create(&log.disk, dir(), FileNumber(1), 1, Sqn(1)).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Io);
    assert!(log.disk.contents().contains_key(&path(1)), "the file that was there is not touched");
}

#[test]
fn a_record_is_one_write() {
    let mut log = Log::new();
    log.disk.take_calls();
    log.append(3, 0).unwrap();
    assert_eq!(log.disk.take_calls(), ["write 000001.wal"]);
    assert_eq!(log.segment.len(), log.disk.bytes(&path(1)).len() as u64);
    assert_eq!(log.segment.last_sqn(), Sqn(3));
}

#[test]
fn a_record_that_was_written_can_go_into_another_segment() {
    let mut log = Log::new();
    let mut record = RecordBuffer::of(&payload(Sqn(1), 2));
    log.segment.append(Sqn(1), 2, Sqn(0), &mut record).unwrap();
    assert_eq!(record.payload(), payload(Sqn(1), 2));
    let mut other = Segment::create(&log.disk, dir(), FileNumber(2), 5, Sqn(1)).unwrap();
    other.append(Sqn(1), 2, Sqn(0), &mut record).unwrap();
    assert_eq!(log.disk.bytes(&path(1))[96..], log.disk.bytes(&path(2))[96..]);
}

#[test]
fn records_out_of_sequence_are_refused_and_write_nothing() {
    let mut log = Log::with(&[(2, 0)]);
    let before = log.disk.contents();
    for (first, count, synced) in [(2, 1, 0), (4, 1, 0), (3, 0, 0), (3, 1, 3), (0, 0, 0), (u64::MAX, 1, 0)] {
        let error = log.segment.append(Sqn(first), count, Sqn(synced), &mut RecordBuffer::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{first} {count} {synced}");
    }
    assert_eq!(log.disk.contents(), before);
    log.append(1, 2).unwrap();
}

#[test]
fn sqns_end_with_the_largest() {
    let disk = Disk::default();
    let mut segment = Segment::create(&disk, dir(), FileNumber(1), 1, Sqn::MAX).unwrap();
    assert_eq!(
        segment.append(Sqn::MAX, 2, Sqn(0), &mut RecordBuffer::default()).unwrap_err().kind(),
        ErrorKind::Internal
    );
    segment.append(Sqn::MAX, 1, Sqn(0), &mut RecordBuffer::of(&payload(Sqn::MAX, 1))).unwrap();
    assert_eq!(
        segment.append(Sqn::MAX.next(), 1, Sqn(0), &mut RecordBuffer::default()).unwrap_err().kind(),
        ErrorKind::Internal
    );
    assert!(Segment::create(&disk, dir(), FileNumber(2), 1, Sqn::MAX.next()).is_err());
    assert!(Segment::create(&disk, dir(), FileNumber(2), 1, Sqn(0)).is_err());
}

#[test]
fn a_full_disk_seals_the_segment_at_its_last_good_byte_and_the_next_goes_on() {
    for free in 0..40 {
        let mut log = Log::with(&[(2, 0), (1, 2)]);
        let before = log.disk.bytes(&path(1));
        log.disk.take_calls();
        log.disk.set_free(Some(free));
        assert_eq!(log.append(3, 2).unwrap_err().kind(), ErrorKind::NoSpace);
        assert_eq!(log.disk.bytes(&path(1)), before);
        assert_eq!(log.disk.take_calls(), ["write 000001.wal", "set_len 000001.wal", "sync 000001.wal"]);
        assert!(log.segment.is_sealed());
        assert_eq!(log.append(1, 2).unwrap_err().kind(), ErrorKind::Internal);

        log.disk.set_free(None);
        log.rotate();
        log.append(3, 3).unwrap();
        let (recovered, seen) = log.recover(0);
        assert_eq!(recovered.unwrap().cut, None);
        assert_eq!(seen, sqns(Sqn(6)));
    }
}

#[test]
fn a_failed_write_that_cannot_be_undone_is_no_lack_of_space() {
    let mut log = Log::with(&[(1, 0)]);
    log.disk.set_free(Some(10));
    log.disk.fail_set_len();
    assert_eq!(log.append(1, 0).unwrap_err().kind(), ErrorKind::Io);
    assert!(log.segment.is_sealed());
}

#[test]
fn a_write_that_takes_nothing_counts_as_lack_of_space_and_other_errors_as_io() {
    for (error, kind) in [(io::ErrorKind::WriteZero, ErrorKind::NoSpace), (io::ErrorKind::Other, ErrorKind::Io)] {
        let mut log = Log::with(&[(1, 0)]);
        log.disk.fail_writes(Some(error));
        assert_eq!(log.append(1, 0).unwrap_err().kind(), kind);
        log.disk.fail_writes(None);
        assert_eq!(log.append(1, 0).unwrap_err().kind(), ErrorKind::Internal, "sealed");
    }
}

/// The format: a change here needs a new format version.
#[test]
fn golden_bytes_of_a_small_segment() {
    let disk = Disk::default();
    let mut segment = Segment::create(&disk, dir(), FileNumber(7), 0x0102_0304_0506_0708, Sqn(5)).unwrap();
    let mut payload = vec![];
    let old = Some(OldVersion { sqn: Sqn(3), header: b"o" });
    let put = Op {
        collection: CollectionId(300),
        kind: Kind::Put,
        sqn: Sqn(5),
        pk: b"pk",
        header: b"hd",
        value: b"value",
        old,
    };
    encode_op(&mut payload, 0, &put);
    encode_op(&mut payload, 0, &Op { kind: Kind::Delete, sqn: Sqn(6), value: b"", old: None, ..put });
    segment.append(Sqn(5), 2, Sqn(4), &mut RecordBuffer::of(&payload)).unwrap();
    let hex: Vec<String> =
        disk.bytes(&path(7)).chunks(16).map(|line| line.iter().map(|b| format!("{b:02x}")).collect()).collect();
    assert_eq!(
        hex,
        [
            "534b455957414c0a0100000000000000",
            "07000000000000000807060504030201",
            "05000000000000000000000000000000",
            "000000000000000000000000bf127c9c",
            "a3364650b478cfd31b00000002000000",
            "05000000000000a7040000000000005e",
            "11ac0202706b0268640576616c756503",
            "016f00ac0202706b0268640000000000",
        ]
    );
}
