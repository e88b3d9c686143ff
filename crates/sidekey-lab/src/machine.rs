//! The machine that a result is from.

use crate::failure::{Failure, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// What a reader of a result should know of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub processor: String,
    /// Processors that may be used.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The operating system's kernel and its version.
    pub kernel: String,
    /// The file system that the stores were on.
    pub file_system: String,
    /// Runnable tasks in the minute before the start.
    pub load: f64,
}

impl Machine {
    /// This machine, and the file system of `dir`.
    pub fn look(dir: &Path) -> Self {
        let text = |file| fs::read_to_string(file).unwrap_or_default();
        let behind = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let memory = behind(&text("/proc/meminfo"), "MemTotal").unwrap_or_default();
        let kib: u64 = memory.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or_default();
        let names = rustix::system::uname();
        Self {
            processor: behind(&text("/proc/cpuinfo"), "model name")
                .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: kib * 1024,
            kernel: format!("{} {}", names.sysname().to_string_lossy(), names.release().to_string_lossy()),
            file_system: file_system(dir),
            load: text("/proc/loadavg").split_whitespace().next().and_then(|l| l.parse().ok()).unwrap_or_default(),
        }
    }

    /// Whether others were using the processors when the run began.
    pub fn is_busy(&self) -> bool {
        self.load > self.cores as f64 / 2.0
    }
}

/// The name of the file system by the kernel's number for it (statfs(2)).
fn file_system(dir: &Path) -> String {
    match rustix::fs::statfs(dir) {
        Ok(about) => match about.f_type as u64 {
            0xEF53 => "ext4".to_owned(),
            0x5846_5342 => "xfs".to_owned(),
            0x9123_683E => "btrfs".to_owned(),
            0x0102_1994 => "tmpfs".to_owned(),
            0x794C_7630 => "overlay".to_owned(),
            0x2FC1_2FC1 => "zfs".to_owned(),
            other => format!("file system {other:#x}"),
        },
        Err(_) => "unknown file system".to_owned(),
    }
}

/// Refuses a directory without room for a run.
pub fn check_room(dir: &Path, needed_bytes: u64) -> Result<()> {
    let about = rustix::fs::statvfs(dir).map_err(|e| Failure::system(format!("look at {}", dir.display()), e))?;
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    if free >= needed_bytes {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} has {} MiB free and the run may need {} MiB; choose another --dir or a smaller --scale",
        dir.display(),
        free >> 20,
        needed_bytes >> 20
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described() {
        let machine = Machine::look(Path::new("/"));
        assert!(machine.cores > 0 && machine.memory_bytes > 0);
        assert!(machine.kernel.starts_with("Linux "), "{}", machine.kernel);
        assert!(!machine.processor.is_empty() && !machine.file_system.is_empty());
    }

    #[test]
    fn a_directory_without_room_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(check_room(dir.path(), 0), Ok(()));
        let refused = check_room(dir.path(), u64::MAX).unwrap_err();
        assert!(refused.exit_code == 2 && refused.message.contains("--scale"), "{refused}");
    }
}
