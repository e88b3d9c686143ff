//! `sidekey range`, and the bounds that `count` shares with it.

use super::rows::{self, Ordering, Reading};
use super::values::ValueForm;
use crate::Outcome;
use crate::database::{Database, existing};
use crate::failure::Result;
use crate::output::Output;
use sidekey::Value;
use std::ops::Bound;

const EXAMPLES: &str = "\
Examples:
  sidekey range ./shop orders by_total --low 100 --high 200
  sidekey range ./shop orders by_total --low 100 --reverse --limit 10
  sidekey range ./shop orders by_city --low A --high B --high-open --order newest

Both ends are included unless --low-open or --high-open says otherwise. A range holds values of its bounds' type \
only: --low 100 finds numbers, never text.";

/// Find records whose attribute lies in a range
///
/// In the order of the attribute's values. One record a line: key, tab, value; with --json one object a line.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    database: Database,

    /// Collection
    collection: String,

    /// Index
    index: String,

    #[command(flatten)]
    ends: Ends,

    /// Order of the records
    #[arg(long, value_enum, default_value_t = Ordering::Attribute)]
    order: Ordering,

    /// Turn the order round
    #[arg(long)]
    reverse: bool,

    /// At most so many records
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// How much of each record to read
    #[arg(long, value_enum, default_value_t = Reading::Records)]
    read: Reading,

    #[command(flatten)]
    values: ValueForm,
}

/// The two ends of a range of values.
#[derive(clap::Args, Debug)]
pub struct Ends {
    /// Smallest value; without it, from the start
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub low: Option<String>,

    /// Largest value; without it, to the end
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub high: Option<String>,

    /// Leave the smallest value itself out
    #[arg(long, requires = "low")]
    pub low_open: bool,

    /// Leave the largest value itself out
    #[arg(long, requires = "high")]
    pub high_open: bool,
}

impl Ends {
    /// The range as the engine takes it.
    pub fn bounds(&self, form: ValueForm) -> Result<(Bound<Value>, Bound<Value>)> {
        Ok((bound(self.low.as_deref(), self.low_open, form)?, bound(self.high.as_deref(), self.high_open, form)?))
    }
}

fn bound(text: Option<&str>, open: bool, form: ValueForm) -> Result<Bound<Value>> {
    let Some(text) = text else { return Ok(Bound::Unbounded) };
    let value = form.value(text)?;
    Ok(if open { Bound::Excluded(value) } else { Bound::Included(value) })
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let bounds = arguments.ends.bounds(arguments.values)?;
    let db = arguments.database.open()?;
    let mut query = existing(&db, &arguments.collection)?.range(&arguments.index, bounds).order(arguments.order.into());
    if arguments.reverse {
        query = query.reverse();
    }
    if let Some(limit) = arguments.limit {
        query = query.limit(limit);
    }
    rows::print(query, arguments.read, output)?;
    db.close()?;
    Ok(Outcome::Done)
}
