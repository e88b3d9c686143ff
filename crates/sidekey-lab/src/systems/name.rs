//! The stores by name, whether they are part of this build or not.

use crate::failure::{Failure, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A store by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum SystemName {
    /// This one.
    Sidekey,
    /// RocksDB, built from source in release mode.
    RocksDb,
    /// LevelDB, built from source in release mode, reading into its cache.
    LevelDb,
    /// LevelDB with memory-mapped tables, as it is by default: for orientation only.
    #[serde(rename = "leveldb-mmap")]
    #[value(name = "leveldb-mmap")]
    LevelDbMmap,
    /// SQLite: for the index workloads.
    Sqlite,
}

impl SystemName {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sidekey => "sidekey",
            Self::RocksDb => "rocksdb",
            Self::LevelDb => "leveldb",
            Self::LevelDbMmap => "leveldb-mmap",
            Self::Sqlite => "sqlite",
        }
    }

    /// Whether this program was built with it.
    pub fn is_built(self) -> bool {
        match self {
            Self::Sidekey => true,
            Self::RocksDb => cfg!(feature = "rocksdb"),
            Self::LevelDb | Self::LevelDbMmap => cfg!(feature = "leveldb"),
            Self::Sqlite => cfg!(feature = "sqlite"),
        }
    }

    /// Refuses a store that this program was built without, saying how to build it.
    pub fn check_built(self) -> Result<()> {
        if self.is_built() {
            return Ok(());
        }
        let name = self.name();
        let feature = name.strip_suffix("-mmap").unwrap_or(name);
        let needs = match self {
            Self::RocksDb => {
                "it compiles RocksDB from source and needs a C++ compiler and libclang (Debian: g++, libclang-dev)"
            }
            Self::LevelDb | Self::LevelDbMmap => {
                "it compiles LevelDB from source and needs a C++ compiler and CMake (Debian: g++, cmake)"
            }
            _ => "it links the system's library (Debian: libsqlite3-dev)",
        };
        Err(Failure::usage(format!(
            "this program was built without {name}; build it with `cargo build --release -p sidekey-lab --features {feature}`: {needs}"
        )))
    }
}
