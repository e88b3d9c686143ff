//! The stored form of a value: order-preserving, self-delimiting, canonical (VALUE-2, VALUE-3).
//!
//! | type | bytes |
//! |---|---|
//! | false, true | `10`, `11` |
//! | number | `20`, 8 bytes: the sortable bits of the f64 `f`, the number rounded towards minus infinity; then, only where 2^53 <= abs(f)
//! < 2^64, a big-endian u16: the number minus `f` |
//! | timestamp | `30`, 8 bytes: the big-endian i64 with its sign bit flipped |
//! | string, bytes | `40`, `50`, the bytes with each `00` written as `00 FF`, then `00 01` |
//!
//! Sortable bits: the big-endian IEEE bits, with the sign bit flipped if it was clear, else with all bits flipped. All
//! integers of 64 bits are exact: in the range that has a remainder, the gap between neighbouring f64 is at most 2,048.
//! The first byte may be complemented with the rest for descending order; tags therefore keep clear of `00` and `FF`.

use super::Value;
use crate::base::error::{Damage, Error, Result};

/// The most bytes that an encoded value may take; also the most that a decoder accepts.
pub(crate) const MAX_ENCODED_ATTRIBUTE: usize = 4096;

const TAG_FALSE: u8 = 0x10;
const TAG_TRUE: u8 = 0x11;
const TAG_NUMBER: u8 = 0x20;
const TAG_TIMESTAMP: u8 = 0x30;
const TAG_STRING: u8 = 0x40;
const TAG_BYTES: u8 = 0x50;

const ZERO: u8 = 0x00;
const ESCAPED_ZERO: u8 = 0xff;
const TERMINATOR: u8 = 0x01;

const TWO_POW_53: f64 = 9_007_199_254_740_992.0;
const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;
const SIGN: u64 = 1 << 63;

impl Value {
    /// Appends the encoding. NaN and values over [`MAX_ENCODED_ATTRIBUTE`] are refused and leave `out` as it was.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Value::Bool(b) => out.push(if *b { TAG_TRUE } else { TAG_FALSE }),
            Value::Int(n) => put_integer(out, (*n).into(), *n as f64),
            Value::UInt(n) => put_integer(out, (*n).into(), *n as f64),
            Value::Float(f) if f.is_nan() => return Err(Error::invalid("NaN is not a value of an attribute")),
            // Adding zero turns -0.0 into 0.0 and nothing else into anything else.
            Value::Float(f) => put_number(out, *f + 0.0, 0),
            Value::Timestamp(us) => {
                out.push(TAG_TIMESTAMP);
                out.extend_from_slice(&((*us as u64) ^ SIGN).to_be_bytes());
            }
            Value::String(s) => return put_escaped(out, TAG_STRING, s.as_bytes()),
            Value::Bytes(b) => return put_escaped(out, TAG_BYTES, b),
        }
        Ok(())
    }

    /// The value at the front of `bytes` and the length of its encoding. An integer that fits `i64` is [`Value::Int`],
    /// one that fits `u64` is [`Value::UInt`], any other number [`Value::Float`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Value, usize), Damage> {
        let len = encoded_len(bytes)?;
        let (tag, body) =
            bytes.get(..len).and_then(<[u8]>::split_first).ok_or(Damage::new(0, "attribute ends early"))?;
        let value = match *tag {
            TAG_FALSE => Value::Bool(false),
            TAG_TRUE => Value::Bool(true),
            TAG_NUMBER => decode_number(body)?,
            TAG_TIMESTAMP => Value::Timestamp((chunk(body)? ^ SIGN) as i64),
            TAG_STRING => match String::from_utf8(unescape(body)) {
                Ok(text) => Value::String(text),
                Err(_) => return Err(Damage::new(1, "attribute of type string is not UTF-8")),
            },
            _ => Value::Bytes(unescape(body)),
        };
        Ok((value, len))
    }
}

/// The length of the encoding at the front of `bytes`, without building the value. Checks what delimits it (tag,
/// escapes, limit); [`Value::decode`] checks the rest.
#[inline]
pub(crate) fn encoded_len(bytes: &[u8]) -> Result<usize, Damage> {
    let (tag, body) = bytes.split_first().ok_or(Damage::new(0, "attribute ends early"))?;
    let len = match *tag {
        TAG_FALSE | TAG_TRUE => 1,
        TAG_NUMBER => 9 + if has_remainder(from_sortable(chunk(body)?)) { 2 } else { 0 },
        TAG_TIMESTAMP => 9,
        TAG_STRING | TAG_BYTES => 1 + escaped_len(body)?,
        _ => return Err(Damage::new(0, "unknown attribute type")),
    };
    if len > bytes.len() {
        return Err(Damage::new(bytes.len(), "attribute ends early"));
    }
    Ok(len)
}

/// Appends the encoding of `text`, as [`Value::encode`] of the string would.
pub(crate) fn encode_str(out: &mut Vec<u8>, text: &str) -> Result<()> {
    put_escaped(out, TAG_STRING, text.as_bytes())
}

/// The number of bytes that the encoding of `text` would take, also beyond the limit.
pub(crate) fn encoded_str_len(text: &str) -> usize {
    escaped_size(text.as_bytes())
}

fn put_integer(out: &mut Vec<u8>, n: i128, nearest: f64) {
    let floor = if nearest as i128 > n { nearest.next_down() } else { nearest };
    put_number(out, floor, (n - floor as i128) as u16);
}

#[inline]
fn put_number(out: &mut Vec<u8>, floor: f64, remainder: u16) {
    out.push(TAG_NUMBER);
    let bits = floor.to_bits();
    let sortable = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    out.extend_from_slice(&sortable.to_be_bytes());
    if has_remainder(floor) {
        out.extend_from_slice(&remainder.to_be_bytes());
    }
}

fn put_escaped(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) -> Result<()> {
    let size = escaped_size(bytes);
    if size > MAX_ENCODED_ATTRIBUTE {
        return Err(Error::invalid(format!(
            "the value of an attribute takes {size} bytes encoded, over the limit of {MAX_ENCODED_ATTRIBUTE}"
        )));
    }
    out.reserve(size);
    out.push(tag);
    for (i, part) in bytes.split(|&b| b == ZERO).enumerate() {
        if i > 0 {
            out.extend_from_slice(&[ZERO, ESCAPED_ZERO]);
        }
        out.extend_from_slice(part);
    }
    out.extend_from_slice(&[ZERO, TERMINATOR]);
    Ok(())
}

fn escaped_size(bytes: &[u8]) -> usize {
    bytes.len() + bytes.iter().filter(|&&b| b == ZERO).count() + 3
}

fn has_remainder(floor: f64) -> bool {
    (TWO_POW_53..TWO_POW_64).contains(&floor.abs())
}

fn from_sortable(sortable: u64) -> f64 {
    f64::from_bits(if sortable & SIGN == 0 { !sortable } else { sortable ^ SIGN })
}

/// The eight bytes after the tag.
#[inline]
fn chunk(body: &[u8]) -> Result<u64, Damage> {
    match body.first_chunk::<8>() {
        Some(bytes) => Ok(u64::from_be_bytes(*bytes)),
        None => Err(Damage::new(1 + body.len(), "attribute ends early")),
    }
}

fn decode_number(body: &[u8]) -> Result<Value, Damage> {
    let floor = from_sortable(chunk(body)?);
    if floor.is_nan() {
        return Err(Damage::new(1, "attribute is NaN"));
    }
    if floor == 0.0 && floor.is_sign_negative() {
        return Err(Damage::new(1, "attribute is a negative zero"));
    }
    let remainder =
        body.get(8..).and_then(|tail| tail.first_chunk::<2>()).map_or(0, |bytes| u16::from_be_bytes(*bytes));
    let gap = floor.next_up() as i128 - floor as i128;
    let out_of_range = floor < -TWO_POW_63; // no integer kind reaches there, so nothing was rounded
    if remainder > 0 && (out_of_range || i128::from(remainder) >= gap) {
        return Err(Damage::new(9, "attribute has a remainder that its number does not allow"));
    }
    if out_of_range || floor >= TWO_POW_64 || floor.fract() != 0.0 {
        return Ok(Value::Float(floor));
    }
    let n = floor as i128 + i128::from(remainder);
    Ok(match i64::try_from(n) {
        Ok(n) => Value::Int(n),
        Err(_) => Value::UInt(n as u64),
    })
}

/// The length of escaped bytes with their terminator.
fn escaped_len(body: &[u8]) -> Result<usize, Damage> {
    let mut at = 0;
    while let Some(skip) = body.get(at..).and_then(|rest| rest.iter().position(|&b| b == ZERO)) {
        at += skip + 2;
        match body.get(at - 1) {
            Some(&ESCAPED_ZERO) => {}
            Some(&TERMINATOR) if at < MAX_ENCODED_ATTRIBUTE => return Ok(at),
            Some(&TERMINATOR) => return Err(Damage::new(0, "attribute is over the limit of its length")),
            Some(_) => return Err(Damage::new(at, "unknown escape in an attribute")),
            None => break,
        }
    }
    Err(Damage::new(1 + body.len(), "attribute ends early"))
}

/// The bytes that well-formed escaped bytes (see [`escaped_len`]) stand for.
fn unescape(body: &[u8]) -> Vec<u8> {
    let escaped = body.get(..body.len().saturating_sub(2)).unwrap_or_default();
    let mut out = Vec::with_capacity(escaped.len());
    let mut after_zero = false;
    for &byte in escaped {
        if !after_zero {
            out.push(byte);
        }
        after_zero = byte == ZERO && !after_zero;
    }
    out
}
