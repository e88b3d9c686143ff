//! The functions of `store.cc`, and safe calls of them.
//!
//! Owns: the handles of stores and iterators, and every unsafe piece of the peer.
//! Threads: a store may be shared, as LevelDB's own may; an iterator may not.
//!
//! LVL-1: bytes that LevelDB lends live as long as it promises: an iterator's until it moves, a read's until the thread's next read.

#![expect(unsafe_code, reason = "LevelDB is called through C functions")]

// Linked, not called: `store.cc` calls LevelDB.
use leveldb_sys as _;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::NonNull;

const OK: c_int = 0;
const NONE: c_int = 1;

/// How a store is to be opened.
#[repr(C)]
pub(super) struct Options {
    pub cache_bytes: u64,
    pub write_buffer_bytes: u64,
    pub file_bytes: u64,
    pub block_bytes: u64,
    pub filter_bits: c_int,
    pub mapped: c_int,
}

#[repr(C)]
struct Bytes {
    data: *const u8,
    length: usize,
}

#[repr(C)]
struct Row {
    key: Bytes,
    value: Bytes,
}

#[repr(C)]
struct RawStore {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawIterator {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn sidekey_lab_leveldb_text() -> Bytes;
    fn sidekey_lab_leveldb_open(path: Bytes, options: *const Options) -> *mut RawStore;
    fn sidekey_lab_leveldb_close(store: *mut RawStore);
    fn sidekey_lab_leveldb_put(store: *mut RawStore, key: Bytes, value: Bytes) -> c_int;
    fn sidekey_lab_leveldb_delete(store: *mut RawStore, key: Bytes) -> c_int;
    fn sidekey_lab_leveldb_get(store: *mut RawStore, key: Bytes, value: *mut Bytes) -> c_int;
    fn sidekey_lab_leveldb_iterate(store: *mut RawStore) -> *mut RawIterator;
    fn sidekey_lab_leveldb_iterator_close(iterator: *mut RawIterator);
    fn sidekey_lab_leveldb_seek(iterator: *mut RawIterator, key: Bytes, row: *mut Row) -> c_int;
    fn sidekey_lab_leveldb_next(iterator: *mut RawIterator, row: *mut Row) -> c_int;
    fn sidekey_lab_leveldb_settle(store: *mut RawStore);
    fn sidekey_lab_leveldb_property(store: *mut RawStore, name: Bytes, text: *mut Bytes) -> c_int;
    safe fn sidekey_lab_leveldb_version() -> c_int;
}

/// What LevelDB computes checksums with: the routine that Sidekey uses too.
#[unsafe(no_mangle)]
extern "C" fn sidekey_lab_crc32c(crc: u32, data: *const u8, length: usize) -> u32 {
    // SAFETY: LevelDB passes a buffer of its own and its length.
    let bytes = unsafe { Bytes { data, length }.borrow() };
    crc32c::crc32c_append(crc, bytes)
}

impl Bytes {
    const NOTHING: Self = Self { data: std::ptr::null(), length: 0 };

    fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), length: bytes.len() }
    }

    /// # Safety
    /// The bytes must be there, unchanged, for as long as the caller uses them.
    unsafe fn borrow<'a>(self) -> &'a [u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: the caller promises the bytes; they are not null, since there are some.
        unsafe { std::slice::from_raw_parts(self.data, self.length) }
    }
}

/// What LevelDB said about this thread's last failure.
fn failure() -> String {
    // SAFETY: the text is the thread's own and is copied before anything else is called.
    let text = unsafe { sidekey_lab_leveldb_text().borrow() };
    String::from_utf8_lossy(text).into_owned()
}

/// Whether there was something.
fn outcome(code: c_int) -> Result<bool, String> {
    match code {
        OK => Ok(true),
        NONE => Ok(false),
        _ => Err(failure()),
    }
}

/// LevelDB's version, major and minor.
pub(super) fn version() -> (c_int, c_int) {
    let version = sidekey_lab_leveldb_version();
    (version / 1000, version % 1000)
}

/// An open store.
pub(super) struct Store(NonNull<RawStore>);

// SAFETY: LevelDB's store may be used by any thread.
unsafe impl Send for Store {}
// SAFETY: and by several at once, closing apart, for which `drop` has it alone.
unsafe impl Sync for Store {}

impl Store {
    pub fn open(path: &[u8], options: &Options) -> Result<Self, String> {
        // SAFETY: path and options are there during the call, which keeps neither.
        let store = unsafe { sidekey_lab_leveldb_open(Bytes::of(path), options) };
        NonNull::new(store).map(Self).ok_or_else(failure)
    }

    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), String> {
        // SAFETY: the store is open; key and value are copied by the call.
        outcome(unsafe { sidekey_lab_leveldb_put(self.0.as_ptr(), Bytes::of(key), Bytes::of(value)) }).map(drop)
    }

    pub fn delete(&self, key: &[u8]) -> Result<(), String> {
        // SAFETY: the store is open; the key is copied by the call.
        outcome(unsafe { sidekey_lab_leveldb_delete(self.0.as_ptr(), Bytes::of(key)) }).map(drop)
    }

    /// Shows the value, if there is one.
    #[inline]
    pub fn get(&self, key: &[u8], show: impl FnOnce(&[u8])) -> Result<bool, String> {
        let mut value = Bytes::NOTHING;
        // SAFETY: the store is open; the key is not kept.
        let found = outcome(unsafe { sidekey_lab_leveldb_get(self.0.as_ptr(), Bytes::of(key), &mut value) })?;
        if found {
            // SAFETY: the value stays until this thread's next read (LVL-1), and `show` cannot keep it.
            show(unsafe { value.borrow() });
        }
        Ok(found)
    }

    pub fn iterate(&self) -> Iterator<'_> {
        // SAFETY: the store is open, and outlives the iterator by its lifetime.
        let raw = unsafe { sidekey_lab_leveldb_iterate(self.0.as_ptr()) };
        Iterator { raw, _store: PhantomData }
    }

    pub fn settle(&self) {
        // SAFETY: the store is open.
        unsafe { sidekey_lab_leveldb_settle(self.0.as_ptr()) }
    }

    pub fn property(&self, name: &str) -> Option<String> {
        let mut text = Bytes::NOTHING;
        // SAFETY: the store is open; the name is not kept.
        let code = unsafe { sidekey_lab_leveldb_property(self.0.as_ptr(), Bytes::of(name.as_bytes()), &mut text) };
        // SAFETY: the text is this thread's and is copied at once.
        let text = unsafe { text.borrow() };
        (code == OK).then(|| String::from_utf8_lossy(text).into_owned())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: the store is open and nobody else has it; iterators cannot outlive it.
        unsafe { sidekey_lab_leveldb_close(self.0.as_ptr()) }
    }
}

/// A cursor over the store of the moment at which it was made.
pub(super) struct Iterator<'a> {
    raw: *mut RawIterator,
    _store: PhantomData<&'a Store>,
}

/// A key and its value, until the iterator moves.
pub(super) type Pair<'i> = (&'i [u8], &'i [u8]);

impl Iterator<'_> {
    /// The first entry whose key is not below `key`.
    pub fn seek(&mut self, key: &[u8]) -> Result<Option<Pair<'_>>, String> {
        // SAFETY: the iterator is open; the key is not kept.
        self.row(|raw, row| unsafe { sidekey_lab_leveldb_seek(raw, Bytes::of(key), row) })
    }

    /// The entry after the one of the last call, which returned one.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Pair<'_>>, String> {
        // SAFETY: the iterator is open.
        self.row(|raw, row| unsafe { sidekey_lab_leveldb_next(raw, row) })
    }

    #[inline]
    fn row(&mut self, step: impl FnOnce(*mut RawIterator, *mut Row) -> c_int) -> Result<Option<Pair<'_>>, String> {
        let mut row = Row { key: Bytes::NOTHING, value: Bytes::NOTHING };
        if !outcome(step(self.raw, &mut row))? {
            return Ok(None);
        }
        // SAFETY: the bytes stay until the iterator moves (LVL-1), for which it must be borrowed again.
        Ok(Some(unsafe { (row.key.borrow(), row.value.borrow()) }))
    }
}

impl Drop for Iterator<'_> {
    fn drop(&mut self) {
        // SAFETY: the iterator is open, and closed once.
        unsafe { sidekey_lab_leveldb_iterator_close(self.raw) }
    }
}
