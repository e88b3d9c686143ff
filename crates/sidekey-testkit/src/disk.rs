//! The disk in memory that test databases live on.

use sidekey::env::{CrashPolicy, Env, FaultyFs, FileSystem, MemoryFs};
use std::sync::Arc;

/// A disk in memory, perhaps behind a file system that observes and fails. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    files: MemoryFs,
    front: Option<FaultyFs>,
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same disk with a new observing and failing front, which is returned too.
    pub fn observed(&self) -> (Self, FaultyFs) {
        let front = FaultyFs::new(Arc::new(self.files.clone()));
        (Self { files: self.files.clone(), front: Some(front.clone()) }, front)
    }

    /// The same disk without its front.
    pub fn behind(&self) -> Self {
        Self { files: self.files.clone(), front: None }
    }

    /// What a power cut at this moment leaves, as a disk of its own without a front.
    pub fn crash(&self, policy: CrashPolicy, seed: u64) -> Self {
        Self { files: self.files.crash(policy, seed), front: None }
    }

    /// What a kill of the process at this moment leaves, everything written, as a disk of its own without a front.
    pub fn kill(&self) -> Self {
        Self { files: self.files.kill(), front: None }
    }

    /// A single-threaded, repeatable environment on the disk.
    pub fn env(&self, seed: u64) -> Env {
        let files: Arc<dyn FileSystem> = match &self.front {
            Some(front) => Arc::new(front.clone()),
            None => Arc::new(self.files.clone()),
        };
        Env::deterministic(files, seed)
    }
}
