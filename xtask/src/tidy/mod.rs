//! House rules that neither rustfmt nor clippy knows.
//!
//! Each submodule holds one group of rules over one [`Source`]; [`ratchet`] holds the counts that may fall but not rise.
//! Rules about size and style are for product code; rules about unsafe code and about the text itself are for tests as well.

mod names;
mod ratchet;
mod size;
mod text;
mod unsafety;

use std::fs;
use std::path::Path;

use crate::source::{Finding, Source};

/// Where the counts are kept.
const RATCHET: &str = "xtask/ratchet.txt";

/// Checks `sources` against every rule, and the counts against the file that keeps them. Counts that fell are told in `notes`.
pub(crate) fn check(root: &Path, sources: &[Source], notes: &mut Vec<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        text::check(source, &mut findings);
        if source.is_rust() {
            names::check(source, &mut findings);
            size::check(source, &mut findings);
            unsafety::check(source, &mut findings);
        }
    }
    let fault = |text| Finding { path: RATCHET.to_owned(), line: 0, text };
    match fs::read_to_string(root.join(RATCHET)) {
        Ok(kept) => {
            let found = ratchet::compare(&kept, &ratchet::count(sources));
            findings.extend(found.faults.into_iter().map(fault));
            notes.extend(found.gains.iter().map(|gain| format!("{gain}: keep it with `cargo xtask tidy --update`")));
        }
        Err(error) => findings.push(fault(format!("cannot be read: {error}"))),
    }
    findings.sort();
    findings
}

/// Writes the present counts to the file that keeps them.
pub(crate) fn update(root: &Path, sources: &[Source]) -> Result<(), String> {
    let path = root.join(RATCHET);
    fs::write(&path, ratchet::render(&ratchet::count(sources))).map_err(|error| format!("{RATCHET}: {error}"))
}

/// The findings of one rule over one file, for the tests of the rules.
#[cfg(test)]
fn findings(rule: fn(&Source, &mut Vec<Finding>), path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    rule(&Source::new(path, text), &mut findings);
    findings.into_iter().map(|finding| format!("{}: {}", finding.line, finding.text)).collect()
}
