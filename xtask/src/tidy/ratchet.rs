//! Counts that may fall but not rise unless somebody edits the file that keeps them, and defends that in review.

use std::collections::BTreeMap;

use super::unsafety::{Kind, pieces};
use crate::source::{Source, attributes, words};

/// From this many lines on, a product file is on its way to being too long.
const LONG_FILE_LINES: usize = 400;

pub(super) type Counts = BTreeMap<String, usize>;

const HEADER: &str = "\
# Counts that may not rise. `cargo xtask tidy` compares them; `cargo xtask tidy --update` rewrites this file.
# A commit that raises one says why.
";

pub(super) fn count(sources: &[Source]) -> Counts {
    let (mut unsafe_pieces, mut exceptions, mut long_files) = (0, 0, 0);
    for source in sources.iter().filter(|source| source.is_rust()) {
        unsafe_pieces += pieces(source).filter(|&(_, kind)| kind == Kind::Promise).count();
        exceptions += attributes(&source.code).filter(|(_, inside)| is_exception(&source.code[inside.clone()])).count();
        long_files += usize::from(!source.is_test_file() && source.text.lines().count() > LONG_FILE_LINES);
    }
    [("files_over_400_lines", long_files), ("lint_exceptions", exceptions), ("unsafe_blocks", unsafe_pieces)]
        .map(|(name, count)| (name.to_owned(), count))
        .into()
}

/// Whether an attribute silences a lint, directly or under a condition.
fn is_exception(attribute: &str) -> bool {
    ["allow", "expect"]
        .iter()
        .any(|word| words(attribute, word).any(|at| attribute[at + word.len()..].starts_with('(')))
}

pub(super) fn render(counts: &Counts) -> String {
    counts.iter().fold(HEADER.to_owned(), |text, (name, count)| text + &format!("{name} = {count}\n"))
}

/// How the present counts stand to the kept ones.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Comparison {
    /// What must be mended, or the file edited.
    pub faults: Vec<String>,
    /// What fell and could be kept there.
    pub gains: Vec<String>,
}

/// Compares `counts` with the `kept` text.
pub(super) fn compare(kept: &str, counts: &Counts) -> Comparison {
    let mut limits = Counts::new();
    let mut found = Comparison::default();
    for line in kept.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let pair = line.split_once('=').and_then(|(name, limit)| Some((name.trim(), limit.trim().parse().ok()?)));
        match pair {
            Some((name, limit)) => _ = limits.insert(name.to_owned(), limit),
            None => found.faults.push(format!("not `name = number`: {line}")),
        }
    }
    for (name, count) in counts {
        match limits.get(name) {
            None => found.faults.push(format!("`{name}` is missing; it is {count}")),
            Some(limit) if count > limit => found.faults.push(format!("`{name}` rose from {limit} to {count}")),
            Some(limit) if count < limit => found.gains.push(format!("`{name}` fell from {limit} to {count}")),
            Some(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Counts {
        count(&[Source::new("src/a.rs", text)])
    }

    #[test]
    fn the_three_counts_are_taken() {
        let text = "#![allow(a)]\n#[expect(b, reason = \"c\")]\n#[cfg_attr(test, allow(d))]\nx.expect(\"e\");\n\
                    unsafe { f }\nunsafe impl A for B {}\nunsafe fn g() {}\n";
        let found = counts(&format!("{text}{}", "\n".repeat(400)));
        assert_eq!(found["lint_exceptions"], 3);
        assert_eq!(found["unsafe_blocks"], 2);
        assert_eq!(found["files_over_400_lines"], 1);
        assert_eq!(counts(&"\n".repeat(400))["files_over_400_lines"], 0);
    }

    #[test]
    fn what_is_rendered_is_accepted() {
        let found = counts("unsafe { f }");
        assert_eq!(compare(&render(&found), &found), Comparison::default());
    }

    #[test]
    fn a_rise_is_refused_and_a_fall_is_told() {
        let (less, more) = (counts(""), counts("unsafe { f }"));
        assert_eq!(compare(&render(&less), &more).faults, ["`unsafe_blocks` rose from 0 to 1"]);
        let fell = compare(&render(&more), &less);
        assert_eq!((fell.faults.len(), fell.gains.len()), (0, 1));
    }

    #[test]
    fn missing_and_broken_lines_are_refused() {
        assert_eq!(compare("", &counts("")).faults.len(), 3);
        let text = render(&counts("")) + "unsafe_blocks: many\n";
        assert_eq!(compare(&text, &counts("")).faults.len(), 1);
    }
}
