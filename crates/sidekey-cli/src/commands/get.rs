//! `sidekey get`.

use super::keys::RecordPlace;
use crate::Outcome;
use crate::database::existing;
use crate::failure::Result;
use crate::output::{Output, note};
use crate::text::{key_json, key_text, value_field};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  sidekey get ./shop users ann
  sidekey get ./shop files logo > logo.png
  sidekey get ./shop users ann --json";

/// Print one record by its key
///
/// The value is printed byte for byte, with a line end after it if it is text without one. A key that is not there
/// prints nothing and gives exit code 1.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    place: RecordPlace,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let key = arguments.place.key()?;
    let db = arguments.place.database.open()?;
    let found = existing(&db, &arguments.place.collection)?.get(&key)?;
    db.close()?;
    let Some(value) = found else {
        if output.is_json() {
            output.json(&json!({ "key": key_json(&key), "found": false }))?;
        } else {
            note(format_args!("no record {} in {}", key_text(&key), arguments.place.collection));
        }
        return Ok(Outcome::Negative);
    };
    if output.is_json() {
        let (field, json) = value_field(&value);
        output.json(&json!({ "key": key_json(&key), "found": true, field: json }))?;
    } else {
        output.bytes(&value)?;
        if !value.ends_with(b"\n") && std::str::from_utf8(&value).is_ok() {
            output.bytes(b"\n")?;
        }
    }
    Ok(Outcome::Done)
}
