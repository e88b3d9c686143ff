//! What may not stand in the text of a file: leftovers, dropped errors, overlong lines, names of a private machine, module roots
//! without a word about themselves.

use crate::mask::is_word;
use crate::source::{Finding, Source, words};

const COLUMNS: usize = 150;

/// Marks of unfinished work, in comments and code.
const MARKS: &[&str] = &["TODO", "FIXME", "HACK"];
/// Macros of unfinished work.
const STUBS: &[&str] = &["todo", "unimplemented"];

/// Top-level folders in which somebody's own files live. A path into one of them works on that machine only.
const PRIVATE: &[&str] = &["home", "tmp", "work", "workspace", "root", "Users", "mnt", "scratch"];

pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    lines(source, findings);
    if source.is_rust() {
        leftovers(source, findings);
        dropped_errors(source, findings);
        root_document(source, findings);
    }
}

fn lines(source: &Source, findings: &mut Vec<Finding>) {
    // Tables in documents and recorded data do not wrap.
    let wraps = !source.path.ends_with(".md") && !source.path.ends_with(".json") && !source.path.ends_with(".jsonl");
    for (number, line) in (1..).zip(source.text.lines()) {
        if line.ends_with([' ', '\t']) {
            findings.push(source.line(number, "blanks at the end of the line"));
        }
        if line.contains('\t') {
            findings.push(source.line(number, "a tab"));
        }
        let columns = line.chars().count();
        if wraps && columns > COLUMNS {
            findings.push(source.line(number, format!("{columns} columns; a line has at most {COLUMNS}")));
        }
        if let Some(path) = private_path(line) {
            findings.push(source.line(number, format!("`/{path}` exists on somebody's machine only")));
        }
    }
    if !source.text.is_empty() && !source.text.ends_with('\n') {
        findings.push(source.line(0, "no line break at the end of the file"));
    }
}

/// The private folder that `line` names by an absolute path.
fn private_path(line: &str) -> Option<&'static str> {
    line.match_indices('/').find_map(|(at, _)| {
        let relative =
            line[..at].ends_with(|c: char| is_word(c) || "-.~$)}]*<>/".contains(c)) && !line[..at].ends_with("://");
        let tail = &line[at + 1..];
        let name = PRIVATE.iter().copied().find(|name| {
            tail.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| is_word(c) || c == '-'))
        });
        name.filter(|_| !relative)
    })
}

fn leftovers(source: &Source, findings: &mut Vec<Finding>) {
    for mark in MARKS {
        for at in words(&source.comments, mark).chain(words(&source.code, mark)) {
            findings.push(source.at(at, format!("`{mark}`: finish it, or write an issue")));
        }
    }
    for stub in STUBS {
        for at in words(&source.code, stub).filter(|at| source.code[at + stub.len()..].starts_with("!(")) {
            findings.push(source.at(at, format!("`{stub}!`: a stub")));
        }
    }
}

/// Finds statements that turn an error into nothing.
fn dropped_errors(source: &Source, findings: &mut Vec<Finding>) {
    let code = &source.code;
    for (at, call) in code.match_indices(".ok()").filter(|&(at, _)| !source.is_test(at)) {
        if code[at + call.len()..].trim_start().starts_with(';') && is_dropped(statement(code, at)) {
            findings.push(source.at(at, "`.ok();` drops an error: handle it, or say with `if let Err(…)` why not"));
        }
    }
}

/// Whether the statement that starts with `text` does nothing with its value.
fn is_dropped(text: &str) -> bool {
    if let Some(binding) = text.strip_prefix("let ") {
        return binding.trim_start().starts_with("_ ");
    }
    let used = ["return", "break", "const", "static"].iter().any(|word| words(text, word).next() == Some(0));
    !used && !text.contains(" = ")
}

/// The part of the statement before `end`.
fn statement(code: &str, end: usize) -> &str {
    let mut depth = 0usize;
    let mut start = 0;
    for (at, byte) in code.bytes().enumerate().take(end).collect::<Vec<_>>().into_iter().rev() {
        match byte {
            // A block that nothing is called on is a statement before this one.
            b'}' if depth == 0 && !code[at + 1..].trim_start().starts_with(['.', '?']) => {
                start = at + 1;
                break;
            }
            b')' | b']' | b'}' => depth += 1,
            b'(' | b'[' | b'{' if depth > 0 => depth -= 1,
            b';' | b'(' | b'[' | b'{' if depth == 0 => {
                start = at + 1;
                break;
            }
            _ => {}
        }
    }
    code[start..end].trim_start()
}

/// A crate's or a folder's root file starts with its purpose.
fn root_document(source: &Source, findings: &mut Vec<Finding>) {
    let path = &source.path;
    let is_root = ["/mod.rs", "src/lib.rs", "src/main.rs", "build.rs"].iter().any(|end| path.ends_with(end))
        || ["/examples/", "/benches/", "/bin/"].iter().any(|folder| path.contains(folder));
    let first = source.text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("#!"));
    if is_root && !first.is_some_and(|line| line.starts_with("//!")) {
        findings.push(source.line(1, "a module root starts with a `//!` document: what it is for"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::{PRIVATE, check};

    fn count(path: &str, text: &str) -> usize {
        let found = findings(check, path, text);
        found.len()
    }

    #[test]
    fn unfinished_work_is_found_in_code_and_comments_but_not_in_literals() {
        for mark in ["TODO", "FIXME", "HACK"] {
            assert_eq!(count("src/a.rs", &format!("// {mark}: later\n")), 1);
            assert_eq!(count("src/a.rs", &format!("const A: &str = \"{mark}\"; // {mark}S, HACKNEY\n")), 0);
        }
        for stub in ["todo", "unimplemented"] {
            assert_eq!(count("src/a.rs", &format!("fn f() {{ {stub}!() }}\n")), 1);
            assert_eq!(count("src/a.rs", &format!("fn {stub}() {{}} // {stub}\n")), 0);
        }
    }

    #[test]
    fn dropped_errors_are_found() {
        for text in [
            "f().ok();",
            "let _ = f().ok();",
            "if a { b } f(|x| { x; }).ok();",
            "x.y(1)\n        .ok();",
            "match a { _ => b }.ok();",
        ] {
            assert_eq!(count("src/a.rs", &format!("fn g() {{ {text} }}\n")), 1, "{text}");
            assert_eq!(count("src/tests.rs", &format!("fn g() {{ {text} }}\n")), 0, "{text}");
        }
    }

    #[test]
    fn used_results_pass() {
        for text in [
            "let x = f().ok();",
            "self.x = f().ok();",
            "return f().ok();",
            "f().ok()",
            "let Some(x) = f().ok() else { return };",
        ] {
            assert_eq!(count("src/a.rs", &format!("fn g() {{ {text} }}\n")), 0, "{text}");
        }
    }

    #[test]
    fn blanks_tabs_long_lines_and_missing_ends_are_found() {
        assert_eq!(count("a.toml", "a \n"), 1);
        assert_eq!(count("a.md", "a\tb\n"), 1);
        assert_eq!(count("a.md", "a"), 1);
        assert_eq!(count("src/a.rs", &format!("//{}\n", "é".repeat(148))), 0);
        assert_eq!(count("src/a.rs", &format!("//{}\n", "é".repeat(149))), 1);
        assert_eq!(count("a.md", &format!("{}\n", "x".repeat(200))), 0);
    }

    #[test]
    fn private_paths_are_found() {
        for name in PRIVATE {
            for text in [
                format!("/{name}/x"),
                format!("see `/{name}`."),
                format!("a=\"/{name}/y\""),
                format!("file:///{name}/z"),
            ] {
                assert_eq!(count("a.md", &format!("{text}\n")), 1, "{text}");
            }
            for text in
                [format!("target/{name}/x"), format!("~/{name}"), format!("/{name}place"), format!("/{name}-shop")]
            {
                assert_eq!(count("a.md", &format!("{text}\n")), 0, "{text}");
            }
        }
    }

    #[test]
    fn module_roots_need_a_document() {
        for path in ["src/lib.rs", "x/src/main.rs", "src/a/mod.rs", "x/examples/a.rs"] {
            assert_eq!(count(path, "use a;\n//! Late.\n"), 1, "{path}");
            assert_eq!(count(path, "\n#![expect(x)]\n//! Purpose.\nuse a;\n"), 0, "{path}");
        }
        assert_eq!(count("src/a.rs", "use a;\n"), 0);
    }
}
