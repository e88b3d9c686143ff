//! Records of the index workloads: JSON of a fixed size with four attributes.

/// Reads the attributes `a0` to `a3` back out of a record that this module made, for stores whose users must look into the version
/// that a write replaces. `None` if it is no such record.
pub fn attributes_of(record: &[u8]) -> Option<[u64; 4]> {
    let mut values = [0; 4];
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
