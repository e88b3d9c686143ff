//! `sidekey demo`: a tour with real records, showing what each step does and costs.
//!
//! Purpose: the first look at the engine. Loads the bundled earthquakes, queries them by attribute, moves records between
//! index values, and verifies the result.
//! Owns: the bundled data set ([`quakes`]), the tour's steps ([`steps`]), their printing ([`session`]), the temporary
//! directory ([`directory`]).

mod directory;
mod quakes;
mod session;
mod steps;

use crate::Outcome;
use crate::failure::Result;
use crate::output::Output;
use directory::Directory;
use quakes::QUAKES;
use session::Session;
use sidekey::{Db, Settings};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  sidekey demo
  sidekey demo --keep ./quakes
  sidekey lookup ./quakes quakes by_type 'quarry blast' --limit 3

The records: 1,707 seismic events of one week of 2018, from the U.S. Geological Survey (public domain).";

/// Load real records, query them, and see what each step costs
///
/// Works in a temporary directory that is removed at the end.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Make the database here and leave it, to look around afterwards
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let directory = match &arguments.keep {
        Some(path) => Directory::kept(path)?,
        None => Directory::temporary()?,
    };
    if !output.is_json() {
        let fate = if arguments.keep.is_some() { "kept" } else { "removed at the end; --keep DIR leaves it" };
        output.line(format_args!(
            "Sidekey with {} seismic events of one week (U.S. Geological Survey, public domain)",
            crate::text::grouped(QUAKES.lines().count() as u64)
        ))?;
        output.line(format_args!("Database: {} ({fate})", directory.path().display()))?;
        output.line("After each step: wall time, and the engine's counters that it moved.")?;
    }
    let db = Db::open(directory.path(), Settings::default())?;
    let sound = steps::all(&mut Session::new(db.clone(), output))?;
    db.close()?;
    // The last handle goes before its directory does.
    drop(db);
    if arguments.keep.is_some() && !output.is_json() {
        let path = directory.path().display();
        output.line("")?;
        output.line("Look around:")?;
        output.line(format_args!("  sidekey lookup {path} quakes by_net us --limit 3"))?;
        output.line(format_args!("  sidekey range {path} quakes by_mag --low 6 --read attributes"))?;
        output.line(format_args!("  sidekey stats {path}"))?;
    }
    directory.remove()?;
    Ok(if sound { Outcome::Done } else { Outcome::Negative })
}
