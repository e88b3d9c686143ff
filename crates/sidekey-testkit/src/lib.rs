//! The test kit of Sidekey.
