use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const POLICIES: [CrashPolicy; 4] =
    [CrashPolicy::SyncedOnly, CrashPolicy::KeepAll, CrashPolicy::Random, CrashPolicy::Prefix];

fn path(name: &str) -> &Path {
    Path::new(name)
}

fn create(fs: &MemoryFs, name: &str, bytes: &[u8]) -> Arc<dyn File> {
    let file = fs.open(path(name), OpenMode::CreateNew).unwrap();
    file.write_at(&[bytes], 0).unwrap();
    file
}

fn sync_names(fs: &MemoryFs) {
    fs.sync_dir(path(".")).unwrap();
}

/// A synced file of 2,000 ones.
fn with_synced_file() -> (MemoryFs, Arc<dyn File>) {
    let fs = MemoryFs::new();
    let file = create(&fs, "a", &[1; 2000]);
    file.sync_data().unwrap();
    sync_names(&fs);
    (fs, file)
}

/// The different contents of file `a` over many seeds.
fn images(fs: &MemoryFs, policy: CrashPolicy) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = (0..400).map(|seed| fs.crash(policy, seed).read_file(path("a")).unwrap()).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn unsynced_bytes_are_lost_or_kept_by_policy() {
    let (fs, file) = with_synced_file();
    file.write_at(&[&[2; 10]], 1995).unwrap();
    assert_eq!(images(&fs, CrashPolicy::SyncedOnly), [vec![1; 2000]]);
    let whole = [vec![1; 1995], vec![2; 10]].concat();
    assert_eq!(images(&fs, CrashPolicy::KeepAll), std::slice::from_ref(&whole));
    assert_eq!(fs.read_file(path("a")).unwrap(), whole, "the original goes on unharmed");
    file.sync_data().unwrap();
    for policy in POLICIES {
        assert_eq!(images(&fs, policy), std::slice::from_ref(&whole));
    }
}

#[test]
fn bytes_without_a_synced_name_are_lost() {
    let fs = MemoryFs::new();
    create(&fs, "a", b"x").sync_all().unwrap();
    assert!(fs.crash(CrashPolicy::SyncedOnly, 0).paths().is_empty());
    assert_eq!(fs.crash(CrashPolicy::KeepAll, 0).read_file(path("a")).unwrap(), b"x");
    let found: usize = (0..100).map(|seed| fs.crash(CrashPolicy::Random, seed).paths().len()).sum();
    assert!((20..80).contains(&found), "{found}");
}

#[test]
fn rename_without_directory_sync_can_be_lost() {
    let (fs, _) = with_synced_file();
    create(&fs, "b", b"new").sync_data().unwrap();
    sync_names(&fs);
    fs.rename(path("b"), path("a")).unwrap();
    let before = fs.crash(CrashPolicy::SyncedOnly, 0);
    assert_eq!(before.read_file(path("a")).unwrap(), vec![1; 2000]);
    assert_eq!(before.read_file(path("b")).unwrap(), b"new");
    sync_names(&fs);
    for policy in POLICIES {
        let after = fs.crash(policy, 3);
        assert_eq!(after.paths(), [PathBuf::from("a")]);
        assert_eq!(after.read_file(path("a")).unwrap(), b"new");
    }
}

#[test]
fn renamed_name_can_survive_without_its_bytes() {
    let (fs, _) = with_synced_file();
    create(&fs, "b", b"new");
    fs.rename(path("b"), path("a")).unwrap();
    sync_names(&fs);
    assert_eq!(fs.crash(CrashPolicy::SyncedOnly, 0).read_file(path("a")).unwrap(), b"");
}

#[test]
fn removed_file_can_come_back_until_its_directory_is_synced() {
    let (fs, file) = with_synced_file();
    fs.remove(path("a")).unwrap();
    assert!(!fs.exists(path("a")).unwrap());
    assert_eq!(fs.crash(CrashPolicy::SyncedOnly, 0).read_file(path("a")).unwrap().len(), 2000);
    sync_names(&fs);
    assert!(fs.crash(CrashPolicy::SyncedOnly, 0).paths().is_empty());
    let mut byte = [0];
    file.read_exact_at(&mut byte, 1999).unwrap();
    assert_eq!(byte, [1], "an open handle outlives the name");
    file.write_at(&[b"y"], 0).unwrap();
    file.sync_data().unwrap();
}

#[test]
fn random_crash_reaches_every_kind_of_damage() {
    let (fs, file) = with_synced_file();
    file.write_at(&[&[2; 2048]], 1024).unwrap();
    let images = images(&fs, CrashPolicy::Random);
    let some = |what: &str, test: &dyn Fn(&[u8]) -> bool| assert!(images.iter().any(|i| test(i)), "{what}");
    some("all lost", &|i| i == [1; 2000]);
    some("all kept", &|i| i == [vec![1; 1024], vec![2; 2048]].concat());
    some("bytes kept, length lost", &|i| i == [vec![1; 1024], vec![2; 976]].concat());
    some("length kept, bytes lost, zeros", &|i| i == [vec![1; 2000], vec![0; 1072]].concat());
    some("garbage", &|i| i.iter().any(|b| *b > 2));
    some("cut inside a sector", &|i| {
        let twos = i[1024..].iter().take_while(|b| **b == 2).count();
        !twos.is_multiple_of(512) && i.len() == 3072 && i[1024 + twos..].iter().all(|b| *b < 2)
    });
    some("a later sector without an earlier one", &|i| i[1024..1536] == [1; 512] && i[1536..2000] == [2; 464]);
    some("scattered bytes", &|i| i[1024..2000].windows(3).filter(|w| *w == [1, 2, 1]).count() > 50);
    assert!(images.iter().all(|i| i[..1024] == [1; 1024]), "synced bytes that no write covers stay");
}

#[test]
fn prefix_crash_keeps_order() {
    let (fs, file) = with_synced_file();
    for (at, byte) in (2000..).zip(2..8u8) {
        file.write_at(&[&[byte]], at).unwrap();
    }
    create(&fs, "b", b"");
    create(&fs, "c", b"");
    let whole = fs.read_file(path("a")).unwrap();
    let images = images(&fs, CrashPolicy::Prefix);
    assert_eq!(images.len(), 7);
    assert!(images.iter().all(|i| whole.starts_with(i)));
    for seed in 0..100 {
        let image = fs.crash(CrashPolicy::Prefix, seed);
        assert!(image.exists(path("b")).unwrap() || !image.exists(path("c")).unwrap());
    }
}

#[test]
fn same_seed_gives_the_same_image() {
    let (fs, file) = with_synced_file();
    file.write_at(&[&[2; 2048]], 1024).unwrap();
    for name in ["b", "c", "d"] {
        create(&fs, name, &[3; 700]);
    }
    for policy in POLICIES {
        for seed in 0..20 {
            let (one, other) = (fs.crash(policy, seed), fs.crash(policy, seed));
            assert_eq!(one.paths(), other.paths());
            for path in one.paths() {
                assert_eq!(one.read_file(&path).unwrap(), other.read_file(&path).unwrap());
            }
        }
    }
}

#[test]
fn kill_loses_nothing_and_makes_nothing_durable() {
    let (fs, file) = with_synced_file();
    file.write_at(&[b"zz"], 0).unwrap();
    create(&fs, "b", b"new");
    fs.link(path("b"), path("c")).unwrap();
    let _lock = fs.lock(path("LOCK")).unwrap();
    let killed = fs.kill();
    for path in fs.paths() {
        assert_eq!(killed.read_file(&path).unwrap(), fs.read_file(&path).unwrap());
    }
    killed.lock(path("LOCK")).unwrap();
    let cut = killed.crash(CrashPolicy::SyncedOnly, 0);
    assert_eq!(cut.paths(), [PathBuf::from("a")]);
    assert_eq!(cut.read_file(path("a")).unwrap(), vec![1; 2000]);
    killed.open(path("b"), OpenMode::ReadWrite).unwrap().write_at(&[b"N"], 0).unwrap();
    assert_eq!(killed.read_file(path("c")).unwrap(), b"New", "links stay links");
    assert_eq!(fs.read_file(path("b")).unwrap(), b"new");
}

#[test]
fn full_disk_takes_a_part_and_serves_again_when_space_returns() {
    let (fs, file) = with_synced_file();
    fs.set_capacity(Some(2100));
    assert_eq!(fs.free_space(path(".")).unwrap(), 100);
    let error = file.write_at(&[&[2; 80], &[3; 80]], 2000).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(fs.read_file(path("a")).unwrap()[2000..], [vec![2; 80], vec![3; 20]].concat());
    file.write_at(&[&[4; 100]], 0).unwrap();
    assert_eq!(file.set_len(2101).unwrap_err().kind(), io::ErrorKind::StorageFull);
    let other = fs.open(path("b"), OpenMode::CreateNew).unwrap();
    assert_eq!(other.write_at(&[b"x"], 50).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(other.is_empty().unwrap());
    fs.remove(path("a")).unwrap();
    assert_eq!(fs.total_bytes(), 0);
    other.write_at(&[b"x"], 50).unwrap();
    assert_eq!(fs.total_bytes(), 51);
}

#[test]
fn second_lock_is_refused_until_the_first_is_dropped() {
    let fs = MemoryFs::new();
    let first = fs.lock(path("LOCK")).unwrap();
    assert_eq!(fs.lock(path("./LOCK")).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    fs.crash(CrashPolicy::KeepAll, 0).lock(path("LOCK")).unwrap();
    drop(first);
    fs.lock(path("LOCK")).unwrap();
}

#[test]
fn calls_that_cannot_be_served_say_why() {
    let fs = MemoryFs::new();
    fs.create_dir_all(path("d/e")).unwrap();
    create(&fs, "d/f", b"x");
    let kind = |result: io::Result<Arc<dyn File>>| result.unwrap_err().kind();
    assert_eq!(kind(fs.open(path("d/f"), OpenMode::CreateNew)), io::ErrorKind::AlreadyExists);
    assert_eq!(kind(fs.open(path("d/g"), OpenMode::Read)), io::ErrorKind::NotFound);
    assert_eq!(kind(fs.open(path("x/g"), OpenMode::CreateNew)), io::ErrorKind::NotFound);
    assert_eq!(kind(fs.open(path("d/e"), OpenMode::Read)), io::ErrorKind::IsADirectory);
    assert_eq!(kind(fs.open(path("/"), OpenMode::Read)), io::ErrorKind::InvalidInput);
    assert_eq!(fs.create_dir_all(path("d/f/g")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    assert_eq!(fs.rename(path("d/g"), path("d/h")).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(fs.rename(path("d/f"), path("d/e")).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert_eq!(fs.link(path("d/f"), path("d/f")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs.remove(path("d/g")).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(fs.list(path("x")).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(fs.list(path("d")).unwrap(), ["e", "f"]);
    let read_only = fs.open(path("d/f"), OpenMode::Read).unwrap();
    assert!(read_only.write_at(&[b"y"], 0).is_err());
    assert!(read_only.set_len(0).is_err());
    let mut two = [0; 2];
    assert_eq!(read_only.read_exact_at(&mut two, 0).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    let writable = fs.open(path("d/f"), OpenMode::ReadWrite).unwrap();
    assert_eq!(writable.write_at(&[b"y"], u64::MAX).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}

#[test]
fn damage_done_by_hand_is_durable() {
    let fs = MemoryFs::new();
    fs.write_file(path("d/a"), b"abc").unwrap();
    fs.corrupt(path("d/a"), 1, 0xff).unwrap();
    fs.truncate(path("d/a"), 2).unwrap();
    assert!(fs.corrupt(path("d/a"), 2, 1).is_err());
    for policy in POLICIES {
        assert_eq!(fs.crash(policy, 1).read_file(path("d/a")).unwrap(), [b'a', !b'b']);
    }
}

/// One step of a random history over three files.
#[derive(Clone, Debug)]
enum Step {
    Write { file: usize, offset: u64, byte: u8, len: usize },
    SetLen { file: usize, len: u64 },
    Sync { file: usize },
    Create { file: usize },
    Remove { file: usize },
    Rename { from: usize, to: usize },
    SyncNames,
}

fn step() -> impl Strategy<Value = Step> {
    let file = 0..3usize;
    prop_oneof![
        6 => (file.clone(), 0..3000u64, 1..=255u8, 0..1500usize)
            .prop_map(|(file, offset, byte, len)| Step::Write { file, offset, byte, len }),
        1 => (file.clone(), 0..5000u64).prop_map(|(file, len)| Step::SetLen { file, len }),
        3 => file.clone().prop_map(|file| Step::Sync { file }),
        2 => file.clone().prop_map(|file| Step::Create { file }),
        1 => file.clone().prop_map(|file| Step::Remove { file }),
        1 => (file.clone(), file).prop_map(|(from, to)| Step::Rename { from, to }),
        2 => Just(Step::SyncNames),
    ]
}

/// A plain model of what must survive: for each file ever created what is in it, which of it is synced and untouched since; for
/// each name the same.
#[derive(Default)]
struct Model {
    files: Vec<ModelFile>,
    names: BTreeMap<usize, usize>,
    /// Names whose binding (or absence) is synced and unchanged since.
    sure_names: BTreeMap<usize, Option<usize>>,
}

#[derive(Default)]
struct ModelFile {
    bytes: Vec<u8>,
    /// By offset: the byte is durable whatever happens.
    sure: Vec<bool>,
    len_is_sure: bool,
}

impl Model {
    fn file(&mut self, name: usize) -> Option<&mut ModelFile> {
        self.names.get(&name).map(|id| &mut self.files[*id])
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Write { file, offset, byte, len } => {
                let Some(f) = self.file(file) else { return };
                let (start, end) = (offset as usize, offset as usize + len);
                if len > 0 && end > f.bytes.len() {
                    f.bytes.resize(end, 0);
                    f.sure.resize(end, false);
                    f.len_is_sure = false;
                }
                f.bytes.get_mut(start..end).unwrap_or_default().fill(byte);
                f.sure.get_mut(start..end).unwrap_or_default().fill(false);
            }
            Step::SetLen { file, len } => {
                let Some(f) = self.file(file) else { return };
                f.bytes.resize(len as usize, 0);
                f.sure.resize(len as usize, false);
                f.len_is_sure = false;
            }
            Step::Sync { file } => {
                let Some(f) = self.file(file) else { return };
                f.sure.fill(true);
                f.len_is_sure = true;
            }
            Step::Create { file } => {
                if !self.names.contains_key(&file) {
                    self.names.insert(file, self.files.len());
                    self.files.push(ModelFile { len_is_sure: true, ..ModelFile::default() });
                    self.sure_names.remove(&file);
                }
            }
            Step::Remove { file } => {
                if self.names.remove(&file).is_some() {
                    self.sure_names.remove(&file);
                }
            }
            Step::Rename { from, to } => {
                if from != to
                    && let Some(id) = self.names.remove(&from)
                {
                    self.names.insert(to, id);
                    self.sure_names.remove(&from);
                    self.sure_names.remove(&to);
                }
            }
            Step::SyncNames => self.sure_names = (0..3).map(|n| (n, self.names.get(&n).copied())).collect(),
        }
    }

    fn check(&self, image: &MemoryFs, exact: bool) {
        for (name, id) in &self.sure_names {
            let found = image.read_file(path(NAMES[*name])).ok();
            let Some(id) = id else {
                assert_eq!(found, None, "a name that was durably absent is back");
                continue;
            };
            let found = found.expect("a synced name is gone");
            let file = &self.files[*id];
            if exact || file.len_is_sure {
                assert_eq!(found.len(), file.bytes.len());
            }
            for (at, byte) in file.bytes.iter().enumerate().filter(|(at, _)| exact || file.sure[*at]) {
                assert_eq!(found.get(at), Some(byte), "synced byte {at} of {} changed", NAMES[*name]);
            }
        }
    }
}

const NAMES: [&str; 3] = ["x", "y", "z"];

fn perform(fs: &MemoryFs, step: &Step) -> io::Result<()> {
    let open = |file: usize| fs.open(path(NAMES[file]), OpenMode::ReadWrite);
    match *step {
        Step::Write { file, offset, byte, len } => open(file)?.write_at(&[&vec![byte; len]], offset),
        Step::SetLen { file, len } => open(file)?.set_len(len),
        Step::Sync { file } => open(file)?.sync_data(),
        Step::Create { file } => fs.open(path(NAMES[file]), OpenMode::CreateNew).map(drop),
        Step::Remove { file } => fs.remove(path(NAMES[file])),
        Step::Rename { from, to } => fs.rename(path(NAMES[from]), path(NAMES[to])),
        Step::SyncNames => fs.sync_dir(path("")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_was_synced_is_in_every_image(steps in prop::collection::vec(step(), 1..40), seed: u64) {
        let (fs, mut model) = (MemoryFs::new(), Model::default());
        for step in &steps {
            // Steps on names that do not exist are refused by both.
            let _ = perform(&fs, step);
            model.apply(step);
            for policy in POLICIES {
                let image = fs.crash(policy, seed);
                model.check(&image, policy == CrashPolicy::KeepAll);
                // A crash of what a crash left loses nothing more.
                model.check(&image.crash(CrashPolicy::SyncedOnly, seed), policy == CrashPolicy::KeepAll);
            }
            model.check(&fs.kill().crash(CrashPolicy::Random, seed), false);
            for (name, id) in &model.names {
                prop_assert_eq!(&fs.read_file(path(NAMES[*name])).unwrap(), &model.files[*id].bytes);
            }
            prop_assert_eq!(fs.paths().len(), model.names.len());
        }
    }
}
