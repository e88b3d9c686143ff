//! The files of the repository, and what a check needs to know about one of them.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::mask;

/// A fault found by a check.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Relative to the root, with forward slashes.
    pub path: String,
    /// From 1; 0 where the whole file is meant.
    pub line: usize,
    pub text: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.text),
            line => write!(f, "{}:{line}: {}", self.path, self.text),
        }
    }
}

/// A text file. Of a file that is not Rust, `code` and `comments` are empty.
pub(crate) struct Source {
    /// Relative to the root, with forward slashes.
    pub path: String,
    pub text: String,
    pub code: String,
    pub comments: String,
    line_starts: Vec<usize>,
    test_items: Vec<Range<usize>>,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let parts = if path.ends_with(".rs") { text } else { "" };
        let parts = mask::split(parts);
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let test_items = test_items(&parts.code);
        let (path, text) = (path.to_owned(), text.to_owned());
        Self { path, text, code: parts.code, comments: parts.comments, line_starts, test_items }
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole file is tests: it is named `tests.rs` or lies under a folder `tests`.
    pub fn is_test_file(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    /// Whether the code at `offset` is compiled for tests only. An item under `#[cfg(test)]` counts, and nothing that follows
    /// it: otherwise one such line near the top would hide a whole file.
    pub fn is_test(&self, offset: usize) -> bool {
        self.is_test_file() || self.test_items.iter().any(|item| item.contains(&offset))
    }

    /// The number of the line, from 1, in which `offset` lies.
    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }

    pub fn at(&self, offset: usize, text: impl Into<String>) -> Finding {
        self.line(self.line_of(offset), text)
    }

    pub fn line(&self, line: usize, text: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, text: text.into() }
    }
}

/// The offsets at which `word` stands as a whole word.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |&at| !code[..at].ends_with(mask::is_word) && !code[at + word.len()..].starts_with(mask::is_word))
}

/// The word that `code` starts with, after blanks; empty where there is none.
pub(crate) fn first_word(code: &str) -> &str {
    let code = code.trim_start();
    &code[..code.find(|c| !mask::is_word(c)).unwrap_or(code.len())]
}

/// The offset of the bracket that closes the one at `open`; the end of the code where none does.
pub(crate) fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// The attributes of `code`: where each starts and the offsets of what stands between its brackets.
pub(crate) fn attributes(code: &str) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
    code.match_indices('#').filter_map(move |(at, _)| {
        let tail = &code[at + 1..];
        let open = at + 1 + usize::from(tail.starts_with('!'));
        code[open..].starts_with('[').then(|| (at, open + 1..closing(code, open)))
    })
}

fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut items = Vec::new();
    for (start, inside) in attributes(code) {
        let condition: String = code[inside.clone()].split_whitespace().collect();
        if !(condition == "cfg(test)" || condition.starts_with("cfg(all(test,")) {
            continue;
        }
        let whole_file = code[start..].starts_with("#!");
        items.push(start..if whole_file { code.len() } else { item_end(code, inside.end + 1) });
    }
    items
}

/// Where the item, field or statement ends that starts at or after `from`.
fn item_end(code: &str, from: usize) -> usize {
    let mut at = from + code[from..].len() - code[from..].trim_start().len();
    while code[at..].starts_with("#[") {
        at = closing(code, at + 1) + 1;
        at += code[at..].len() - code[at..].trim_start().len();
    }
    // A comma ends a field or a variant, but stands inside the generics of an item.
    let is_item = matches!(
        first_word(&code[at..]),
        "pub"
            | "fn"
            | "impl"
            | "mod"
            | "use"
            | "struct"
            | "enum"
            | "trait"
            | "type"
            | "const"
            | "static"
            | "unsafe"
            | "async"
    );
    let bytes = code.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'{' => return (closing(code, at) + 1).min(code.len()),
            b'(' | b'[' => at = closing(code, at),
            b';' => return at + 1,
            b',' if !is_item => return at + 1,
            b'}' => return at,
            _ => {}
        }
        at += 1;
    }
    code.len()
}

/// Reads every text file below `root` that the checks look at, sorted by path.
pub(crate) fn read_all(root: &Path) -> io::Result<Vec<Source>> {
    let mut sources = Vec::new();
    walk(root, "", &mut sources)?;
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn walk(folder: &Path, prefix: &str, sources: &mut Vec<Source>) -> io::Result<()> {
    // Cargo marks its output folders, whatever they are called.
    if folder.join("CACHEDIR.TAG").exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && name != ".git" && name != "target" {
            walk(&entry.path(), &format!("{path}/"), sources)?;
        } else if kind.is_file() && is_text(&path) {
            sources.push(Source::new(&path, &fs::read_to_string(entry.path())?));
        }
    }
    Ok(())
}

fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path == ".ci/run"
        || name == ".gitignore"
        || name.rsplit_once('.').is_some_and(|(_, end)| {
            ["rs", "toml", "md", "sh", "py", "yml", "yaml", "txt", "json", "jsonl"].contains(&end)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tested(text: &str, word: &str) -> bool {
        let source = Source::new("src/a.rs", text);
        let at = words(&source.code, word).next().expect("the word is there");
        source.is_test(at)
    }

    #[test]
    fn an_item_under_cfg_test_is_test_code_and_what_follows_is_not() {
        let text = "fn a() {}\n#[cfg(test)]\n#[path = \"x\"]\nmod tests { fn b() {} }\nfn c() {}";
        assert!(!tested(text, "a"));
        assert!(tested(text, "b"));
        assert!(!tested(text, "c"));
        assert!(!tested("#[cfg(test)]\nmod tests;\nfn c() {}", "c"));
        assert!(!tested("struct S { #[cfg(test)] b: Vec<(u8, u8)>, c: u8 }", "c"));
        assert!(!tested("struct S { c: u8, #[cfg(test)] b: u8 } struct T { d: u8 }", "d"));
    }

    #[test]
    fn generics_do_not_end_a_test_item() {
        assert!(tested("#[cfg(test)] impl<A, B> X<A, B> { fn b() {} }", "b"));
    }

    #[test]
    fn other_conditions_are_product_code() {
        assert!(!tested("#[cfg(not(test))] fn b() {}", "b"));
        assert!(!tested("#[cfg(any(test, unix))] fn b() {}", "b"));
        assert!(tested("#[cfg(all(test, unix))] fn b() {}", "b"));
        assert!(tested("#![cfg(test)]\nfn b() {}", "b"));
    }

    #[test]
    fn test_files_are_known_by_their_path() {
        for (path, expected) in [("a/tests.rs", true), ("a/tests/b.rs", true), ("a/contests.rs", false)] {
            assert_eq!(Source::new(path, "").is_test_file(), expected, "{path}");
        }
    }

    #[test]
    fn lines_count_from_one() {
        let source = Source::new("a.rs", "a\nb\n");
        assert_eq!((source.line_of(0), source.line_of(1), source.line_of(2)), (1, 1, 2));
    }
}
