//! JSON paths: where in a record an attribute stands.
//!
//! Purpose: reads the paths that users write (`$.a.b`, `$['odd name']`, `$.list[0]`, `$.list[*]`) and prints them in one
//! canonical form, by which definitions are stored and compared. Owns the syntax. Depends on the error types only.
//! Threads: plain data.
//!
//! The syntax is a subset of RFC 9535 (JSONPath): `$`, then steps. A step is `.name` (a letter, `_` or a character beyond
//! ASCII, then also digits), `['name']` or `["name"]` with JSON's escapes and `\'`, `[n]` for an array element counted from
//! 0, or `[*]` for all elements of an array.
//!
//! PATH-1: parsing the printed form gives the path back, and equal paths print alike.
//! PATH-2: at most [`MAX_DEPTH`] steps, at most one of them `[*]`.

use crate::base::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

#[cfg(test)]
mod tests;

/// The most steps that a path may have; it bounds how deep extraction descends.
pub(crate) const MAX_DEPTH: usize = 32;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// The field of an object.
    Field(String),
    /// An element of an array, counted from 0.
    Index(u32),
    /// Each element of an array.
    Each,
}

/// A path into a JSON document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct JsonPath {
    steps: Vec<Step>,
}

impl JsonPath {
    /// Reads a path. The error names the path, what was expected and at which character (counted from 1).
    pub fn parse(text: &str) -> Result<JsonPath> {
        Parser { text, at: 0 }.path()
    }

    /// The steps from the root.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether the path has a `[*]`, so that a record may have several values of it.
    pub fn is_multi(&self) -> bool {
        self.steps.contains(&Step::Each)
    }
}

impl FromStr for JsonPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

/// The canonical form: `.name` where the name allows, else `['name']`.
impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.steps {
            match step {
                Step::Field(name) if is_shorthand(name) => write!(f, ".{name}")?,
                Step::Field(name) => write_quoted(f, name)?,
                Step::Index(n) => write!(f, "[{n}]")?,
                Step::Each => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

fn write_quoted(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    f.write_str("['")?;
    for c in name.chars() {
        match c {
            '\'' | '\\' => write!(f, "\\{c}")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("']")
}

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || (!c.is_ascii() && !c.is_control())
}

fn continues_name(c: char) -> bool {
    starts_name(c) || c.is_ascii_digit()
}

fn is_shorthand(name: &str) -> bool {
    name.starts_with(starts_name) && name.chars().all(continues_name)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !wanted(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn error<T>(&self, at: usize, what: impl fmt::Display) -> Result<T> {
        let place = self.text.get(..at).unwrap_or(self.text).chars().count() + 1;
        Err(Error::invalid(format!("path {:?}, character {place}: {what}", self.text)))
    }

    fn path(mut self) -> Result<JsonPath> {
        if !self.eat('$') {
            return self.error(0, "a path starts with '$'");
        }
        let mut steps = vec![];
        while let Some(c) = self.peek() {
            let start = self.at;
            let step = match c {
                '.' => self.name()?,
                '[' => self.bracket()?,
                _ => return self.error(start, "expected '.', '[' or the end (write other names as ['name'])"),
            };
            if steps.len() == MAX_DEPTH {
                return self.error(start, format_args!("a path has at most {MAX_DEPTH} steps"));
            }
            if step == Step::Each && steps.contains(&Step::Each) {
                return self.error(start, "a path has at most one [*]");
            }
            steps.push(step);
        }
        Ok(JsonPath { steps })
    }

    fn name(&mut self) -> Result<Step> {
        self.next();
        match self.peek() {
            Some(c) if starts_name(c) => Ok(Step::Field(self.take_while(continues_name).to_owned())),
            Some('*') => {
                self.error(self.at, "all elements of an array are written [*], all fields cannot be asked for")
            }
            Some('.') => self.error(self.at, "descent by '..' cannot be asked for"),
            _ => self.error(self.at, "expected a name (write names that are no identifier as ['name'])"),
        }
    }

    fn bracket(&mut self) -> Result<Step> {
        self.next();
        let step = match self.peek() {
            Some('*') => {
                self.next();
                Step::Each
            }
            Some(quote @ ('\'' | '"')) => Step::Field(self.quoted(quote)?),
            Some(c) if c.is_ascii_digit() => self.index()?,
            Some('-') => return self.error(self.at, "elements are counted from the front, from 0"),
            _ => return self.error(self.at, "expected a quoted name, a number or '*'"),
        };
        if self.eat(']') { Ok(step) } else { self.error(self.at, "expected ']'") }
    }

    fn index(&mut self) -> Result<Step> {
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        match digits.parse() {
            Ok(_) if digits.len() > 1 && digits.starts_with('0') => self.error(start, "a number has no leading zero"),
            Ok(n) => Ok(Step::Index(n)),
            Err(_) => self.error(start, format_args!("a number of an element is at most {}", u32::MAX)),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String> {
        let start = self.at;
        self.next();
        let mut name = String::new();
        loop {
            match self.next() {
                None => return self.error(start, "the quote is not closed"),
                Some(c) if c == quote => return Ok(name),
                Some('\\') => name.push(self.escape()?),
                Some(c) => name.push(c),
            }
        }
    }

    /// What stands after a backslash.
    fn escape(&mut self) -> Result<char> {
        let start = self.at - 1;
        Ok(match self.next() {
            Some(c @ ('\'' | '"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let Some(unit) = self.hex_unit() else {
                    return self.error(start, "expected four hexadecimal digits after \\u");
                };
                let low = if (0xd800..0xdc00).contains(&unit) && self.rest().starts_with("\\u") {
                    self.at += 2;
                    self.hex_unit()
                } else {
                    None
                };
                match char::decode_utf16([unit].into_iter().chain(low)).next() {
                    Some(Ok(c)) => c,
                    _ => return self.error(start, "half of a surrogate pair is no character"),
                }
            }
            _ => return self.error(start, "unknown escape"),
        })
    }

    fn hex_unit(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.at += 4;
        u16::from_str_radix(digits, 16).ok()
    }
}
