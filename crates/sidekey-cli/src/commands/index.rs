//! `sidekey index create`, `drop` and `list`.

use crate::Outcome;
use crate::database::{Database, existing};
use crate::failure::{Failure, Result};
use crate::output::{Output, table};
use crate::text::duration;
use clap::Subcommand;
use serde_json::{Value as Json, json};
use sidekey::{Collection, Error, IndexInfo, IndexSpec, IndexState, Maintenance, Structure, Validator};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  sidekey index create ./shop orders by_city $.city
  sidekey index list ./shop
  sidekey index drop ./shop orders by_city";

const CREATE_EXAMPLES: &str = "\
Examples:
  sidekey index create ./shop orders by_city $.address.city
  sidekey index create ./shop orders by_total $.total --maintenance synchronous

Maintenance:
  validated    writes are blind; queries check each entry they meet (the default)
  synchronous  every write reads the version it replaces: dearer writes, clean index
  deferred     compaction removes the entries of replaced versions (not in this version)";

const DROP_EXAMPLES: &str = "\
Examples:
  sidekey index drop ./shop orders by_city";

const LIST_EXAMPLES: &str = "\
Examples:
  sidekey index list ./shop
  sidekey index list ./shop orders --json";

/// Create, drop and list indexes
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// Create an index, and build it from the records that are there
    ///
    /// An index that exists with the same definition is left alone; with another definition it is an error.
    #[command(after_help = CREATE_EXAMPLES)]
    Create(Create),
    /// Drop an index
    ///
    /// Queries cannot use it from then on; its entries go with later compactions.
    #[command(after_help = DROP_EXAMPLES)]
    Drop(Drop),
    /// List indexes, of one collection or of all
    ///
    /// State: ready answers queries; invalid is a build that failed: create the index again, or drop it.
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
}

#[derive(clap::Args, Debug)]
pub struct Create {
    #[command(flatten)]
    database: Database,

    /// Collection; made if it is missing
    collection: String,

    /// Name of the index
    name: String,

    // Not a documentation comment: there [0] would be a link.
    #[arg(help = "JSON path of the attribute: $.city, $.address.city, $['odd name'], $.list[0]")]
    path: String,

    /// How the index follows the records: validated, synchronous
    #[arg(long, value_name = "HOW")]
    maintenance: Option<Maintenance>,

    /// Structure of the index: composite
    #[arg(long, value_name = "KIND")]
    structure: Option<Structure>,

    /// Who decides whether an entry is stale: primary
    #[arg(long, value_name = "WHO")]
    validator: Option<Validator>,
}

#[derive(clap::Args, Debug)]
pub struct Drop {
    #[command(flatten)]
    database: Database,

    /// Collection
    collection: String,

    /// Name of the index
    name: String,
}

#[derive(clap::Args, Debug)]
pub struct List {
    #[command(flatten)]
    database: Database,

    /// Collection; all of them without it
    collection: Option<String>,
}

pub fn run(command: &Command, output: &mut Output) -> Result<Outcome> {
    match command {
        Command::Create(arguments) => create(arguments, output),
        Command::Drop(arguments) => drop_index(arguments, output),
        Command::List(arguments) => list(arguments, output),
    }
}

fn create(arguments: &Create, output: &mut Output) -> Result<Outcome> {
    let mut spec = IndexSpec::new(&arguments.name, &arguments.path);
    spec.maintenance = arguments.maintenance.unwrap_or(spec.maintenance);
    spec.structure = arguments.structure.unwrap_or(spec.structure);
    spec.validator = arguments.validator.unwrap_or(spec.validator);

    let started = Instant::now();
    let db = arguments.database.open_or_create()?;
    let collection = db.collection(&arguments.collection)?;
    // One whose build failed is built anew.
    let existed = find(&collection, &arguments.name).is_some_and(|index| index.state == IndexState::Ready);
    collection.create_index(spec).map_err(|e| explain_path(e, &arguments.path))?;
    let info = find(&collection, &arguments.name).ok_or_else(|| {
        Failure::from(Error::Internal(format!("index '{}' was created and is not listed", arguments.name)))
    })?;
    db.close()?;
    output.either(
        || {
            let mut json = info_json(&arguments.collection, &info);
            json["existed"] = json!(existed);
            json
        },
        || {
            let verb = if existed { "kept, as it exists with this definition:" } else { "created" };
            let IndexSpec { name, attribute, maintenance, .. } = &info.spec;
            format!("{verb} {name} on {attribute}, {maintenance}: {} ({})", info.state, duration(started.elapsed()))
        },
    )?;
    Ok(Outcome::Done)
}

/// Adds to the engine's error what to write, if the path is a bare name or was eaten by the shell.
pub fn explain_path(error: Error, path: &str) -> Failure {
    let failure = Failure::from(error);
    match path.starts_with('$') {
        true => failure,
        false => failure.hint("a path begins with $, the record: '$.city'; single quotes keep it from the shell"),
    }
}

fn drop_index(arguments: &Drop, output: &mut Output) -> Result<Outcome> {
    let db = arguments.database.open()?;
    existing(&db, &arguments.collection)?.drop_index(&arguments.name)?;
    db.close()?;
    output.either(|| json!({ "dropped": arguments.name }), || format!("dropped {}", arguments.name))?;
    Ok(Outcome::Done)
}

fn list(arguments: &List, output: &mut Output) -> Result<Outcome> {
    let db = arguments.database.open()?;
    let names = arguments.collection.clone().map_or_else(|| db.collections(), |name| vec![name]);
    let mut found = Vec::new();
    for name in names {
        let indexes = existing(&db, &name)?.indexes();
        found.extend(indexes.into_iter().map(|index| (name.clone(), index)));
    }
    db.close()?;
    if output.is_json() {
        let list: Vec<Json> = found.iter().map(|(collection, index)| info_json(collection, index)).collect();
        output.json(&json!({ "indexes": list }))?;
    } else if found.is_empty() {
        output.line("no indexes")?;
    } else {
        let mut lines = table(&["collection", "index", "attribute", "structure", "maintenance", "state"]);
        for (collection, IndexInfo { spec, state, .. }) in &found {
            lines.add_row([
                collection.clone(),
                spec.name.clone(),
                spec.attribute.clone(),
                spec.structure.to_string(),
                spec.maintenance.to_string(),
                state.to_string(),
            ]);
        }
        output.table(&lines)?;
    }
    Ok(Outcome::Done)
}

fn find(collection: &Collection, name: &str) -> Option<IndexInfo> {
    collection.indexes().into_iter().find(|index| index.spec.name == name)
}

fn info_json(collection: &str, index: &IndexInfo) -> Json {
    json!({
        "collection": collection,
        "name": index.spec.name,
        "attribute": index.spec.attribute,
        "structure": index.spec.structure,
        "maintenance": index.spec.maintenance,
        "validator": index.spec.validator,
        "state": index.state,
    })
}
