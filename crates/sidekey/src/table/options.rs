//! How a table is written. What a reader needs of it is recorded in the file.

use super::filter::FilterKey;
use crate::base::ids::TreeKind;

/// How data blocks are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// As they are.
    None,
    /// LZ4 block format; a block that it shortens by less than an eighth is stored as it is.
    Lz4,
}

impl Compression {
    pub fn to_byte(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Lz4 => 1,
        }
    }

    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::None),
            1 => Some(Self::Lz4),
            _ => None,
        }
    }
}

/// What a [`super::TableBuilder`] is told.
#[derive(Clone, Debug)]
pub(crate) struct TableOptions {
    /// A data block is closed when its bytes before compression reach this.
    pub block_bytes: usize,
    /// Entries from one whole key to the next within a block.
    pub restart_interval: usize,
    /// How data blocks are stored.
    pub compression: Compression,
    /// Filter bits for each distinct filter key; 0: no filter.
    pub filter_bits_per_key: u32,
    /// What the filter is asked for.
    pub filter_key: FilterKey,
    /// Which tree the table belongs to; recorded in its properties.
    pub tree: TreeKind,
}

impl Default for TableOptions {
    /// 4 KiB blocks, as one page of most disks; 16 entries a restart, as LevelDB; 10 filter bits, about 1 % false positives.
    fn default() -> Self {
        Self {
            block_bytes: 4096,
            restart_interval: 16,
            compression: Compression::None,
            filter_bits_per_key: 10,
            filter_key: FilterKey::WholeKey,
            tree: TreeKind::Primary,
        }
    }
}
