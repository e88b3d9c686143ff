//! `sidekey scan`.

use super::keys::KeyForm;
use crate::Outcome;
use crate::database::{Database, existing};
use crate::failure::Result;
use crate::output::Output;
use crate::text::{key_json, key_text, value_field, value_text};
use serde_json::json;
use std::ops::Bound;

const EXAMPLES: &str = "\
Examples:
  sidekey scan ./shop users --limit 10
  sidekey scan ./shop users --low a --high b          keys that begin with a
  sidekey scan ./shop users --reverse --keys-only";

/// Print records in key order
///
/// One record a line: key, tab, value; with --json one object a line. Keys are ordered by their bytes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    database: Database,

    /// Collection
    collection: String,

    /// First key, included
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    low: Option<String>,

    /// Key to end before: itself left out
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    high: Option<String>,

    /// Largest key first
    #[arg(long)]
    reverse: bool,

    /// At most so many records
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Print keys without values
    #[arg(long)]
    keys_only: bool,

    #[command(flatten)]
    keys: KeyForm,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let bound = |text: &Option<String>| text.as_deref().map(|key| arguments.keys.bytes(key)).transpose();
    let low = bound(&arguments.low)?.map_or(Bound::Unbounded, Bound::Included);
    let high = bound(&arguments.high)?.map_or(Bound::Unbounded, Bound::Excluded);
    let db = arguments.database.open()?;
    let mut scan = existing(&db, &arguments.collection)?.scan((low, high));
    if arguments.reverse {
        scan = scan.reverse();
    }
    for record in scan.take(arguments.limit.unwrap_or(usize::MAX)) {
        let (key, value) = record?;
        match (output.is_json(), arguments.keys_only) {
            (true, true) => output.json(&json!({ "key": key_json(&key) }))?,
            (true, false) => {
                let (field, value) = value_field(&value);
                output.json(&json!({ "key": key_json(&key), field: value }))?;
            }
            (false, true) => output.line(key_text(&key))?,
            (false, false) => output.line(format_args!("{}\t{}", key_text(&key), value_text(&value)))?,
        }
    }
    db.close()?;
    Ok(Outcome::Done)
}
