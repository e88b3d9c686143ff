//! Runs operations on a database in memory, in one configuration, through the public interface only.

use crate::attr::extract;
use crate::config::{Config, Indexing};
use crate::disk::MemoryDisk;
use crate::model::{Pairs, satisfies};
use crate::ops::{Ask, Depth, Op, Order, PATHS, Part, Predicate, Write, collection_name};
use sidekey::env::CrashPolicy;
use sidekey::{
    Batch, Collection, Db, Error, IndexSpec, IndexState, Query, Read, Row, Scan, Settings, Snapshot, Target, Value,
    WriteOptions,
};
use std::collections::BTreeMap;

/// Collections that a list may use.
pub const COLLECTIONS: usize = 3;
const PATH: &str = "db";

/// What a database answered.
#[derive(Debug)]
pub enum Got {
    /// Success, with nothing to say.
    Done,
    /// The sequence number of the last write.
    Sqn(u64),
    /// A conditional write's verdict.
    Applied(bool),
    /// A point read's value.
    Value(Option<Vec<u8>>),
    /// Records of a scan.
    Pairs(Pairs),
    /// Rows of a query by an index.
    Rows(Vec<Row>),
    /// All records that a full scan found to satisfy a predicate: no order, no limit.
    Matches(Pairs),
    /// A number of rows.
    Count(u64),
}

/// The answers to one operation: several where several indexes were asked.
pub type Answers = Vec<Result<Got, Error>>;

/// A database and what is open on it.
#[derive(Debug)]
pub struct Executor {
    /// The database.
    pub db: Db,
    config: Config,
    disk: MemoryDisk,
    collections: Vec<Collection>,
    snapshots: BTreeMap<u8, Snapshot>,
    iterators: BTreeMap<u8, Scan>,
    /// The engine's sequence number of every one of the model's.
    pub acks: BTreeMap<u64, u64>,
}

impl Executor {
    /// Opens, or creates, the database on a disk.
    pub fn open(disk: MemoryDisk, config: &Config) -> Result<Self, Error> {
        let (db, collections) = open(&disk, &config.settings)?;
        let (snapshots, iterators, acks) = Default::default();
        Ok(Self { db, config: config.clone(), disk, collections, snapshots, iterators, acks })
    }

    /// The collection of a number.
    pub fn collection(&self, collection: usize) -> &Collection {
        &self.collections[collection]
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Ends all snapshots and iterators.
    pub fn release_views(&mut self) {
        self.snapshots.clear();
        self.iterators.clear();
    }

    /// Stops as a killed process would, and opens what is on a disk.
    pub fn restart_on(&mut self, disk: MemoryDisk) -> Result<(), Error> {
        self.release_views();
        self.db.abandon();
        self.open_again(disk)
    }

    fn open_again(&mut self, disk: MemoryDisk) -> Result<(), Error> {
        self.disk = disk;
        self.collections.clear();
        (self.db, self.collections) = open(&self.disk, &self.config.settings)?;
        Ok(())
    }

    /// The disk.
    pub fn disk(&self) -> &MemoryDisk {
        &self.disk
    }

    /// Notes which of the model's sequence numbers the operation's writes have.
    pub fn acknowledge(&mut self, committed: Option<(u64, u64)>, answers: &Answers) {
        let Some((first, last)) = committed else { return };
        let engine_last = match answers.first() {
            Some(Ok(Got::Sqn(sqn))) => *sqn,
            _ => self.db.visible_sqn(),
        };
        for sqn in first..=last {
            self.acks.insert(sqn, engine_last.saturating_sub(last - sqn));
        }
    }

    /// Runs one operation.
    pub fn run(&mut self, op: &Op) -> Answers {
        match op {
            Op::Query(ask) => self.ask(ask, |query, ask| match ask.depth {
                Depth::Keys => rows(query, Read::Keys),
                Depth::Attributes => rows(query, Read::Attributes),
                Depth::Records => rows(query, Read::Records),
            }),
            Op::Count(ask) => {
                let whole = Ask { limit: None, ..ask.clone() };
                self.ask(&whole, |query, _| query.count().map(Got::Count))
            }
            Op::CreateIndex { collection, path } => {
                let indexes = self.config.physical_indexes(*path);
                let create = |(name, maintenance)| {
                    let spec = IndexSpec::new(name, PATHS[*path]).maintenance(maintenance);
                    self.create_index(&self.collections[*collection], spec)
                };
                indexes.into_iter().map(create).collect()
            }
            Op::DropIndex { collection, path } => {
                let indexes = self.config.physical_indexes(*path);
                let drop = |(name, _): (String, _)| self.collections[*collection].drop_index(&name).map(|()| Got::Done);
                indexes.into_iter().map(drop).collect()
            }
            _ => vec![self.run_simple(op)],
        }
    }

    fn run_simple(&mut self, op: &Op) -> Result<Got, Error> {
        match op {
            Op::Write { write, sync } => self.write(write, *sync),
            Op::Batch { writes, sync } => self.db.write_with(self.batch_of(writes), durability(*sync)).map(Got::Sqn),
            Op::PutIf { write, present } => {
                let (collection, value) = (&self.collections[write.collection], write.value.as_deref().unwrap_or(b""));
                let applied = match present {
                    true => collection.put_if_present(&write.key, value),
                    false => collection.put_if_absent(&write.key, value),
                };
                applied.map(Got::Applied)
            }
            Op::Get { collection, key, at } => {
                let collection = &self.collections[*collection];
                let value = match self.snapshot(*at) {
                    Some(snapshot) => collection.get_at(key, snapshot),
                    // Which form is asked does not depend on the configuration.
                    None if key.len() % 2 == 0 => collection.get_with(key, <[u8]>::to_vec),
                    None => collection.get(key),
                };
                value.map(Got::Value)
            }
            Op::Scan { collection, low, high, reverse, limit, at } => {
                let mut scan = self.collections[*collection].scan::<Vec<u8>>((low.clone(), high.clone()));
                if *reverse {
                    scan = scan.reverse();
                }
                if let Some(snapshot) = self.snapshot(*at) {
                    return lent(scan.at(snapshot), *limit).map(Got::Pairs);
                }
                let pairs = lent(scan, *limit)?;
                reread(&self.collections[*collection], pairs).map(Got::Pairs)
            }
            Op::IteratorRead { slot, records } => match self.iterators.get_mut(slot) {
                Some(scan) => scan.take(*records).collect::<Result<_, _>>().map(Got::Pairs),
                None => Ok(Got::Pairs(Vec::new())),
            },
            _ => self.change_state(op).map(|()| Got::Done),
        }
    }

    fn change_state(&mut self, op: &Op) -> Result<(), Error> {
        match op {
            Op::Snapshot(slot) => drop(self.snapshots.insert(*slot, self.db.snapshot())),
            Op::Release(slot) => drop(self.snapshots.remove(slot)),
            Op::IteratorOpen { slot, collection, reverse } => {
                let scan = self.collections[*collection].scan::<Vec<u8>>(..);
                self.iterators.insert(*slot, if *reverse { scan.reverse() } else { scan });
            }
            Op::Flush(part) => self.db.flush(target(*part))?,
            Op::Compact(part) => self.db.compact(target(*part))?,
            Op::Sync => self.db.sync()?,
            Op::Reopen => {
                self.release_views();
                self.db.close()?;
                self.open_again(self.disk.clone())?;
            }
            Op::PowerCut { seed } => {
                self.db.sync()?;
                self.restart_on(self.disk.crash(policy(*seed), *seed))?;
            }
            Op::Verify => no_findings(&self.db)?,
            _ => {}
        }
        Ok(())
    }

    fn write(&self, write: &Write, sync: bool) -> Result<Got, Error> {
        let collection = &self.collections[write.collection];
        let sqn = match &write.value {
            _ if sync => self.db.write_with(self.batch_of(std::slice::from_ref(write)), durability(true)),
            Some(value) => collection.put(&write.key, value),
            None => collection.delete(&write.key),
        };
        sqn.map(Got::Sqn)
    }

    fn batch_of(&self, writes: &[Write]) -> Batch {
        let mut batch = Batch::new();
        for write in writes {
            let collection = &self.collections[write.collection];
            match &write.value {
                Some(value) => batch.put(collection, &write.key[..], &value[..]),
                None => batch.delete(collection, &write.key[..]),
            };
        }
        batch
    }

    fn snapshot(&self, slot: Option<u8>) -> Option<&Snapshot> {
        self.snapshots.get(&slot?)
    }

    fn create_index(&self, collection: &Collection, spec: IndexSpec) -> Result<Got, Error> {
        let name = spec.name.clone();
        collection.create_index(spec)?;
        let building = || collection.indexes().iter().any(|i| i.spec.name == name && i.state == IndexState::Building);
        while building() && self.db.background_step()? {}
        Ok(Got::Done)
    }

    fn ask(&self, ask: &Ask, finish: impl Fn(Query, &Ask) -> Result<Got, Error>) -> Answers {
        if self.config.indexing == Indexing::FullScan {
            return vec![self.full_scan(ask)];
        }
        let indexes = self.config.physical_indexes(ask.path);
        indexes.iter().map(|(name, _)| finish(self.query(name, ask), ask)).collect()
    }

    fn query(&self, index: &str, ask: &Ask) -> Query {
        let collection = &self.collections[ask.collection];
        let query = match &ask.predicate {
            Predicate::Equal(json) => collection.lookup(index, scalar(json)),
            Predicate::Range(low, high) => {
                collection.range(index, (low.as_ref().map(scalar), high.as_ref().map(scalar)))
            }
        };
        let mut query = query.order(match ask.order {
            Order::Newest => sidekey::Order::Newest,
            Order::Attribute => sidekey::Order::Attribute,
            Order::Key => sidekey::Order::Key,
        });
        if ask.reverse {
            query = query.reverse();
        }
        if let Some(limit) = ask.limit {
            query = query.limit(limit);
        }
        match self.snapshot(ask.at) {
            Some(snapshot) => query.at(snapshot),
            None => query,
        }
    }

    fn full_scan(&self, ask: &Ask) -> Result<Got, Error> {
        let scan = self.collections[ask.collection].scan::<Vec<u8>>(..);
        let scan = match self.snapshot(ask.at) {
            Some(snapshot) => scan.at(snapshot),
            None => scan,
        };
        let mut pairs = Pairs::new();
        for record in scan {
            let (key, value) = record?;
            if extract(&value, PATHS[ask.path]).is_some_and(|attr| satisfies(&attr, &ask.predicate)) {
                pairs.push((key, value));
            }
        }
        Ok(Got::Matches(pairs))
    }
}

fn open(disk: &MemoryDisk, settings: &Settings) -> Result<(Db, Vec<Collection>), Error> {
    let db = Db::open_in(disk.env(7), PATH, settings.clone())?;
    let collections = (0..COLLECTIONS).map(|c| db.collection(&collection_name(c))).collect::<Result<_, _>>()?;
    Ok((db, collections))
}

/// Whether the database finds itself sound; a finding becomes an error.
pub fn no_findings(db: &Db) -> Result<(), Error> {
    let findings: Vec<String> = db.verify()?.iter().map(ToString::to_string).collect();
    if findings.is_empty() { Ok(()) } else { Err(Error::Internal(format!("verify found: {}", findings.join("; ")))) }
}

/// The crash policy that goes with a seed.
pub fn policy(seed: u64) -> CrashPolicy {
    match seed % 5 {
        0 => CrashPolicy::SyncedOnly,
        1 => CrashPolicy::KeepAll,
        2 => CrashPolicy::Prefix,
        _ => CrashPolicy::Random,
    }
}

fn rows(query: Query, read: Read) -> Result<Got, Error> {
    query.rows(read)?.collect::<Result<_, _>>().map(Got::Rows)
}

fn durability(sync: bool) -> WriteOptions {
    if sync { WriteOptions::synced() } else { WriteOptions::default() }
}

fn scalar(json: &serde_json::Value) -> Value {
    Value::from_json(json).expect("operation lists ask for scalars only")
}

fn target(part: Part) -> Target {
    match part {
        Part::All => Target::All,
        Part::Primary => Target::Primary,
        Part::Indexes => Target::Indexes,
    }
}

/// What a scan lends.
fn lent(mut scan: Scan, limit: Option<usize>) -> Result<Pairs, Error> {
    let mut pairs = Vec::new();
    while pairs.len() < limit.unwrap_or(usize::MAX) && scan.advance()? {
        pairs.push((scan.key().to_vec(), scan.value().to_vec()));
    }
    Ok(pairs)
}

/// The same keys, with the values that reading many at once gives: none may be missing.
fn reread(collection: &Collection, pairs: Pairs) -> Result<Pairs, Error> {
    let keys: Vec<Vec<u8>> = pairs.into_iter().map(|(key, _)| key).collect();
    let values = collection.multi_get(&keys)?;
    Ok(keys.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?))).collect())
}
