//! What is printed when a run found something, so that it can be run again.

use crate::config::Config;
use crate::ops::{Op, script_of};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// A run that went wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed of the list.
    pub seed: u64,
    /// The configuration's name.
    pub config: String,
    /// What was wrong.
    pub what: String,
    /// The operations, reduced as far as it was possible.
    pub ops: Vec<Op>,
    script: String,
}

impl Failure {
    /// A failure of a list in a configuration.
    pub fn new(seed: u64, config: &Config, ops: &[Op], what: String) -> Self {
        let maintenance = config.physical_indexes(0).pop().map_or("validated".into(), |(_, m)| m.to_string());
        let settings = serde_json::to_value(&config.settings).unwrap_or_default();
        let script = script_of(ops, &maintenance, &settings);
        Self { seed, config: config.name.clone(), what, ops: ops.to_vec(), script }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "FAILED: seed {}, configuration '{}'", self.seed, self.config)?;
        writeln!(f, "{}", self.what)?;
        writeln!(f, "--- {} operations", self.ops.len())?;
        for (at, op) in self.ops.iter().enumerate() {
            let text = format!("{op:?}");
            writeln!(f, "{at:4} {}", text.chars().take(300).collect::<String>())?;
        }
        write!(f, "--- as a script\n{}", self.script)
    }
}

/// The time after which a run that should take a second has hung.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs something that may panic or hang. A panic becomes an error. A hang cannot be undone from outside: after a minute the
/// whole process ends, with what `about` says on its error output.
pub fn guarded<T>(about: &(dyn Fn() -> String + Sync), run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    std::thread::scope(|scope| {
        let (done, over) = mpsc::channel::<()>();
        scope.spawn(move || {
            if over.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                eprintln!("FAILED: no end after {LONGEST:?}\n{}", about());
                std::process::abort();
            }
        });
        let result = catch_unwind(AssertUnwindSafe(run));
        drop(done);
        result.unwrap_or_else(|panic| Err(format!("panicked: {}", message(&*panic))))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("with something that is no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_text() {
        let outcome = guarded::<()>(&String::new, || panic!("number {}", 5));
        assert_eq!(outcome, Err("panicked: number 5".to_owned()));
        assert_eq!(guarded(&String::new, || Ok(7)), Ok(7));
    }
}
