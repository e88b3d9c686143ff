//! What passes between the readers of formats, the keys and the writer.

use serde_json::Value as Json;

/// One line's record, before it has its key.
#[derive(Debug)]
pub struct Line {
    /// Line in the file, from 1: the first, if the record spans several.
    pub number: u64,
    /// The key fields' values, in the order the key rule names them; `None` for a field that is missing.
    pub key_fields: Vec<Option<Json>>,
    /// The record's value: JSON text.
    pub value: Vec<u8>,
}

/// A record to be written.
#[derive(Clone, Debug)]
pub struct Record {
    pub line: u64,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

/// A line that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Line in the file, from 1; 0 for the file as a whole.
    pub line: u64,
    /// The kind of fault, by which the report counts.
    pub reason: &'static str,
    /// What is wrong in this line.
    pub what: String,
    /// Whether nothing after it can be read.
    pub fatal: bool,
}

impl BadLine {
    pub fn new(line: u64, reason: &'static str, what: impl Into<String>) -> Self {
        Self { line, reason, what: what.into(), fatal: false }
    }

    pub fn fatal(line: u64, reason: &'static str, what: impl Into<String>) -> Self {
        Self { fatal: true, ..Self::new(line, reason, what) }
    }
}

/// Reads a file line by line.
pub trait LineReader {
    /// The next line that is not empty; `None` at the end.
    fn next_line(&mut self) -> Option<Result<Line, BadLine>>;

    /// Lines read so far, headings and empty ones included.
    fn lines_read(&self) -> u64;
}
