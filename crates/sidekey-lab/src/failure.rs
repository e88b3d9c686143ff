//! What ends a run: one message, one exit code.

use std::fmt;

/// A result with [`Failure`].
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What to tell the user, without a prefix.
    pub message: String,
    /// 1: a store failed or answered wrongly; 2: the command cannot be run as it was given.
    pub exit_code: u8,
}

impl Failure {
    /// The command cannot be run as it was given.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit_code: 2 }
    }

    /// A store returned an error: `doing` says what was asked of it.
    pub fn store(doing: &str, error: impl fmt::Display) -> Self {
        Self { message: format!("cannot {doing}: {error}"), exit_code: 1 }
    }

    /// A store answered something else than it was told.
    pub fn wrong(message: impl fmt::Display) -> Self {
        Self { message: format!("wrong answer: {message}"), exit_code: 1 }
    }

    /// The operating system refused something that measuring needs.
    pub fn system(doing: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self { message: format!("cannot {doing}: {error}"), exit_code: 1 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
