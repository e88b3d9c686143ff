//! `sidekey flush`.

use super::target::Part;
use crate::Outcome;
use crate::database::Database;
use crate::failure::Result;
use crate::output::Output;
use crate::text::{bytes, duration};
use serde_json::json;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  sidekey flush ./shop";

/// Write what is in memory to tables
///
/// Never needed for safety, since the log holds every write; it makes the next opening faster.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    database: Database,

    /// What to flush
    #[arg(long, value_enum, default_value_t = Part::All)]
    target: Part,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let started = Instant::now();
    let db = arguments.database.open()?;
    db.flush(arguments.target.into())?;
    let written = db.stats().flush_written_bytes;
    db.close()?;
    output.either(
        || json!({ "flush_written_bytes": written }),
        || format!("flushed {} in {}", bytes(written), duration(started.elapsed())),
    )?;
    Ok(Outcome::Done)
}
