//! The commands, a file or folder each: arguments, and a `run` that answers.

pub mod collections;
pub mod compact;
pub mod count;
pub mod delete;
pub mod demo;
pub mod flush;
pub mod get;
pub mod index;
mod keys;
pub mod load;
pub mod lookup;
pub mod put;
pub mod range;
mod rows;
pub mod scan;
pub mod script;
pub mod stats;
mod target;
mod values;
pub mod verify;
