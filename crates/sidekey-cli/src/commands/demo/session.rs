//! One step of the tour after another: measured, then printed.

use crate::failure::Result;
use crate::output::Output;
use crate::text::{bytes, duration, grouped};
use serde_json::{Map, Value as Json, json};
use sidekey::{Db, Stats};
use std::time::{Duration, Instant};

/// The database and what is said about it.
pub struct Session<'a> {
    db: Db,
    output: &'a mut Output,
    steps: u64,
}

/// What a step found: lines for people.
pub type Findings = Vec<String>;

impl<'a> Session<'a> {
    pub fn new(db: Db, output: &'a mut Output) -> Self {
        Self { db, output, steps: 0 }
    }

    /// Runs a step and prints its title, how to do the same, what it found, and what it cost.
    pub fn step(
        &mut self,
        title: &str,
        how: &[&str],
        run: impl FnOnce(&Db, &mut Findings) -> Result<()>,
    ) -> Result<()> {
        self.steps += 1;
        let before = self.db.stats();
        let started = Instant::now();
        let mut findings = Findings::new();
        run(&self.db, &mut findings)?;
        let time = started.elapsed();
        let moved = moved(&before, &self.db.stats());
        if self.output.is_json() {
            self.json(title, how, &findings, time, &moved)
        } else {
            self.text(title, how, &findings, time, &moved)
        }
    }

    fn text(&mut self, title: &str, how: &[&str], findings: &[String], time: Duration, moved: &[Moved]) -> Result<()> {
        self.output.line("")?;
        self.output.line(format_args!("{}. {title}", self.steps))?;
        for line in how {
            self.output.line(format_args!("   > {line}"))?;
        }
        for line in findings {
            self.output.line(format_args!("   {line}"))?;
        }
        let mut cost = vec![duration(time)];
        cost.extend(moved.iter().map(Moved::text));
        self.output.line(format_args!("   [{}]", cost.join(", ")))?;
        // Steps appear as they end, also when the output is a pipe.
        self.output.flush()
    }

    fn json(&mut self, title: &str, how: &[&str], findings: &[String], time: Duration, moved: &[Moved]) -> Result<()> {
        let counters: Map<String, Json> = moved.iter().map(|m| (m.name.to_owned(), json!(m.by))).collect();
        self.output.json(&json!({
            "step": self.steps,
            "title": title,
            "how": how,
            "found": findings,
            "seconds": time.as_secs_f64(),
            "counters": counters,
        }))
    }
}

/// A counter that a step moved.
struct Moved {
    /// Its name in the statistics.
    name: &'static str,
    label: &'static str,
    is_bytes: bool,
    by: u64,
}

impl Moved {
    fn text(&self) -> String {
        let amount = if self.is_bytes { bytes(self.by) } else { grouped(self.by) };
        format!("{} {amount}", self.label)
    }
}

fn moved(before: &Stats, after: &Stats) -> Vec<Moved> {
    let counter = |name, label, is_bytes, read: fn(&Stats) -> u64| {
        let by = read(after).saturating_sub(read(before));
        (by > 0).then_some(Moved { name, label, is_bytes, by })
    };
    [
        counter("wal_written_bytes", "log", true, |s| s.wal_written_bytes),
        counter("flush_written_bytes", "flushed", true, |s| s.flush_written_bytes),
        counter("compaction_written_bytes", "compaction wrote", true, |s| s.compaction_written_bytes),
        counter("validations", "entries validated", false, |s| s.validations),
        counter("stale_entries_met", "stale entries met", false, |s| s.stale_entries_met),
        counter("stale_entries_removed", "stale entries removed", false, |s| s.stale_entries_removed),
        counter("versions_dropped", "old versions dropped", false, |s| s.versions_dropped),
        counter("cache_hits", "cache hits", false, |s| s.cache_hits),
        counter("cache_misses", "blocks read", false, |s| s.cache_misses),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counters_that_moved_are_shown() {
        let before = Stats::default();
        let mut after = Stats::default();
        after.wal_written_bytes = 2048;
        after.validations = 3;
        let texts: Vec<String> = moved(&before, &after).iter().map(Moved::text).collect();
        assert_eq!(texts, ["log 2.0 KiB", "entries validated 3"]);
    }
}
