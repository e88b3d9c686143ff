//! How far the load has come, on standard error: a bar on a terminal, a line now and then elsewhere.

use super::report::Report;
use super::source::Source;
use crate::output::note;
use crate::text::{bytes, grouped};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

const WITH_SIZE: &str = "{bar:32} {percent:>3}%  {msg}  {binary_bytes_per_sec}, {eta} left";
const WITHOUT_SIZE: &str = "{spinner} {msg}  {binary_bytes_per_sec}";

/// Shows progress.
pub enum Progress {
    Bar(ProgressBar),
    Lines { last: Instant },
    Silent,
}

impl Progress {
    pub fn new(source: &Source, silent: bool) -> Self {
        if silent {
            Self::Silent
        } else if std::io::stderr().is_terminal() {
            let (bar, template) = match source.size {
                Some(size) => (ProgressBar::new(size), WITH_SIZE),
                None => (ProgressBar::no_length(), WITHOUT_SIZE),
            };
            // A template is a constant; should it ever not parse, the default style does as well.
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            Self::Bar(bar)
        } else {
            Self::Lines { last: Instant::now() }
        }
    }

    /// Shows where the load is, if it is time to.
    pub fn at(&mut self, report: &Report) {
        match self {
            Self::Bar(bar) => {
                bar.set_position(report.bytes_read());
                bar.set_message(format!("{} records", grouped(report.written.records)));
            }
            Self::Lines { last } if last.elapsed() >= LINE_EVERY => {
                *last = Instant::now();
                note(format_args!(
                    "{} read, {} records written",
                    bytes(report.bytes_read()),
                    grouped(report.written.records)
                ));
            }
            Self::Lines { .. } | Self::Silent => {}
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
