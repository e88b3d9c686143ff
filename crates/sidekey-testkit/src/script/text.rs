//! Work on the text of JSON: numbers must reach the store as they were written, so values never pass through a parsed form.

use std::fmt::Write;

/// Replaces `$name` by the value everywhere in a script: how one file serves several variants.
///
/// ```
/// assert_eq!(sidekey_testkit::script::define("a $x $xy", "x", "1"), "a 1 1y");
/// ```
pub fn define(script: &str, name: &str, value: &str) -> String {
    script.replace(&format!("${name}"), value)
}

/// JSON text without the white space between its tokens.
pub(super) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for token in Tokens(json) {
        match token {
            Token::Text(text) => out.push_str(text),
            Token::Other(c) if c.is_ascii_whitespace() => {}
            Token::Other(c) => out.push(c),
        }
    }
    out
}

/// The line of a round of `repeat`: `$i` in strings becomes the round's number; a string that is `$i` and nothing else
/// becomes the number itself where a JSON value stands, that is within one of the members in `VALUES`.
pub(super) fn substitute(json: &str, round: u64) -> String {
    const VALUES: [&str; 6] = ["\"value\"", "\"low\"", "\"high\"", "\"expect\"", "\"limit\"", "\"times\""];
    let mut out = String::with_capacity(json.len());
    // The member names that lead to the place; an array adds none.
    let mut path: Vec<&str> = Vec::new();
    let mut last_text = "";
    let tokens: Vec<Token<'_>> =
        Tokens(json).filter(|t| !matches!(t, Token::Other(c) if c.is_ascii_whitespace())).collect();
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            Token::Text(text) => {
                let is_name = matches!(tokens.get(at + 1), Some(Token::Other(':')));
                let in_value = path.iter().chain([&last_text]).any(|name| VALUES.contains(name));
                if text == "\"$i\"" && !is_name && in_value {
                    let _ = write!(out, "{round}");
                } else {
                    out.push_str(&text.replace("$i", &round.to_string()));
                }
                if is_name {
                    last_text = text;
                }
            }
            Token::Other(c) => {
                match c {
                    '{' | '[' => path.push(last_text),
                    '}' | ']' => last_text = path.pop().unwrap_or_default(),
                    _ => {}
                }
                out.push(c);
            }
        }
    }
    out
}

enum Token<'a> {
    /// A string with its quotes.
    Text(&'a str),
    Other(char),
}

struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let first = self.0.chars().next()?;
        let length = if first == '"' { string_length(self.0) } else { first.len_utf8() };
        let (token, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(if first == '"' { Token::Text(token) } else { Token::Other(first) })
    }
}

fn string_length(json: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_keeps_numbers_strings_and_duplicates_as_written() {
        let text = " { \"a\" : 9007199254740993 , \"a\":1.50e+3, \"s p\" : \" \\\" x \" }";
        assert_eq!(compact(text), "{\"a\":9007199254740993,\"a\":1.50e+3,\"s p\":\" \\\" x \"}");
    }

    #[test]
    fn the_round_is_a_number_in_values_and_text_elsewhere() {
        let line = r#"{"op": "put", "key": "$i", "value": {"n": "$i", "$i": ["$i", "v$i"], "key": "$i"}}"#;
        let wanted = r#"{"op":"put","key":"7","value":{"n":7,"7":[7,"v7"],"key":7}}"#;
        assert_eq!(substitute(line, 7), wanted);
    }

    #[test]
    fn members_after_a_value_are_no_longer_within_it() {
        let line = r#"{"value":{"a":[1]},"key":"$i","low":"$i"}"#;
        assert_eq!(substitute(line, 3), r#"{"value":{"a":[1]},"key":"3","low":3}"#);
    }
}
