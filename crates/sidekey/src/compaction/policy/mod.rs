//! Policies: which tables to merge next. Pure functions of a version.

pub(crate) mod leveled;
