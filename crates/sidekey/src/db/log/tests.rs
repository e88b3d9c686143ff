use super::*;
use crate::env::{Fault, FaultRule, FaultScript, FaultyFs, FileSystem, MemoryFs, Operation};
use std::path::Path;

struct Fixture {
    disk: MemoryFs,
    faulty: FaultyFs,
    log: Arc<Log>,
    next: Arc<AtomicU64>,
}

fn fixture(segment_bytes: u64) -> Fixture {
    let disk = MemoryFs::new();
    disk.create_dir_all(Path::new("db")).unwrap();
    let faulty = FaultyFs::new(Arc::new(disk.clone()));
    let env = Env::deterministic(Arc::new(faulty.clone()), 1);
    let log = Arc::new(Log::new(env, "db".into(), segment_bytes, BTreeMap::new(), Sqn::ZERO));
    Fixture { disk, faulty, log, next: Arc::new(AtomicU64::new(1)) }
}

fn append(log: &Log, next: &AtomicU64, sqn: u64, bytes: usize) -> Result<()> {
    let mut record = RecordBuffer::of(&vec![b'x'; bytes]);
    log.append(Sqn(sqn), 1, &mut record, || FileNumber(next.fetch_add(1, Ordering::Relaxed))).map(|_| ())
}

/// An observer that runs `work` once, at the first operation of a kind.
fn once(kind: Operation, work: impl FnOnce() + Send + 'static) -> Option<crate::env::Observer> {
    let work = Mutex::new(Some(work));
    Some(Arc::new(move |_, operation, _| {
        let work = if operation == kind { work.lock().take() } else { None };
        if let Some(work) = work {
            work();
        }
    }))
}

#[test]
fn a_segment_that_grows_and_is_closed_during_a_sync_is_synced_by_the_next() {
    let f = fixture(100);
    append(&f.log, &f.next, 1, 8).unwrap();
    let (log, next) = (f.log.clone(), f.next.clone());
    f.faulty.observe_after(once(Operation::SyncData, move || {
        append(&log, &next, 2, 200).unwrap();
        append(&log, &next, 3, 8).unwrap();
    }));
    assert_eq!(f.log.sync().unwrap(), Sqn(1));
    f.faulty.observe_after(None);
    assert_eq!(f.log.sync().unwrap(), Sqn(3));
    let synced = f.disk.crash(crate::env::CrashPolicy::SyncedOnly, 1);
    for path in f.disk.paths() {
        assert_eq!(synced.read_file(&path).unwrap(), f.disk.read_file(&path).unwrap(), "{}", path.display());
    }
}

#[test]
fn no_sync_succeeds_after_a_failed_one() {
    let f = fixture(1000);
    append(&f.log, &f.next, 1, 8).unwrap();
    f.faulty.set_script(FaultScript::none().rule(FaultRule::new(Fault::EIO).on(Operation::SyncData).nth(1)));
    assert!(f.log.sync().is_err());
    assert!(f.log.sync().is_err(), "the bytes of the failed sync may be gone");
    assert_eq!(f.log.durable(), Sqn::ZERO);
}

#[test]
fn appends_that_find_no_space_leave_no_empty_segments() {
    let f = fixture(1000);
    append(&f.log, &f.next, 1, 8).unwrap();
    f.disk.set_capacity(Some(f.disk.total_bytes() + 500));
    for _ in 0..20 {
        assert!(matches!(append(&f.log, &f.next, 2, 5000), Err(Error::NoSpace { .. })));
    }
    assert!(f.disk.paths().len() <= 2, "{:?}", f.disk.paths());
    append(&f.log, &f.next, 2, 8).unwrap();
    f.disk.set_capacity(None);
    append(&f.log, &f.next, 3, 5000).unwrap();
    assert_eq!(f.log.sync().unwrap(), Sqn(3));
}

#[test]
fn a_write_during_the_sync_is_not_counted_as_durable() {
    let f = fixture(1000);
    append(&f.log, &f.next, 1, 8).unwrap();
    let (log, next) = (f.log.clone(), f.next.clone());
    f.faulty.observe_before(once(Operation::SyncData, move || append(&log, &next, 2, 8).unwrap()));
    assert_eq!(f.log.sync().unwrap(), Sqn(1));
    assert_eq!(f.log.sync().unwrap(), Sqn(2));
}
