//! `sidekey verify`.

use crate::Outcome;
use crate::database::Database;
use crate::failure::Result;
use crate::output::{Output, table};
use crate::text::{counted, duration};
use serde_json::json;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  sidekey verify ./shop
  sidekey verify ./shop --json | jq .findings";

/// Check everything against everything
///
/// Reads every block of every file, compares the levels with the manifest, and records with index entries both ways.
/// Findings give exit code 1.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    database: Database,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let started = Instant::now();
    let db = arguments.database.open()?;
    let findings = db.verify()?;
    db.close()?;
    if output.is_json() {
        let list = findings.iter().map(|f| json!({ "rule": f.rule, "collection": f.collection, "what": f.what }));
        output.json(&json!({ "findings": list.collect::<Vec<_>>() }))?;
    } else if findings.is_empty() {
        output.line(format_args!("sound: no findings ({})", duration(started.elapsed())))?;
    } else {
        let mut lines = table(&["rule", "collection", "finding"]);
        for finding in &findings {
            let collection = if finding.collection.is_empty() { "-" } else { &finding.collection };
            lines.add_row([finding.rule, collection, &finding.what]);
        }
        output.table(&lines)?;
        output.line(counted(findings.len() as u64, "finding"))?;
    }
    Ok(if findings.is_empty() { Outcome::Done } else { Outcome::Negative })
}
