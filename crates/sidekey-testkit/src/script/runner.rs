//! Runs scripts line by line.

use super::answer::{Answer, Expectation, Reply};
use super::fields::{Fields, invalid};
use super::store::Store;
use serde_json::{Value as Json, json};
use sidekey::{Error, Settings, Target};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Lines that were run.
    pub lines: u64,
    /// Lines that failed: an unexpected error, or an answer other than the expected one.
    pub failed: u64,
}

/// Runs lines against at most one database at a time.
#[derive(Debug, Default)]
pub struct Runner {
    store: Option<Store>,
    line: u64,
}

impl Runner {
    /// A runner with nothing open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs all lines and writes an answer for each. Goes on after a failed line.
    ///
    /// # Errors
    /// Only those of the reader and the writer.
    pub fn run(&mut self, reader: impl BufRead, mut writer: impl Write) -> io::Result<Outcome> {
        let mut outcome = Outcome::default();
        for line in reader.lines() {
            if let Some(answer) = self.run_line(&line?) {
                writeln!(writer, "{answer}")?;
                outcome.lines += 1;
                outcome.failed += u64::from(answer.failed());
            }
        }
        writer.flush()?;
        Ok(outcome)
    }

    /// Runs one line; nothing for an empty line or a comment, which are counted all the same.
    pub fn run_line(&mut self, line: &str) -> Option<Answer> {
        self.line += 1;
        let text = line.trim();
        (!text.is_empty() && !text.starts_with('#')).then(|| self.answer(text))
    }

    pub(super) fn answer(&mut self, text: &str) -> Answer {
        let mut fields = match Fields::parse(text) {
            Ok(fields) => fields,
            Err(error) => return Answer::new(self.line, Err(error), &Expectation::default()),
        };
        match fields.expectation() {
            Ok(expectation) => {
                let reply = self.dispatch(fields);
                Answer::new(self.line, reply, &expectation)
            }
            Err(error) => Answer::new(self.line, Err(error), &Expectation::default()),
        }
    }

    fn dispatch(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let op: String = fields.required("op")?;
        match op.as_str() {
            "open" => self.open(fields),
            "repeat" => self.repeat(fields),
            _ => {
                let store = self.store.as_mut().ok_or_else(|| invalid("nothing is open; begin with 'open'"))?;
                store.dispatch(&op, fields)
            }
        }
    }

    fn open(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let path: Option<PathBuf> = fields.optional("path")?;
        let env: Option<String> = fields.optional("env")?;
        let settings = match fields.raw("settings") {
            Some(text) => Settings::from_json(&text)?,
            None => Settings::default(),
        };
        fields.unsupported("preset", &[])?;
        fields.finish()?;
        if let Some(store) = self.store.take() {
            store.close()?;
        }
        self.store = Some(Store::open(path, env.as_deref().unwrap_or("disk"), settings)?);
        Ok(Reply::new())
    }
}

impl Store {
    fn dispatch(&mut self, op: &str, fields: Fields) -> Result<Reply, Error> {
        match op {
            "collection" => self.choose_collection(fields),
            "create_index" => self.create_index(fields),
            "drop_index" => self.drop_index(fields),
            "put" => self.put(fields),
            "delete" => self.delete(fields),
            "put_if_absent" => self.put_if(fields, false),
            "put_if_present" => self.put_if(fields, true),
            "batch" => self.batch(fields),
            "get" => self.get(fields),
            "scan" => self.scan(fields),
            "lookup" => self.lookup(fields),
            "range" => self.range(fields),
            "count" => self.count(fields),
            "raw_entries" => self.raw_entries(fields),
            "snapshot" | "release" => self.name_snapshot(op, fields),
            "flush" | "compact" => self.rewrite(op, fields),
            "collect_garbage" => Err(Error::Unsupported("'collect_garbage' in this version".into())),
            "reopen" | "crash" | "sync" | "verify" | "stats" => {
                fields.finish()?;
                self.whole(op)
            }
            _ => Err(invalid(format!("unknown op '{op}'"))),
        }
    }

    fn choose_collection(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let name = fields.required("name")?;
        fields.unsupported("settings", &[json!({})])?;
        fields.unsupported("preset", &[])?;
        fields.finish()?;
        self.select(name)?;
        Ok(Reply::new())
    }

    fn name_snapshot(&mut self, op: &str, mut fields: Fields) -> Result<Reply, Error> {
        let name: String = fields.required("name")?;
        fields.finish()?;
        match op {
            "snapshot" => self.take_snapshot(name),
            _ => self.release_snapshot(&name)?,
        }
        Ok(Reply::new())
    }

    fn rewrite(&mut self, op: &str, mut fields: Fields) -> Result<Reply, Error> {
        let target: Option<String> = fields.optional("target")?;
        fields.finish()?;
        let target = match target.as_deref() {
            None | Some("all") => Target::All,
            Some("primary") => Target::Primary,
            Some("indexes") => Target::Indexes,
            Some(other) => return Err(invalid(format!("target is '{other}'; it must be all, primary or indexes"))),
        };
        match op {
            "flush" => self.db.flush(target)?,
            _ => self.db.compact(target)?,
        }
        Ok(Reply::new())
    }

    /// Operations without fields.
    fn whole(&mut self, op: &str) -> Result<Reply, Error> {
        match op {
            "reopen" => self.reopen()?,
            "crash" => self.crash()?,
            "sync" => self.db.sync()?,
            "verify" => {
                let findings: Vec<String> = self.db.verify()?.iter().map(ToString::to_string).collect();
                return Ok(vec![("findings", findings.into())]);
            }
            _ => return stats(&self.db.stats()),
        }
        Ok(Reply::new())
    }
}

fn stats(stats: &sidekey::Stats) -> Result<Reply, Error> {
    let json = serde_json::to_value(stats).map_err(|e| Error::Internal(format!("statistics as JSON: {e}")))?;
    Ok(vec![("stats", json)])
}

/// The keys of a list as an answer shows them.
pub(super) fn keys_json<'a>(keys: impl IntoIterator<Item = &'a Vec<u8>>) -> Json {
    keys.into_iter().map(|key| super::fields::key_json(key)).collect()
}
