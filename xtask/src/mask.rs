//! Splits Rust source into its code and its comments.
//!
//! Both parts keep the length and the line breaks of the source, with blanks in place of what does not belong to them, so that an
//! offset means the same in all three. The contents of literals are in neither. This is a scanner, not a parser: it knows just
//! enough of Rust (nested comments, raw strings, characters against lifetimes) for a brace or a word in a literal to mislead nobody.

/// The two parts of a source text.
pub(crate) struct Parts {
    pub code: String,
    pub comments: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// Splits `text` into code and comments of the same length.
pub(crate) fn split(text: &str) -> Parts {
    let mut parts = Parts { code: String::with_capacity(text.len()), comments: String::with_capacity(text.len()) };
    let mut rest = text;
    while !rest.is_empty() {
        let (kind, length) = piece(rest);
        let (piece, tail) = rest.split_at(length);
        put(&mut parts.code, piece, kind == Kind::Code);
        put(&mut parts.comments, piece, kind == Kind::Comment);
        rest = tail;
    }
    parts
}

/// Appends `piece` itself, or as many bytes of blank.
fn put(to: &mut String, piece: &str, shown: bool) {
    if shown {
        to.push_str(piece);
    } else {
        to.extend(piece.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
    }
}

/// The kind and the length in bytes of what `rest` starts with.
fn piece(rest: &str) -> (Kind, usize) {
    let Some(first) = rest.chars().next() else { return (Kind::Code, 0) };
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment(rest));
    }
    match first {
        '"' => (Kind::Literal, quoted(rest, '"')),
        '\'' => quote(rest),
        _ if is_word(first) => word(rest),
        _ => (Kind::Code, first.len_utf8()),
    }
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A word, or a literal that starts with a prefix such as `r#`, `b` or `c`.
fn word(rest: &str) -> (Kind, usize) {
    let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let (prefix, tail) = rest.split_at(length);
    let literal = match prefix {
        "r" | "br" | "cr" => raw_string(tail),
        "b" | "c" if tail.starts_with('"') => Some(quoted(tail, '"')),
        "b" if tail.starts_with('\'') => Some(quoted(tail, '\'')),
        _ => None,
    };
    match literal {
        Some(more) => (Kind::Literal, length + more),
        None => (Kind::Code, length),
    }
}

/// The length of `#"…"#` with any number of `#`, or `None` where no raw string starts.
fn raw_string(tail: &str) -> Option<usize> {
    let hashes = tail.find(|c| c != '#')?;
    let body = tail[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&end).map_or(tail.len(), |at| hashes + 1 + at + end.len()))
}

/// The length of a literal between two `mark`s, in which a backslash hides the next character.
fn quoted(rest: &str, mark: char) -> usize {
    let mut hidden = true; // the opening mark
    for (at, c) in rest.char_indices() {
        match c {
            _ if hidden => hidden = false,
            '\\' => hidden = true,
            _ if c == mark => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// A character literal or the mark of a lifetime.
fn quote(rest: &str) -> (Kind, usize) {
    let mut chars = rest.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => (Kind::Literal, quoted(rest, '\'')),
        _ => (Kind::Code, 1),
    }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::split;

    fn code(text: &str) -> String {
        let parts = split(text);
        assert_eq!(parts.code.len(), text.len());
        assert_eq!(parts.comments.len(), text.len());
        parts.code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn braces_in_literals_and_comments_vanish() {
        assert_eq!(code("a \"{ \\\" {\" b // {\nc /* { /* { */ { */ d"), "a b c d");
        assert_eq!(code("a r\"{\\\" b r#\"\"{\"# c br##\"\"#{\"## d b\"{\" e c\"{\" f"), "a b c d e f");
    }

    #[test]
    fn characters_differ_from_lifetimes() {
        assert_eq!(code("a '{' b '\\'' c b'{' d '\\u{7b}' e 'é' f"), "a b c d e f");
        assert_eq!(code("fn f<'a>(x: &'a str, y: &'static [u8]) {}"), "fn f<'a>(x: &'a str, y: &'static [u8]) {}");
        assert_eq!(code("'outer: loop { break 'outer }"), "'outer: loop { break 'outer }");
    }

    #[test]
    fn comments_are_kept_apart() {
        let parts = split("let x = \"// no\"; // yes\n/* and */ y");
        assert_eq!(parts.comments.split_whitespace().collect::<Vec<_>>(), ["//", "yes", "/*", "and", "*/"]);
    }

    #[test]
    fn unfinished_literals_end_with_the_text() {
        for text in ["\"abc", "r#\"abc\"", "/* abc", "'\\", "b'", "r#", "'", "'a"] {
            split(text);
        }
    }

    #[test]
    fn raw_identifiers_are_code() {
        assert_eq!(code("r#type { x }"), "r#type { x }");
    }
}
