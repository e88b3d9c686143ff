//! The `sidekey-lab` command.

mod failure;
mod records;
mod systems;

fn main() {}
