//! The account that a load gives of itself.

use super::record::BadLine;
use super::writer::Written;
use crate::failure::{Failure, Result};
use crate::output::{Output, align_right, table};
use crate::text::{bytes, counted, duration, grouped};
use serde_json::{Value as Json, json};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What was read, written and left out.
#[derive(Debug)]
pub struct Report {
    file: String,
    collection: String,
    bytes_read: Rc<Cell<u64>>,
    started: Instant,
    /// Lines read, headings and empty ones included.
    pub lines: u64,
    pub written: Written,
    skips: Vec<Skip>,
}

/// Lines left out for one reason.
#[derive(Debug)]
struct Skip {
    reason: &'static str,
    lines: u64,
    first_line: u64,
    first: String,
}

impl Report {
    pub fn new(file: String, collection: String, bytes_read: Rc<Cell<u64>>) -> Self {
        let started = Instant::now();
        Self { file, collection, bytes_read, started, lines: 0, written: Written::default(), skips: Vec::new() }
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.get()
    }

    /// Lines left out so far.
    pub fn skipped(&self) -> u64 {
        self.skips.iter().map(|skip| skip.lines).sum()
    }

    /// Counts a line as left out.
    pub fn skip(&mut self, bad: &BadLine) {
        match self.skips.iter_mut().find(|skip| skip.reason == bad.reason) {
            Some(skip) => skip.lines += 1,
            None => {
                self.skips.push(Skip { reason: bad.reason, lines: 1, first_line: bad.line, first: bad.what.clone() });
            }
        }
    }

    /// Adds to a failure what was written before it (CLI-3).
    pub fn explain(&self, mut failure: Failure) -> Failure {
        let records = counted(self.written.records, "record");
        let were = if self.written.records == 1 { "was" } else { "were" };
        failure.message = format!("{}; {records} {were} written before that", failure.message);
        failure.detail("records_written", self.written.records).detail("lines_skipped", self.skipped())
    }

    pub fn print(&self, output: &mut Output) -> Result<()> {
        let seconds = self.started.elapsed().as_secs_f64();
        if output.is_json() { output.json(&self.json(seconds)) } else { self.text(seconds, output) }
    }

    fn rate(&self, seconds: f64) -> f64 {
        // A clock too coarse for a tiny file must not make the rate infinite.
        (self.written.records as f64 / seconds.max(1e-6)).round()
    }

    fn json(&self, seconds: f64) -> Json {
        let reasons = self.skips.iter().map(|skip| {
            json!({ "reason": skip.reason, "lines": skip.lines, "first_line": skip.first_line, "first": skip.first })
        });
        json!({
            "file": self.file,
            "collection": self.collection,
            "lines_read": self.lines,
            "bytes_read": self.bytes_read(),
            "records_written": self.written.records,
            "bytes_written": self.written.bytes,
            "lines_skipped": self.skipped(),
            "skipped": reasons.collect::<Vec<_>>(),
            "seconds": seconds,
            "records_per_second": self.rate(seconds),
        })
    }

    fn text(&self, seconds: f64, output: &mut Output) -> Result<()> {
        let mut lines = table(&["loaded", ""]);
        lines.add_row(["from", &self.file]);
        lines.add_row(["into", &self.collection]);
        lines.add_row(["lines read", &grouped(self.lines)]);
        lines.add_row(["records written", &grouped(self.written.records)]);
        lines.add_row(["lines skipped", &grouped(self.skipped())]);
        lines.add_row(["bytes", &format!("{} read, {} stored", bytes(self.bytes_read()), bytes(self.written.bytes))]);
        lines.add_row(["time", &duration(Duration::from_secs_f64(seconds))]);
        lines.add_row(["records/s", &grouped(self.rate(seconds) as u64)]);
        output.table(&lines)?;
        if !self.skips.is_empty() {
            output.line("")?;
            let mut lines = table(&["skipped", "lines", "first at", "there"]);
            align_right(&mut lines, &[1, 2]);
            for skip in &self.skips {
                lines.add_row([skip.reason, &grouped(skip.lines), &format!("line {}", skip.first_line), &skip.first]);
            }
            output.table(&lines)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report::new("a.csv".into(), "things".into(), Rc::default())
    }

    #[test]
    fn skips_are_counted_by_reason_with_the_first_of_each() {
        let mut report = report();
        report.skip(&BadLine::new(3, "malformed JSON", "x"));
        report.skip(&BadLine::new(5, "malformed JSON", "y"));
        report.skip(&BadLine::new(6, "empty key", "z"));
        assert_eq!(report.skipped(), 3);
        let json = report.json(0.5);
        assert_eq!(
            json["skipped"][0],
            json!({ "reason": "malformed JSON", "lines": 2, "first_line": 3, "first": "x" })
        );
        assert_eq!(json["lines_skipped"], 3);
    }

    #[test]
    fn failure_says_how_much_is_safe() {
        let mut report = report();
        report.written = Written { records: 1, bytes: 10 };
        let failure = report.explain(Failure::input("a.csv, line 3: no"));
        assert_eq!(failure.message, "a.csv, line 3: no; 1 record was written before that");
        assert_eq!(failure.to_json()["error"]["records_written"], 1);
    }
}
