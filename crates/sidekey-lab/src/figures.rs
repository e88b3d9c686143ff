//! The figures of one workload in one run of one store.

use crate::latency::Latency;
use crate::meter::Spent;
use serde::{Deserialize, Serialize};

/// What one process found. Fields that end in `_us` are microseconds per operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The workload's name.
    pub workload: String,
    /// What else tells it from other figures of the same store; empty, or for example `4 validated`.
    pub setup: String,
    /// Operations; for readseq, rows.
    pub operations: u64,
    /// The figure that decides: processor time. Of the whole process, flush and compaction included; for readwhilewriting of the reading
    /// thread.
    pub cpu_us: f64,
    /// Processor time of the whole process until settled.
    pub process_cpu_us: f64,
    /// Wall time until the last operation had returned.
    pub wall_us: f64,
    /// Wall time until the store had settled.
    pub settled_wall_us: f64,
    /// Times of single operations, where they were taken.
    pub latency: Option<Latency>,
    /// Largest resident memory during the workload, in bytes.
    pub peak_bytes: u64,
    /// Resident memory of the process before it opened the store, in bytes: part of the peak that is not the store's.
    pub harness_bytes: u64,
    /// Bytes of keys and values that were written to the store.
    pub user_bytes: u64,
    /// Bytes that the store says it wrote.
    pub store_written_bytes: Option<u64>,
    /// Bytes that the kernel counted as written by the process, in pages.
    pub process_written_bytes: u64,
    /// Size of the store's files when settled, in bytes.
    pub disk_bytes: u64,
    /// Bytes of the keys and values that are in the store.
    pub live_bytes: u64,
}

impl Figures {
    /// The times of a workload of `operations`: `foreground` when the last operation had returned, `settled` when nothing was left to do.
    pub fn new(workload: &str, operations: u64, foreground: Spent, settled: Spent) -> Self {
        let per = 1e6 / operations.max(1) as f64;
        Self {
            workload: workload.to_owned(),
            setup: String::new(),
            operations,
            cpu_us: settled.process_s * per,
            process_cpu_us: settled.process_s * per,
            wall_us: foreground.wall_s * per,
            settled_wall_us: settled.wall_s * per,
            latency: None,
            peak_bytes: settled.peak_bytes,
            harness_bytes: 0,
            user_bytes: 0,
            store_written_bytes: None,
            process_written_bytes: settled.written_bytes,
            disk_bytes: 0,
            live_bytes: 0,
        }
    }

    /// Bytes written for each byte that the user wrote: by the store's count, or the kernel's where it has none.
    pub fn write_amplification(&self) -> Option<f64> {
        let written = self.store_written_bytes.unwrap_or(self.process_written_bytes);
        (self.user_bytes > 0).then(|| written as f64 / self.user_bytes as f64)
    }

    /// Bytes on disk for each live byte.
    pub fn space_amplification(&self) -> Option<f64> {
        (self.live_bytes > 0).then(|| self.disk_bytes as f64 / self.live_bytes as f64)
    }

    /// Memory that is the store's at the peak.
    pub fn store_peak_bytes(&self) -> u64 {
        self.peak_bytes.saturating_sub(self.harness_bytes)
    }
}

/// What a child process prints: one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildResult {
    /// Name and version of the store.
    pub version: String,
    /// What its reader should know.
    pub notes: Vec<String>,
    /// The workloads, in the order in which they ran.
    pub figures: Vec<Figures>,
}
