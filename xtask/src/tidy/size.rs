//! How long a product file and a function may be.

use crate::source::{Finding, Source, closing, first_word, words};

/// A file beyond this holds more than one idea.
const FILE_LINES: usize = 500;
/// A function beyond this does not fit on a screen.
const FUNCTION_LINES: usize = 70;

pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    if source.is_test_file() {
        return;
    }
    let lines = source.text.lines().count();
    if lines > FILE_LINES {
        findings.push(source.line(0, format!("{lines} lines; a file has at most {FILE_LINES}")));
    }
    for at in words(&source.code, "fn").filter(|&at| !source.is_test(at)) {
        let Some((name, end)) = function(&source.code, at) else { continue };
        let lines = source.line_of(end) - source.line_of(at) + 1;
        if lines > FUNCTION_LINES {
            findings
                .push(source.at(at, format!("`{name}` has {lines} lines; a function has at most {FUNCTION_LINES}")));
        }
    }
}

/// The name and the end of the function whose `fn` stands at `at`; `None` for a pointer type or a declaration without a body.
fn function(code: &str, at: usize) -> Option<(&str, usize)> {
    let tail = &code[at + "fn".len()..];
    let name = first_word(tail.trim_start().trim_start_matches('$'));
    if name.is_empty() {
        return None;
    }
    let mut here = at;
    loop {
        match code.as_bytes().get(here)? {
            b'{' => return Some((name, closing(code, here))),
            b'(' | b'[' => here = closing(code, here),
            b';' => return None,
            _ => {}
        }
        here += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::check;

    fn function_of(lines: usize) -> String {
        format!("fn long<'a>(x: &'a [u8; 4]) -> char {{\n{}    '}}'\n}}\n", "    // }\n".repeat(lines - 3))
    }

    #[test]
    fn a_function_of_70_lines_passes_and_one_of_71_does_not() {
        assert_eq!(findings(check, "src/a.rs", &function_of(70)), [""; 0]);
        assert_eq!(
            findings(check, "src/a.rs", &function_of(71)),
            ["1: `long` has 71 lines; a function has at most 70"]
        );
    }

    #[test]
    fn a_file_of_500_lines_passes_and_one_of_501_does_not() {
        assert_eq!(findings(check, "src/a.rs", &"\n".repeat(500)), [""; 0]);
        assert_eq!(findings(check, "src/a.rs", &"\n".repeat(501)).len(), 1);
    }

    #[test]
    fn tests_may_be_long() {
        let text = function_of(600);
        assert_eq!(findings(check, "src/a/tests.rs", &text), [""; 0]);
        let inside = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function_of(100));
        assert_eq!(findings(check, "src/a.rs", &inside), [""; 0]);
    }

    #[test]
    fn pointers_and_declarations_have_no_body() {
        let text = format!("trait T {{ fn f(x: fn(u8) -> u8, y: [u8; {{ 3 }}]) -> u8; }}\n{}", "\n".repeat(100));
        assert_eq!(findings(check, "src/a.rs", &text), [""; 0]);
    }
}
