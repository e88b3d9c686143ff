//! One version: its layout in the arena, and the only code that reads or writes it.
//!
//! ```text
//!   key length u32 | value length u32 | user key | trailer | value
//! ```
//!
//! Key and trailer stand together: the internal key is a slice of the arena, never a copy.

use crate::base::key::TRAILER;
use std::cmp;
use std::ptr::NonNull;

const VALUE_LENGTH: usize = 4;
const HEADER: usize = 8;

/// An internal key that is looked for, taken apart once for all comparisons.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    pub user_key: &'a [u8],
    pub trailer: [u8; TRAILER],
}

impl<'a> Probe<'a> {
    #[inline]
    pub fn new(user_key: &'a [u8], trailer: [u8; TRAILER]) -> Self {
        Self { user_key, trailer }
    }

    /// From an internal key; bytes too short to be one sort before every key.
    pub fn from_internal(key: &'a [u8]) -> Self {
        match key.split_last_chunk::<TRAILER>() {
            Some((user_key, trailer)) => Self::new(user_key, *trailer),
            None => Self::new(&[], [0; TRAILER]),
        }
    }

    /// The order of internal keys.
    #[inline]
    pub fn compare(&self, other: &Probe<'_>) -> cmp::Ordering {
        let trailer = |probe: &Probe<'_>| u64::from_be_bytes(probe.trailer);
        self.user_key.cmp(other.user_key).then_with(|| trailer(self).cmp(&trailer(other)))
    }
}

/// The 8 bytes of a key after what it has in common with its neighbours, padded with zeros, as a number that compares as the
/// bytes do. Where two prefixes differ they decide; where they are equal the keys must be compared.
///
/// A key that does not begin with `common` gets the least or the greatest number: the order stays that of the keys.
#[inline]
pub(super) fn prefix_after(common: &[u8], user_key: &[u8]) -> u64 {
    let Some(rest) = user_key.strip_prefix(common) else {
        return if user_key < common { 0 } else { u64::MAX };
    };
    match (rest.first_chunk::<8>(), user_key.last_chunk::<8>()) {
        (Some(first), _) => u64::from_be_bytes(*first),
        // The bytes before the rest are shifted out; no call to copy a few bytes.
        (None, Some(last)) if !rest.is_empty() => u64::from_be_bytes(*last) << (8 * (8 - rest.len())),
        _ => rest.iter().enumerate().fold(0, |prefix, (n, byte)| prefix | u64::from(*byte) << (56 - 8 * n)),
    }
}

/// How many first bytes two keys share.
pub(super) fn shared_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Asks for the cache line at an address, where the machine can.
#[inline]
pub(super) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint: it reads nothing, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _unused = address;
}

/// The address of a version in an arena. Its bytes do not change after [`Entry::write`].
///
/// The reading methods are unsafe for one and the same reason: *the arena must be alive*, as long as what they return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(NonNull<u8>);

// SAFETY: shared by design: immutable once it was written.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

impl Entry {
    /// Bytes that [`Entry::write`] fills.
    #[inline]
    pub fn bytes(user_key: &[u8], value: [&[u8]; 2]) -> usize {
        HEADER + user_key.len() + TRAILER + value[0].len() + value[1].len()
    }

    /// # Safety
    /// `piece` is aligned for u32, has [`Entry::bytes`] writable bytes, and nobody else knows it yet. The lengths fit 32 bits.
    #[inline]
    pub unsafe fn write(piece: NonNull<u8>, key: &Probe<'_>, value: [&[u8]; 2]) -> Entry {
        // SAFETY: header, key, trailer and value in this order add up to the bytes that the caller vouches for.
        unsafe {
            piece.cast::<u32>().write(key.user_key.len() as u32);
            piece.add(VALUE_LENGTH).cast::<u32>().write((value[0].len() + value[1].len()) as u32);
            let mut at = piece.add(HEADER);
            for part in [key.user_key, &key.trailer, value[0], value[1]] {
                at.copy_from_nonoverlapping(NonNull::from(part).cast(), part.len());
                at = at.add(part.len());
            }
        }
        Entry(piece)
    }

    #[inline]
    pub fn address(self) -> NonNull<u8> {
        self.0
    }

    /// # Safety
    /// `address` is that of an entry.
    #[inline]
    pub unsafe fn at(address: NonNull<u8>) -> Entry {
        Entry(address)
    }

    /// Asks for the first cache line.
    #[inline]
    pub fn prefetch(self) {
        prefetch(self.0.as_ptr());
    }

    /// The internal key.
    ///
    /// # Safety
    /// See [`Entry`].
    #[inline]
    pub unsafe fn key<'a>(self) -> &'a [u8] {
        // SAFETY: `write` put user key and trailer behind the header, and the length into it.
        unsafe {
            let len = self.0.cast::<u32>().read() as usize + TRAILER;
            NonNull::slice_from_raw_parts(self.0.add(HEADER), len).as_ref()
        }
    }

    /// The value.
    ///
    /// # Safety
    /// See [`Entry`].
    #[inline]
    pub unsafe fn value<'a>(self) -> &'a [u8] {
        // SAFETY: `write` put the value behind the trailer, with this length.
        unsafe {
            let key_len = self.0.cast::<u32>().read() as usize + TRAILER;
            let len = self.0.add(VALUE_LENGTH).cast::<u32>().read() as usize;
            NonNull::slice_from_raw_parts(self.0.add(HEADER + key_len), len).as_ref()
        }
    }
}
