//! The file of the counts that are kept.

use std::collections::BTreeMap;

const HEADER: &str = "\
# Instructions of the hot loops: name, operations, instructions in all. `cargo xtask counts` compares with them;
# `cargo xtask counts --update` rewrites this file. A commit that lets one grow says why.
";

/// What one loop took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Count {
    pub operations: u64,
    pub instructions: u64,
}

impl Count {
    pub fn per_operation(self) -> f64 {
        self.instructions as f64 / self.operations as f64
    }
}

/// Counts, and what they were made with: other tools give other counts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Baseline {
    pub made_with: Vec<String>,
    pub counts: BTreeMap<String, Count>,
}

impl Baseline {
    pub fn render(&self) -> String {
        let tools = self.made_with.iter().map(|tool| format!("with {tool}\n"));
        let counts = self
            .counts
            .iter()
            .map(|(name, Count { operations, instructions })| format!("{name} {operations} {instructions}\n"));
        HEADER.to_owned() + &tools.chain(counts).collect::<String>()
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let mut baseline = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            if let Some(tool) = line.strip_prefix("with ") {
                baseline.made_with.push(tool.trim().to_owned());
                continue;
            }
            let (name, count) = count(line).ok_or_else(|| format!("not `name operations instructions`: {line}"))?;
            if baseline.counts.insert(name.to_owned(), count).is_some() {
                return Err(format!("{name} stands there twice"));
            }
        }
        Ok(baseline)
    }
}

fn count(line: &str) -> Option<(&str, Count)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let mut number = || words.next()?.parse::<u64>().ok().filter(|&n| n > 0);
    let count = Count { operations: number()?, instructions: number()? };
    words.next().is_none().then_some((name, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rendered_is_parsed() {
        let baseline = Baseline {
            made_with: vec!["rustc 1.95.0 (59807616e 2026-04-14)".to_owned(), "glibc 2.36".to_owned()],
            counts: [("put", 4_000, 41_919_226), ("seek_50", 200, 7)]
                .map(|(name, operations, instructions)| (name.to_owned(), Count { operations, instructions }))
                .into(),
        };
        assert_eq!(Baseline::parse(&baseline.render()), Ok(baseline));
    }

    #[test]
    fn a_line_that_says_something_else_is_a_fault() {
        for line in ["put", "put 1", "put 1 2 3", "put 0 5", "put 5 0", "put 1 -2", "put many 2", "put 1 2\nput 1 2"] {
            assert!(Baseline::parse(line).is_err(), "{line}");
        }
    }
}
