//! The fields of a line. Every operation takes the ones it knows; what is left over is unknown and refused.

use super::answer::Expectation;
use super::text::compact;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_json::value::RawValue;
use sidekey::Error;
use std::collections::BTreeMap;

pub(super) fn invalid(what: impl Into<String>) -> Error {
    Error::InvalidArgument(what.into())
}

/// The fields that have not been taken yet.
#[derive(Debug)]
pub(super) struct Fields(BTreeMap<String, Box<RawValue>>);

impl Fields {
    pub fn parse(line: &str) -> Result<Self, Error> {
        serde_json::from_str(line).map(Fields).map_err(|e| invalid(format!("the line is no JSON object: {e}")))
    }

    /// Splits the expectations off, which every line may have.
    pub fn expectation(&mut self) -> Result<Expectation, Error> {
        Ok(Expectation { fields: self.optional("expect")?, error: self.optional("expect_error")? })
    }

    pub fn optional<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Error> {
        let Some(raw) = self.0.remove(name) else { return Ok(None) };
        serde_json::from_str(raw.get()).map(Some).map_err(|e| invalid(format!("field '{name}': {e}")))
    }

    pub fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Error> {
        self.optional(name)?.ok_or_else(|| invalid(format!("field '{name}' is missing")))
    }

    pub fn flag(&mut self, name: &str) -> Result<bool, Error> {
        Ok(self.optional(name)?.unwrap_or(false))
    }

    /// A field's compact JSON text.
    pub fn raw(&mut self, name: &str) -> Option<String> {
        self.0.remove(name).map(|raw| compact(raw.get()))
    }

    pub fn key(&mut self, name: &str) -> Result<Vec<u8>, Error> {
        self.optional_key(name)?.ok_or_else(|| invalid(format!("field '{name}' is missing")))
    }

    pub fn optional_key(&mut self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(json) = self.optional::<Json>(name)? else { return Ok(None) };
        parse_key(&json).map(Some).map_err(|e| invalid(format!("field '{name}': {e}")))
    }

    /// `value`, as its compact text, or `value_hex`.
    pub fn stored_value(&mut self) -> Result<Vec<u8>, Error> {
        let (json, hex) = (self.raw("value"), self.optional::<String>("value_hex")?);
        match (json, hex) {
            (Some(json), None) => Ok(json.into_bytes()),
            (None, Some(hex)) => from_hex(&hex).map_err(|e| invalid(format!("field 'value_hex': {e}"))),
            (None, None) => Err(invalid("one of the fields 'value' and 'value_hex' is needed")),
            (Some(_), Some(_)) => Err(invalid("only one of the fields 'value' and 'value_hex' may be there")),
        }
    }

    /// Takes a field that the language knows and this version does not serve; present, it is an error unless it says `harmless`.
    pub fn unsupported(&mut self, name: &str, harmless: &[Json]) -> Result<(), Error> {
        match self.optional::<Json>(name)? {
            Some(json) if !harmless.contains(&json) => Err(Error::Unsupported(format!("'{name}' in this version"))),
            _ => Ok(()),
        }
    }

    /// Refuses what no one has taken.
    pub fn finish(self) -> Result<(), Error> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(name) => Err(invalid(format!("unknown field '{name}'"))),
        }
    }
}

fn parse_key(json: &Json) -> Result<Vec<u8>, String> {
    match json {
        Json::String(text) => Ok(text.clone().into_bytes()),
        Json::Object(object) if object.len() == 1 => match object.get("hex") {
            Some(Json::String(hex)) => from_hex(hex),
            _ => Err("a key is a string or {\"hex\":\"00ff\"}".into()),
        },
        _ => Err("a key is a string or {\"hex\":\"00ff\"}".into()),
    }
}

fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            Ok(digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
        }
        _ => Err(format!("'{text}' is not an even number of hexadecimal digits")),
    }
}

fn to_hex(bytes: &[u8]) -> Json {
    serde_json::json!({"hex": bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()})
}

/// A key as answers show it.
pub(super) fn key_json(key: &[u8]) -> Json {
    match std::str::from_utf8(key) {
        Ok(text) => text.into(),
        Err(_) => to_hex(key),
    }
}

/// A value as answers show it.
pub(super) fn value_json(value: &[u8]) -> Json {
    serde_json::from_slice(value).unwrap_or_else(|_| to_hex(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_and_values_are_read_as_documented() {
        let mut fields = Fields::parse(r#"{"key":{"hex":"00fF"},"value":{ "a" : 9007199254740993.0 }}"#).unwrap();
        assert_eq!(fields.key("key").unwrap(), [0, 0xff]);
        assert_eq!(fields.stored_value().unwrap(), b"{\"a\":9007199254740993.0}");
        assert!(fields.finish().is_ok());
        assert_eq!((key_json(b"x"), key_json(&[0xff])), (json!("x"), json!({"hex": "ff"})));
        assert_eq!((value_json(b"[1]"), value_json(b"[")), (json!([1]), json!({"hex": "5b"})));
    }

    #[test]
    fn what_is_no_key_or_left_over_is_refused() {
        for bad in [r#"{"key":5}"#, r#"{"key":{"hex":"0"}}"#, r#"{"key":{"hex":"0g"}}"#, r#"{"key":{"h":"00"}}"#, "{}"]
        {
            assert!(Fields::parse(bad).unwrap().key("key").is_err(), "{bad}");
        }
        assert!(Fields::parse(r#"{"typo":1}"#).unwrap().finish().is_err());
        assert!(Fields::parse("[1]").is_err() && Fields::parse("{} x").is_err());
        assert!(Fields::parse(r#"{"value":1,"value_hex":"00"}"#).unwrap().stored_value().is_err());
    }
}
