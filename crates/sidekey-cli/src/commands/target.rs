//! What flush and compact work on.

use clap::ValueEnum;
use sidekey::Target;

/// `--target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Records and indexes
    All,
    /// Records only
    Primary,
    /// Indexes only
    Indexes,
}

impl From<Part> for Target {
    fn from(part: Part) -> Target {
        match part {
            Part::All => Target::All,
            Part::Primary => Target::Primary,
            Part::Indexes => Target::Indexes,
        }
    }
}
