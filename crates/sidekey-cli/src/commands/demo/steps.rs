//! The steps of the tour.

use super::quakes::{HOUR_MS, QUAKES, describe, moment, parse, text};
use super::session::{Findings, Session};
use crate::database::existing;
use crate::failure::{Failure, Result};
use crate::text::{bytes, counted, duration, grouped};
use serde_json::{Value as Json, json};
use sidekey::{Batch, Collection, Db, Error, IndexSpec, Maintenance, Order, Query, Read, Target, Value};
use std::time::Instant;

const COLLECTION: &str = "quakes";
const BATCH: usize = 500;

/// Runs them all; whether `verify` found nothing.
pub fn all(session: &mut Session<'_>) -> Result<bool> {
    create(session)?;
    load(session)?;
    look_up(session)?;
    newest_in_range(session)?;
    largest_by_value(session)?;
    index_what_is_there(session)?;
    update(session)?;
    delete(session)?;
    tidy_up(session)?;
    verify(session)
}

fn quakes(db: &Db) -> Result<Collection> {
    existing(db, COLLECTION)
}

fn create(session: &mut Session<'_>) -> Result<()> {
    session.step(
        "Create a collection with four indexes, before there is a record",
        &[
            r#"let quakes = db.collection("quakes")?;"#,
            r#"quakes.create_index(IndexSpec::new("by_type", "$.type"))?;   // likewise by_net, by_time"#,
            r#"quakes.create_index(IndexSpec::new("by_mag", "$.mag").maintenance(Maintenance::Synchronous))?;"#,
        ],
        |db, found| {
            let quakes = db.collection(COLLECTION)?;
            for (name, path) in [("by_type", "$.type"), ("by_net", "$.net"), ("by_time", "$.time")] {
                quakes.create_index(IndexSpec::new(name, path))?;
            }
            quakes.create_index(IndexSpec::new("by_mag", "$.mag").maintenance(Maintenance::Synchronous))?;
            for index in quakes.indexes() {
                found.push(format!("{:<8} on {:<7} {}", index.spec.name, index.spec.attribute, index.spec.maintenance));
            }
            Ok(())
        },
    )
}

fn load(session: &mut Session<'_>) -> Result<()> {
    session.step(
        "Load the records, oldest first",
        &["sidekey load DB quakes earthquakes.jsonl --key id"],
        |db, found| {
            let quakes = quakes(db)?;
            let mut size = 0;
            let lines: Vec<&str> = QUAKES.lines().collect();
            for chunk in lines.chunks(BATCH) {
                let mut batch = Batch::new();
                for line in chunk {
                    batch.put(&quakes, text(&parse(line.as_bytes())?, "id"), *line);
                }
                size += batch.size_bytes();
                db.write(batch)?;
            }
            let records = counted(lines.len() as u64, "record");
            found.push(format!("{records}, {} of keys and values, in batches of {BATCH}", bytes(size as u64)));
            Ok(())
        },
    )
}

fn look_up(session: &mut Session<'_>) -> Result<()> {
    session.step(
        "Look up by value, newest first: the last three quarry blasts",
        &[
            r#"quakes.lookup("by_type", "quarry blast").limit(3).rows(Read::Records)?"#,
            "sidekey lookup DB quakes by_type 'quarry blast' --limit 3",
        ],
        |db, found| show(quakes(db)?.lookup("by_type", "quarry blast").limit(3), found),
    )
}

fn newest_in_range(session: &mut Session<'_>) -> Result<()> {
    session.step(
        "Look through a range, newest first: the last three of magnitude 5 and more",
        &[
            r#"quakes.range("by_mag", Value::from(5.0)..).order(Order::Newest).limit(3).rows(Read::Records)?"#,
            "sidekey range DB quakes by_mag --low 5 --order newest --limit 3",
        ],
        |db, found| show(quakes(db)?.range("by_mag", Value::from(5.0)..).order(Order::Newest).limit(3), found),
    )?;
    session.step(
        "Count a range without fetching records: the last six hours",
        &[r#"quakes.range("by_time", Value::from(since)..).count()?"#],
        |db, found| {
            let last = QUAKES.lines().last().map_or(Ok(Json::Null), |line| parse(line.as_bytes()))?;
            let since = last["time"].as_i64().unwrap_or_default() - 6 * HOUR_MS;
            let events = quakes(db)?.range("by_time", Value::from(since)..).count()?;
            found.push(format!("{} since {} (UTC)", counted(events, "event"), moment(since)));
            Ok(())
        },
    )
}

fn largest_by_value(session: &mut Session<'_>) -> Result<()> {
    session.step(
        "Walk a range by value, downwards: the three strongest",
        &[
            r#"quakes.range("by_mag", ..).reverse().limit(3).rows(Read::Records)?"#,
            "sidekey range DB quakes by_mag --reverse --limit 3",
        ],
        |db, found| show(quakes(db)?.range("by_mag", ..).reverse().limit(3), found),
    )
}

fn index_what_is_there(session: &mut Session<'_>) -> Result<()> {
    session.step(
        "Index an attribute of records that are there already",
        &[
            r#"quakes.create_index(IndexSpec::new("by_status", "$.status"))?;"#,
            "sidekey index create DB quakes by_status '$.status'",
        ],
        |db, found| {
            let quakes = quakes(db)?;
            let started = Instant::now();
            quakes.create_index(IndexSpec::new("by_status", "$.status"))?;
            found.push(format!("the build itself: {}", duration(started.elapsed())));
            found.push(by_status(&quakes)?);
            Ok(())
        },
    )
}

fn by_status(quakes: &Collection) -> Result<String> {
    let automatic = quakes.lookup("by_status", "automatic").count()?;
    let reviewed = quakes.lookup("by_status", "reviewed").count()?;
    Ok(format!("automatic {}, reviewed {}", grouped(automatic), grouped(reviewed)))
}

fn update(session: &mut Session<'_>) -> Result<()> {
    session.step(
        "Update: a seismologist reviews the newest automatic event, and corrects its magnitude",
        &[r#"quakes.put(&id, &revised)?;   // all five indexes follow the record"#],
        |db, found| {
            let quakes = quakes(db)?;
            let (key, mut quake) = first(quakes.lookup("by_status", "automatic").limit(1))?;
            let old = quake["mag"].clone();
            let corrected = (quake["mag"].as_f64().unwrap_or_default() * 10.0 + 1.0).round() / 10.0;
            found.push(format!("before: {}", describe(&quake)));
            found.push(format!("        {}", by_status(&quakes)?));
            quake["status"] = json!("reviewed");
            quake["mag"] = json!(corrected);
            let started = Instant::now();
            quakes.put(&key, quake.to_string())?;
            found.push(format!("the put itself: {}", duration(started.elapsed())));
            let (_, stored) = first(quakes.lookup("by_status", "reviewed").limit(1))?;
            found.push(format!("after:  {}", describe(&stored)));
            found.push(format!("        {}", by_status(&quakes)?));
            let left = holds(&quakes, "by_mag", &old, &key)?;
            let entered = holds(&quakes, "by_mag", &json!(corrected), &key)?;
            let found_under = |yes: bool| if yes { "found" } else { "not found" };
            found.push(format!(
                "        by_mag: {} under {old}, {} under {corrected}",
                found_under(left),
                found_under(entered)
            ));
            Ok(())
        },
    )
}

fn delete(session: &mut Session<'_>) -> Result<()> {
    session.step("Delete: the newest explosion was none", &["quakes.delete(&id)?;"], |db, found| {
        let quakes = quakes(db)?;
        let before = quakes.lookup("by_type", "explosion").count()?;
        let (key, quake) = first(quakes.lookup("by_type", "explosion").limit(1))?;
        let started = Instant::now();
        quakes.delete(&key)?;
        let time = duration(started.elapsed());
        let after = quakes.lookup("by_type", "explosion").count()?;
        found.push(describe(&quake));
        found.push(format!("explosions before {before}, after {after}"));
        found.push(format!("the delete itself: {time}"));
        Ok(())
    })
}

fn tidy_up(session: &mut Session<'_>) -> Result<()> {
    session.step(
        "Flush and compact: old versions and stale index entries go",
        &["db.flush(Target::All)?; db.compact(Target::All)?;"],
        |db, found| {
            let quakes = quakes(db)?;
            let before = entries(&quakes)?;
            db.flush(Target::All)?;
            db.compact(Target::All)?;
            found.push(format!(
                "physical entries of all indexes: before {}, after {}",
                grouped(before),
                grouped(entries(&quakes)?)
            ));
            Ok(())
        },
    )
}

fn verify(session: &mut Session<'_>) -> Result<bool> {
    let mut sound = false;
    session.step(
        "Verify: every block, records against index entries both ways",
        &["db.verify()?   // or: sidekey verify DB"],
        |db, found| {
            let findings = db.verify()?;
            sound = findings.is_empty();
            if sound {
                found.push("sound: no findings".to_owned());
            }
            found.extend(findings.iter().map(ToString::to_string));
            Ok(())
        },
    )?;
    Ok(sound)
}

fn entries(quakes: &Collection) -> Result<u64> {
    let mut sum = 0;
    for index in quakes.indexes() {
        sum += quakes.raw_entries(&index.spec.name)?;
    }
    Ok(sum)
}

fn show(query: Query, found: &mut Findings) -> Result<()> {
    for row in query.rows(Read::Records)? {
        let row = row?;
        found.push(describe(&parse(row.value.as_deref().unwrap_or_default())?));
    }
    Ok(())
}

fn first(query: Query) -> Result<(Vec<u8>, Json)> {
    match query.rows(Read::Records)?.next() {
        Some(row) => {
            let row = row?;
            Ok((row.key, parse(row.value.as_deref().unwrap_or_default())?))
        }
        None => Err(Failure::from(Error::Internal("the demo's query found no record; there are some".into()))),
    }
}

fn holds(quakes: &Collection, index: &str, value: &Json, key: &[u8]) -> Result<bool> {
    let Some(value) = Value::from_json(value) else { return Ok(false) };
    Ok(quakes.lookup(index, value).keys()?.iter().any(|found| found == key))
}
