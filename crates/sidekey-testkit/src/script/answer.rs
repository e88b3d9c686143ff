//! What a line answers, and whether that is what it expected.

use serde_json::{Map, Value as Json, json};
use sidekey::Error;

/// The answer's fields, in order.
pub(super) type Reply = Vec<(&'static str, Json)>;

/// What a line asks its answer to be.
#[derive(Debug, Default)]
pub(super) struct Expectation {
    pub fields: Option<Map<String, Json>>,
    pub error: Option<String>,
}

/// The answer to one line. Its text form is one line of JSON.
#[derive(Debug)]
pub struct Answer {
    line: u64,
    reply: Result<Reply, Error>,
    /// Why the line counts as failed, if it does.
    mismatch: Option<String>,
}

impl Answer {
    pub(super) fn new(line: u64, reply: Result<Reply, Error>, expectation: &Expectation) -> Self {
        let mismatch = match (&reply, &expectation.error) {
            (Err(error), Some(kind)) if error.kind().name() == kind => None,
            (Err(error), Some(kind)) => Some(format!("expected an error of kind {kind}, got {}", error.kind())),
            (Ok(_), Some(kind)) => Some(format!("expected an error of kind {kind}, got none")),
            (Err(error), None) => Some(format!("error of kind {}", error.kind())),
            (Ok(fields), None) => expectation.fields.as_ref().and_then(|wanted| differs(fields, wanted)),
        };
        Self { line, reply, mismatch }
    }

    /// Whether the line failed: an error that it did not expect, or an answer other than the expected one.
    pub fn failed(&self) -> bool {
        self.mismatch.is_some()
    }

    /// Why it failed.
    pub fn mismatch(&self) -> Option<&str> {
        self.mismatch.as_deref()
    }

    /// Whether the operation succeeded.
    pub fn ok(&self) -> bool {
        self.reply.is_ok()
    }

    /// A field of the answer.
    pub fn field(&self, name: &str) -> Option<&Json> {
        self.reply.as_ref().ok()?.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{{\"line\":{},\"ok\":{}", self.line, self.reply.is_ok())?;
        match &self.reply {
            Ok(fields) => fields.iter().try_for_each(|(name, value)| write!(f, ",{}:{value}", json!(name)))?,
            Err(error) => {
                let (kind, message) = (json!(error.kind().name()), json!(error.to_string()));
                write!(f, ",\"error\":{{\"kind\":{kind},\"message\":{message}}}")?;
            }
        }
        match &self.mismatch {
            Some(mismatch) if self.reply.is_ok() => write!(f, ",\"mismatch\":{}}}", json!(mismatch)),
            _ => f.write_str("}"),
        }
    }
}

fn differs(fields: &Reply, wanted: &Map<String, Json>) -> Option<String> {
    wanted.iter().find_map(|(name, value)| match fields.iter().find(|(n, _)| n == name) {
        Some((_, got)) if got == value => None,
        Some(_) => Some(format!("expected {name} {value}")),
        None => Some(format!("expected {name} {value}, which the answer lacks")),
    })
}
