//! The comparison of two sets of counts, and its verdict.

use std::fmt::Write as _;

use super::baseline::{Baseline, Count};

/// By how much a loop may grow before the check fails. Wide: a step that pays elsewhere may cost a little here, and the table shows
/// it; what has doubled did so by mistake.
const MOST_GROWTH_PERCENT: f64 = 25.0;

/// A table of instructions for each operation, and whether nothing grew too much. Counts that were made with other tools are shown
/// and do not count.
pub(super) fn compare(kept: &Baseline, now: &Baseline) -> (String, bool) {
    let comparable = kept.made_with == now.made_with;
    let mut text = format!("{:<20} {:>12} {:>12} {:>10}\n", "instructions per", "baseline", "now", "change");
    let mut grown = Vec::new();
    for (name, count) in &now.counts {
        let change = match kept.counts.get(name) {
            None => "new".to_owned(),
            Some(before) => {
                let percent = 100.0 * (count.per_operation() / before.per_operation() - 1.0);
                if percent > MOST_GROWTH_PERCENT {
                    grown.push(name.as_str());
                }
                format!("{:+.1} %", if percent.abs() < 0.05 { 0.0 } else { percent })
            }
        };
        row(&mut text, name, kept.counts.get(name), Some(count), &change);
    }
    for (name, count) in kept.counts.iter().filter(|(name, _)| !now.counts.contains_key(*name)) {
        row(&mut text, name, Some(count), None, "gone");
    }
    if !comparable {
        let (kept, now) = (kept.made_with.join(", "), now.made_with.join(", "));
        let _ = writeln!(
            text,
            "the baseline was made with {kept};\nthis is {now}: a change shown here need not be one of the code"
        );
    } else if !grown.is_empty() {
        let grown = grown.join(", ");
        let _ = writeln!(
            text,
            "FAILED: grown by more than {MOST_GROWTH_PERCENT} %: {grown}; if it has to be, `cargo xtask counts --update`"
        );
    }
    (text, !comparable || grown.is_empty())
}

/// One line of the table. Writing to a string does not fail.
fn row(text: &mut String, name: &str, kept: Option<&Count>, now: Option<&Count>, change: &str) {
    let number = |count: Option<&Count>| count.map_or_else(|| "-".to_owned(), |c| format!("{:.1}", c.per_operation()));
    let _ = writeln!(text, "{name:<20} {:>12} {:>12} {change:>10}", number(kept), number(now));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(tool: &str, counts: &[(&str, u64)]) -> Baseline {
        let counts =
            counts.iter().map(|&(name, instructions)| (name.to_owned(), Count { operations: 10, instructions }));
        Baseline { made_with: vec![tool.to_owned()], counts: counts.collect() }
    }

    fn changes(text: &str) -> Vec<&str> {
        text.lines().filter(|line| line.starts_with("loop_")).filter_map(|line| line.get(46..).map(str::trim)).collect()
    }

    #[test]
    fn growth_within_the_limit_and_any_fall_pass() {
        let kept = counts("a", &[("loop_a", 1000), ("loop_b", 1000), ("loop_c", 1000)]);
        let (text, good) = compare(&kept, &counts("a", &[("loop_a", 1250), ("loop_b", 100), ("loop_c", 1000)]));
        assert!(good, "{text}");
        assert_eq!(changes(&text), ["+25.0 %", "-90.0 %", "+0.0 %"], "{text}");
    }

    #[test]
    fn growth_beyond_the_limit_fails_and_is_named() {
        let kept = counts("a", &[("loop_a", 1000), ("loop_b", 1000)]);
        let (text, good) = compare(&kept, &counts("a", &[("loop_a", 1260), ("loop_b", 1000)]));
        assert!(!good && text.contains("FAILED: grown by more than 25 %: loop_a;"), "{text}");
    }

    #[test]
    fn growth_under_other_tools_is_shown_and_passes() {
        let (text, good) = compare(&counts("a", &[("loop_a", 1000)]), &counts("b", &[("loop_a", 3000)]));
        assert!(good && text.contains("made with a;\nthis is b"), "{text}");
        assert_eq!(changes(&text), ["+200.0 %"], "{text}");
    }

    #[test]
    fn more_operations_are_not_growth() {
        let kept = counts("a", &[("loop_a", 1000)]);
        let mut now = counts("a", &[("loop_a", 4000)]);
        now.counts.values_mut().for_each(|count| count.operations = 40);
        let (text, good) = compare(&kept, &now);
        assert!(good, "{text}");
        assert_eq!(changes(&text), ["+0.0 %"], "{text}");
    }

    #[test]
    fn loops_that_came_or_went_are_shown() {
        let (text, good) = compare(&counts("a", &[("loop_a", 1000)]), &counts("a", &[("loop_b", 1000)]));
        assert!(good, "{text}");
        assert_eq!(changes(&text), ["new", "gone"], "{text}");
    }
}
