//! The bytes around operations: a segment's header and a record's.
//!
//! ```text
//! segment header, 64 bytes at offset 0
//!    0  magic "SKEYWAL\n"
//!    8  u32 format version       where it and the checksum stand is the same in every version
//!   12  u32 zero
//!   16  u64 file number          as in the file's name
//!   24  u64 salt                 random; seeds all checksums of records
//!   32  u64 first sqn            what the first record carries
//!   40  20 bytes of zero
//!   60  u32 checksum of bytes 0..60
//!
//! record, at a multiple of 8
//!    0  u32 checksum of bytes 4..32, with salt and offset
//!    4  u32 checksum of the payload, with salt and offset of the payload
//!    8  u32 payload length in bytes
//!   12  u32 operation count
//!   16  u56 first sqn, u8 0xA7
//!   24  u56 synced through, u8 0x5E
//!   32  payload, then zeros up to a multiple of 8
//! ```
//!
//! The header has a checksum of its own, so that a length is trusted before it is allocated or skipped by, and so that the
//! header of a record whose payload is torn still bears witness to what was synced.

use crate::base::checksum::{SEED, checksum, checksum_behind};
use crate::base::coding::Reader;
use crate::base::error::Damage;
use crate::base::format::FORMAT_VERSION;
use crate::base::ids::{FileNumber, Sqn};

/// Bytes before the first record.
pub(super) const FILE_HEADER: usize = 64;
/// Bytes before a record's payload.
pub(super) const RECORD_HEADER: usize = 32;
/// What encoding a record's header needs: the room for a seed, then the header.
pub(super) const HEADER_ROOM: usize = SEED + RECORD_HEADER;
/// Records start at multiples of this.
pub(super) const ALIGN: u64 = 8;

const MAGIC: [u8; 8] = *b"SKEYWAL\n";
const SUM_BYTES: usize = 4;
const FILE_SUM_AT: usize = FILE_HEADER - 4;
/// In the bytes that 56-bit sqns leave free.
const FIRST_MARK: u64 = 0xA7 << 56;
const SYNCED_MARK: u64 = 0x5E << 56;

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    pub number: FileNumber,
    pub salt: u64,
    pub first_sqn: Sqn,
}

/// Why a segment's header cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BadHeader {
    /// It verifies, and a newer build wrote it.
    Newer(u32),
    Damaged(Damage),
}

impl From<Damage> for BadHeader {
    fn from(damage: Damage) -> Self {
        BadHeader::Damaged(damage)
    }
}

impl FileHeader {
    pub fn encode(&self) -> [u8; FILE_HEADER] {
        let mut out = [0; FILE_HEADER];
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        out[16..24].copy_from_slice(&self.number.0.to_le_bytes());
        out[24..32].copy_from_slice(&self.salt.to_le_bytes());
        out[32..40].copy_from_slice(&self.first_sqn.0.to_le_bytes());
        let sum = checksum(0, 0, &[&out[..FILE_SUM_AT]]);
        out[FILE_SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    pub fn decode(bytes: &[u8], number: FileNumber) -> Result<FileHeader, BadHeader> {
        let mut r = Reader::new(bytes);
        let covered = r.take(FILE_SUM_AT)?;
        if !covered.starts_with(&MAGIC) {
            return Err(Damage::new(0, "no log segment starts like this").into());
        }
        if r.u32()? != checksum(0, 0, &[covered]) {
            return Err(Damage::new(FILE_SUM_AT, "segment header does not verify").into());
        }
        let mut r = Reader::new(covered);
        r.take(8)?;
        let version = r.u32()?;
        if version > FORMAT_VERSION {
            return Err(BadHeader::Newer(version));
        }
        let zero = r.u32()?;
        let header = FileHeader { number: FileNumber(r.u64()?), salt: r.u64()?, first_sqn: Sqn(r.u64()?) };
        if version == 0 || zero != 0 || r.rest().iter().any(|b| *b != 0) {
            return Err(Damage::new(8, "segment header holds what version 1 does not").into());
        }
        if header.number != number {
            return Err(Damage::new(16, "segment header names another file").into());
        }
        if header.first_sqn == Sqn::ZERO || header.first_sqn > Sqn::MAX {
            return Err(Damage::new(32, "segment header holds no sqn").into());
        }
        Ok(header)
    }
}

/// What a record says of itself. `last_sqn` is at most [`Sqn::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub payload_sum: u32,
    pub payload_len: u32,
    pub count: u32,
    pub first_sqn: Sqn,
    pub synced_through: Sqn,
}

impl RecordHeader {
    pub fn last_sqn(&self) -> Sqn {
        Sqn(self.first_sqn.0 + u64::from(self.count) - 1)
    }

    /// Header, payload and padding, in bytes.
    pub fn record_len(&self) -> u64 {
        (RECORD_HEADER as u64 + u64::from(self.payload_len)).next_multiple_of(ALIGN)
    }

    /// Writes the header over the last [`RECORD_HEADER`] bytes of `room`. What stands in front of them is overwritten as well.
    pub fn encode(&self, salt: u64, offset: u64, room: &mut [u8; HEADER_ROOM]) {
        let out = &mut room[SEED..];
        out[4..8].copy_from_slice(&self.payload_sum.to_le_bytes());
        out[8..12].copy_from_slice(&self.payload_len.to_le_bytes());
        out[12..16].copy_from_slice(&self.count.to_le_bytes());
        out[16..24].copy_from_slice(&(self.first_sqn.0 | FIRST_MARK).to_le_bytes());
        out[24..].copy_from_slice(&(self.synced_through.0 | SYNCED_MARK).to_le_bytes());
        // The seed goes right before the covered bytes, over the place of the sum itself.
        let sum = checksum_behind(salt, offset, &mut room[SUM_BYTES..]);
        room[SEED..SEED + SUM_BYTES].copy_from_slice(&sum.to_le_bytes());
    }

    /// Decodes and verifies the first bytes of `bytes`, which stand at `offset`.
    pub fn decode(bytes: &[u8], salt: u64, offset: u64) -> Result<RecordHeader, Damage> {
        let mut r = Reader::new(Reader::new(bytes).take(RECORD_HEADER)?);
        let sum = r.u32()?;
        let covered = r.rest();
        let (payload_sum, payload_len, count) = (r.u32()?, r.u32()?, r.u32()?);
        let (first, synced) = (r.u64()?, r.u64()?);
        // The marks first: where nothing was written they save the checksum.
        if first & !Sqn::MAX.0 != FIRST_MARK || synced & !Sqn::MAX.0 != SYNCED_MARK {
            return Err(Damage::new(16, "no record starts here"));
        }
        if sum != checksum(salt, offset, &[covered]) {
            return Err(Damage::new(0, "record header does not verify"));
        }
        let (first_sqn, synced_through) = (Sqn(first & Sqn::MAX.0), Sqn(synced & Sqn::MAX.0));
        if count == 0 || first_sqn == Sqn::ZERO || first_sqn.0 + u64::from(count) - 1 > Sqn::MAX.0 {
            return Err(Damage::new(12, "record counts no operations, or more than sqns are left for"));
        }
        if synced_through >= first_sqn {
            return Err(Damage::new(24, "record claims to be durable before it was written"));
        }
        Ok(RecordHeader { payload_sum, payload_len, count, first_sqn, synced_through })
    }
}

/// The checksum of a payload whose record starts at `offset`.
pub(super) fn payload_sum(salt: u64, offset: u64, payload: &[u8]) -> u32 {
    checksum(salt, offset + RECORD_HEADER as u64, &[payload])
}

/// The same of the payload behind the first [`SEED`] bytes of `room`, which are overwritten.
pub(super) fn payload_sum_behind(salt: u64, offset: u64, room: &mut [u8]) -> u32 {
    checksum_behind(salt, offset + RECORD_HEADER as u64, room)
}

/// The zeros between a payload and the next record.
pub(super) fn padding(payload_len: usize) -> &'static [u8] {
    const ZEROS: [u8; ALIGN as usize] = [0; ALIGN as usize];
    &ZEROS[..payload_len.next_multiple_of(ALIGN as usize) - payload_len]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: FileHeader = FileHeader { number: FileNumber(7), salt: 0x0123_4567_89AB_CDEF, first_sqn: Sqn(42) };
    const RECORD: RecordHeader = RecordHeader {
        payload_sum: 0xDDCC_BBAA,
        payload_len: 13,
        count: 2,
        first_sqn: Sqn(42),
        synced_through: Sqn(40),
    };

    /// The bytes of a header.
    pub fn encode(header: &RecordHeader, salt: u64, offset: u64) -> [u8; RECORD_HEADER] {
        let mut room = [0xEE; HEADER_ROOM];
        header.encode(salt, offset, &mut room);
        room[SEED..].try_into().unwrap()
    }

    #[test]
    fn segment_header_survives_and_every_flipped_bit_is_noticed() {
        let bytes = FILE.encode();
        assert_eq!(FileHeader::decode(&bytes, FileNumber(7)), Ok(FILE));
        for bit in 0..FILE_HEADER * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(FileHeader::decode(&flipped, FileNumber(7)), Err(BadHeader::Damaged(_))), "bit {bit}");
        }
        assert!(FileHeader::decode(&bytes[..63], FileNumber(7)).is_err());
        assert!(FileHeader::decode(&bytes, FileNumber(8)).is_err(), "a file under another's name");
    }

    #[test]
    fn a_newer_version_is_told_from_damage() {
        let mut bytes = FILE.encode();
        bytes[8] = 9;
        bytes[45] = 1;
        let sum = checksum(0, 0, &[&bytes[..FILE_SUM_AT]]);
        bytes[FILE_SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(FileHeader::decode(&bytes, FileNumber(7)), Err(BadHeader::Newer(9)));
    }

    #[test]
    fn record_header_survives_and_every_flipped_bit_is_noticed() {
        let bytes = encode(&RECORD, 5, 64);
        assert_eq!(RecordHeader::decode(&bytes, 5, 64), Ok(RECORD));
        assert_eq!((RECORD.last_sqn(), RECORD.record_len()), (Sqn(43), 48));
        for bit in 0..RECORD_HEADER * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(RecordHeader::decode(&flipped, 5, 64).is_err(), "bit {bit}");
        }
        assert!(RecordHeader::decode(&bytes, 6, 64).is_err(), "another file's salt");
        assert!(RecordHeader::decode(&bytes, 5, 72).is_err(), "another place");
    }

    #[test]
    fn impossible_record_headers_are_refused_although_they_verify() {
        let refused = |header: RecordHeader| RecordHeader::decode(&encode(&header, 5, 64), 5, 64).is_err();
        assert!(!refused(RECORD));
        assert!(refused(RecordHeader { count: 0, ..RECORD }));
        assert!(refused(RecordHeader { first_sqn: Sqn::MAX, ..RECORD }));
        assert!(refused(RecordHeader { first_sqn: Sqn::ZERO, synced_through: Sqn::ZERO, ..RECORD }));
        assert!(refused(RecordHeader { synced_through: Sqn(42), ..RECORD }));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(bytes: Vec<u8>, salt: u64, offset: u64) {
            let _ = RecordHeader::decode(&bytes, salt, offset);
            let _ = FileHeader::decode(&bytes, FileNumber(0));
        }
    }

    #[test]
    fn padding_fills_up_to_the_next_record() {
        assert_eq!((0..9).map(|n| padding(n).len()).collect::<Vec<_>>(), [0, 7, 6, 5, 4, 3, 2, 1, 0]);
    }
}
