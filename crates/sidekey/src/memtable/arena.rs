//! Memory that grows in chunks, never moves and is freed in one go.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Every piece starts at a multiple of this.
pub(super) const ALIGN: usize = 8;
/// Small, since a database may have many collections that are hardly written.
const FIRST_CHUNK_BYTES: usize = 4 << 10;
/// Beyond this, larger chunks save no measurable time.
const LARGEST_CHUNK_BYTES: usize = 1 << 20;

/// One allocation.
struct Chunk {
    start: NonNull<u8>,
    layout: Layout,
}

impl Chunk {
    fn new(bytes: usize) -> Chunk {
        let Ok(layout) = Layout::from_size_align(bytes, ALIGN) else {
            // More than isize::MAX bytes: no allocator could serve it.
            handle_alloc_error(Layout::new::<u64>());
        };
        // SAFETY: the layout is not empty, for a chunk holds at least one piece of at least `ALIGN` bytes.
        let start = unsafe { alloc(layout) };
        match NonNull::new(start) {
            Some(start) => Chunk { start, layout },
            None => handle_alloc_error(layout),
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: `start` came from `alloc` with this very layout, and a chunk is dropped once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// The chunks, and what is left of the one that is being filled.
pub(super) struct Arena {
    chunks: Vec<Chunk>,
    free: NonNull<u8>,
    free_bytes: usize,
    reserved_bytes: usize,
    /// Of the chunk that comes first.
    first_chunk_bytes: usize,
}

// SAFETY: the arena owns its chunks alone, and `free` points into one of them.
unsafe impl Send for Arena {}

impl Arena {
    /// An empty arena that will hold about as many bytes as given; zero if that is not known.
    pub fn new(expected_bytes: usize) -> Arena {
        Arena {
            chunks: Vec::new(),
            free: NonNull::<u64>::dangling().cast(),
            free_bytes: 0,
            reserved_bytes: 0,
            first_chunk_bytes: expected_bytes.clamp(FIRST_CHUNK_BYTES, LARGEST_CHUNK_BYTES),
        }
    }

    /// Uninitialised memory of `bytes`, at a multiple of [`ALIGN`]; valid until the arena is dropped.
    ///
    /// A piece that is large against the chunk to come gets its own, so that less than a quarter of a chunk is ever lost.
    pub fn allocate(&mut self, bytes: usize) -> NonNull<u8> {
        let bytes = bytes.max(1).next_multiple_of(ALIGN);
        if bytes > self.free_bytes {
            let chunk_bytes = self.next_chunk_bytes();
            if bytes > chunk_bytes / 4 {
                return self.add_chunk(bytes);
            }
            self.free = self.add_chunk(chunk_bytes);
            self.free_bytes = chunk_bytes;
        }
        let piece = self.free;
        // SAFETY: `free` has `free_bytes >= bytes` bytes of its chunk behind it, so the sum is inside or one past its end.
        self.free = unsafe { piece.add(bytes) };
        self.free_bytes -= bytes;
        piece
    }

    /// Bytes of all chunks.
    pub fn reserved_bytes(&self) -> usize {
        self.reserved_bytes
    }

    /// Half of what is held already: the unused part stays below a third of the whole.
    fn next_chunk_bytes(&self) -> usize {
        (self.reserved_bytes / 2).next_power_of_two().clamp(self.first_chunk_bytes, LARGEST_CHUNK_BYTES)
    }

    fn add_chunk(&mut self, bytes: usize) -> NonNull<u8> {
        let chunk = Chunk::new(bytes);
        let start = chunk.start;
        self.chunks.push(chunk);
        self.reserved_bytes += bytes;
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_and_do_not_overlap() {
        let mut arena = Arena::new(0);
        let mut pieces = vec![];
        for i in 0..2000usize {
            let bytes = [1, 7, 8, 40, 1500, 5000][i % 6];
            let piece = arena.allocate(bytes);
            // SAFETY: the piece has that many bytes.
            unsafe { piece.write_bytes(i as u8, bytes) };
            pieces.push((piece, bytes, i as u8));
        }
        for (piece, bytes, fill) in pieces {
            assert_eq!(piece.as_ptr() as usize % ALIGN, 0);
            // SAFETY: the piece was filled above and the arena is alive.
            let held = unsafe { std::slice::from_raw_parts(piece.as_ptr(), bytes) };
            assert!(held.iter().all(|b| *b == fill));
        }
    }

    #[test]
    fn reserves_little_for_little_and_one_chunk_for_one_large_piece() {
        let mut arena = Arena::new(0);
        assert_eq!(arena.reserved_bytes(), 0);
        arena.allocate(10);
        assert_eq!(arena.reserved_bytes(), FIRST_CHUNK_BYTES);
        arena.allocate(3_000_000);
        assert_eq!(arena.reserved_bytes(), FIRST_CHUNK_BYTES + 3_000_000);
        let chunks = arena.chunks.len();
        arena.allocate(10);
        assert_eq!(arena.chunks.len(), chunks, "the chunk that was being filled is still used");
    }
}
