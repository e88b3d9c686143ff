//! What the in-memory disk holds: for each file and directory the durable state, the current one, and the changes between.
//!
//! DISK-1: current = durable with all pending changes applied in order, unless a failed sync discarded some (`diverged`).
//! DISK-2: an inode lives as long as a current, durable or pending name or an open handle refers to it.
//! DISK-3: locks are taken disk first, then one inode; whatever changes anything holds the disk's lock, so that an image taken
//! under it is of one moment. Reads take the inode's lock only.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::content::Content;
use crate::env::sync::Mutex;

/// One change of a file since its last sync.
#[derive(Clone)]
pub(super) enum Change {
    Write { offset: u64, bytes: Arc<[u8]> },
    SetLen(u64),
}

impl Change {
    pub fn apply(&self, content: &mut Content) {
        match self {
            Change::Write { offset, bytes } => content.write(*offset, bytes),
            Change::SetLen(len) => content.set_len(*len),
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct FileState {
    pub current: Content,
    pub durable: Content,
    pub pending: Vec<Change>,
    diverged: bool,
}

impl FileState {
    pub fn settled(content: Content) -> Self {
        Self { current: content.clone(), durable: content, pending: Vec::new(), diverged: false }
    }

    pub fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.pending.push(change);
    }

    pub fn sync(&mut self) {
        let only_writes = self.pending.iter().all(|c| matches!(c, Change::Write { .. }));
        if !self.diverged && !only_writes {
            self.durable = self.current.clone();
            self.pending.clear();
        }
        for change in self.pending.drain(..) {
            match &change {
                // As cheap as the writes were, however long the file.
                Change::Write { offset, bytes } if !self.diverged => {
                    self.durable.share_range(&self.current, *offset, bytes.len());
                }
                _ => change.apply(&mut self.durable),
            }
        }
    }

    /// What a failed sync does: the page cache keeps the bytes and believes them clean.
    pub fn discard_unsynced(&mut self) {
        self.diverged |= !self.pending.is_empty();
        self.pending.clear();
    }
}

pub(super) struct Inode {
    /// Order of creation; seeds the dice of a crash.
    pub number: u64,
    pub file: Mutex<FileState>,
}

pub(super) type Names = BTreeMap<String, Arc<Inode>>;

/// One change of a directory since its last sync.
#[derive(Clone)]
pub(super) enum NameChange {
    Add { name: String, inode: Arc<Inode> },
    Remove { name: String },
    Rename { from: String, to: String, inode: Arc<Inode> },
}

impl NameChange {
    pub fn apply(&self, names: &mut Names) {
        match self {
            NameChange::Add { name, inode } => {
                names.insert(name.clone(), Arc::clone(inode));
            }
            NameChange::Remove { name } => {
                names.remove(name);
            }
            NameChange::Rename { from, to, inode } => {
                names.remove(from);
                names.insert(to.clone(), Arc::clone(inode));
            }
        }
    }

    fn touches(&self, wanted: &str) -> bool {
        match self {
            NameChange::Add { name, .. } | NameChange::Remove { name } => name == wanted,
            NameChange::Rename { from, to, .. } => from == wanted || to == wanted,
        }
    }
}

#[derive(Default)]
pub(super) struct Directory {
    pub current: Names,
    pub durable: Names,
    /// With the number of the change, in the order of the whole disk.
    pub pending: Vec<(u64, NameChange)>,
}

impl Directory {
    pub fn sync(&mut self) {
        self.durable.clone_from(&self.current);
        self.pending.clear();
    }
}

/// The whole disk.
pub(super) struct Disk {
    pub directories: BTreeMap<PathBuf, Directory>,
    pub capacity: Option<u64>,
    pub locked: BTreeSet<PathBuf>,
    pub inodes: u64,
    pub name_changes: u64,
}

impl Disk {
    pub fn new() -> Self {
        let directories = ["", "/"].map(|root| (PathBuf::from(root), Directory::default()));
        Self {
            directories: directories.into_iter().collect(),
            capacity: None,
            locked: BTreeSet::new(),
            inodes: 0,
            name_changes: 0,
        }
    }

    pub fn directory(&mut self, path: &Path) -> io::Result<&mut Directory> {
        self.directories.get_mut(path).ok_or_else(not_found)
    }

    pub fn find(&self, place: &Place) -> io::Result<&Arc<Inode>> {
        if self.directories.contains_key(&place.full()) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        self.directories.get(&place.directory).and_then(|d| d.current.get(&place.name)).ok_or_else(not_found)
    }

    pub fn change_names(&mut self, directory: &Path, change: NameChange) -> io::Result<()> {
        self.name_changes += 1;
        let number = self.name_changes;
        let directory = self.directory(directory)?;
        change.apply(&mut directory.current);
        directory.pending.push((number, change));
        Ok(())
    }

    pub fn create(&mut self, place: &Place) -> io::Result<Arc<Inode>> {
        if self.directories.contains_key(&place.full()) || self.find(place).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.inodes += 1;
        let inode = Arc::new(Inode { number: self.inodes, file: Mutex::default() });
        self.change_names(&place.directory, NameChange::Add { name: place.name.clone(), inode: Arc::clone(&inode) })?;
        Ok(inode)
    }

    pub fn create_directories(&mut self, path: &Path) -> io::Result<()> {
        let mut ancestors: Vec<&Path> = path.ancestors().collect();
        ancestors.reverse();
        for ancestor in ancestors {
            if !self.directories.contains_key(ancestor) {
                if self.find(&locate(ancestor)?).is_ok() {
                    return Err(io::ErrorKind::NotADirectory.into());
                }
                self.directories.insert(ancestor.to_path_buf(), Directory::default());
            }
        }
        Ok(())
    }

    /// Makes a name durable whatever becomes of its directory's other changes.
    pub fn settle_name(&mut self, place: &Place, inode: Arc<Inode>) -> io::Result<()> {
        let directory = self.directory(&place.directory)?;
        directory.pending.retain(|(_, change)| !change.touches(&place.name));
        directory.current.insert(place.name.clone(), Arc::clone(&inode));
        directory.durable.insert(place.name.clone(), inode);
        Ok(())
    }

    /// Length of all files that have a name, each counted once.
    pub fn total_bytes(&self) -> u64 {
        let named = self.directories.values().flat_map(|d| d.current.values());
        let lengths: BTreeMap<u64, u64> = named.map(|i| (i.number, i.file.lock().current.len())).collect();
        lengths.values().sum()
    }

    /// By how much files may still grow.
    pub fn room(&self) -> u64 {
        self.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.total_bytes()))
    }
}

/// A file's path, taken apart.
pub(super) struct Place {
    pub directory: PathBuf,
    pub name: String,
}

impl Place {
    pub fn full(&self) -> PathBuf {
        self.directory.join(&self.name)
    }
}

pub(super) fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// The path without `.` components; the current directory is the empty path.
pub(super) fn normal(path: &Path) -> PathBuf {
    path.components().filter(|c| *c != Component::CurDir).collect()
}

pub(super) fn locate(path: &Path) -> io::Result<Place> {
    let path = normal(path);
    match (path.parent(), path.file_name().and_then(|n| n.to_str())) {
        (Some(directory), Some(name)) => Ok(Place { directory: directory.to_path_buf(), name: name.to_owned() }),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file")),
    }
}
