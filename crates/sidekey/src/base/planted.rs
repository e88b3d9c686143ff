//! Planted faults: what the test suite must be able to find.
//!
//! A fault is in the program only when it is compiled with `--cfg planted`, and then only while it is armed; otherwise [`planted`] is the constant
//! `false` and nothing of it is left. `sidekey-testkit planted` arms one after the other and says which layer of the tests caught it.

macro_rules! faults {
    ($($(#[doc = $what:literal])+ $name:ident),* $(,)?) => {
        /// One planted fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(not(planted), allow(dead_code, reason = "without planted faults only the names that are asked for are used"))]
        pub enum Fault {
            $($(#[doc = $what])+ $name),*
        }

        #[cfg(planted)]
        impl Fault {
            /// All of them, each with what is wrong while it is armed.
            pub const ALL: &'static [(Fault, &'static str)] = &[$((Fault::$name, concat!($($what),+))),*];
        }
    };
}

faults! {
    /// A sync of the log is acknowledged without being done.
    LogNotSynced,
    /// CURRENT is renamed without a sync of the directory.
    DirectoryNotSynced,
    /// A table is installed without having been synced.
    TableNotSynced,
    /// A flush is installed before the log is durable through what was flushed.
    FlushBeforeLog,
    /// Replay inserts records without their index entries.
    ReplayWithoutEntries,
    /// Recovery goes on after the log's last sqn, not after the largest that the manifest names.
    RestartLow,
    /// A flush installs the primary tree's table without the index tree's.
    FlushPrimaryOnly,
    /// A tombstone is dropped above the last place.
    TombstoneDroppedEarly,
    /// Compaction keeps what the head sees and forgets the open snapshots.
    SnapshotsForgotten,
    /// A read error ends a merge as if it were its end.
    ErrorEndsMerge,
    /// A table is cut between two versions of one key.
    VersionsCutApart,
    /// A filter lacks some of its keys.
    FilterLacksKeys,
    /// The survivor of a dropped blind version does not inherit the flag.
    FlagNotInherited,
    /// A blind version that meets an older one forgets it.
    MetNotRemembered,
    /// A blind version that met nothing older is cleared above the last place.
    ClearedEarly,
    /// The blind floor does not rise when a blind tombstone is dropped.
    FloorNotRaised,
    /// Several writes of one key in a batch do not collapse.
    BatchNotCollapsed,
    /// The old version of a write is looked for in the active memtable and the filters only.
    OldInActiveOnly,
    /// A write that found its old version in memory does not delete that version's entry.
    NoExactDelete,
    /// An index build takes attributes from old headers instead of parsing the values.
    BuildTrustsOldHeaders,
    /// A validated index answers without validating.
    NotValidated,
    /// A newest-first query takes the first K entries that it meets.
    FirstKByPlace,
    /// A query at a snapshot sees what came later.
    SnapshotSeesLater,
}

/// Whether a fault is in force.
#[cfg(not(planted))]
#[inline(always)]
pub(crate) const fn planted(_: Fault) -> bool {
    false
}

#[cfg(planted)]
static ARMED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(usize::MAX);

/// Whether a fault is in force.
#[cfg(planted)]
pub(crate) fn planted(fault: Fault) -> bool {
    ARMED.load(std::sync::atomic::Ordering::Relaxed) == fault as usize
}

/// Puts one fault in force, or none, for the whole process.
#[cfg(planted)]
pub fn arm(fault: Option<Fault>) {
    ARMED.store(fault.map_or(usize::MAX, |f| f as usize), std::sync::atomic::Ordering::Relaxed);
}
