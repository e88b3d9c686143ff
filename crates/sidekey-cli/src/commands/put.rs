//! `sidekey put`.

use super::keys::RecordPlace;
use crate::Outcome;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::text::{key_json, key_text};
use serde::de::IgnoredAny;
use serde_json::json;
use sidekey::{Batch, WriteOptions};
use std::io::Read;

const EXAMPLES: &str = "\
Examples:
  sidekey put ./shop users ann '{\"name\":\"Ann\",\"city\":\"Oslo\"}'
  sidekey put ./shop users ann - < ann.json
  sidekey put ./shop files logo --raw - < logo.png";

/// Store one record
///
/// A record with the same key is replaced. The value is a JSON document, kept as it is written; the indexes of the
/// collection follow. The database and the collection are made if they are missing.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    place: RecordPlace,

    /// JSON document, or - to read standard input
    #[arg(allow_hyphen_values = true)]
    value: String,

    /// Store the value as it is, JSON or not; without JSON it gets no index entries
    #[arg(long)]
    raw: bool,

    /// Do not return before the record is safe from a power cut
    #[arg(long)]
    sync: bool,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let key = arguments.place.key()?;
    let value = value(arguments)?;
    let db = arguments.place.database.open_or_create()?;
    let mut batch = Batch::new();
    batch.put(&db.collection(&arguments.place.collection)?, key.clone(), value);
    let options = if arguments.sync { WriteOptions::synced() } else { WriteOptions::default() };
    let sqn = db.write_with(batch, options)?;
    db.close()?;
    output.either(
        || json!({ "key": key_json(&key), "sqn": sqn }),
        || format!("stored {} (sequence number {sqn})", key_text(&key)),
    )?;
    Ok(Outcome::Done)
}

fn value(arguments: &Arguments) -> Result<Vec<u8>> {
    let mut value = arguments.value.clone().into_bytes();
    if arguments.value == "-" {
        value.clear();
        std::io::stdin().read_to_end(&mut value).map_err(|e| Failure::file("standard input".as_ref(), "read", &e))?;
    }
    if arguments.raw {
        return Ok(value);
    }
    match serde_json::from_slice::<IgnoredAny>(&value) {
        Ok(_) => Ok(value.trim_ascii().to_vec()),
        Err(wrong) => Err(Failure::usage(format!("the value is not JSON: {wrong}"))
            .hint("quote it for the shell, as in '{\"city\":\"Oslo\"}', or give --raw to store it as it is")),
    }
}
