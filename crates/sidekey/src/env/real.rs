//! The operating system's files, clock, randomness and threads.
//!
//! Owns nothing but descriptors. All calls are positioned, so an open file has no cursor and may be used by any number of threads.
//!
//! REAL-1: a file is opened without following a symbolic link in the last component, and only if it is a regular file: neither a
//! link planted in the database's directory nor a device or a pipe is ever read or written.
//! REAL-2: files are created with mode 0600 and directories with mode 0700.

use std::fs::{self, DirBuilder, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IoSlice};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::sync::atomic::{AtomicU64, Ordering};
use super::{Advice, Clock, File, FileSystem, LockGuard, OpenMode, Randomness, Thread, parent};

#[cfg(test)]
mod tests;

/// Parts handed to the kernel in one call. Far below any system's `IOV_MAX`, and their array still fits the stack.
const MOST_PARTS: usize = 64;

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFs;

#[derive(Debug)]
struct RealFile(fs::File);

/// The lock goes with the descriptor: also when the process is killed.
#[derive(Debug)]
struct RealLock(#[expect(dead_code, reason = "held for its descriptor")] fs::File);

impl LockGuard for RealLock {}

/// `O_NONBLOCK` changes nothing for regular files, and keeps a pipe in their place from blocking the open for ever.
fn open_flags() -> i32 {
    (OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK).bits() as i32
}

fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<fs::File> {
    let file = options.mode(0o600).custom_flags(open_flags()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

fn create_dir(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other,
    }
}

impl FileSystem for RealFs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            OpenMode::Read => {}
            OpenMode::ReadWrite => {
                options.write(true);
            }
            OpenMode::CreateNew => {
                options.write(true).create_new(true);
            }
        }
        Ok(Arc::new(RealFile(open_regular(&mut options, path)?)))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let above = parent(path);
        if path.is_dir() {
            // A process killed between making the directory and syncing its name may have left it so. The parent of a directory
            // that somebody else made need not be readable to us; then there is nothing to do.
            return match self.sync_dir(&above) {
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
                other => other,
            };
        }
        if !above.is_dir() {
            self.create_dir_all(&above)?;
        }
        create_dir(path)?;
        self.sync_dir(&above)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let directory = (OFlags::DIRECTORY | OFlags::CLOEXEC).bits() as i32;
        OpenOptions::new().read(true).custom_flags(directory).open(path)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, existing: &Path, new: &Path) -> io::Result<()> {
        fs::hard_link(existing, new)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    /// A name that is not UTF-8 is none of ours; it is listed with replacement characters, so that it can be reported.
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        match fs::symlink_metadata(path) {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = open_regular(&mut options, path)?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(RealLock(file))),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }

    fn free_space(&self, path: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

/// Writes all of `parts` in as few calls as the kernel allows.
fn write_all_vectored(file: &fs::File, parts: &[&[u8]], mut offset: u64) -> io::Result<()> {
    for group in parts.chunks(MOST_PARTS) {
        let mut slices = [IoSlice::new(&[]); MOST_PARTS];
        for (slice, part) in slices.iter_mut().zip(group) {
            *slice = IoSlice::new(part);
        }
        let mut rest = &mut slices[..group.len()];
        // Drops empty parts at the front: a call with nothing to write returns 0, which would look like a full device.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match rustix::io::pwritev(file, rest, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    offset += n as u64;
                    IoSlice::advance_slices(&mut rest, n);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
    Ok(())
}

impl File for RealFile {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&self, parts: &[&[u8]], offset: u64) -> io::Result<()> {
        match parts {
            [] => Ok(()),
            [one] => self.0.write_all_at(one, offset),
            several => write_all_vectored(&self.0, several, offset),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    #[cfg(target_os = "linux")]
    fn advise(&self, offset: u64, len: u64, advice: Advice) {
        let advice = match advice {
            Advice::Random => rustix::fs::Advice::Random,
            Advice::Sequential => rustix::fs::Advice::Sequential,
            Advice::DontNeed => rustix::fs::Advice::DontNeed,
        };
        // Only a hint: a file system that does not know it serves the reads all the same.
        let _ = rustix::fs::fadvise(&self.0, offset, std::num::NonZeroU64::new(len), advice);
    }
}

/// Time since the clock was made.
#[derive(Debug)]
pub(super) struct RealClock(Instant);

impl Default for RealClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for RealClock {
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, how_long: Duration) {
        std::thread::sleep(how_long);
    }
}

/// A keyed hash of a counter; the key is the operating system's randomness, as std takes it for its hash maps. Unguessable
/// salts need no more, and unlike a read of a device this cannot fail.
#[derive(Debug, Default)]
pub(super) struct RealRandomness {
    key: RandomState,
    calls: AtomicU64,
}

impl Randomness for RealRandomness {
    fn next_u64(&self) -> u64 {
        self.key.hash_one(self.calls.fetch_add(1, Ordering::Relaxed))
    }
}

pub(super) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}
