//! The footer: the last 72 bytes of a table, which lead to everything else.
//!
//! ```text
//! filter offset u64, size u64 | index offset, size | properties offset, size | format version u32 | file number u64 |
//! CRC-32C u32 | magic "SKtable\n"
//! ```
//!
//! Little-endian. The checksum covers the 60 bytes before it and the magic, salted with the file number that the footer
//! states and the footer's offset.
//!
//! FOOTER-1: the last 32 bytes keep their place and meaning (the checksum its rule) in all later versions, so that any
//! build can tell a newer table from a damaged one.

use crate::base::checksum::checksum;
use crate::base::coding::Reader;
use crate::base::error::Damage;
use crate::base::format::FORMAT_VERSION;
use crate::base::ids::FileNumber;

/// Length of the footer.
pub(crate) const FOOTER_BYTES: usize = 72;
const MAGIC: &[u8; 8] = b"SKtable\n";
const CHECKSUM_AT: usize = 60;
/// The longest table file; keeps offsets far from overflow.
const MAX_FILE: u64 = 1 << 48;

/// A part of the file, with its type and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub offset: u64,
    pub size: u64,
}

impl Part {
    fn end(self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// Where the parts after the data blocks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub filter: Part,
    pub index: Part,
    pub properties: Part,
    pub file: FileNumber,
}

/// Why bytes are not a footer that this build reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FooterError {
    /// Not a footer, or a damaged one.
    Damage(Damage),
    /// Whole, but of a newer format.
    Newer(u32),
}

impl From<Damage> for FooterError {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

impl Footer {
    /// Where the footer itself starts.
    pub fn offset(&self) -> u64 {
        self.properties.end()
    }

    pub fn encode(&self) -> [u8; FOOTER_BYTES] {
        let mut out = Vec::with_capacity(FOOTER_BYTES);
        for part in [self.filter, self.index, self.properties] {
            out.extend_from_slice(&part.offset.to_le_bytes());
            out.extend_from_slice(&part.size.to_le_bytes());
        }
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&self.file.0.to_le_bytes());
        let sum = checksum(self.file.0, self.offset(), &[&out, MAGIC]);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(MAGIC);
        let mut footer = [0; FOOTER_BYTES];
        footer.copy_from_slice(&out);
        footer
    }

    /// Decodes the last [`FOOTER_BYTES`] of a file of `file_len` bytes.
    pub fn decode(bytes: &[u8], file_len: u64) -> Result<Footer, FooterError> {
        let not_a_table = Damage::new(0, "not a Sidekey table");
        let offset = file_len.checked_sub(FOOTER_BYTES as u64).ok_or(not_a_table.clone())?;
        if bytes.len() != FOOTER_BYTES || !bytes.ends_with(MAGIC) {
            return Err(not_a_table.into());
        }
        let mut reader = Reader::new(bytes);
        let mut parts = [Part { offset: 0, size: 0 }; 3];
        for part in &mut parts {
            *part = Part { offset: reader.u64()?, size: reader.u64()? };
        }
        let (version, file) = (reader.u32()?, FileNumber(reader.u64()?));
        let covered = bytes.get(..CHECKSUM_AT).unwrap_or_default();
        if checksum(file.0, offset, &[covered, MAGIC]) != reader.u32()? {
            return Err(Damage::new(CHECKSUM_AT, "footer checksum does not match").into());
        }
        match version {
            0 => return Err(Damage::new(48, "format version 0").into()),
            1..=FORMAT_VERSION => {}
            newer => return Err(FooterError::Newer(newer)),
        }
        let [filter, index, properties] = parts;
        let adjacent = filter.end() == index.offset && index.end() == properties.offset && properties.end() == offset;
        if !adjacent || filter.offset == 0 || filter.offset > index.offset || file_len > MAX_FILE {
            return Err(Damage::new(0, "parts of the table do not follow one another").into());
        }
        Ok(Footer { filter, index, properties, file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Footer {
        Footer {
            filter: Part { offset: 100, size: 10 },
            index: Part { offset: 110, size: 20 },
            properties: Part { offset: 130, size: 30 },
            file: FileNumber(7),
        }
    }

    const LEN: u64 = 160 + FOOTER_BYTES as u64;

    #[test]
    fn footer_round_trips_and_every_changed_byte_is_damage() {
        let bytes = sample().encode();
        assert_eq!(Footer::decode(&bytes, LEN), Ok(sample()));
        for at in 0..bytes.len() {
            let mut changed = bytes;
            changed[at] ^= 0x10;
            assert!(matches!(Footer::decode(&changed, LEN), Err(FooterError::Damage(_))), "byte {at}");
        }
        assert!(Footer::decode(&bytes, LEN + 1).is_err());
    }

    #[test]
    fn a_newer_version_is_told_from_damage() {
        let mut bytes = sample().encode();
        bytes[48..52].copy_from_slice(&2u32.to_le_bytes());
        let sum = checksum(7, 160, &[&bytes[..CHECKSUM_AT], MAGIC]);
        bytes[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(Footer::decode(&bytes, LEN), Err(FooterError::Newer(2)));
    }

    #[test]
    fn parts_that_leave_a_gap_are_damage() {
        let mut gap = sample();
        gap.index.offset += 1;
        let what = "parts of the table do not follow one another";
        assert_eq!(Footer::decode(&gap.encode(), LEN), Err(FooterError::Damage(Damage::new(0, what))));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_damage(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), len: u64, sign: bool) {
            if sign && bytes.len() >= 8 {
                let at = bytes.len() - 8;
                bytes[at..].copy_from_slice(MAGIC);
            }
            let _ = Footer::decode(&bytes, len);
        }
    }
}
