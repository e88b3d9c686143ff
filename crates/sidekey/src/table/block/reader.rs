//! A data block in memory and the search in it; the layout is in [`super`].

use super::super::order::{Target, common_prefix_len, run_of, sort_prefix};
use super::entry::Entry;
pub(super) use super::entry::entry;
use super::stored::{self, BlockType};
use super::{RESTART_BYTES, TAIL_BYTES};
use crate::base::coding::Reader;
use crate::base::error::Damage;
use crate::base::ids::FileNumber;
use std::cmp::Ordering;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A verified data block; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    bytes: Arc<[u8]>,
    /// Where the payload starts in `bytes`.
    start: usize,
    entries_len: usize,
    restarts: usize,
    /// Where the first user key starts in the payload; it begins with the common part.
    common_at: usize,
    common: usize,
}

/// A value that keeps its block alive.
#[derive(Clone)]
pub(crate) struct BlockSlice {
    bytes: Arc<[u8]>,
    range: Range<usize>,
}

impl Deref for BlockSlice {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes.get(self.range.clone()).unwrap_or_default()
    }
}

impl std::fmt::Debug for BlockSlice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", &**self)
    }
}

/// Zeroed bytes, shared and in one allocation.
pub(crate) fn zeroed(len: usize) -> Arc<[u8]> {
    std::iter::repeat_n(0u8, len).collect()
}

impl Block {
    /// Verifies and opens the stored data block that lies at `range` of `bytes` and at `offset` of `file`.
    pub fn load(bytes: Arc<[u8]>, range: Range<usize>, file: FileNumber, offset: u64) -> Result<Block, Damage> {
        let stored = bytes.get(range.clone()).ok_or(Damage::new(0, "block reaches past what was read"))?;
        let (block_type, payload) = stored::decode(stored, file, offset)?;
        match block_type {
            BlockType::Plain => {
                let end = range.start + payload.len();
                Block::decode(bytes, range.start..end)
            }
            BlockType::Lz4 => {
                let (len, compressed) = stored::compressed_parts(payload)?;
                let mut out = zeroed(len);
                if let Some(buffer) = Arc::get_mut(&mut out) {
                    stored::decompress(compressed, buffer)?;
                }
                Block::decode(out, 0..len)
            }
            _ => Err(Damage::new(payload.len(), "not a data block")),
        }
    }

    /// Opens the payload at `range` of `bytes`.
    pub fn decode(bytes: Arc<[u8]>, range: Range<usize>) -> Result<Block, Damage> {
        let payload = bytes.get(range.clone()).ok_or(Damage::new(0, "block reaches past what was read"))?;
        let tail_at = payload.len().checked_sub(TAIL_BYTES).ok_or(Damage::new(0, "block too short"))?;
        let mut tail = Reader::new(payload.get(tail_at..).unwrap_or_default());
        let (common, restarts) = (tail.u32()? as usize, tail.u32()? as usize);
        let entries_len = restarts
            .checked_mul(RESTART_BYTES)
            .and_then(|len| tail_at.checked_sub(len))
            .filter(|_| restarts > 0)
            .ok_or(Damage::new(tail_at, "number of restarts is impossible"))?;
        let mut block = Block { start: range.start, entries_len, restarts, common_at: 0, common, bytes };
        let mut before = None;
        for restart in 0..restarts {
            let at = block.restart(restart);
            if at >= entries_len || before.map_or(at != 0, |before| before >= at) {
                return Err(Damage::new(entries_len + restart * 4, "restarts out of order"));
            }
            before = Some(at);
        }
        let first = entry(block.entries(), 0)?;
        if first.shared != 0 || first.user_len() < common {
            return Err(Damage::new(0, "the first key lacks the common prefix"));
        }
        block.common_at = first.suffix.0;
        Ok(block)
    }

    /// The entries, without what follows them.
    #[inline]
    pub fn entries(&self) -> &[u8] {
        self.bytes.get(self.start..self.start + self.entries_len).unwrap_or_default()
    }

    /// Number of restarts, at least 1.
    #[inline]
    pub fn restarts(&self) -> usize {
        self.restarts
    }

    /// Length of the prefix that all user keys share, as the block states it.
    pub fn common(&self) -> usize {
        self.common
    }

    /// Where a restart's entry starts; the end of the entries after the last.
    #[inline]
    pub fn restart(&self, restart: usize) -> usize {
        if restart >= self.restarts {
            return self.entries_len;
        }
        let at = self.start + self.entries_len + restart * 4;
        let bytes = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
        bytes.map_or(self.entries_len, |bytes| u32::from_le_bytes(*bytes) as usize)
    }

    /// The prefix of a restart's user key after the common part.
    pub fn restart_prefix(&self, restart: usize) -> u64 {
        self.prefixes().get(restart).map_or(0, |prefix| u64::from_le_bytes(*prefix))
    }

    #[inline]
    fn prefixes(&self) -> &[[u8; 8]] {
        let at = self.start + self.entries_len + self.restarts * 4;
        self.bytes.get(at..at + self.restarts * 8).unwrap_or_default().as_chunks().0
    }

    /// A value as a slice that keeps the block alive.
    pub fn slice(&self, value: (usize, usize)) -> BlockSlice {
        BlockSlice { bytes: self.bytes.clone(), range: self.start + value.0..self.start + value.1 }
    }

    /// The block in an allocation of its own, for one that a bulk read brought in.
    pub fn detached(&self) -> Block {
        let len = self.entries_len + self.restarts * RESTART_BYTES + TAIL_BYTES;
        let payload = self.bytes.get(self.start..self.start + len).unwrap_or_default();
        Block { bytes: Arc::from(payload), start: 0, ..self.clone() }
    }

    /// Bytes in memory, for the cache.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + size_of::<Block>()
    }

    /// The last restart whose key is before `target`; 0 if there is none.
    #[inline]
    pub fn restart_before(&self, target: Target<'_>) -> Result<usize, Damage> {
        let common = self.entries().get(self.common_at..self.common_at + self.common).unwrap_or_default();
        match target.order_of_prefix(common) {
            Some(Ordering::Greater) => return Ok(0),
            Some(_) => return Ok(self.restarts - 1),
            None => {}
        }
        let prefix = sort_prefix(target.user.get(self.common..).unwrap_or_default());
        let (mut low, mut high) = run_of(self.prefixes(), prefix, |stored| u64::from_le_bytes(*stored));
        // Restarts below `low` are before the target, those from `high` on are not; between, the prefix leaves it open.
        while low < high {
            let middle = low + (high - low) / 2;
            match target.order_of(self.restart_key(middle)?) {
                Ordering::Less => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low.saturating_sub(1))
    }

    /// The first entry at or after `target`, and whether it is of the same user key. Builds no key: what the entry shares
    /// with the one before are the first bytes of the target.
    #[inline]
    pub fn find(&self, target: Target<'_>) -> Result<Option<(Entry, bool)>, Damage> {
        let entries = self.entries();
        let mut at = self.restart(self.restart_before(target)?);
        let mut user_len = 0;
        // How many bytes of the user key before are the target's; that key is before the target, or there is none.
        let mut matched = 0;
        while at < entries.len() {
            let found = entry(entries, at)?;
            if found.shared > user_len {
                return Err(Damage::new(at, "entry shares more than there is"));
            }
            // A key that shares the byte where the one before differed from the target is before the target as well.
            if found.shared <= matched {
                let suffix = entries.get(found.suffix.0..found.suffix.1).unwrap_or_default();
                let wanted = target.user.get(found.shared..).unwrap_or_default();
                let equal = common_prefix_len(suffix, wanted);
                matched = found.shared + equal;
                let order = suffix.get(equal).cmp(&wanted.get(equal));
                if order == Ordering::Greater {
                    return Ok(Some((found, false)));
                }
                if order == Ordering::Equal && found.trailer(entries) >= target.trailer {
                    return Ok(Some((found, true)));
                }
            }
            user_len = found.user_len();
            at = found.value.1;
        }
        Ok(None)
    }

    /// The whole internal key at a restart.
    pub fn restart_key(&self, restart: usize) -> Result<&[u8], Damage> {
        let at = self.restart(restart);
        let found = entry(self.entries(), at)?;
        if found.shared != 0 {
            return Err(Damage::new(at, "restart shares bytes"));
        }
        Ok(found.key_bytes(self.entries()))
    }
}
