use super::*;
use crate::env::{CrashPolicy, MemoryFs};

const PATH: &str = "f";

fn disk() -> (MemoryFs, FaultyFs) {
    let memory = MemoryFs::new();
    let faulty = FaultyFs::new(Arc::new(memory.clone()));
    (memory, faulty)
}

fn path() -> &'static Path {
    Path::new(PATH)
}

/// Creates, writes twice, syncs: what is on the disk then, and the first error.
fn work(fs: &FaultyFs) -> io::Result<()> {
    let file = fs.open(path(), OpenMode::CreateNew)?;
    file.write_at(&[b"ab", b"cd"], 0)?;
    file.write_at(&[b"efgh"], 4)?;
    file.sync_data()?;
    fs.sync_dir(Path::new("."))
}

#[test]
fn every_operation_can_be_made_to_fail_once() {
    let (_, clean) = disk();
    work(&clean).unwrap();
    let total = clean.operations().total();
    assert_eq!(total, 5);
    for k in 1..=total {
        let (memory, fs) = disk();
        fs.set_script(FaultScript::fail_nth(k, Fault::EIO));
        assert_eq!(work(&fs).unwrap_err().raw_os_error(), Some(5));
        assert_eq!((fs.operations().total(), fs.faults()), (k, 1));
        let written = [None, Some(0), Some(4), Some(8), Some(8)][k as usize - 1];
        assert_eq!(memory.read_file(path()).ok().map(|b| b.len()), written);
        // Once only.
        assert!(fs.list(Path::new(".")).is_ok());
    }
    let (_, fs) = disk();
    fs.set_script(FaultScript::fail_nth(total + 1, Fault::EIO));
    work(&fs).unwrap();
    assert_eq!(fs.faults(), 0);
}

#[test]
fn from_then_on_fails_until_the_script_is_replaced() {
    let (_, fs) = disk();
    fs.set_script(FaultScript::fail_from(2, Fault::Error(io::ErrorKind::TimedOut)));
    assert!(!fs.exists(path()).unwrap());
    for _ in 0..3 {
        assert_eq!(fs.exists(path()).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
    fs.set_script(FaultScript::none());
    work(&fs).unwrap();
}

#[test]
fn rules_go_by_kind_and_path() {
    let (_, fs) = disk();
    let on_logs = FaultRule::new(Fault::ENOSPC).on(Operation::Write).path_ends(".log").path_contains("db/").nth(2);
    fs.set_script(FaultScript::none().rule(on_logs));
    fs.create_dir_all(Path::new("db")).unwrap();
    let open = |name: &str| fs.open(Path::new(name), OpenMode::CreateNew).unwrap();
    let (log, table, other) = (open("db/1.log"), open("db/2.table"), open("3.log"));
    log.write_at(&[b"x"], 0).unwrap();
    table.write_at(&[b"x"], 0).unwrap();
    other.write_at(&[b"x"], 0).unwrap();
    log.sync_all().unwrap();
    assert_eq!(log.write_at(&[b"x"], 1).unwrap_err().kind(), io::ErrorKind::StorageFull);
    log.write_at(&[b"x"], 1).unwrap();
    assert_eq!(fs.operations().of(Operation::Write), 5);
    assert_eq!(fs.operations().of(Operation::CreateNew), 3);
    assert_eq!(fs.operations().of(Operation::SyncData), 0);
}

#[test]
fn short_write_leaves_the_first_half() {
    let (memory, fs) = disk();
    fs.set_script(FaultScript::none().rule(FaultRule::new(Fault::SHORT_WRITE_ENOSPC).on(Operation::Write)));
    let file = fs.open(path(), OpenMode::CreateNew).unwrap();
    assert_eq!(file.write_at(&[b"abc", b"def"], 0).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(memory.read_file(path()).unwrap(), b"abc");
}

#[test]
fn failed_sync_loses_its_bytes_although_the_next_one_succeeds() {
    let (memory, fs) = disk();
    let file = fs.open(path(), OpenMode::CreateNew).unwrap();
    fs.sync_dir(Path::new("")).unwrap();
    file.write_at(&[b"lost"], 0).unwrap();
    fs.set_script(FaultScript::none().rule(FaultRule::new(Fault::EIO).on(Operation::SyncData)));
    assert!(file.sync_data().is_err());
    file.write_at(&[b"kept"], 4).unwrap();
    file.sync_data().unwrap();
    assert_eq!(memory.read_file(path()).unwrap(), b"lostkept");
    for policy in [CrashPolicy::SyncedOnly, CrashPolicy::KeepAll] {
        assert_eq!(memory.crash(policy, 0).read_file(path()).unwrap(), b"\0\0\0\0kept");
    }
}

#[test]
fn lost_sync_says_ok_and_syncs_nothing() {
    let (memory, fs) = disk();
    fs.set_script(FaultScript::none().rule(FaultRule::new(Fault::LostSync).from_then_on()));
    work(&fs).unwrap();
    assert_eq!(memory.crash(CrashPolicy::SyncedOnly, 0).paths().len(), 0);
    fs.set_script(FaultScript::none().rule(FaultRule::new(Fault::LostSync).on(Operation::SyncData)));
    fs.open(path(), OpenMode::ReadWrite).unwrap().sync_data().unwrap();
    fs.sync_dir(Path::new("")).unwrap();
    assert_eq!(memory.crash(CrashPolicy::SyncedOnly, 0).read_file(path()).unwrap(), b"");
}

#[test]
fn flipped_bit_is_one_bit_of_one_read() {
    let (_, fs) = disk();
    work(&fs).unwrap();
    let file = fs.open(path(), OpenMode::Read).unwrap();
    fs.set_script(FaultScript::none().rule(FaultRule::new(Fault::FlipBit).on(Operation::Read)));
    let (mut bad, mut good) = ([0; 8], [0; 8]);
    file.read_exact_at(&mut bad, 0).unwrap();
    file.read_exact_at(&mut good, 0).unwrap();
    assert_eq!(&good, b"abcdefgh");
    assert_eq!(bad.iter().zip(good).map(|(b, g)| (b ^ g).count_ones()).sum::<u32>(), 1);
}

#[test]
fn observers_see_each_operation_before_and_after_its_effect() {
    let (memory, fs) = disk();
    type Seen = Vec<(char, u64, Operation, u64)>;
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let observer = |when: char| -> Option<Observer> {
        let (seen, memory) = (Arc::clone(&seen), memory.clone());
        Some(Arc::new(move |number, operation, at: &Path| {
            assert!(operation == Operation::SyncDir || at == path());
            // Takes the disk's lock: none of ours may be held here.
            let bytes = memory.crash(CrashPolicy::KeepAll, 0).total_bytes();
            seen.lock().push((when, number, operation, bytes));
        }))
    };
    fs.observe_before(observer('<'));
    fs.observe_after(observer('>'));
    work(&fs).unwrap();
    fs.observe_before(None);
    fs.observe_after(None);
    fs.list(Path::new("")).unwrap();
    use Operation::{CreateNew, SyncData, SyncDir, Write};
    let expected = [(CreateNew, 0, 0), (Write, 0, 4), (Write, 4, 8), (SyncData, 8, 8), (SyncDir, 8, 8)];
    let expected: Vec<_> = (1..)
        .zip(expected)
        .flat_map(|(n, (operation, before, after))| [('<', n, operation, before), ('>', n, operation, after)])
        .collect();
    assert_eq!(*seen.lock(), expected);
}

#[test]
fn every_kind_of_operation_is_counted_under_its_own_name() {
    let (_, fs) = disk();
    let (a, b) = (Path::new("d/a"), Path::new("d/b"));
    fs.create_dir_all(Path::new("d")).unwrap();
    let file = fs.open(a, OpenMode::CreateNew).unwrap();
    file.write_at(&[b"x"], 0).unwrap();
    file.set_len(4).unwrap();
    file.sync_data().unwrap();
    file.sync_all().unwrap();
    assert_eq!(file.len().unwrap(), 4);
    fs.open(a, OpenMode::Read).unwrap().read_exact_at(&mut [0; 4], 0).unwrap();
    fs.rename(a, b).unwrap();
    fs.link(b, a).unwrap();
    fs.sync_dir(Path::new("d")).unwrap();
    fs.remove(a).unwrap();
    assert_eq!(fs.list(Path::new("d")).unwrap(), ["b"]);
    assert!(fs.exists(b).unwrap());
    let _lock = fs.lock(Path::new("d/LOCK")).unwrap();
    fs.free_space(b).unwrap();
    let counts = fs.operations();
    assert_eq!(counts.total(), Operation::ALL.len() as u64);
    for operation in Operation::ALL {
        assert_eq!(counts.of(operation), 1, "{operation:?}");
    }
}
