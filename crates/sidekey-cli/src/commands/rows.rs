//! Rows of a query: what is read of them, in which order, and how they are printed.

use crate::failure::Result;
use crate::output::{Output, table};
use crate::text::{key_json, key_text, value_field, value_text};
use clap::ValueEnum;
use serde_json::{Map, Value as Json, json};
use sidekey::{Order, Query, Read, Row, Value};

/// `--read`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reading {
    /// Keys alone: the index answers by itself
    Keys,
    /// Keys and indexed attributes, without the value
    Attributes,
    /// Whole records
    Records,
}

impl From<Reading> for Read {
    fn from(reading: Reading) -> Read {
        match reading {
            Reading::Keys => Read::Keys,
            Reading::Attributes => Read::Attributes,
            Reading::Records => Read::Records,
        }
    }
}

/// `--order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ordering {
    /// Last written first
    Newest,
    /// By attribute value, then key
    Attribute,
    /// By primary key; for lookup only
    Key,
}

impl From<Ordering> for Order {
    fn from(ordering: Ordering) -> Order {
        match ordering {
            Ordering::Newest => Order::Newest,
            Ordering::Attribute => Order::Attribute,
            Ordering::Key => Order::Key,
        }
    }
}

/// Runs the query and prints its rows: a table of attributes, else one row a line.
pub fn print(query: Query, reading: Reading, output: &mut Output) -> Result<()> {
    let rows = query.rows(reading.into())?;
    if reading == Reading::Attributes && !output.is_json() {
        return attribute_table(&rows.collect::<sidekey::Result<Vec<Row>>>()?, output);
    }
    for row in rows {
        let row = row?;
        if output.is_json() {
            output.json(&row_json(&row))?;
        } else {
            match &row.value {
                Some(value) => output.line(format_args!("{}\t{}", key_text(&row.key), value_text(value)))?,
                None => output.line(key_text(&row.key))?,
            }
        }
    }
    Ok(())
}

fn row_json(row: &Row) -> Json {
    let mut object = Map::new();
    object.insert("key".into(), key_json(&row.key));
    object.insert("sqn".into(), json!(row.sqn));
    if !row.attributes.is_empty() {
        let attributes = row.attributes.iter().map(|(path, value)| (path.clone(), value.to_json()));
        object.insert("attributes".into(), Json::Object(attributes.collect()));
    }
    if let Some(value) = &row.value {
        let (field, json) = value_field(value);
        object.insert(field.into(), json);
    }
    Json::Object(object)
}

fn attribute_table(rows: &[Row], output: &mut Output) -> Result<()> {
    let mut paths: Vec<&str> = Vec::new();
    for (path, _) in rows.iter().flat_map(|row| &row.attributes) {
        if !paths.contains(&path.as_str()) {
            paths.push(path);
        }
    }
    let mut lines = table(&[&["key"], paths.as_slice()].concat());
    // The heading keeps the paths' own case: $.City and $.city are two attributes.
    lines.set_header(std::iter::once("KEY").chain(paths.iter().copied()));
    for row in rows {
        let attributes = paths.iter().map(|path| {
            let found = row.attributes.iter().find(|(name, _)| name == path);
            found.map_or_else(|| "-".to_owned(), |(_, value)| attribute_text(value))
        });
        lines.add_row(std::iter::once(key_text(&row.key)).chain(attributes));
    }
    if rows.is_empty() { Ok(()) } else { output.table(&lines) }
}

fn attribute_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_json().to_string(),
    }
}
