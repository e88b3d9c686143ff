//! A file system in memory that keeps a list of calls, fails one of them and fills up. It has no power to cut.

use crate::env::sync::Mutex;
use crate::env::{File, FileSystem, LockGuard, OpenMode};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// What changes or syncs something, as "verb name".
    calls: Vec<String>,
    /// Which call fails, and all after it do: the process is gone.
    dead_from: Option<usize>,
    fail_reads: bool,
    fail_set_len: bool,
    write_error: Option<ErrorKind>,
    /// Bytes over all files.
    capacity: Option<usize>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

impl Disk {
    pub fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        self.0.lock().files.clone()
    }

    pub fn with(contents: BTreeMap<PathBuf, Vec<u8>>) -> Disk {
        let disk = Disk::default();
        disk.0.lock().files = contents;
        disk
    }

    pub fn bytes(&self, path: &Path) -> Vec<u8> {
        self.0.lock().files[path].clone()
    }

    pub fn put(&self, path: &Path, bytes: Vec<u8>) {
        self.0.lock().files.insert(path.to_path_buf(), bytes);
    }

    pub fn edit(&self, path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
        edit(self.0.lock().files.get_mut(path).unwrap());
    }

    pub fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().calls)
    }

    pub fn die_at_call(&self, call: usize) {
        self.0.lock().dead_from = Some(call);
    }

    pub fn fail_reads(&self) {
        self.0.lock().fail_reads = true;
    }

    pub fn fail_set_len(&self) {
        self.0.lock().fail_set_len = true;
    }

    pub fn fail_writes(&self, kind: Option<ErrorKind>) {
        self.0.lock().write_error = kind;
    }

    /// Leaves room for so many bytes; `None` for any number.
    pub fn set_free(&self, free: Option<usize>) {
        let mut state = self.0.lock();
        state.capacity = free.map(|free| state.files.values().map(Vec::len).sum::<usize>() + free);
    }
}

impl State {
    fn call(&mut self, verb: &str, path: &Path) -> io::Result<()> {
        if self.dead_from.is_some_and(|at| self.calls.len() >= at) {
            return Err(io::Error::other("dead"));
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        self.calls.push(format!("{verb} {name}"));
        Ok(())
    }

    fn file(&mut self, path: &Path) -> io::Result<&mut Vec<u8>> {
        self.files.get_mut(path).ok_or_else(|| ErrorKind::NotFound.into())
    }
}

#[derive(Debug)]
struct Handle {
    disk: Disk,
    path: PathBuf,
    writable: bool,
}

impl File for Handle {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        if state.fail_reads {
            return Err(io::Error::other("unreadable"));
        }
        let offset = offset as usize;
        let bytes = state.file(&self.path)?;
        let bytes = bytes.get(offset..offset + buffer.len()).ok_or(ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn write_at(&self, parts: &[&[u8]], offset: u64) -> io::Result<()> {
        assert!(self.writable);
        let mut state = self.disk.0.lock();
        state.call("write", &self.path)?;
        let (mut bytes, offset) = (parts.concat(), offset as usize);
        let used: usize = state.files.values().map(Vec::len).sum();
        let mut error = state.write_error;
        let growth = (offset + bytes.len()).saturating_sub(state.file(&self.path)?.len());
        if let Some(lacking) = state.capacity.and_then(|c| (used + growth).checked_sub(c)).filter(|n| *n > 0) {
            bytes.truncate(bytes.len() - lacking);
            error = Some(ErrorKind::StorageFull);
        }
        let file = state.file(&self.path)?;
        file.resize(file.len().max(offset + bytes.len()), 0);
        file[offset..offset + bytes.len()].copy_from_slice(&bytes);
        error.map_or(Ok(()), |e| Err(e.into()))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.0.lock().call("sync", &self.path)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        assert!(self.writable);
        let mut state = self.disk.0.lock();
        state.call("set_len", &self.path)?;
        if state.fail_set_len {
            return Err(io::Error::other("stuck"));
        }
        state.file(&self.path)?.resize(len as usize, 0);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.0.lock().file(&self.path)?.len() as u64)
    }
}

impl FileSystem for Disk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut state = self.0.lock();
        match (mode, state.files.contains_key(path)) {
            (OpenMode::CreateNew, true) => return Err(ErrorKind::AlreadyExists.into()),
            (OpenMode::CreateNew, false) => {
                state.call("create", path)?;
                state.files.insert(path.to_path_buf(), vec![]);
            }
            (_, false) => return Err(ErrorKind::NotFound.into()),
            (_, true) => {}
        }
        Ok(Arc::new(Handle { disk: self.clone(), path: path.to_path_buf(), writable: mode != OpenMode::Read }))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.lock().call("sync_dir", path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        state.call("remove", path)?;
        state.files.remove(path).map(|_| ()).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn create_dir_all(&self, _: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn link(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Err(ErrorKind::Unsupported.into())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.0.lock().files.contains_key(path))
    }

    fn lock(&self, _: &Path) -> io::Result<Box<dyn LockGuard>> {
        Err(ErrorKind::Unsupported.into())
    }

    fn free_space(&self, _: &Path) -> io::Result<u64> {
        Err(ErrorKind::Unsupported.into())
    }
}
