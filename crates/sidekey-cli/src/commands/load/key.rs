//! The primary key of each record: fields of it, or a counter.

use super::arguments::Arguments;
use super::record::{BadLine, Line, Record};
use crate::failure::{Failure, Result};
use crate::text::key_text;
use serde_json::Value as Json;
use sidekey::{Collection, Error};

/// Digits of a counted key: enough for a trillion records, in order bytewise.
const COUNTER_DIGITS: usize = 12;
const COUNTER_MAX: u64 = 999_999_999_999;

/// How keys are made.
#[derive(Debug)]
pub enum KeyRule {
    /// From fields of the record, joined by the separator.
    Fields { names: Vec<String>, separator: String },
    /// By counting; the number of the last record.
    Counter(u64),
}

impl KeyRule {
    pub fn from_arguments(arguments: &Arguments) -> Result<Self> {
        if arguments.key_counter {
            return Ok(Self::Counter(0));
        }
        if arguments.key.iter().any(String::is_empty) {
            return Err(Failure::usage("--key names an empty field; several fields are given as --key a,b,c"));
        }
        Ok(Self::Fields { names: arguments.key.clone(), separator: arguments.key_separator.clone() })
    }

    /// Names of the fields that make up the key.
    pub fn fields(&self) -> &[String] {
        match self {
            Self::Fields { names, .. } => names,
            Self::Counter(_) => &[],
        }
    }

    /// Sets a counter to where the collection's own keys end.
    pub fn continue_from(&mut self, collection: &Collection) -> Result<()> {
        let Self::Counter(last) = self else { return Ok(()) };
        if let Some(record) = collection.scan::<Vec<u8>>(..).reverse().next() {
            let (key, _) = record?;
            *last = counted(&key).ok_or_else(|| {
                let message = format!(
                    "--key-counter cannot continue in {}, whose last key is {}: no counter of {COUNTER_DIGITS} digits",
                    collection.name(),
                    key_text(&key)
                );
                Failure::from(Error::InvalidArgument(message))
                    .hint("give --key FIELD, or load into a collection of its own")
            })?;
        }
        Ok(())
    }

    /// Gives a line its key.
    pub fn record(&mut self, line: Line) -> Result<Record, BadLine> {
        let number = line.number;
        let key = match self {
            Self::Fields { names, separator } => joined(names, separator, &line)?.into_bytes(),
            Self::Counter(last) if *last >= COUNTER_MAX => {
                return Err(BadLine::fatal(
                    number,
                    "counter spent",
                    format!("the counter is at its end, {COUNTER_MAX}"),
                ));
            }
            Self::Counter(last) => {
                *last += 1;
                format!("{last:0COUNTER_DIGITS$}").into_bytes()
            }
        };
        Ok(Record { line: number, key, value: line.value })
    }
}

fn joined(names: &[String], separator: &str, line: &Line) -> Result<String, BadLine> {
    let mut key = String::new();
    for (index, (name, value)) in names.iter().zip(&line.key_fields).enumerate() {
        if index > 0 {
            key.push_str(separator);
        }
        let part = part(name, value.as_ref()).map_err(|(reason, what)| BadLine::new(line.number, reason, what))?;
        // Parts that hold the separator would make two different records share one key.
        if names.len() > 1 && !separator.is_empty() && part.contains(separator) {
            return Err(BadLine::new(
                line.number,
                "separator in key",
                format!("key field '{name}' holds the separator '{separator}': choose another with --key-separator"),
            ));
        }
        key.push_str(&part);
    }
    if key.is_empty() { Err(BadLine::new(line.number, "empty key", "the key is empty")) } else { Ok(key) }
}

fn part(name: &str, value: Option<&Json>) -> Result<String, (&'static str, String)> {
    match value {
        Some(Json::String(text)) => Ok(text.clone()),
        Some(number @ (Json::Number(_) | Json::Bool(_))) => Ok(number.to_string()),
        Some(Json::Null) => Err(("missing key field", format!("key field '{name}' is null"))),
        None => Err(("missing key field", format!("key field '{name}' is missing"))),
        Some(Json::Array(_)) => Err(("unfit key field", format!("key field '{name}' is a list"))),
        Some(Json::Object(_)) => Err(("unfit key field", format!("key field '{name}' is an object"))),
    }
}

fn counted(key: &[u8]) -> Option<u64> {
    let digits = key.len() == COUNTER_DIGITS && key.iter().all(u8::is_ascii_digit);
    if digits { std::str::from_utf8(key).ok()?.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(key_fields: Vec<Option<Json>>) -> Line {
        Line { number: 7, key_fields, value: b"{}".to_vec() }
    }

    fn fields(names: &[&str]) -> KeyRule {
        KeyRule::Fields { names: names.iter().map(ToString::to_string).collect(), separator: "/".to_owned() }
    }

    #[test]
    fn several_fields_are_joined() {
        let record = fields(&["a", "b"]).record(line(vec![Some(json!("x")), Some(json!(12))])).unwrap();
        assert_eq!(record.key, b"x/12");
        assert_eq!(record.line, 7);
    }

    #[test]
    fn missing_null_and_structured_key_fields_are_named() {
        for (value, word) in
            [(None, "missing"), (Some(Json::Null), "null"), (Some(json!([1])), "list"), (Some(json!({})), "object")]
        {
            let bad = fields(&["id"]).record(line(vec![value])).unwrap_err();
            assert!(bad.what.contains("'id'") && bad.what.contains(word), "{}", bad.what);
        }
    }

    #[test]
    fn separator_within_a_part_is_refused_as_it_would_merge_keys() {
        let bad = fields(&["a", "b"]).record(line(vec![Some(json!("x/y")), Some(json!("z"))])).unwrap_err();
        assert_eq!(bad.reason, "separator in key");
        assert!(fields(&["a"]).record(line(vec![Some(json!("x/y"))])).is_ok());
    }

    #[test]
    fn empty_key_is_refused() {
        assert_eq!(fields(&["a"]).record(line(vec![Some(json!(""))])).unwrap_err().reason, "empty key");
    }

    #[test]
    fn counter_keys_sort_in_order_and_end_loudly() {
        let mut rule = KeyRule::Counter(8);
        assert_eq!(rule.record(line(vec![])).unwrap().key, b"000000000009");
        assert_eq!(rule.record(line(vec![])).unwrap().key, b"000000000010");
        assert!(KeyRule::Counter(COUNTER_MAX).record(line(vec![])).unwrap_err().fatal);
        assert_eq!(counted(b"000000000010"), Some(10));
        assert_eq!(counted(b"10"), None);
    }
}
