//! The ground floor: ids, sequence numbers, keys, typed attribute values and their encoding, record headers, coding,
//! checksums, errors.
//!
//! Owns no state and starts no thread. Depends on nothing above it. Everything that other layers exchange is named here,
//! among them the trait by which sorted sources are read ([`iter::SortedIter`]).

pub(crate) mod checksum;
pub(crate) mod coding;
pub mod error;
pub(crate) mod format;
pub(crate) mod header;
pub(crate) mod ids;
pub(crate) mod index_key;
pub(crate) mod iter;
pub(crate) mod key;
pub mod planted;
pub(crate) mod prefix;
pub(crate) mod value;
