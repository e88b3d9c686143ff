//! Why a command failed: what happened, where, what to do, and the exit code.

use serde_json::{Map, Value, json};
use sidekey::{Error, ErrorKind};
use std::fmt;
use std::io;
use std::path::Path;

/// A result with a [`Failure`].
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// A command's failure.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The engine's error kind, or `Usage`, `Input`, `ClosedPipe`.
    pub kind: &'static str,
    /// The process's exit code; `--help` lists them.
    pub exit_code: u8,
    /// What happened and where.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Further fields of the JSON form.
    pub details: Map<String, Value>,
}

impl Failure {
    fn new(kind: &'static str, exit_code: u8, message: impl Into<String>) -> Self {
        Self { kind, exit_code, message: message.into(), hint: None, details: Map::new() }
    }

    /// The command line asks for what cannot be.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new("Usage", 2, message)
    }

    /// Data to be loaded is not what it should be.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new("Input", 14, message)
    }

    /// A file of the user's cannot be read or written.
    pub fn file(path: &Path, doing: &str, source: &io::Error) -> Self {
        Self::new("Io", exit_code(ErrorKind::Io), format!("{}: cannot {doing}: {source}", path.display()))
    }

    /// Standard output cannot be written to.
    pub fn output(source: &io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Self::new("ClosedPipe", 0, "the reader of the output went away"),
            _ => Self::new("Io", exit_code(ErrorKind::Io), format!("standard output: cannot write: {source}")),
        }
    }

    /// Adds what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a field to the JSON form.
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// Whether only the reader of the output went away.
    pub fn is_closed_pipe(&self) -> bool {
        self.kind == "ClosedPipe"
    }

    /// `{"error":{"kind":…,"message":…}}`.
    pub fn to_json(&self) -> Value {
        let mut error = Map::new();
        error.insert("kind".into(), json!(self.kind));
        error.insert("message".into(), json!(self.message));
        if let Some(hint) = &self.hint {
            error.insert("hint".into(), json!(hint));
        }
        error.extend(self.details.clone());
        json!({ "error": error })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sidekey: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = error.kind();
        let failure = Self::new(kind.name(), exit_code(kind), error.to_string());
        match hint_for(kind) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// The exit code of an engine error; `--help` prints this table, and a test compares the two.
pub fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::InvalidArgument => 3,
        ErrorKind::Unsupported => 4,
        ErrorKind::Conflict => 5,
        ErrorKind::Busy => 6,
        ErrorKind::Corruption => 7,
        ErrorKind::Incompatible => 8,
        ErrorKind::NoSpace => 9,
        ErrorKind::ReadOnly => 10,
        ErrorKind::Io => 11,
        ErrorKind::Closed => 12,
        _ => 13,
    }
}

fn hint_for(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Corruption => {
            Some("keep a copy of the directory as it is before anything else; `sidekey verify` lists the damage")
        }
        ErrorKind::NoSpace => Some("free some space and run the command again; what was acknowledged is safe"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_form_carries_kind_message_hint_and_details() {
        let failure = Failure::input("a.csv, line 2: no").hint("mend it").detail("line", 2);
        let json = failure.to_json();
        assert_eq!(json["error"]["kind"], "Input");
        assert_eq!(json["error"]["message"], "a.csv, line 2: no");
        assert_eq!(json["error"]["hint"], "mend it");
        assert_eq!(json["error"]["line"], 2);
    }

    #[test]
    fn engine_error_keeps_its_kind_and_words() {
        let failure = Failure::from(Error::Conflict("index 'a' exists on $.b".into()));
        assert_eq!((failure.kind, failure.exit_code), ("Conflict", 5));
        assert_eq!(failure.to_string(), "sidekey: index 'a' exists on $.b");
    }

    #[test]
    fn only_a_broken_pipe_is_quiet() {
        assert!(Failure::output(&io::Error::from(io::ErrorKind::BrokenPipe)).is_closed_pipe());
        assert!(!Failure::output(&io::Error::from(io::ErrorKind::StorageFull)).is_closed_pipe());
    }
}
