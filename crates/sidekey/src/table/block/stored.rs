//! How every part of a table but the footer is stored: `payload, type u8, crc u32`.
//!
//! The checksum covers the payload and the type, salted with the file's number and the part's offset (SUM-1).
//! An lz4 payload is `varint length before compression, LZ4 block`.

use super::super::options::Compression;
use super::MAX_PAYLOAD;
use crate::base::checksum::checksum;
use crate::base::coding::{Reader, put_varint, varint_len};
use crate::base::error::Damage;
use crate::base::ids::FileNumber;

/// Bytes after the payload.
#[cfg(test)]
pub(crate) const TRAILER: usize = 1 + 4;

/// What a stored block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum BlockType {
    /// A data block as it is.
    Plain = 0,
    /// A data block, compressed.
    Lz4 = 1,
    /// The key filter.
    Filter = 16,
    /// The block index.
    Index = 17,
    /// The properties.
    Properties = 18,
}

impl BlockType {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Plain, Self::Lz4, Self::Filter, Self::Index, Self::Properties].into_iter().find(|t| *t as u8 == byte)
    }
}

/// Appends `payload` as the stored block at `offset` of `file`.
pub(crate) fn encode(out: &mut Vec<u8>, block_type: BlockType, payload: &[u8], file: FileNumber, offset: u64) {
    let type_byte = [block_type as u8];
    out.extend_from_slice(payload);
    out.extend_from_slice(&type_byte);
    out.extend_from_slice(&checksum(file.0, offset, &[payload, &type_byte]).to_le_bytes());
}

/// Type and payload of the stored block at `offset` of `file`.
pub(crate) fn decode(stored: &[u8], file: FileNumber, offset: u64) -> Result<(BlockType, &[u8]), Damage> {
    let (covered, sum) = stored.split_last_chunk::<4>().ok_or(Damage::new(0, "block too short"))?;
    let (type_byte, payload) = covered.split_last().ok_or(Damage::new(0, "block too short"))?;
    if checksum(file.0, offset, &[covered]) != u32::from_le_bytes(*sum) {
        return Err(Damage::new(0, "block checksum does not match"));
    }
    let block_type = BlockType::from_byte(*type_byte).ok_or(Damage::new(payload.len(), "unknown block type"))?;
    Ok((block_type, payload))
}

/// Compresses data blocks, reusing its buffer.
#[derive(Debug)]
pub(crate) struct Compressor {
    compression: Compression,
    buffer: Vec<u8>,
}

impl Compressor {
    pub fn new(compression: Compression) -> Self {
        Self { compression, buffer: Vec::new() }
    }

    /// How to store a data block: compressed only if that saves at least an eighth, else a reader pays for nothing.
    pub fn compress<'a>(&'a mut self, payload: &'a [u8]) -> (BlockType, &'a [u8]) {
        if self.compression == Compression::None {
            return (BlockType::Plain, payload);
        }
        let head = varint_len(payload.len() as u64);
        self.buffer.clear();
        put_varint(&mut self.buffer, payload.len() as u64);
        self.buffer.resize(head + lz4_flex::block::get_maximum_output_size(payload.len()), 0);
        match lz4_flex::block::compress_into(payload, &mut self.buffer[head..]) {
            Ok(len) if head + len <= payload.len() - payload.len() / 8 => (BlockType::Lz4, &self.buffer[..head + len]),
            // The buffer has the stated bound, so an error cannot happen; storing plainly is right in any case.
            _ => (BlockType::Plain, payload),
        }
    }
}

/// The declared length and the LZ4 block of an lz4 payload. The length is within what LZ4 can expand to (255 times) and
/// [`MAX_PAYLOAD`], so that it may be allocated.
pub(crate) fn compressed_parts(payload: &[u8]) -> Result<(usize, &[u8]), Damage> {
    let mut reader = Reader::new(payload);
    let len = reader.varint32()? as usize;
    let block = reader.rest();
    if len > MAX_PAYLOAD || len as u64 > block.len() as u64 * 255 {
        return Err(Damage::new(0, "declared length of a compressed block is impossible"));
    }
    Ok((len, block))
}

/// Fills `out`, which has the declared length.
pub(crate) fn decompress(block: &[u8], out: &mut [u8]) -> Result<(), Damage> {
    match lz4_flex::block::decompress_into(block, out) {
        Ok(len) if len == out.len() => Ok(()),
        Ok(_) => Err(Damage::new(0, "compressed block is shorter than declared")),
        Err(_) => Err(Damage::new(0, "compressed block does not decompress")),
    }
}
