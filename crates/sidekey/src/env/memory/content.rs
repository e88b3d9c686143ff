//! The bytes of one file, in shared pages: a copy costs a pointer a page, and a write after it copies the pages it touches.
//!
//! CONTENT-1: a missing page reads as zeros, and bytes of a page beyond the length are zero, so that growing needs no writing.

use std::collections::BTreeMap;
use std::sync::Arc;

const PAGE_BYTES: usize = 4096;

#[derive(Clone, Default)]
pub(super) struct Content {
    pages: BTreeMap<u64, Arc<[u8; PAGE_BYTES]>>,
    len: u64,
}

/// The pieces of `[offset, offset + len)` by page: (page number, start in page, start in range, length).
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = (at % PAGE_BYTES as u64) as usize;
        let n = (PAGE_BYTES - within).min(len - done);
        let piece = (at / PAGE_BYTES as u64, within, done, n);
        done += n;
        (n > 0).then_some(piece)
    })
}

impl Content {
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Fills `buffer`, or returns false if the file ends before.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> bool {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > self.len) {
            return false;
        }
        for (page, within, at, n) in pieces(offset, buffer.len()) {
            match self.pages.get(&page) {
                Some(bytes) => buffer[at..at + n].copy_from_slice(&bytes[within..within + n]),
                None => buffer[at..at + n].fill(0),
            }
        }
        true
    }

    /// Puts `bytes` at `offset`, growing as needed. The caller has checked that the end does not overflow.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (page, within, at, n) in pieces(offset, bytes.len()) {
            let stored = self.pages.entry(page).or_insert_with(|| Arc::new([0; PAGE_BYTES]));
            Arc::make_mut(stored)[within..within + n].copy_from_slice(&bytes[at..at + n]);
        }
        if !bytes.is_empty() {
            self.len = self.len.max(offset + bytes.len() as u64);
        }
    }

    /// Like [`Content::write`] for what lies below the length; the rest of `bytes` is dropped.
    pub fn write_clipped(&mut self, offset: u64, bytes: &[u8]) {
        let room = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        self.write(offset, &bytes[..bytes.len().min(room)]);
    }

    pub fn set_len(&mut self, len: u64) {
        if len < self.len {
            self.pages.split_off(&len.div_ceil(PAGE_BYTES as u64));
            let kept = (len % PAGE_BYTES as u64) as usize;
            if kept > 0
                && let Some(last) = self.pages.get_mut(&(len / PAGE_BYTES as u64))
            {
                Arc::make_mut(last)[kept..].fill(0);
            }
        }
        self.len = len;
    }

    /// Shares the pages of `other` that hold the range, and takes its length. The two must differ in that range only.
    pub fn share_range(&mut self, other: &Content, offset: u64, len: usize) {
        for (page, ..) in pieces(offset, len) {
            if let Some(bytes) = other.pages.get(&page) {
                self.pages.insert(page, Arc::clone(bytes));
            }
        }
        self.len = other.len;
    }

    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = vec![0; usize::try_from(self.len).unwrap_or(usize::MAX)];
        self.read(0, &mut all);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_bytes_do_not_come_back_when_the_file_grows_again() {
        let mut content = Content::default();
        content.write(4000, &[7; 5000]);
        let copy = content.clone();
        content.set_len(4010);
        content.set_len(9000);
        let mut expected = vec![0; 9000];
        expected[4000..4010].fill(7);
        assert_eq!(content.to_vec(), expected);
        expected[4000..9000].fill(7);
        assert_eq!(copy.to_vec(), expected);
    }

    #[test]
    fn reading_past_the_end_is_refused() {
        let mut content = Content::default();
        content.write(10, &[1]);
        assert!(content.read(0, &mut [0; 11]));
        assert!(!content.read(0, &mut [0; 12]));
        assert!(!content.read(u64::MAX, &mut [0; 2]));
    }

    #[test]
    fn clipped_write_never_grows() {
        let mut content = Content::default();
        content.set_len(3);
        content.write_clipped(1, &[5; 9]);
        content.write_clipped(3, &[5; 9]);
        content.write_clipped(100, &[5; 9]);
        assert_eq!(content.to_vec(), [0, 5, 5]);
    }
}
