//! The database: open, recover, write path, read path, snapshots, background work, settings.
//!
//! Owns every lock that spans modules, the threads, and the one mutable state: which [`collection::View`] each collection has, what the
//! log holds, what is visible. Everything below is immutable or guarded by itself. Depends on everything below.
//!
//! Threads: any number of users; a flush thread and a compaction thread that only call step functions ([`background`]). Lock order: see [`inner`].
//!
//! Invariants DB-1 to DB-13 stand where they are kept: the queue, the commit, flush, snapshots, index builds, opening.

mod background;
mod batch;
mod collection;
mod commit;
mod compact;
mod counters;
mod flush;
mod group;
mod handle;
mod index_build;
mod inner;
mod install;
mod log;
mod open;
mod prepare;
mod query;
mod queue;
mod scan;
mod scratch;
mod settings;
mod snapshots;
mod statistics;
mod stats;
#[cfg(test)]
mod tests;
mod verify;
mod write;

pub use batch::Batch;
pub use collection::Collection;
pub use handle::{Db, Target};
pub use query::{Query, Rows};
pub use scan::Scan;
pub use settings::{CompressionSetting, Settings, SyncPolicy};
pub use snapshots::Snapshot;
pub use stats::{CollectionStats, IndexStats, Stats, TreeStats};
pub use write::WriteOptions;
