//! `sidekey delete`.

use super::keys::RecordPlace;
use crate::Outcome;
use crate::database::existing;
use crate::failure::Result;
use crate::output::Output;
use crate::text::{key_json, key_text};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  sidekey delete ./shop users ann";

/// Delete one record
///
/// A delete is a blind write: a key that is not there is no error.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    place: RecordPlace,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let key = arguments.place.key()?;
    let db = arguments.place.database.open()?;
    let sqn = existing(&db, &arguments.place.collection)?.delete(&key)?;
    db.close()?;
    output.either(
        || json!({ "key": key_json(&key), "sqn": sqn }),
        || format!("deleted {} (sequence number {sqn})", key_text(&key)),
    )?;
    Ok(Outcome::Done)
}
