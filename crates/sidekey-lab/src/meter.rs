//! What a process used: processor time, wall time, memory, bytes written, space.
//!
//! MET-1: a figure is of this process alone, all its threads included; that is why each store runs in a process of its own.

use crate::failure::{Failure, Result};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Runs from its start.
pub struct Meter {
    process_s: f64,
    thread_s: f64,
    wall: Instant,
    written_bytes: u64,
}

/// What was used since a meter's start.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Processor time of all threads, user and system, in seconds.
    pub process_s: f64,
    /// Processor time of the calling thread, in seconds.
    pub thread_s: f64,
    /// Wall time in seconds.
    pub wall_s: f64,
    /// Bytes that the kernel counted as going to storage.
    pub written_bytes: u64,
    /// Largest resident memory, in bytes.
    pub peak_bytes: u64,
}

impl Meter {
    /// Begins, with the peak of memory set back to what is in use now.
    pub fn start() -> Result<Self> {
        // Linux: "5" resets the peak resident set size (proc_pid_clear_refs(5)). Where that is refused, the peak is the process's so far.
        let _ = fs::write("/proc/self/clear_refs", "5");
        Ok(Self {
            written_bytes: written_bytes()?,
            process_s: seconds(ClockId::ProcessCPUTime),
            thread_s: seconds(ClockId::ThreadCPUTime),
            wall: Instant::now(),
        })
    }

    /// What was used so far.
    pub fn spent(&self) -> Result<Spent> {
        Ok(Spent {
            wall_s: self.wall.elapsed().as_secs_f64(),
            thread_s: seconds(ClockId::ThreadCPUTime) - self.thread_s,
            process_s: seconds(ClockId::ProcessCPUTime) - self.process_s,
            written_bytes: written_bytes()?.saturating_sub(self.written_bytes),
            peak_bytes: peak_bytes()?,
        })
    }
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The number behind `name` in a file of lines `name: number`.
fn field(file: &str, name: &str) -> Result<u64> {
    let text = fs::read_to_string(file).map_err(|e| Failure::system(format!("read {file}"), e))?;
    parse_field(&text, name).ok_or_else(|| Failure::system(format!("read {file}"), format!("no line '{name}'")))
}

fn parse_field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

fn written_bytes() -> Result<u64> {
    field("/proc/self/io", "write_bytes")
}

fn peak_bytes() -> Result<u64> {
    Ok(field("/proc/self/status", "VmHWM")? * 1024)
}

/// Resident memory now, in bytes.
pub fn resident_bytes() -> Result<u64> {
    Ok(field("/proc/self/status", "VmRSS")? * 1024)
}

/// The bytes of all files below `dir`.
pub fn disk_bytes(dir: &Path) -> Result<u64> {
    let failed = |e: std::io::Error| Failure::system(format!("list {}", dir.display()), e);
    let mut total = 0;
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        total += match entry.metadata() {
            Ok(about) if about.is_dir() => disk_bytes(&entry.path())?,
            Ok(about) => about.len(),
            // A store may remove a file that it needs no more at any time.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => 0,
            Err(e) => return Err(failed(e)),
        };
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "rchar: 5\nwrite_bytes: 4096\ncancelled_write_bytes: 7\nVmHWM:\t  123 kB\n";
        assert_eq!(parse_field(text, "write_bytes"), Some(4096));
        assert_eq!(parse_field(text, "VmHWM"), Some(123));
        assert_eq!(parse_field(text, "bytes"), None);
    }

    #[test]
    fn work_and_memory_of_the_process_are_counted() {
        let meter = Meter::start().unwrap();
        let block = vec![1_u8; 32 << 20];
        let sum: u64 = block.iter().map(|&b| u64::from(std::hint::black_box(b))).sum();
        let spent = meter.spent().unwrap();
        assert_eq!(sum, 32 << 20);
        assert!(spent.process_s > 0.0 && spent.wall_s > 0.0);
        assert!(spent.peak_bytes >= 32 << 20);
    }

    #[test]
    fn files_below_a_directory_add_up() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("inner")).unwrap();
        fs::write(dir.path().join("a"), [0; 10]).unwrap();
        fs::write(dir.path().join("inner/b"), [0; 5]).unwrap();
        assert_eq!(disk_bytes(dir.path()).unwrap(), 15);
    }
}
