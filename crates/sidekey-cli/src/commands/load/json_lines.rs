//! JSON Lines: one JSON object a line; empty lines are passed over.

use super::record::{BadLine, Line, LineReader};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;
use std::fmt;
use std::io::{BufRead, Read};

/// Longest line, in bytes: a value's limit.
const LINE_MAX: u64 = 1 << 30;

/// Reads JSON Lines.
pub struct JsonLines {
    reader: Box<dyn BufRead>,
    key_fields: Vec<String>,
    buffer: Vec<u8>,
    lines: u64,
    failed: bool,
}

impl JsonLines {
    pub fn new(reader: Box<dyn BufRead>, key_fields: &[String]) -> Self {
        Self { reader, key_fields: key_fields.to_vec(), buffer: Vec::new(), lines: 0, failed: false }
    }

    /// Reads the next line into the buffer; false at the end.
    fn fill(&mut self) -> Result<bool, BadLine> {
        self.buffer.clear();
        let mut limited = (&mut self.reader).take(LINE_MAX + 1);
        let read = limited.read_until(b'\n', &mut self.buffer);
        let line = self.lines + 1;
        match read {
            Ok(0) => Ok(false),
            Ok(count) if count as u64 > LINE_MAX => Err(BadLine::fatal(
                line,
                "line too long",
                "the line is longer than 1 GiB; JSON Lines holds one record a line",
            )),
            Ok(_) => {
                self.lines += 1;
                if self.lines == 1 && self.buffer.starts_with(b"\xef\xbb\xbf") {
                    self.buffer.drain(..3);
                }
                Ok(true)
            }
            Err(e) => Err(BadLine::fatal(line, "unreadable input", format!("cannot read: {e}"))),
        }
    }

    fn parse(&self) -> Result<Line, BadLine> {
        let number = self.lines;
        let text = self.buffer.trim_ascii();
        let mut json = serde_json::Deserializer::from_slice(text);
        let key_fields = KeyFields(&self.key_fields)
            .deserialize(&mut json)
            .and_then(|fields| json.end().map(|()| fields))
            .map_err(|e| explain(number, text, &e))?;
        Ok(Line { number, key_fields, value: text.to_vec() })
    }
}

impl LineReader for JsonLines {
    fn next_line(&mut self) -> Option<Result<Line, BadLine>> {
        while !self.failed {
            match self.fill() {
                Ok(false) => return None,
                Ok(true) if self.buffer.trim_ascii().is_empty() => {}
                Ok(true) => return Some(self.parse()),
                Err(bad) => {
                    self.failed = true;
                    return Some(Err(bad));
                }
            }
        }
        None
    }

    fn lines_read(&self) -> u64 {
        self.lines
    }
}

/// Serde counts lines within the text it is given, where there is but one: only its column says something.
fn explain(number: u64, text: &[u8], error: &serde_json::Error) -> BadLine {
    let full = error.to_string();
    let what = full.rfind(" at line ").map_or(full.as_str(), |end| &full[..end]);
    match error.classify() {
        serde_json::error::Category::Data => BadLine::new(number, "not an object", what),
        _ if text == b"[" || text == b"{" => BadLine::new(
            number,
            "malformed JSON",
            format!("malformed JSON, column {}: {what}; JSON Lines holds a whole record on each line", error.column()),
        ),
        _ => BadLine::new(number, "malformed JSON", format!("malformed JSON, column {}: {what}", error.column())),
    }
}

/// Walks an object and keeps the key fields only: the value itself is stored as it is written.
struct KeyFields<'a>(&'a [String]);

impl<'de> DeserializeSeed<'de> for KeyFields<'_> {
    type Value = Vec<Option<Json>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for KeyFields<'_> {
    type Value = Vec<Option<Json>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = vec![None; self.0.len()];
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match self.0.iter().position(|field| *field == name) {
                Some(first) => {
                    let value: Json = map.next_value()?;
                    for (field, slot) in self.0.iter().zip(&mut found).skip(first) {
                        if *field == name {
                            *slot = Some(value.clone());
                        }
                    }
                }
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Cursor;

    fn read(text: &'static str, fields: &[&str]) -> Vec<Result<Line, BadLine>> {
        let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
        let mut lines = JsonLines::new(Box::new(Cursor::new(text)), &fields);
        std::iter::from_fn(|| lines.next_line()).collect()
    }

    #[test]
    fn lines_keep_their_text_and_numbers_and_empty_ones_are_passed_over() {
        let lines = read("\u{feff}{\"id\": 1}\n\n  {\"id\":2,\"x\":[{}]}\r\n{\"id\":3}", &["id"]);
        let lines: Vec<Line> = lines.into_iter().map(Result::unwrap).collect();
        assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 3, 4]);
        assert_eq!(lines[0].value, b"{\"id\": 1}");
        assert_eq!(lines[1].value, b"{\"id\":2,\"x\":[{}]}");
        assert_eq!(lines[2].key_fields, [Some(json!(3))]);
    }

    #[test]
    fn malformed_line_names_its_column_and_reading_goes_on() {
        let lines = read("{\"id\":1}\n{\"id\":}\n{\"id\":3}\n", &["id"]);
        let bad = lines[1].as_ref().unwrap_err();
        assert_eq!((bad.line, bad.reason), (2, "malformed JSON"));
        assert!(bad.what.contains("column 7") && !bad.what.contains("at line"), "{}", bad.what);
        assert!(lines[2].is_ok());
    }

    #[test]
    fn a_line_that_is_no_object_or_holds_two_is_refused() {
        for (text, reason) in [("[1]\n", "not an object"), ("{\"id\":1} {\"id\":2}\n", "malformed JSON")] {
            assert_eq!(read(text, &["id"])[0].as_ref().unwrap_err().reason, reason, "{text}");
        }
    }

    #[test]
    fn pretty_printed_json_is_told_how_json_lines_looks() {
        assert!(read("{\n", &["id"])[0].as_ref().unwrap_err().what.contains("a whole record on each line"));
    }

    #[test]
    fn last_of_duplicate_fields_counts_and_missing_ones_are_none() {
        let lines = read("{\"id\":1,\"id\":2}\n", &["id", "part", "id"]);
        let line = lines.into_iter().next().unwrap().unwrap();
        assert_eq!(line.key_fields, [Some(json!(2)), None, Some(json!(2))]);
    }
}
