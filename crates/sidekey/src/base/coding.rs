//! LEB128 integers, length-prefixed slices and a bounds-checked reader over bytes from outside.
//!
//! CODING-1: a [`Reader`] never indexes past its buffer, never allocates from a length it has not checked, and refuses
//! overlong and overflowing integers, so that each value has exactly one encoding.

use super::error::Damage;

/// Appends `n` as LEB128 (1 to 10 bytes).
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Appends a varint length and the bytes.
#[inline]
pub(crate) fn put_slice(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// How many bytes [`put_varint`] writes.
#[inline]
pub(crate) fn varint_len(n: u64) -> usize {
    (64 - (n | 1).leading_zeros() as usize).div_ceil(7)
}

/// A cursor over bytes from outside.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Offset of the next byte.
    pub fn position(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Everything not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    pub fn damage(&self, what: &'static str) -> Damage {
        Damage::new(self.at, what)
    }

    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Damage> {
        let end = self.at.checked_add(len).ok_or(Damage::new(self.at, "length overflows"))?;
        let taken = self.bytes.get(self.at..end).ok_or(Damage::new(self.at, "ends early"))?;
        self.at = end;
        Ok(taken)
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8, Damage> {
        Ok(self.take(1)?[0])
    }

    pub fn u32(&mut self) -> Result<u32, Damage> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    pub fn u64(&mut self) -> Result<u64, Damage> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    #[inline]
    pub fn varint(&mut self) -> Result<u64, Damage> {
        // Most lengths and deltas take one byte.
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Damage> {
        let start = self.at;
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return Err(Damage::new(start, "integer overflows"));
            }
            n |= part << shift;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    return Err(Damage::new(start, "overlong integer"));
                }
                return Ok(n);
            }
        }
        Err(Damage::new(start, "integer overflows"))
    }

    /// A varint that must fit 32 bits.
    #[inline]
    pub fn varint32(&mut self) -> Result<u32, Damage> {
        let start = self.at;
        u32::try_from(self.varint()?).map_err(|_| Damage::new(start, "integer overflows 32 bits"))
    }

    /// A varint length and that many bytes.
    #[inline]
    pub fn slice(&mut self) -> Result<&'a [u8], Damage> {
        let start = self.at;
        let len = usize::try_from(self.varint()?).map_err(|_| Damage::new(start, "length overflows"))?;
        self.take(len)
    }

    /// A length-prefixed UTF-8 string.
    pub fn string(&mut self) -> Result<&'a str, Damage> {
        let start = self.at;
        std::str::from_utf8(self.slice()?).map_err(|_| Damage::new(start, "not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varint_round_trips_and_has_the_stated_length(n: u64) {
            let mut out = vec![];
            put_varint(&mut out, n);
            prop_assert_eq!(out.len(), varint_len(n));
            let mut r = Reader::new(&out);
            prop_assert_eq!(r.varint().unwrap(), n);
            prop_assert!(r.is_empty());
        }

        #[test]
        fn any_bytes_decode_to_a_canonical_varint_or_damage(bytes: Vec<u8>) {
            let mut r = Reader::new(&bytes);
            if let Ok(n) = r.varint() {
                let mut out = vec![];
                put_varint(&mut out, n);
                prop_assert_eq!(&out[..], &bytes[..r.position()]);
            }
        }
    }

    #[test]
    fn overlong_and_overflowing_integers_are_refused() {
        assert_eq!(Reader::new(&[0x80, 0x00]).varint().unwrap_err().what, "overlong integer");
        assert_eq!(Reader::new(&[0xff; 10]).varint().unwrap_err().what, "integer overflows");
        assert_eq!(Reader::new(&[0xff]).varint().unwrap_err().what, "ends early");
    }
}
