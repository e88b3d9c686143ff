//! `sidekey lookup`.

use super::rows::{self, Ordering, Reading};
use super::values::ValueForm;
use crate::Outcome;
use crate::database::{Database, existing};
use crate::failure::Result;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sidekey lookup ./shop orders by_city Oslo --limit 5     the five newest
  sidekey lookup ./shop orders by_total 99.5 --read keys
  sidekey lookup ./shop orders by_code --string 0042

VALUE is taken as JSON if it is a number, true, false or a quoted string, and as text otherwise. \
Numbers and text never equal one another: if the records hold \"0042\" in quotes, ask for it with --string.";

/// Find records whose attribute equals a value
///
/// Last written first. One record a line: key, tab, value; with --json one object a line.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    database: Database,

    /// Collection
    collection: String,

    /// Index
    index: String,

    /// Value of the attribute
    #[arg(allow_negative_numbers = true)]
    value: String,

    /// At most so many records
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Order of the records
    #[arg(long, value_enum, default_value_t = Ordering::Newest)]
    order: Ordering,

    /// How much of each record to read
    #[arg(long, value_enum, default_value_t = Reading::Records)]
    read: Reading,

    #[command(flatten)]
    values: ValueForm,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let value = arguments.values.value(&arguments.value)?;
    let db = arguments.database.open()?;
    let mut query = existing(&db, &arguments.collection)?.lookup(&arguments.index, value).order(arguments.order.into());
    if let Some(limit) = arguments.limit {
        query = query.limit(limit);
    }
    rows::print(query, arguments.read, output)?;
    db.close()?;
    Ok(Outcome::Done)
}
