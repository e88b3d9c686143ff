//! Where answers go: text for people, JSON for programs, over one buffered writer.

use crate::failure::{Failure, Result};
use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;
use std::fmt;
use std::io::{self, BufWriter, Write};

/// The commands' standard output.
pub struct Output {
    writer: BufWriter<Box<dyn Write>>,
    json: bool,
}

impl Output {
    /// Writes to standard output; as JSON if `json`.
    pub fn to_stdout(json: bool) -> Self {
        Self::new(Box::new(io::stdout()), json)
    }

    fn new(writer: Box<dyn Write>, json: bool) -> Self {
        Self { writer: BufWriter::with_capacity(64 << 10, writer), json }
    }

    /// Whether answers are JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Writes one line of text.
    pub fn line(&mut self, text: impl fmt::Display) -> Result<()> {
        writeln!(self.writer, "{text}").map_err(|e| Failure::output(&e))
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(|e| Failure::output(&e))
    }

    /// Writes one line of JSON.
    pub fn json(&mut self, value: &Value) -> Result<()> {
        self.line(value)
    }

    /// Writes the JSON form or the text form, whichever was asked for.
    pub fn either(&mut self, json: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> Result<()> {
        if self.json { self.json(&json()) } else { self.line(text()) }
    }

    /// Writes a table.
    pub fn table(&mut self, table: &Table) -> Result<()> {
        for line in table.lines() {
            self.line(line.trim_end())?;
        }
        Ok(())
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|e| Failure::output(&e))
    }
}

/// A table without frames: a heading, a rule, rows.
pub fn table(heading: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(heading.iter().map(|name| name.to_uppercase()));
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// Sets columns flush right, as numbers want it.
pub fn align_right(table: &mut Table, columns: &[usize]) {
    for &index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Writes a note to standard error; a note that cannot be written is lost.
pub fn note(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "sidekey: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_headings_and_aligned_columns() {
        let mut lines = table(&["name", "count"]);
        align_right(&mut lines, &[1]);
        lines.add_row(["a", "5"]);
        lines.add_row(["longer", "1,000"]);
        let text: Vec<String> = lines.lines().map(|line| line.trim_end().to_owned()).collect();
        assert_eq!(text, ["NAME    COUNT", "a           5", "longer  1,000"]);
    }
}
