//! `sidekey load`: JSON Lines and CSV into a collection.
//!
//! Purpose: turns lines into records, writes them in batches, and accounts for every line.
//! Owns: the formats' reading ([`json_lines`], [`csv_rows`], [`cells`]), the making of keys ([`key`]), the writing
//! ([`writer`]), progress and the closing report.
//!
//! LOAD-1: records are written in the order of their lines, so the last of several lines with one key wins.
//! LOAD-2: a line that cannot be loaded never takes lines before it along: what precedes it is written first (CLI-3).
//! LOAD-3: every line is counted once: written, skipped with a reason, or empty.

mod arguments;
mod cells;
mod csv_rows;
mod index_option;
mod json_lines;
mod key;
mod progress;
mod record;
mod report;
mod source;
mod writer;

pub use arguments::Arguments;

use super::index::explain_path;
use crate::Outcome;
use crate::failure::{Failure, Result};
use crate::output::Output;
use arguments::{Format, OnError};
use csv_rows::CsvRows;
use json_lines::JsonLines;
use key::KeyRule;
use progress::Progress;
use record::{BadLine, LineReader};
use report::Report;
use sidekey::{Collection, Db};
use source::Source;
use std::ops::ControlFlow;
use writer::Writer;

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    if arguments.max_errors.is_some() && arguments.on_error == OnError::Stop {
        return Err(Failure::usage("--max-errors needs --on-error skip: without it the first bad line ends the load"));
    }
    // Everything that can be refused without a database is refused before one is made.
    let specs = arguments.indexes.iter().map(|text| index_option::parse(text)).collect::<Result<Vec<_>>>()?;
    let source = Source::open(&arguments.file, arguments.format)?;
    let progress = Progress::new(&source, output.is_json() || arguments.quiet);
    let mut load = Load::begin(arguments, source, progress)?;
    let db = arguments.database.open_or_create()?;
    let collection = db.collection(&arguments.collection)?;
    for spec in specs {
        let path = spec.attribute.clone();
        collection.create_index(spec).map_err(|e| explain_path(e, &path))?;
    }
    let stopped = load.all(&db, &collection);
    load.progress.end();
    let closed = db.close().map_err(Failure::from);
    if let Err(failure) = stopped.and(closed) {
        return Err(load.report.explain(failure));
    }
    load.report.print(output)?;
    Ok(Outcome::Done)
}

/// A load under way.
struct Load<'a> {
    arguments: &'a Arguments,
    file: String,
    lines: Box<dyn LineReader>,
    keys: KeyRule,
    progress: Progress,
    report: Report,
}

impl<'a> Load<'a> {
    fn begin(arguments: &'a Arguments, source: Source, progress: Progress) -> Result<Self> {
        let report = Report::new(source.name.clone(), arguments.collection.clone(), source.bytes_read.clone());
        let file = source.name.clone();
        let keys = KeyRule::from_arguments(arguments)?;
        let lines: Box<dyn LineReader> = match source.format {
            Format::Jsonl => Box::new(JsonLines::new(source.reader, keys.fields())),
            Format::Csv | Format::Tsv => Box::new(CsvRows::new(source, &keys, arguments)?),
        };
        Ok(Self { arguments, file, lines, keys, progress, report })
    }

    /// Loads every line; on a failure, what was acknowledged is in the report.
    fn all(&mut self, db: &Db, collection: &Collection) -> Result<()> {
        self.keys.continue_from(collection)?;
        let mut writer = Writer::new(db, collection, self.arguments.batch);
        while let Some(line) = self.lines.next_line() {
            self.report.lines = self.lines.lines_read();
            let record = match line {
                Ok(line) => self.keys.record(line),
                Err(bad) => Err(bad),
            };
            match record {
                Ok(record) => {
                    writer.push(record);
                    if writer.is_full() {
                        self.write(&mut writer)?;
                    }
                }
                Err(bad) => {
                    self.write(&mut writer)?;
                    self.refuse(&bad)?;
                }
            }
        }
        self.report.lines = self.lines.lines_read();
        self.write(&mut writer)
    }

    fn write(&mut self, writer: &mut Writer<'_>) -> Result<()> {
        let (written, mut refusal) = (&mut self.report.written, None);
        let mut refused = Vec::new();
        let stop_at_first = self.arguments.on_error == OnError::Stop;
        let ended = writer.write(written, |bad| {
            refused.push(bad);
            if stop_at_first { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        for bad in &refused {
            if refusal.is_none() {
                refusal = self.refuse(bad).err();
            }
        }
        self.progress.at(&self.report);
        ended?;
        refusal.map_or(Ok(()), Err)
    }

    /// Counts a line as skipped, or turns it into the failure that ends the load.
    fn refuse(&mut self, bad: &BadLine) -> Result<()> {
        let place = if bad.line == 0 { self.file.clone() } else { format!("{}, line {}", self.file, bad.line) };
        let failure = |hint: &str| {
            Failure::input(format!("{place}: {}", bad.what))
                .hint(hint)
                .detail("file", self.file.as_str())
                .detail("line", bad.line)
                .detail("reason", bad.reason)
        };
        if bad.fatal {
            return Err(failure("the rest of the input cannot be read"));
        }
        if self.arguments.on_error == OnError::Stop {
            return Err(failure("mend the line and load again, or give --on-error skip to leave such lines out"));
        }
        self.report.skip(bad);
        match self.arguments.max_errors {
            Some(most) if self.report.skipped() > most => {
                Err(failure("this is one more than --max-errors allows; mend the lines and load again"))
            }
            _ => Ok(()),
        }
    }
}
