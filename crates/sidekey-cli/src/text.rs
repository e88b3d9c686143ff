//! Keys, values and amounts as text and as JSON.

use crate::failure::{Failure, Result};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// A key or value as JSON: text as a string, other bytes as `{"hex":"…"}`.
pub fn key_json(key: &[u8]) -> Json {
    match std::str::from_utf8(key) {
        Ok(text) => json!(text),
        Err(_) => json!({ "hex": to_hex(key) }),
    }
}

/// A key on a line of text: as it stands, or `0x…` if it is not printable text.
pub fn key_text(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => format!("0x{}", to_hex(key)),
    }
}

/// A value on a line of text: JSON and printable text as they stand (line ends inside JSON become spaces), else `0x…`.
pub fn value_text(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        Ok(text) => match serde_json::from_str::<Json>(text) {
            // Control characters inside JSON strings are always escaped, so those left are white space between tokens.
            Ok(_) => text.replace(['\n', '\r', '\t'], " "),
            Err(_) => format!("0x{}", to_hex(value)),
        },
        Err(_) => format!("0x{}", to_hex(value)),
    }
}

/// The field of a value in a JSON answer: `value` if it is JSON, else `value_hex`.
pub fn value_field(value: &[u8]) -> (&'static str, Json) {
    match serde_json::from_slice::<Json>(value) {
        Ok(document) => ("value", document),
        Err(_) => ("value_hex", json!(to_hex(value))),
    }
}

/// Lower-case hexadecimal.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hexadecimal digits.
pub fn from_hex(text: &str) -> Result<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            &[high, low] => Some(nibble(high)? << 4 | nibble(low)?),
            _ => None,
        })
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(|| Failure::usage(format!("'{text}' is not hexadecimal: an even number of digits 0-9, a-f")))
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1` as `1 record`, `2` as `2 records`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Bytes in a unit that reads well.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{number} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A duration in a unit that reads well.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.001 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} µs", s * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let pairs = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (123_456, "123,456")];
        for (number, text) in pairs {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(1, "record"), "1 record");
        assert_eq!(counted(0, "record"), "0 records");
    }

    #[test]
    fn hexadecimal_round_trips_and_refuses_odd_and_foreign_digits() {
        assert_eq!(from_hex("00ff").unwrap(), [0, 255]);
        assert_eq!(from_hex("0x00FF").unwrap(), [0, 255]);
        assert_eq!(from_hex(&to_hex(b"abc")).unwrap(), b"abc");
        for wrong in ["0", "0g", "é"] {
            assert!(from_hex(wrong).unwrap_err().message.contains("not hexadecimal"), "{wrong}");
        }
    }

    #[test]
    fn keys_that_are_not_text_are_shown_as_hexadecimal() {
        assert_eq!(key_text(b"user/1"), "user/1");
        assert_eq!(key_text(&[0xff, 0]), "0xff00");
        assert_eq!(key_text(b"a\nb"), "0x610a62");
        assert_eq!(key_json(&[0xff]), json!({ "hex": "ff" }));
    }

    #[test]
    fn values_stay_on_one_line() {
        assert_eq!(value_text(b"{\"a\":\n 1}"), "{\"a\":  1}");
        assert_eq!(value_text(b"plain\ntext"), format!("0x{}", to_hex(b"plain\ntext")));
        assert_eq!(value_field(b"{\"a\":1}"), ("value", json!({ "a": 1 })));
        assert_eq!(value_field(b"\x01"), ("value_hex", json!("01")));
    }

    #[test]
    fn amounts_choose_their_unit() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(duration(Duration::from_micros(12)), "12 µs");
        assert_eq!(duration(Duration::from_micros(1500)), "1.5 ms");
        assert_eq!(duration(Duration::from_millis(2500)), "2.50 s");
    }
}
