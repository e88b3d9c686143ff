//! The test kit of Sidekey: what finds out whether the engine keeps its promises.
//!
//! | module | what it does |
//! |---|---|
//! | [`script`] | runs scripts: the regression tests, and the command line's `sidekey script` |
//! | [`model`], [`attr`] | the oracle: every version of every record, queries as filters; no engine code |
//! | [`oracle`] | the model with open snapshots, iterators and indexes |
//! | [`ops`], [`generate`] | operations and random lists of them |
//! | [`config`], [`execute`], [`compare`] | ways to run a list, running it, and judging the answers |
//! | [`metamorphic`] | one list in many configurations; raw entries counted at the end |
//! | [`crash`], [`recovered`] | power cuts at every turn, also during recovery |
//! | [`faults`] | every file system operation fails once |
//! | [`kill`] | processes that are killed, on real files |
//! | `planted` | planted faults, one after the other, until something finds them (only with `--cfg planted`) |
//! | [`reduce`], [`failure`] | failing lists made short, and printed so that they can be run again |
//!
//! Everything goes through the public interface of `sidekey`. Apart from [`kill`] and the answers of a real disk, a seed gives
//! the same run on every machine: the databases live in memory, on one thread each.

pub mod attr;
pub mod compare;
pub mod config;
pub mod crash;
pub mod disk;
pub mod execute;
pub mod failure;
pub mod faults;
pub mod generate;
pub mod kill;
pub mod log_bound;
pub mod metamorphic;
pub mod model;
pub mod ops;
pub mod oracle;
#[cfg(planted)]
pub mod planted;
pub mod recovered;
pub mod reduce;
pub mod rng;
pub mod script;
