//! `sidekey compact`.

use super::target::Part;
use crate::Outcome;
use crate::database::Database;
use crate::failure::Result;
use crate::output::Output;
use crate::text::{bytes, counted, duration, grouped};
use serde_json::json;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  sidekey compact ./shop
  sidekey compact ./shop --target indexes";

/// Merge tables, dropping what is obsolete
///
/// Merges everything down to one place: old versions, deletes and stale index entries go. Reads and rewrites the whole
/// database.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    database: Database,

    /// What to compact
    #[arg(long, value_enum, default_value_t = Part::All)]
    target: Part,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let started = Instant::now();
    let db = arguments.database.open()?;
    db.compact(arguments.target.into())?;
    let stats = db.stats();
    db.close()?;
    output.either(
        || {
            json!({
                "compaction_read_bytes": stats.compaction_read_bytes,
                "compaction_written_bytes": stats.compaction_written_bytes,
                "versions_dropped": stats.versions_dropped,
                "stale_entries_removed": stats.stale_entries_removed,
            })
        },
        || {
            format!(
                "read {}, wrote {}, dropped {} and {} stale index entries in {}",
                bytes(stats.compaction_read_bytes),
                bytes(stats.compaction_written_bytes),
                counted(stats.versions_dropped, "old version"),
                grouped(stats.stale_entries_removed),
                duration(started.elapsed())
            )
        },
    )?;
    Ok(Outcome::Done)
}
