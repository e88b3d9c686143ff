//! Where the demo's database lives.

use crate::failure::{Failure, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Tries for a name that is free; the first is free unless a demo died under the same process id.
const TRIES: u32 = 100;

/// A directory, removed when it goes out of scope if it is temporary.
pub struct Directory {
    path: PathBuf,
    temporary: bool,
}

impl Directory {
    /// A new directory among the system's temporary ones.
    pub fn temporary() -> Result<Self> {
        let parent = std::env::temp_dir();
        let process = std::process::id();
        for number in 0..TRIES {
            let path = parent.join(format!("sidekey-demo-{process}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, temporary: true }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => {
                    return Err(Failure::file(&path, "make the demo's directory", &e)
                        .hint("give a directory with --keep DIR, or set TMPDIR"));
                }
            }
        }
        Err(Failure::usage(format!("{} holds too many leftovers of demos: remove sidekey-demo-*", parent.display())))
    }

    /// The user's directory, which must be new or empty.
    pub fn kept(path: &Path) -> Result<Self> {
        let occupied = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            Err(e) => return Err(Failure::file(path, "use as a directory", &e)),
        };
        if occupied {
            return Err(Failure::usage(format!("{} is not empty", path.display()))
                .hint("the demo makes a database of its own: name a directory that is new or empty"));
        }
        Ok(Self { path: path.to_path_buf(), temporary: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes a temporary directory and says if that fails.
    pub fn remove(mut self) -> Result<()> {
        if std::mem::take(&mut self.temporary) {
            fs::remove_dir_all(&self.path).map_err(|e| Failure::file(&self.path, "remove", &e))?;
        }
        Ok(())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.temporary {
            // Only on the way out of a failure, which is what the user must hear about.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_directories_differ_and_go_when_dropped() {
        let (first, second) = (Directory::temporary().unwrap(), Directory::temporary().unwrap());
        let paths = [first.path().to_path_buf(), second.path().to_path_buf()];
        assert_ne!(paths[0], paths[1]);
        assert!(paths[0].is_dir());
        drop(first);
        second.remove().unwrap();
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn directory_with_files_is_left_alone() {
        let occupied = tempfile::tempdir().unwrap();
        fs::write(occupied.path().join("mine"), "x").unwrap();
        assert_eq!(Directory::kept(occupied.path()).err().unwrap().kind, "Usage");
        assert!(occupied.path().join("mine").exists());
    }
}
