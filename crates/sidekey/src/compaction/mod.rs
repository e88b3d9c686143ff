//! Everything that rewrites a tree: policy → plan → job → edits.
//!
//! A policy is a pure function from a version to a plan. A job merges the plan's inputs step by step, drops what no snapshot sees and writes
//! tables. The database installs the outcome in one manifest edit after re-checking that the inputs are still there. A flush is a job too.
//!
//! Depends on version, table, iter, env, base. Takes no lock and starts no thread: the database's threads, or its caller, call
//! [`job::Job::step`].
//!
//! - CMP-1: a version is dropped only if a newer one of the same key in the same job hides it from every snapshot and from the
//!   visible head as of the job's start. (Later snapshots see at least that head.)
//! - CMP-2: a tombstone is dropped only at the last place: nothing older of the key exists outside the job.
//! - CMP-3: what tells a stale entry from a valid one is never lost. A blind version that meets an older one is from then on known to have
//!   something behind it. The version that survives a dropped one inherits its doubt; when nothing survives, the collection's blind floor
//!   rises to it. Only at the last place is a blind version cleared that met nothing older: it overwrote nothing, and the filters that
//!   said "maybe" were wrong. (Could something older have been dropped before? Whatever hid it was older than this version and blind, or
//!   its entry was deleted exactly; the former would have been met here, or went at the last place and raised the floor.)
//! - CMP-4: all versions of one user key go to one table of a level.
//! - CMP-5: an event is counted only when the job's edit is installed.
//!
//! Crash: until the edit is durable the outputs are orphans that the next open removes; the inputs are removed only after it.

pub(crate) mod hooks;
pub(crate) mod job;
pub(crate) mod plan;
pub(crate) mod policy;
mod retain;
