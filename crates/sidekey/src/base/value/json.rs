//! The JSON form of a value, as scripts and the command line read and print it.
//!
//! What JSON cannot say is an object with one field: `{"hex":"00ff"}` for bytes, `{"timestamp":n}` for timestamps
//! (microseconds), `{"float":"inf"}` for numbers that are not finite. Such objects mean values only here: in a *record* an
//! object is never a scalar.

use super::Value;
use serde_json::Value as Json;

impl Value {
    /// The value that a JSON document stands for; `None` for null, arrays and objects other than `{"hex":…}`,
    /// `{"timestamp":…}` and `{"float":…}`.
    pub fn from_json(json: &Json) -> Option<Value> {
        match json {
            Json::Bool(b) => Some(Value::Bool(*b)),
            Json::String(s) => Some(Value::String(s.clone())),
            Json::Number(n) => match (n.as_i64(), n.as_u64()) {
                (Some(n), _) => Some(Value::Int(n)),
                (None, Some(n)) => Some(Value::UInt(n)),
                (None, None) => n.as_f64().map(Value::Float),
            },
            Json::Object(fields) if fields.len() == 1 => {
                let (name, json) = fields.iter().next()?;
                match name.as_str() {
                    "hex" => json.as_str().and_then(bytes_from_hex).map(Value::Bytes),
                    "timestamp" => json.as_i64().map(Value::Timestamp),
                    "float" => json.as_str()?.parse().ok().map(Value::Float),
                    _ => None,
                }
            }
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// The JSON document that [`Value::from_json`] reads as this value.
    pub fn to_json(&self) -> Json {
        match self {
            Value::Bool(b) => Json::from(*b),
            Value::Int(n) => Json::from(*n),
            Value::UInt(n) => Json::from(*n),
            Value::Float(f) if f.is_finite() => Json::from(*f),
            Value::Float(f) => serde_json::json!({ "float": f.to_string() }),
            Value::Timestamp(us) => serde_json::json!({ "timestamp": us }),
            Value::String(s) => Json::from(s.as_str()),
            Value::Bytes(b) => {
                let digits = |byte: &u8| [byte >> 4, byte & 15].map(|d| char::from(b"0123456789abcdef"[d as usize]));
                serde_json::json!({ "hex": b.iter().flat_map(digits).collect::<String>() })
            }
        }
    }
}

fn bytes_from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    text.as_bytes().chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
