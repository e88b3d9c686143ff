//! Opening a database from the command line: settings, and whether one may be made.

use crate::failure::{Failure, Result};
use crate::output::note;
use clap::Args;
use serde_json::{Map, Value as Json};
use sidekey::{Collection, Db, Error, Settings};
use std::path::PathBuf;

/// The database a command works on.
#[derive(Args, Clone, Debug)]
pub struct Database {
    /// Directory of the database
    #[arg(id = "database", value_name = "DB")]
    pub path: PathBuf,

    /// Change a setting for this run: --set memtable_bytes=1048576 --set sync=always
    ///
    /// The value is JSON, or a plain word. A name that does not exist is refused with the list of those that do.
    #[arg(long = "set", value_name = "NAME=VALUE", help_heading = "Database")]
    pub settings: Vec<String>,
}

impl Database {
    /// Opens a database that is there (CLI-2).
    pub fn open(&self) -> Result<Db> {
        let mut settings = settings(&self.settings)?;
        settings.create_if_missing = false;
        if self.is_missing() {
            let message = format!("{}: there is no such database", self.path.display());
            return Err(Failure::from(Error::InvalidArgument(message))
                .hint("check the path; `sidekey load`, `put` and `index create` make a database that is missing"));
        }
        Ok(Db::open(&self.path, settings)?)
    }

    /// Whether there is surely nothing at the path; what cannot be looked at is for opening to complain about.
    fn is_missing(&self) -> bool {
        matches!(self.path.try_exists(), Ok(false))
    }

    /// Opens a database, and makes it if it is missing; says so, since a mistyped path looks just like it.
    pub fn open_or_create(&self) -> Result<Db> {
        let settings = settings(&self.settings)?;
        let new = settings.create_if_missing && self.is_missing();
        let db = Db::open(&self.path, settings)?;
        if new {
            note(format_args!("made a new database at {}", self.path.display()));
        }
        Ok(db)
    }
}

/// A collection that must exist.
pub fn existing(db: &Db, name: &str) -> Result<Collection> {
    db.existing_collection(name)?.ok_or_else(|| {
        let names = db.collections();
        let known = if names.is_empty() {
            "the database holds none".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        };
        Failure::from(Error::InvalidArgument(format!("there is no collection '{name}'; {known}")))
    })
}

/// Settings from `name=value` words over the defaults.
pub fn settings(words: &[String]) -> Result<Settings> {
    let mut object = Map::new();
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            Failure::usage(format!("--set {word}: expected NAME=VALUE, for example memtable_bytes=1048576"))
        })?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()));
        if object.insert(name.trim().to_owned(), value).is_some() {
            return Err(Failure::usage(format!("--set {name} is given twice")));
        }
    }
    Ok(Settings::from_json(&Json::Object(object).to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sidekey::SyncPolicy;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn settings_take_json_and_plain_words() {
        let settings = settings(&words(&["memtable_bytes=4096", "sync=always"])).unwrap();
        assert_eq!((settings.memtable_bytes, settings.sync), (4096, SyncPolicy::Always));
        let every = super::settings(&words(&["sync={\"every_ms\":5}"])).unwrap();
        assert_eq!(every.sync, SyncPolicy::EveryMs(5));
    }

    #[test]
    fn unknown_setting_is_named_with_those_that_exist() {
        let failure = settings(&words(&["memtable=1"])).unwrap_err();
        assert_eq!(failure.kind, "InvalidArgument");
        assert!(failure.message.contains("`memtable`") && failure.message.contains("memtable_bytes"), "{failure}");
    }

    #[test]
    fn setting_without_value_or_twice_is_refused() {
        assert_eq!(settings(&words(&["sync"])).unwrap_err().kind, "Usage");
        assert_eq!(settings(&words(&["level_ratio=4", "level_ratio=5"])).unwrap_err().kind, "Usage");
    }

    #[test]
    fn setting_out_of_range_names_the_range() {
        let failure = settings(&words(&["memtables_max=1"])).unwrap_err();
        assert!(failure.message.contains("memtables_max") && failure.message.contains("between 2 and 64"), "{failure}");
    }
}
