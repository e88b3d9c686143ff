//! Typed attribute values.
//!
//! Purpose: the type that users hand to queries and that extraction yields, its one order, and its stored form.
//! Owns: the persisted type tags and the encoding ([`encoding`]), the JSON form ([`json`]). Depends on the error types only.
//! Threads: plain data.
//!
//! VALUE-1: the order is bool < number < timestamp < string < bytes; numbers compare by mathematical value, whichever of
//! the three number kinds carries them; strings and bytes compare bytewise.
//! VALUE-2: `memcmp` of two encodings equals the order of the two values, whatever bytes follow either.
//! VALUE-3: equal values have equal encodings (canonical), and no encoding is a prefix of another.

use std::cmp::Ordering;
use std::fmt;

mod encoding;
mod json;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use encoding::{MAX_ENCODED_ATTRIBUTE, encode_str, encoded_len, encoded_str_len};

/// A typed value of an attribute, as extracted from a record or asked for in a query.
///
/// The three number kinds are one type to users: `Int(1)`, `UInt(1)` and `Float(1.0)` are equal, and all of `i64` and
/// `u64` is kept exactly. Values of different types are ordered bool, number, timestamp, string, bytes.
#[derive(Clone, Debug)]
pub enum Value {
    /// `false` sorts before `true`.
    Bool(bool),
    /// An integer that fits `i64`.
    Int(i64),
    /// An integer that fits `u64`.
    UInt(u64),
    /// A floating-point number. Infinities are numbers; NaN cannot be stored or looked up, and sorts after all numbers.
    Float(f64),
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    Timestamp(i64),
    /// Text; sorts by its UTF-8 bytes.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// Position of the type in the order of types.
    fn rank(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Int(_) | Self::UInt(_) | Self::Float(_) => 1,
            Self::Timestamp(_) => 2,
            Self::String(_) => 3,
            Self::Bytes(_) => 4,
        }
    }

    /// The value if it is an integer of one of the integer kinds.
    fn integer(&self) -> Option<i128> {
        match *self {
            Self::Int(n) => Some(n.into()),
            Self::UInt(n) => Some(n.into()),
            _ => None,
        }
    }
}

/// Compares two floats as numbers: -0.0 equals 0.0, and NaN stands after everything, equal to itself.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Compares an integer of 64 bits with a float, exactly.
fn compare_integer_with_float(n: i128, f: f64) -> Ordering {
    if f.is_nan() {
        return Ordering::Less;
    }
    // The cast saturates, which is as good as exact here: what saturates lies far outside 64 bits.
    let floor = f.floor();
    n.cmp(&(floor as i128)).then(if f > floor { Ordering::Less } else { Ordering::Equal })
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Timestamp(a), Self::Timestamp(b)) => a.cmp(b),
            (Self::String(a), Self::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => compare_floats(*a, *b),
            (a, Self::Float(f)) if a.rank() == 1 => {
                a.integer().map_or(Ordering::Equal, |n| compare_integer_with_float(n, *f))
            }
            (Self::Float(f), b) if b.rank() == 1 => {
                b.integer().map_or(Ordering::Equal, |n| compare_integer_with_float(n, *f).reverse())
            }
            (a, b) => a.rank().cmp(&b.rank()).then_with(|| a.integer().cmp(&b.integer())),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(n) => write!(f, "{n}"),
            Self::UInt(n) => write!(f, "{n}"),
            Self::Float(n) => write!(f, "{n:?}"),
            Self::Timestamp(us) => write!(f, "timestamp({us})"),
            Self::String(s) => write!(f, "{s:?}"),
            Self::Bytes(b) => {
                f.write_str("0x")?;
                b.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident($convert:expr)),* $(,)?) => {
        $(impl From<$source> for Value {
            fn from(value: $source) -> Self {
                Self::$variant($convert(value))
            }
        })*
    };
}

from! {
    bool => Bool(std::convert::identity),
    i8 => Int(i64::from), i16 => Int(i64::from), i32 => Int(i64::from), i64 => Int(std::convert::identity),
    u8 => Int(i64::from), u16 => Int(i64::from), u32 => Int(i64::from), u64 => UInt(std::convert::identity),
    f32 => Float(f64::from), f64 => Float(std::convert::identity),
    String => String(std::convert::identity), &str => String(String::from),
    Vec<u8> => Bytes(std::convert::identity), &[u8] => Bytes(Vec::from),
}
