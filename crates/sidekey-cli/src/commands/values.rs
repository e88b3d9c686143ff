//! Attribute values on the command line: JSON scalars, or text.

use crate::failure::{Failure, Result};
use clap::Args;
use serde_json::Value as Json;
use sidekey::Value;

/// How value arguments are to be read.
#[derive(Args, Clone, Copy, Debug)]
pub struct ValueForm {
    /// Values are text, even if they look like numbers: "0042", "true"
    #[arg(long, conflicts_with = "number")]
    pub string: bool,

    /// Values must be numbers
    #[arg(long)]
    pub number: bool,
}

impl ValueForm {
    /// The attribute value of an argument.
    pub fn value(self, text: &str) -> Result<Value> {
        let json = self.json(text)?;
        Value::from_json(&json).ok_or_else(|| {
            Failure::usage("null is never indexed: a record without the attribute has no entry")
                .hint("for the text 'null' give --string")
        })
    }

    fn json(self, text: &str) -> Result<Json> {
        if self.string {
            return Ok(Json::String(text.to_owned()));
        }
        match serde_json::from_str::<Json>(text) {
            Ok(number @ Json::Number(_)) => Ok(number),
            _ if self.number => {
                Err(Failure::usage(format!("'{text}' is not a JSON number, as --number asks: 12, -0.5, 1e6")))
            }
            Ok(scalar @ (Json::Null | Json::Bool(_) | Json::String(_))) => Ok(scalar),
            Ok(Json::Array(_) | Json::Object(_)) | Err(_) => Ok(Json::String(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PLAIN: ValueForm = ValueForm { string: false, number: false };

    #[test]
    fn json_scalars_are_taken_as_such_and_the_rest_as_text() {
        let cases = [
            ("12", json!(12)),
            ("-0.5", json!(-0.5)),
            ("true", json!(true)),
            ("\"12\"", json!("12")),
            ("Oslo", json!("Oslo")),
            ("007", json!("007")),
            ("[1]", json!("[1]")),
            ("18446744073709551615", json!(u64::MAX)),
        ];
        for (text, value) in cases {
            assert_eq!(PLAIN.json(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn string_and_number_force_the_type() {
        let string = ValueForm { string: true, number: false };
        let number = ValueForm { string: false, number: true };
        assert_eq!(string.json("12").unwrap(), json!("12"));
        assert_eq!(string.json("null").unwrap(), json!("null"));
        assert_eq!(number.json("12").unwrap(), json!(12));
        assert!(number.json("Oslo").unwrap_err().message.contains("'Oslo' is not a JSON number"));
        assert!(number.json("NaN").is_err());
    }
}
