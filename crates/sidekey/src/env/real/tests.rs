use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn mode_of(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn bytes_written_in_parts_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let file = RealFs.open(&path, OpenMode::CreateNew).unwrap();
    // More parts than go into one call, empty ones among them and at the front.
    let parts: Vec<Vec<u8>> = (0..200u8).map(|i| vec![i; usize::from(i % 5)]).collect();
    let borrowed: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    file.write_at(&borrowed, 3).unwrap();
    file.sync_data().unwrap();
    let expected: Vec<u8> = [vec![0; 3], parts.concat()].concat();
    assert_eq!(file.len().unwrap(), expected.len() as u64);
    let mut got = vec![9; expected.len()];
    let reader = RealFs.open(&path, OpenMode::Read).unwrap();
    reader.advise(0, 0, Advice::Random);
    reader.read_exact_at(&mut got, 0).unwrap();
    assert_eq!(got, expected);
    file.write_at(&[], 0).unwrap();
    file.write_at(&[&[], &[]], 0).unwrap();
    file.set_len(2).unwrap();
    file.sync_all().unwrap();
    let error = reader.read_exact_at(&mut got[..3], 0).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn what_is_created_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("x/y");
    RealFs.create_dir_all(&inner).unwrap();
    RealFs.create_dir_all(&inner).unwrap();
    RealFs.open(&inner.join("f"), OpenMode::CreateNew).unwrap();
    let _lock = RealFs.lock(&inner.join("LOCK")).unwrap();
    assert_eq!(mode_of(&dir.path().join("x")), 0o700);
    assert_eq!(mode_of(&inner), 0o700);
    assert_eq!(mode_of(&inner.join("f")), 0o600);
    assert_eq!(mode_of(&inner.join("LOCK")), 0o600);
}

#[test]
fn create_new_refuses_a_name_that_exists() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    RealFs.open(&path, OpenMode::CreateNew).unwrap();
    assert_eq!(RealFs.open(&path, OpenMode::CreateNew).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    let missing = dir.path().join("b");
    assert_eq!(RealFs.open(&missing, OpenMode::ReadWrite).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn links_directories_and_devices_are_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let (target, planted) = (dir.path().join("target"), dir.path().join("planted"));
    fs::write(&target, b"secret").unwrap();
    symlink(&target, &planted).unwrap();
    for mode in [OpenMode::Read, OpenMode::ReadWrite, OpenMode::CreateNew] {
        assert!(RealFs.open(&planted, mode).is_err());
    }
    assert!(RealFs.lock(&planted).is_err());
    assert!(RealFs.open(dir.path(), OpenMode::Read).is_err());
    assert!(RealFs.open(Path::new("/dev/null"), OpenMode::Read).is_err());
    assert_eq!(fs::read(&target).unwrap(), b"secret");
}

#[test]
fn a_dangling_link_counts_as_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let planted = dir.path().join("planted");
    symlink(dir.path().join("nowhere"), &planted).unwrap();
    assert!(RealFs.exists(&planted).unwrap());
    assert!(!RealFs.exists(&dir.path().join("nowhere")).unwrap());
}

#[test]
fn second_lock_is_refused_until_the_first_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LOCK");
    let first = RealFs.lock(&path).unwrap();
    assert_eq!(RealFs.lock(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    drop(first);
    RealFs.lock(&path).unwrap();
}

#[test]
fn names_are_listed_sorted_after_rename_link_and_remove() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["c", "b", "a"] {
        RealFs.open(&at(name), OpenMode::CreateNew).unwrap();
    }
    RealFs.rename(&at("a"), &at("z")).unwrap();
    RealFs.link(&at("z"), &at("d")).unwrap();
    RealFs.remove(&at("b")).unwrap();
    RealFs.sync_dir(dir.path()).unwrap();
    assert_eq!(RealFs.list(dir.path()).unwrap(), ["c", "d", "z"]);
    assert!(RealFs.free_space(dir.path()).unwrap() > 0);
}

#[test]
fn clock_never_goes_back_and_random_numbers_differ() {
    let clock = RealClock::default();
    let before = clock.monotonic();
    clock.sleep(Duration::from_millis(1));
    assert!(clock.monotonic() >= before + Duration::from_millis(1));
    let (one, other) = (RealRandomness::default(), RealRandomness::default());
    let mut seen: Vec<u64> = (0..100).flat_map(|_| [one.next_u64(), other.next_u64()]).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 200);
}

#[test]
fn threads_carry_their_name() {
    let thread = spawn("sidekey-flush", || assert_eq!(std::thread::current().name(), Some("sidekey-flush"))).unwrap();
    thread.join().unwrap();
}
