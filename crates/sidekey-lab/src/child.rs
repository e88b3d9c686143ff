//! The child process: does what a plan says with one store, and prints one line.

use crate::failure::{Failure, Result};
use crate::figures::ChildResult;
use crate::index::{self, IndexPlan};
use crate::plain::{self, PlainPlan};
use crate::plan::{Plan, Task};
use crate::systems::{IndexedSystem, Settings, System, SystemName, sidekey};
use std::path::Path;

/// Runs `plan` in `dir`.
pub fn run(plan: &Plan, dir: &Path) -> Result<ChildResult> {
    match &plan.task {
        Task::Plain(task) => match plan.system {
            SystemName::Sidekey => run_plain::<sidekey::Sidekey>(task, &plan.settings, dir),
            #[cfg(feature = "rocksdb")]
            SystemName::RocksDb => run_plain::<crate::systems::rocksdb::RocksDb>(task, &plan.settings, dir),
            #[cfg(feature = "leveldb")]
            SystemName::LevelDb => run_plain::<crate::systems::leveldb::LevelDb>(task, &plan.settings, dir),
            #[cfg(feature = "leveldb")]
            SystemName::LevelDbMmap => run_plain::<crate::systems::leveldb::MappedLevelDb>(task, &plan.settings, dir),
            other => Err(missing(other, "db_bench")),
        },
        Task::Index(task) => match plan.system {
            SystemName::Sidekey => run_index::<sidekey::IndexedSidekey>(task, &plan.settings, dir),
            #[cfg(feature = "rocksdb")]
            SystemName::RocksDb => run_index::<crate::systems::rocksdb::IndexedRocksDb>(task, &plan.settings, dir),
            #[cfg(feature = "sqlite")]
            SystemName::Sqlite => run_index::<crate::systems::sqlite::IndexedSqlite>(task, &plan.settings, dir),
            other => Err(missing(other, "index")),
        },
    }
}

fn run_plain<S: System>(task: &PlainPlan, settings: &Settings, dir: &Path) -> Result<ChildResult> {
    let figures = plain::run::<S>(task, settings, dir)?;
    Ok(ChildResult { version: S::version(), notes: S::notes(settings), figures })
}

fn run_index<S: IndexedSystem>(task: &IndexPlan, settings: &Settings, dir: &Path) -> Result<ChildResult> {
    // A store without this maintenance has nothing to show, and says so by an empty list.
    let supported = task.setup.indexes == 0 || S::supports(task.setup.maintenance);
    let figures = if supported { index::run::<S>(task, settings, dir)? } else { vec![] };
    Ok(ChildResult { version: S::version(), notes: S::notes(settings, &task.setup), figures })
}

fn missing(system: SystemName, command: &str) -> Failure {
    match system.check_built() {
        Err(not_built) => not_built,
        Ok(()) => Failure::usage(format!("{} takes no part in {command}", system.name())),
    }
}
