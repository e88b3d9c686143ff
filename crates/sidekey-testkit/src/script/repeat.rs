//! `repeat`: lines run over and over with the number of the round in them.

use super::answer::Reply;
use super::fields::{Fields, invalid};
use super::runner::Runner;
use super::text::substitute;
use serde_json::value::RawValue;
use sidekey::Error;

impl Runner {
    /// Runs every line of every round, also after one that failed, and answers with the first failure, if any.
    pub(super) fn repeat(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let times: u64 = fields.required("times")?;
        let ops: Vec<Box<RawValue>> = fields.required("ops")?;
        fields.finish()?;
        for op in &ops {
            let name: Option<String> = Fields::parse(op.get())?.optional("op")?;
            if name.as_deref() == Some("repeat") {
                return Err(invalid("'repeat' cannot hold another 'repeat'"));
            }
        }
        let mut failed = 0_u64;
        let mut first = None;
        for round in 0..times {
            for op in &ops {
                let line = substitute(op.get(), round);
                let answer = self.answer(&line);
                if let Some(mismatch) = answer.mismatch() {
                    failed += 1;
                    first.get_or_insert_with(|| format!("round {round}: {line}: {mismatch}: {answer}"));
                }
            }
        }
        match first {
            None => Ok(vec![("times", times.into())]),
            Some(first) => Err(invalid(format!("{failed} lines failed; the first: {first}"))),
        }
    }
}
