//! The `sidekey` command.

fn main() {}
