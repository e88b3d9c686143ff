//! Merging of sorted sources.
//!
//! Owns no data and takes no lock. Depends on [`crate::base`] alone: sources are anything that is a
//! [`crate::base::iter::SortedIter`].

mod merge;
mod window;

pub(crate) use merge::MergeIter;
