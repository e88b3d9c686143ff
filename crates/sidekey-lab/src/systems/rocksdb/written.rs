//! What RocksDB writes: its log, counted here, since only its statistics count it, and they cost time; its tables, from the events that
//! it reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A record of the log has a header of 7 bytes, a batch one of 12, an operation its kind.
const RECORD_BYTES: usize = 7;
const BATCH_BYTES: usize = 12;
const KIND_BYTES: usize = 1;

/// Bytes written since the opening.
#[derive(Clone, Default)]
pub(super) struct Written(Arc<Counts>);

#[derive(Default)]
struct Counts {
    log: AtomicU64,
    tables: AtomicU64,
}

/// Bytes of an operand with its length before it.
fn operand(bytes: &[u8]) -> usize {
    let length = (usize::BITS - (bytes.len() | 1).leading_zeros()).div_ceil(7);
    length as usize + bytes.len()
}

impl Written {
    /// Counts a put into the first column family.
    pub fn count_put(&self, key: &[u8], value: &[u8]) {
        self.count_batch(BATCH_BYTES + KIND_BYTES + operand(key) + operand(value));
    }

    /// Counts a deletion from the first column family.
    pub fn count_delete(&self, key: &[u8]) {
        self.count_batch(BATCH_BYTES + KIND_BYTES + operand(key));
    }

    /// Counts a batch of so many bytes.
    pub fn count_batch(&self, bytes: usize) {
        self.0.log.fetch_add((RECORD_BYTES + bytes) as u64, Ordering::Relaxed);
    }

    /// Counts the table whose making a line of RocksDB's information log reports, if it does.
    pub fn count_event(&self, line: &str) {
        if let Some(bytes) = table_bytes(line) {
            self.0.tables.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// All that was counted.
    pub fn bytes(&self) -> u64 {
        self.0.log.load(Ordering::Relaxed) + self.0.tables.load(Ordering::Relaxed)
    }
}

/// The size of the table that was made, if that is what the line is about.
fn table_bytes(line: &str) -> Option<u64> {
    const SIZE: &str = "\"file_size\": ";
    let made = line.contains("\"event\": \"table_file_creation\"");
    let rest = line.get(line.find(SIZE)? + SIZE.len()..).filter(|_| made)?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_tables_are_counted_and_other_events_are_not() {
        let written = Written::default();
        written.count_event(
            "EVENT_LOG_v1 {\"time_micros\": 1, \"event\": \"table_file_creation\", \"file_size\": 4711, \"x\": 5}",
        );
        written.count_event("EVENT_LOG_v1 {\"event\": \"table_file_deletion\", \"file_number\": 9}");
        written.count_event("EVENT_LOG_v1 {\"event\": \"other\", \"file_size\": 9}");
        written.count_event("\"event\": \"table_file_creation\", \"file_size\": ");
        assert_eq!(written.bytes(), 4711);
    }
}
