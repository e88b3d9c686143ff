//! Records of the index workloads: JSON of a fixed size with four attributes.

use crate::random::{Random, mix};

/// Attributes of a record.
pub const ATTRIBUTES: usize = 4;

/// The primary key of record `id`: 16 hexadecimal digits without order, as ids given out by a user's own system are.
#[inline]
pub fn primary_key(id: u32) -> [u8; 16] {
    let scattered = mix(u64::from(id) + 1);
    std::array::from_fn(|i| b"0123456789abcdef"[(scattered >> (60 - 4 * i)) as usize & 15])
}

/// Writes records of `bytes` bytes, or of a few more if the attributes need them.
pub struct RecordWriter {
    text: Vec<u8>,
    bytes: usize,
}

impl RecordWriter {
    /// The text that fills a record up follows from the seed.
    pub fn new(seed: u64, bytes: usize) -> Self {
        let mut random = Random::new(seed, 1);
        // Letters, digits and blanks: nothing that JSON would escape.
        let letter = |random: &mut Random| b"abcdefghijklmnopqrstuvwxyz     0123456789"[random.below(41) as usize];
        Self { text: (0..bytes + 4096).map(|_| letter(&mut random)).collect(), bytes }
    }

    /// Makes the record of `id` at its `version`-th writing.
    pub fn write(&self, id: u32, version: u32, attributes: &[u64; ATTRIBUTES], out: &mut Vec<u8>) {
        out.clear();
        out.push(b'{');
        for (i, value) in attributes.iter().enumerate() {
            out.extend_from_slice(&[b'"', b'a', b'0' + i as u8, b'"', b':']);
            push_decimal(*value, out);
            out.push(b',');
        }
        out.extend_from_slice(b"\"text\":\"");
        let fill = self.bytes.saturating_sub(out.len() + 2);
        let at = mix(u64::from(id) << 32 | u64::from(version)) as usize % 4096;
        out.extend_from_slice(self.text.get(at..at + fill).unwrap_or_default());
        out.extend_from_slice(b"\"}");
    }
}

fn push_decimal(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Reads the attributes `a0` to `a3` back out of a record that this module made, for stores whose users must look into the version
/// that a write replaces. `None` if it is no such record.
#[cfg(any(feature = "rocksdb", feature = "sqlite", test))]
pub fn attributes_of(record: &[u8]) -> Option<[u64; ATTRIBUTES]> {
    let mut values = [0; ATTRIBUTES];
    let mut rest = record;
    for (i, value) in values.iter_mut().enumerate() {
        let name = [b'"', b'a', b'0' + i as u8, b'"', b':'];
        let at = rest.windows(name.len()).position(|window| window == name)?;
        rest = rest.get(at + name.len()..)?;
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        *value = std::str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()?;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_json_of_its_size_and_gives_its_attributes_back() {
        for bytes in [100, 1000] {
            let writer = RecordWriter::new(5, bytes);
            let (mut first, mut again) = (Vec::new(), Vec::new());
            let attributes = [0, 17, 4_000_000, 9];
            writer.write(3, 1, &attributes, &mut first);
            RecordWriter::new(5, bytes).write(3, 1, &attributes, &mut again);
            assert_eq!(first, again);
            assert_eq!(first.len(), bytes);
            let json: serde_json::Value = serde_json::from_slice(&first).unwrap();
            assert_eq!(json["a2"], 4_000_000);
            assert_eq!(attributes_of(&first), Some(attributes));
            writer.write(3, 2, &attributes, &mut again);
            assert_ne!(first, again, "another version has another text");
        }
        assert_eq!(attributes_of(b"{}"), None);
        assert_eq!(attributes_of(b"{\"a0\":x"), None);
    }

    #[test]
    fn primary_keys_are_distinct() {
        let keys: std::collections::BTreeSet<_> = (0..1000).map(primary_key).collect();
        assert_eq!(keys.len(), 1000);
    }
}
