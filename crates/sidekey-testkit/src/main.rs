//! Runs the test kit by hand.

fn main() {}
