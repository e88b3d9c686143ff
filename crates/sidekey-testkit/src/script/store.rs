//! The database that a script works on: how it is opened, closed, crashed and opened again.

use super::fields::invalid;
use crate::disk::MemoryDisk;
use sidekey::env::{CrashPolicy, Env};
use sidekey::{Collection, Db, Error, Settings, Snapshot};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where the files are.
#[derive(Debug)]
enum Medium {
    Disk,
    Memory(MemoryDisk),
}

/// An open database and what scripts name in it.
#[derive(Debug)]
pub(super) struct Store {
    pub db: Db,
    medium: Medium,
    path: PathBuf,
    settings: Settings,
    current: Option<String>,
    collections: BTreeMap<String, Collection>,
    snapshots: BTreeMap<String, Snapshot>,
    crashes: u64,
}

impl Store {
    pub fn open(path: Option<PathBuf>, env: &str, settings: Settings) -> Result<Self, Error> {
        let (medium, path) = match (env, path) {
            ("disk", Some(path)) => (Medium::Disk, path),
            ("disk", None) => return Err(invalid("field 'path' is missing")),
            ("memory", path) => (Medium::Memory(MemoryDisk::new()), path.unwrap_or_else(|| PathBuf::from("db"))),
            _ => return Err(invalid(format!("env is '{env}'; it must be \"disk\" or \"memory\""))),
        };
        let db = Db::open_in(environment(&medium), &path, settings.clone())?;
        let (collections, snapshots) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { db, medium, path, settings, current: None, collections, snapshots, crashes: 0 })
    }

    /// Closes cleanly and opens again.
    pub fn reopen(&mut self) -> Result<(), Error> {
        self.forget_handles();
        self.db.close()?;
        self.open_again()
    }

    /// Stops without a word and opens again; in memory, without what was never synced.
    pub fn crash(&mut self) -> Result<(), Error> {
        self.forget_handles();
        self.db.abandon();
        self.crashes += 1;
        if let Medium::Memory(disk) = &mut self.medium {
            *disk = disk.crash(CrashPolicy::SyncedOnly, self.crashes);
        }
        self.open_again()
    }

    pub fn close(self) -> Result<(), Error> {
        drop(self.snapshots);
        drop(self.collections);
        self.db.close()
    }

    fn open_again(&mut self) -> Result<(), Error> {
        self.db = Db::open_in(environment(&self.medium), &self.path, self.settings.clone())?;
        Ok(())
    }

    fn forget_handles(&mut self) {
        self.collections.clear();
        self.snapshots.clear();
    }

    pub fn select(&mut self, name: String) -> Result<(), Error> {
        self.handle(&name)?;
        self.current = Some(name);
        Ok(())
    }

    /// The current collection.
    pub fn collection(&mut self) -> Result<Collection, Error> {
        let name =
            self.current.clone().ok_or_else(|| invalid("no collection is current; say which with 'collection'"))?;
        self.handle(&name)
    }

    /// A collection that was named; created if it is not there.
    pub fn handle(&mut self, name: &str) -> Result<Collection, Error> {
        if let Some(collection) = self.collections.get(name) {
            return Ok(collection.clone());
        }
        let collection = self.db.collection(name)?;
        self.collections.insert(name.to_owned(), collection.clone());
        Ok(collection)
    }

    pub fn take_snapshot(&mut self, name: String) {
        self.snapshots.insert(name, self.db.snapshot());
    }

    pub fn release_snapshot(&mut self, name: &str) -> Result<(), Error> {
        self.snapshots.remove(name).map(drop).ok_or_else(|| invalid(format!("there is no snapshot '{name}'")))
    }

    /// The snapshot that a line names, if it names one.
    pub fn snapshot(&self, name: Option<String>) -> Result<Option<Snapshot>, Error> {
        let Some(name) = name else { return Ok(None) };
        let found = self.snapshots.get(&name).cloned();
        found.map(Some).ok_or_else(|| invalid(format!("there is no snapshot '{name}'")))
    }
}

fn environment(medium: &Medium) -> Env {
    match medium {
        Medium::Disk => Env::real(),
        Medium::Memory(disk) => disk.env(1),
    }
}
