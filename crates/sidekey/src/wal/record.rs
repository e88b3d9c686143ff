//! A record in the making: operations are encoded into the bytes that are written, behind room for what is known last.
//!
//! ```text
//!   seed           16 bytes   of the header's checksum, then of the payload's: overwritten
//!   record header  32 bytes   sqns, lengths and checksums: filled in when the record is sealed
//!   payload                   operations
//!   padding
//! ```

use super::format::{self, HEADER_ROOM, RECORD_HEADER, RecordHeader};
use super::op::{OldVersion, Op, OpPlace, add_old, encode_op};
use crate::base::checksum::SEED;
use crate::base::header;

/// Memory that a cleared buffer keeps for the next record, in bytes.
const KEEP_BYTES: usize = 256 << 10;

/// The buffer of one record; reused from record to record.
#[derive(Debug, Default)]
pub(crate) struct RecordBuffer {
    /// Empty, or at least the room in front.
    bytes: Vec<u8>,
}

impl RecordBuffer {
    /// Makes the buffer empty.
    pub fn clear(&mut self) {
        if self.bytes.capacity() > KEEP_BYTES {
            self.bytes = Vec::new();
        }
        self.bytes.truncate(HEADER_ROOM);
    }

    /// The encoded operations.
    pub fn payload(&self) -> &[u8] {
        self.bytes.get(HEADER_ROOM..).unwrap_or_default()
    }

    /// Bytes of the encoded operations.
    pub fn len(&self) -> usize {
        self.bytes.len().saturating_sub(HEADER_ROOM)
    }

    /// Whether there is no operation.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops what was added after the payload had `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(HEADER_ROOM + len);
    }

    /// Adds an operation.
    pub fn push(&mut self, op: &Op<'_>) -> OpPlace {
        self.make_room();
        encode_op(&mut self.bytes, HEADER_ROOM, op)
    }

    /// Adds an operation that stands in another buffer.
    pub fn push_from(&mut self, other: &RecordBuffer, place: &OpPlace) -> OpPlace {
        self.make_room();
        let start = self.len();
        self.bytes.extend_from_slice(place.op(other.payload()));
        place.at(start)
    }

    /// Says of the last operation what it overwrites; it has not said so yet.
    pub fn add_old(&mut self, place: &mut OpPlace, old: &OldVersion<'_>) {
        add_old(&mut self.bytes, HEADER_ROOM, place, old);
    }

    /// Sets or clears BLIND in the record header of an operation.
    pub fn set_blind(&mut self, place: &OpPlace, blind: bool) {
        if let Some(header) = self.bytes.get_mut(HEADER_ROOM + place.header_start()..) {
            header::set_blind(header, blind);
        }
    }

    /// The whole record as it is written at `offset`; `header` says all but the payload's sum. The padding behind the payload goes with the next
    /// [`RecordBuffer::truncate`].
    pub(super) fn seal(&mut self, header: &RecordHeader, salt: u64, offset: u64) -> &[u8] {
        self.make_room();
        let payload_sum = format::payload_sum_behind(salt, offset, &mut self.bytes[RECORD_HEADER..]);
        if let Some(room) = self.bytes.first_chunk_mut() {
            RecordHeader { payload_sum, ..*header }.encode(salt, offset, room);
        }
        self.bytes.extend_from_slice(format::padding(header.payload_len as usize));
        &self.bytes[SEED..]
    }

    /// A buffer with any payload.
    #[cfg(test)]
    pub fn of(payload: &[u8]) -> RecordBuffer {
        let mut record = RecordBuffer::default();
        record.make_room();
        record.bytes.extend_from_slice(payload);
        record
    }

    fn make_room(&mut self) {
        if self.bytes.is_empty() {
            self.bytes.resize(HEADER_ROOM, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{CollectionId, Sqn};
    use crate::base::key::Kind;

    fn put<'a>(pk: &'a [u8], value: &'a [u8]) -> Op<'a> {
        Op { collection: CollectionId(1), kind: Kind::Put, sqn: Sqn(9), pk, header: &[0, 0, 0], value, old: None }
    }

    #[test]
    fn an_operation_copied_from_another_buffer_is_the_same_and_can_be_changed() {
        let mut own = RecordBuffer::default();
        own.push(&put(b"a", b"first"));
        let place = own.push(&put(b"b", b"second"));
        let mut group = RecordBuffer::default();
        group.push(&put(b"long key", b"of another writer"));
        let mut place = group.push_from(&own, &place);
        group.set_blind(&place, true);
        group.add_old(&mut place, &OldVersion { sqn: Sqn(3), header: &[2, 0, 0] });
        assert_eq!(place.header(group.payload()), [1, 0, 0]);
        let mut expected = RecordBuffer::default();
        expected.push(&put(b"long key", b"of another writer"));
        let old = Some(OldVersion { sqn: Sqn(3), header: &[2, 0, 0] });
        expected.push(&Op { header: &[1, 0, 0], old, ..put(b"b", b"second") });
        assert_eq!(group.payload(), expected.payload());
    }

    #[test]
    fn truncating_takes_back_what_came_last() {
        let mut record = RecordBuffer::default();
        record.push(&put(b"a", b"1"));
        let (len, before) = (record.len(), record.payload().to_vec());
        record.push(&put(b"b", b"2"));
        record.truncate(len);
        assert_eq!(record.payload(), before);
        record.clear();
        assert!(record.is_empty() && record.payload().is_empty());
    }
}
