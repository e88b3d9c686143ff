//! `sidekey stats`.

use crate::Outcome;
use crate::database::Database;
use crate::failure::{Failure, Result};
use crate::output::{Output, align_right, table};
use crate::text::{bytes, counted, grouped};
use sidekey::{CollectionStats, Error, Stats, TreeStats};

const EXAMPLES: &str = "\
Examples:
  sidekey stats ./shop
  sidekey stats ./shop --json | jq .wal_written_bytes";

/// Show what a database holds and has done
///
/// What it has done is counted since it was opened, which is when this command began; --json has every counter.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    database: Database,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let db = arguments.database.open()?;
    let stats = db.stats();
    db.close()?;
    if output.is_json() {
        let json = serde_json::to_value(&stats)
            .map_err(|e| Failure::from(Error::Internal(format!("statistics as JSON: {e}"))))?;
        output.json(&json)?;
    } else {
        database(&stats, output)?;
        for collection in &stats.collections {
            output.line("")?;
            of_collection(collection, output)?;
        }
    }
    Ok(Outcome::Done)
}

fn database(stats: &Stats, output: &mut Output) -> Result<()> {
    let rows = [
        ("last sequence number", grouped(stats.visible_sqn)),
        ("durable up to", grouped(stats.durable_sqn)),
        ("log kept", format!("{} in {}", bytes(stats.wal_retained_bytes), counted(stats.wal_segments, "segment"))),
        ("block cache", bytes(stats.cache_capacity_bytes)),
        ("collections", grouped(stats.collections.len() as u64)),
    ];
    for (name, value) in rows {
        output.line(format_args!("{name:<22}{value}"))?;
    }
    Ok(())
}

fn of_collection(collection: &CollectionStats, output: &mut Output) -> Result<()> {
    output.line(format_args!(
        "{}: {} in memory, {}",
        collection.name,
        bytes(collection.memtable_bytes),
        counted(collection.opaque_values, "opaque value")
    ))?;
    let mut lines = table(&["tree", "tables", "bytes", "versions", "deletes", "levels", "pinned"]);
    align_right(&mut lines, &[1, 2, 3, 4, 6]);
    lines.add_row(tree_row("records", &collection.primary));
    lines.add_row(tree_row("indexes", &collection.index));
    output.table(&lines)?;
    if !collection.indexes.is_empty() {
        let mut lines = table(&["index", "attribute", "maintenance", "state"]);
        for index in &collection.indexes {
            lines.add_row([&index.name, &index.attribute, &index.maintenance, &index.state]);
        }
        output.table(&lines)?;
    }
    Ok(())
}

fn tree_row(name: &str, tree: &TreeStats) -> [String; 7] {
    let deepest = tree.level_tables.iter().rposition(|&tables| tables > 0).map_or(0, |level| level + 1);
    let levels: Vec<String> = tree.level_tables.iter().take(deepest).map(u64::to_string).collect();
    [
        name.to_owned(),
        grouped(tree.level_tables.iter().sum()),
        bytes(tree.level_bytes.iter().sum()),
        grouped(tree.entries),
        grouped(tree.deletes),
        if levels.is_empty() { "-".to_owned() } else { levels.join("+") },
        bytes(tree.pinned_bytes),
    ]
}
