//! A disk in memory that knows what a power cut would leave of it.
//!
//! Owns the simulated disk: for each file the durable bytes and the writes since, for each directory the durable names and the
//! changes since. Depends on nothing but memory; two runs that make the same calls get the same answers and the same images.
//! Any number of threads may use one disk; every image is of one moment.
//!
//! MEMFS-1: bytes become durable by a sync of their file, names by a sync of their directory, and neither by the other.
//! MEMFS-2: a directory made by `create_dir_all` is durable at once.
//! MEMFS-3: the bytes that a failed sync covered can be read until the power is cut, and are never made durable by a later sync.

mod chance;
mod content;
mod crash;
mod disk;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use self::content::Content;
use self::disk::{Change, Disk, Inode, NameChange, locate, normal};
use super::sync::Mutex;
use super::{File, FileSystem, LockGuard, OpenMode};

pub(super) use self::chance::{SeededRandomness, StillClock};
pub use self::crash::CrashPolicy;

/// The longest file, as the operating system has it.
const MOST_FILE_BYTES: u64 = i64::MAX as u64;

/// Files in memory. Clones share one disk; [`MemoryFs::crash`] and [`MemoryFs::kill`] give new ones.
#[derive(Clone)]
pub struct MemoryFs {
    disk: Arc<Mutex<Disk>>,
}

impl Default for MemoryFs {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryFs").finish_non_exhaustive()
    }
}

impl MemoryFs {
    /// An empty disk without limit.
    pub fn new() -> Self {
        Self::from_disk(Disk::new())
    }

    fn from_disk(disk: Disk) -> Self {
        Self { disk: Arc::new(Mutex::new(disk)) }
    }

    /// What a power cut now could leave; this disk goes on unharmed. The same state, policy and seed give the same image.
    pub fn crash(&self, policy: CrashPolicy, seed: u64) -> MemoryFs {
        Self::from_disk(crash::image(&self.disk.lock(), policy, seed))
    }

    /// What the death of the process now leaves: all that was written, durable as far as it was; no locks. A later
    /// [`MemoryFs::crash`] of the result may still lose what was not synced.
    pub fn kill(&self) -> MemoryFs {
        Self::from_disk(crash::after_kill(&self.disk.lock()))
    }

    /// Limits the sum of the lengths of all files, in bytes. What is there stays, also beyond the limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.disk.lock().capacity = bytes;
    }

    /// Sum of the lengths of all files that have a name, in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.disk.lock().total_bytes()
    }

    /// Paths of all files, sorted by directory, then by name.
    pub fn paths(&self) -> Vec<PathBuf> {
        let disk = self.disk.lock();
        disk.directories.iter().flat_map(|(path, d)| d.current.keys().map(|name| path.join(name))).collect()
    }

    /// A file's bytes.
    pub fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let disk = self.disk.lock();
        let content = disk.find(&locate(path)?)?.file.lock().current.clone();
        Ok(content.to_vec())
    }

    /// Makes a file (and its directory) of these bytes, or replaces a file's bytes; durable at once.
    pub fn write_file(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let place = locate(path)?;
        {
            let mut disk = self.disk.lock();
            disk.create_directories(&place.directory)?;
            if disk.find(&place).is_err() {
                disk.create(&place)?;
            }
        }
        self.settle(path, |content| {
            content.set_len(0);
            content.write(0, bytes);
            Ok(())
        })
    }

    /// Flips the bits `xor` of the byte at `offset`. The file's bytes and name become durable as they are.
    pub fn corrupt(&self, path: &Path, offset: u64, xor: u8) -> io::Result<()> {
        self.settle(path, |content| {
            let mut byte = [0];
            if !content.read(offset, &mut byte) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            content.write(offset, &[byte[0] ^ xor]);
            Ok(())
        })
    }

    /// Cuts a file, or extends it with zeros. The file's bytes and name become durable as they are.
    pub fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.settle(path, |content| {
            content.set_len(len);
            Ok(())
        })
    }

    fn settle(&self, path: &Path, change: impl FnOnce(&mut Content) -> io::Result<()>) -> io::Result<()> {
        let place = locate(path)?;
        let mut disk = self.disk.lock();
        let inode = Arc::clone(disk.find(&place)?);
        {
            let mut file = inode.file.lock();
            let mut content = file.current.clone();
            change(&mut content)?;
            *file = disk::FileState::settled(content);
        }
        disk.settle_name(&place, inode)
    }
}

impl FileSystem for MemoryFs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let place = locate(path)?;
        let mut disk = self.disk.lock();
        let inode = match mode {
            OpenMode::CreateNew => disk.create(&place)?,
            OpenMode::Read | OpenMode::ReadWrite => Arc::clone(disk.find(&place)?),
        };
        Ok(Arc::new(MemoryFile { disk: Arc::clone(&self.disk), inode, writable: mode != OpenMode::Read }))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.disk.lock().create_directories(&normal(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.lock().directory(&normal(path))?.sync();
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (locate(from)?, locate(to)?);
        if from.directory != to.directory {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a file is renamed within its directory"));
        }
        let mut disk = self.disk.lock();
        let inode = Arc::clone(disk.find(&from)?);
        match disk.find(&to) {
            // As POSIX has it: two names of one file both stay.
            Ok(replaced) if Arc::ptr_eq(replaced, &inode) => return Ok(()),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        disk.change_names(&from.directory, NameChange::Rename { from: from.name, to: to.name, inode })
    }

    fn link(&self, existing: &Path, new: &Path) -> io::Result<()> {
        let (existing, new) = (locate(existing)?, locate(new)?);
        let mut disk = self.disk.lock();
        let inode = Arc::clone(disk.find(&existing)?);
        match disk.find(&new) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            _ => return Err(io::ErrorKind::AlreadyExists.into()),
        }
        disk.change_names(&new.directory, NameChange::Add { name: new.name, inode })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let place = locate(path)?;
        let mut disk = self.disk.lock();
        disk.find(&place)?;
        disk.change_names(&place.directory, NameChange::Remove { name: place.name })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let path = normal(path);
        let disk = self.disk.lock();
        let directory = disk.directories.get(&path).ok_or_else(disk::not_found)?;
        let inner = disk.directories.keys().filter(|p| p.parent() == Some(&path)).filter_map(|p| p.file_name());
        let mut names: Vec<String> = inner.map(|n| n.to_string_lossy().into_owned()).collect();
        names.extend(directory.current.keys().cloned());
        names.sort_unstable();
        Ok(names)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let path = normal(path);
        let disk = self.disk.lock();
        Ok(disk.directories.contains_key(&path) || disk.find(&locate(&path)?).is_ok())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        let place = locate(path)?;
        let mut disk = self.disk.lock();
        match disk.find(&place) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                disk.create(&place)?;
            }
            Err(e) => return Err(e),
        }
        let path = place.full();
        if !disk.locked.insert(path.clone()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(MemoryLock { disk: Arc::clone(&self.disk), path }))
    }

    fn free_space(&self, _path: &Path) -> io::Result<u64> {
        Ok(self.disk.lock().room())
    }
}

struct MemoryLock {
    disk: Arc<Mutex<Disk>>,
    path: PathBuf,
}

impl fmt::Debug for MemoryLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryLock").field(&self.path).finish()
    }
}

impl LockGuard for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.disk.lock().locked.remove(&self.path);
    }
}

struct MemoryFile {
    disk: Arc<Mutex<Disk>>,
    inode: Arc<Inode>,
    writable: bool,
}

impl fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryFile").field(&self.inode.number).finish()
    }
}

impl MemoryFile {
    fn check_change(&self, end: Option<u64>) -> io::Result<u64> {
        if !self.writable {
            return Err(Errno::BADF.into());
        }
        end.filter(|end| *end <= MOST_FILE_BYTES).ok_or_else(|| Errno::FBIG.into())
    }
}

impl File for MemoryFile {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        // A read of nothing succeeds anywhere, as it does with the operating system's files.
        if buffer.is_empty() || self.inode.file.lock().current.read(offset, buffer) {
            return Ok(());
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    fn write_at(&self, parts: &[&[u8]], offset: u64) -> io::Result<()> {
        let mut bytes = parts.concat();
        let end = self.check_change(offset.checked_add(bytes.len() as u64))?;
        let disk = self.disk.lock();
        let room = disk.room();
        let mut file = self.inode.file.lock();
        let len = file.current.len();
        let limit = len.saturating_add(room);
        let full = end > limit && !bytes.is_empty();
        if full {
            bytes.truncate(usize::try_from(limit.saturating_sub(offset)).unwrap_or(usize::MAX));
        }
        if !bytes.is_empty() {
            file.change(Change::Write { offset, bytes: bytes.into() });
        }
        if full { Err(Errno::NOSPC.into()) } else { Ok(()) }
    }

    fn sync_data(&self) -> io::Result<()> {
        let _disk = self.disk.lock();
        self.inode.file.lock().sync();
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_change(Some(len))?;
        let disk = self.disk.lock();
        let room = disk.room();
        let mut file = self.inode.file.lock();
        if len > file.current.len().saturating_add(room) {
            return Err(Errno::NOSPC.into());
        }
        file.change(Change::SetLen(len));
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.inode.file.lock().current.len())
    }

    fn discard_unsynced(&self) {
        let _disk = self.disk.lock();
        self.inode.file.lock().discard_unsynced();
    }
}
