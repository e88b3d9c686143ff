//! The `sidekey-lab` command.

fn main() {}
