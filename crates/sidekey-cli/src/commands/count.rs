//! `sidekey count`.

use super::range::Ends;
use super::values::ValueForm;
use crate::Outcome;
use crate::database::{Database, existing};
use crate::failure::{Failure, Result};
use crate::output::Output;
use serde_json::json;
use sidekey::Collection;

const EXAMPLES: &str = "\
Examples:
  sidekey count ./shop orders                                  all records
  sidekey count ./shop orders by_city Oslo                     with one value
  sidekey count ./shop orders by_total --low 100 --high 200    in a range
  sidekey count ./shop orders by_total --all                   that have the attribute";

/// Count records, all or by attribute
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    database: Database,

    /// Collection
    collection: String,

    /// Index
    index: Option<String>,

    /// Value of the attribute
    #[arg(allow_negative_numbers = true, conflicts_with_all = ["low", "high"])]
    value: Option<String>,

    #[command(flatten)]
    ends: Ends,

    /// Count every record that has an entry in the index
    #[arg(long, requires = "index", conflicts_with_all = ["value", "low", "high"])]
    all: bool,

    #[command(flatten)]
    values: ValueForm,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let db = arguments.database.open()?;
    let count = count(&existing(&db, &arguments.collection)?, arguments)?;
    db.close()?;
    output.either(|| json!({ "count": count }), || count.to_string())?;
    Ok(Outcome::Done)
}

fn count(collection: &Collection, arguments: &Arguments) -> Result<u64> {
    let bounded = arguments.ends.low.is_some() || arguments.ends.high.is_some();
    match (&arguments.index, &arguments.value) {
        (None, _) if bounded => Err(Failure::usage("--low and --high need the name of an index before them")),
        (None, _) => {
            let mut records = 0;
            for record in collection.scan::<Vec<u8>>(..) {
                record?;
                records += 1;
            }
            Ok(records)
        }
        (Some(index), Some(value)) => Ok(collection.lookup(index, arguments.values.value(value)?).count()?),
        (Some(index), None) if bounded || arguments.all => {
            Ok(collection.range(index, arguments.ends.bounds(arguments.values)?).count()?)
        }
        (Some(index), None) => Err(Failure::usage(format!("count by index {index}: which records?"))
            .hint("give a VALUE, --low and --high, or --all")),
    }
}
