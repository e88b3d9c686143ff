//! `sidekey collections`.

use crate::Outcome;
use crate::database::{Database, existing};
use crate::failure::Result;
use crate::output::{Output, align_right, table};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  sidekey collections ./shop";

/// List the collections
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    database: Database,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let db = arguments.database.open()?;
    let mut found = Vec::new();
    for name in db.collections() {
        let indexes = existing(&db, &name)?.indexes();
        found.push((name, indexes));
    }
    db.close()?;
    if output.is_json() {
        let list = found.iter().map(|(name, indexes)| {
            let names: Vec<&str> = indexes.iter().map(|index| index.spec.name.as_str()).collect();
            json!({ "name": name, "indexes": names })
        });
        output.json(&json!({ "collections": list.collect::<Vec<_>>() }))?;
    } else if found.is_empty() {
        output.line("no collections")?;
    } else {
        let mut lines = table(&["collection", "indexes"]);
        align_right(&mut lines, &[1]);
        for (name, indexes) in &found {
            lines.add_row([name.clone(), indexes.len().to_string()]);
        }
        output.table(&lines)?;
    }
    Ok(Outcome::Done)
}
