//! What `verify` reports.

use std::fmt;

/// One thing that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule that does not hold, `V1` to `V7` as listed in TESTING.md.
    pub rule: &'static str,
    /// The collection concerned; empty for the database as a whole.
    pub collection: String,
    /// What was found, and where.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.rule, self.collection, self.what)
    }
}
