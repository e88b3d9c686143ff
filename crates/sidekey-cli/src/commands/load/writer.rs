//! Writes records in batches, and finds the culprit when a batch is refused.

use super::record::{BadLine, Record};
use crate::failure::Result;
use sidekey::{Batch, Collection, Db, Error, ErrorKind};
use std::ops::ControlFlow;

/// Bytes of records at which a batch is written even if it has few.
const BATCH_BYTES_MAX: usize = 8 << 20;

/// What has been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub records: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
}

/// Gathers records and writes them.
pub struct Writer<'a> {
    db: &'a Db,
    collection: &'a Collection,
    waiting: Vec<Record>,
    waiting_bytes: usize,
    batch: usize,
}

impl<'a> Writer<'a> {
    pub fn new(db: &'a Db, collection: &'a Collection, batch: u32) -> Self {
        Self { db, collection, waiting: Vec::new(), waiting_bytes: 0, batch: batch as usize }
    }

    pub fn push(&mut self, record: Record) {
        self.waiting_bytes += record.key.len() + record.value.len();
        self.waiting.push(record);
    }

    pub fn is_full(&self) -> bool {
        self.waiting.len() >= self.batch || self.waiting_bytes >= BATCH_BYTES_MAX
    }

    /// Writes what is waiting. A record that the engine refuses goes to `refused`, which says whether to go on; any
    /// other error ends the writing. `written` counts what was acknowledged, also when this fails (CLI-3).
    pub fn write(&mut self, written: &mut Written, mut refused: impl FnMut(BadLine) -> ControlFlow<()>) -> Result<()> {
        let records = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        if records.is_empty() {
            return Ok(());
        }
        match self.put(&records, written) {
            Err(error) if is_about_a_record(&error) => {}
            other => return Ok(other?),
        }
        // The batch was refused as one; one by one, the records show which of them it was.
        for record in &records {
            match self.put(std::slice::from_ref(record), written) {
                Ok(()) => {}
                Err(error) if is_about_a_record(&error) => {
                    if refused(BadLine::new(record.line, "refused record", error.to_string())).is_break() {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn put(&self, records: &[Record], written: &mut Written) -> sidekey::Result<()> {
        let mut batch = Batch::new();
        for record in records {
            batch.put(self.collection, record.key.as_slice(), record.value.as_slice());
        }
        let bytes = batch.size_bytes() as u64;
        self.db.write(batch)?;
        written.records += records.len() as u64;
        written.bytes += bytes;
        Ok(())
    }
}

/// Whether another record might have been accepted.
fn is_about_a_record(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::Conflict)
}
