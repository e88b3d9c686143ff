//! Reads what the test harness prints, and counts.
//!
//! A test that cannot do its work here (no root, no loop device) prints a line that starts with `SKIPPED` and returns. The harness
//! takes it as passed; it counts as skipped and not as passed here, however many such lines it prints.

use std::fmt;

/// How many tests went which way.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Tally {
    /// Whether something ran and nothing failed.
    pub fn good(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

pub(super) fn is_skip(line: &str) -> bool {
    line.starts_with("SKIPPED")
}

/// The part of the harness's output that a line belongs to.
#[derive(Default, PartialEq)]
enum Part {
    /// The list of tests as they end, and the result.
    #[default]
    Report,
    /// What passing tests printed, and their names.
    Successes,
    /// What failing tests printed, and their names.
    Failures,
}

/// Follows the output of `cargo test -- --show-output`.
#[derive(Default)]
pub(super) struct Reader {
    tally: Tally,
    part: Part,
    /// Tests that said they skipped their work; the harness counts them as passed.
    skips: u64,
    /// Whether the test whose output is being read is already among them.
    counted: bool,
}

impl Reader {
    /// Takes a line; returns whether it is worth showing. What passing tests print is not, but for the reason of a skip.
    pub fn line(&mut self, line: &str) -> bool {
        let skip = is_skip(line);
        if line == "successes:" {
            self.part = Part::Successes;
        } else if line == "failures:" {
            self.part = Part::Failures;
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.part = Part::Report;
            self.tally.passed += number_before(result, " passed");
            self.tally.failed += number_before(result, " failed");
            self.tally.skipped += number_before(result, " ignored");
        } else if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            self.counted = false;
        } else if skip && self.part == Part::Report {
            // The caller asked for output as it comes, and whose it is cannot be told.
            self.skips += 1;
        } else if skip && self.part == Part::Successes && !self.counted {
            self.counted = true;
            self.skips += 1;
        }
        self.part != Part::Successes || skip
    }

    pub fn finish(self) -> Tally {
        let Tally { passed, failed, skipped } = self.tally;
        Tally { passed: passed.saturating_sub(self.skips), failed, skipped: skipped + self.skips }
    }
}

fn number_before(text: &str, word: &str) -> u64 {
    let Some((before, _)) = text.split_once(word) else { return 0 };
    let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    before[before.len() - digits..].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> (Tally, Vec<&str>) {
        let mut reader = Reader::default();
        let shown = output.lines().filter(|line| reader.line(line)).collect();
        (reader.finish(), shown)
    }

    #[test]
    fn the_results_of_all_programs_are_summed() {
        let (tally, _) = read(
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s\n\
             test result: FAILED. 11 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s\n",
        );
        assert_eq!(tally.to_string(), "16 passed, 2 failed, 1 skipped");
        assert!(!tally.good());
    }

    #[test]
    fn a_test_that_says_so_is_skipped_once_and_not_passed() {
        let output = "test a ... ok\ntest b ... ok\n\nsuccesses:\n\n---- a stdout ----\nchatter\nSKIPPED: no loop device\n\
                      SKIPPED: no root\n\n---- b stdout ----\nSKIPPED: no root\n\nsuccesses:\n    a\n    b\n\n\
                      test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let (tally, shown) = read(output);
        assert_eq!(tally, Tally { passed: 1, failed: 0, skipped: 2 });
        assert!(!shown.contains(&"chatter") && shown.contains(&"SKIPPED: no loop device"), "{shown:?}");
        assert!(shown.last().is_some_and(|line| line.starts_with("test result")));
    }

    #[test]
    fn what_failing_tests_print_is_shown() {
        let output = "successes:\n\n---- a stdout ----\nchatter\n\nfailures:\n\n---- b stdout ----\nreason\n\nfailures:\n    b\n";
        let (_, shown) = read(output);
        assert!(shown.contains(&"reason") && !shown.contains(&"chatter"), "{shown:?}");
    }

    #[test]
    fn a_failed_test_is_not_skipped_whatever_it_says() {
        let result = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        let (tally, _) =
            read(&format!("failures:\n\n---- a stdout ----\nSKIPPED: half\n\nfailures:\n    a\n\n{result}\n"));
        assert_eq!(tally, Tally { passed: 1, failed: 1, skipped: 0 });
    }

    #[test]
    fn skips_in_uncaptured_output_count_by_line() {
        let result = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let (tally, _) = read(&format!("SKIPPED: a\ntest a ... ok\nSKIPPED: b\ntest b ... ok\n{result}\n"));
        assert_eq!(tally, Tally { passed: 1, failed: 0, skipped: 2 });
    }

    #[test]
    fn nothing_run_is_not_good() {
        assert!(!Tally::default().good());
        assert!(!read("test result: ok. 0 passed; 0 failed; 9 ignored; 0 measured; 0 filtered out").0.good());
        assert!(Tally { passed: 1, failed: 0, skipped: 3 }.good());
    }
}
