//! CSV with a header: one record a row, one field a column, in the header's order.

use super::arguments::{Arguments, Format};
use super::cells::CellRule;
use super::key::KeyRule;
use super::record::{BadLine, Line, LineReader};
use super::source::Source;
use crate::failure::{Failure, Result};
use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use serde_json::Value as Json;
use std::io::BufRead;

/// Reads CSV.
pub struct CsvRows {
    reader: Reader<Box<dyn BufRead>>,
    row: ByteRecord,
    columns: Vec<Column>,
    /// For each field of the key, its column.
    key_columns: Vec<usize>,
    cells: CellRule,
    failed: bool,
}

struct Column {
    name: String,
    /// `"name":`, ready to be written.
    json_name: String,
    text: bool,
}

impl CsvRows {
    /// Reads the header; refuses one that names a column twice or lacks a column that is asked for.
    pub fn new(source: Source, keys: &KeyRule, arguments: &Arguments) -> Result<Self> {
        let default = if source.format == Format::Tsv { '\t' } else { ',' };
        let delimiter = u8::try_from(arguments.delimiter.unwrap_or(default))
            .ok()
            .filter(|byte| byte.is_ascii() && !b"\"\r\n".contains(byte))
            .ok_or_else(|| Failure::usage("--delimiter must be one ASCII character, no quote and no line end"))?;
        let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(source.reader);
        let names = header(&mut reader, &source.name)?;
        let column = |field: &String| {
            names.iter().position(|name| name == field).ok_or_else(|| {
                Failure::input(format!("{}, line 1: there is no column '{field}'", source.name))
                    .hint(format!("the header has: {}", names.join(", ")))
                    .detail("file", source.name.as_str())
                    .detail("line", 1)
            })
        };
        let key_columns = keys.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
        let text_columns = arguments.string_columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let columns = names.iter().enumerate().map(|(index, name)| Column {
            name: name.clone(),
            json_name: format!("{}:", Json::String(name.clone())),
            text: text_columns.contains(&index),
        });
        Ok(Self {
            columns: columns.collect(),
            reader,
            row: ByteRecord::new(),
            key_columns,
            cells: CellRule { all_strings: arguments.all_strings, nulls: arguments.null.clone() },
            failed: false,
        })
    }

    fn line(&self) -> Result<Line, BadLine> {
        let number = self.row.position().map_or(0, csv::Position::line);
        let mut key_fields = vec![None; self.key_columns.len()];
        let mut value = String::from("{");
        for (index, (column, cell)) in self.columns.iter().zip(&self.row).enumerate() {
            let cell = std::str::from_utf8(cell).map_err(|_| {
                BadLine::new(
                    number,
                    "not UTF-8",
                    format!("column '{}' is not UTF-8 text; convert the file first", column.name),
                )
            })?;
            let json = self.cells.json(cell, column.text).map_err(|what| {
                BadLine::new(
                    number,
                    "no JSON number",
                    format!(
                        "column '{}': {what}; read it as null with --null {cell}, or as text with --string-columns",
                        column.name
                    ),
                )
            })?;
            if index > 0 {
                value.push(',');
            }
            value.push_str(&column.json_name);
            value.push_str(&json.to_string());
            for (key_column, field) in self.key_columns.iter().zip(&mut key_fields) {
                if *key_column == index {
                    // A key is the cell as it stands: 1.0 and 1.00 are two keys.
                    *field = Some(if json.is_null() { Json::Null } else { Json::String(cell.to_owned()) });
                }
            }
        }
        value.push('}');
        Ok(Line { number, key_fields, value: value.into_bytes() })
    }
}

impl LineReader for CsvRows {
    fn next_line(&mut self) -> Option<Result<Line, BadLine>> {
        if self.failed {
            return None;
        }
        match self.reader.read_byte_record(&mut self.row) {
            Ok(false) => None,
            Ok(true) => Some(self.line()),
            Err(error) => {
                let bad = explain(&error, self.reader.position().line());
                self.failed = bad.fatal;
                Some(Err(bad))
            }
        }
    }

    fn lines_read(&self) -> u64 {
        // The position is that of the next row, once a row's line end was read.
        let position = self.reader.position();
        if position.byte() == 0 { 0 } else { position.line().saturating_sub(1).max(1) }
    }
}

fn header(reader: &mut Reader<Box<dyn BufRead>>, file: &str) -> Result<Vec<String>> {
    let wrong = |what: String, hint: &str| {
        Err(Failure::input(format!("{file}, line 1: {what}")).hint(hint).detail("file", file).detail("line", 1))
    };
    let row = match reader.byte_headers() {
        Ok(row) => row.clone(),
        Err(error) => return wrong(explain(&error, 1).what, "the first line must name the columns"),
    };
    if row.is_empty() {
        return wrong("the header is missing".into(), "the first line must name the columns");
    }
    let mut names: Vec<String> = Vec::with_capacity(row.len());
    for (index, cell) in row.iter().enumerate() {
        let Ok(name) = std::str::from_utf8(cell) else {
            return wrong(format!("the name of column {} is not UTF-8 text", index + 1), "convert the file first");
        };
        let name = if index == 0 { name.trim_start_matches('\u{feff}') } else { name };
        if let Some(first) = names.iter().position(|other| other == name) {
            return wrong(
                format!("columns {} and {} are both called '{name}'", first + 1, index + 1),
                "rename one of them: a record holds one field of a name",
            );
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn explain(error: &csv::Error, line: u64) -> BadLine {
    let line = error.position().map_or(line, csv::Position::line);
    match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => BadLine::new(
            line,
            "wrong number of cells",
            format!("{len} cells where the header has {expected_len}; a cell that holds the delimiter needs quotes"),
        ),
        ErrorKind::Io(source) => BadLine::fatal(line, "unreadable input", format!("cannot read: {source}")),
        _ => BadLine::fatal(line, "malformed CSV", error.to_string()),
    }
}
