//! How much log is kept while one collection is idle and another is written: the bound of the settings, at their real sizes.

use sidekey::{Db, Settings};
use std::path::Path;

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Bytes of values written.
    pub written: u64,
    /// The most log that was kept at once, in bytes.
    pub largest: u64,
    /// What may be kept at most, in bytes.
    pub bound: u64,
}

const VALUE: usize = 64 << 10;

/// Writes `bytes` into one collection of a new database in `dir` while another holds one old write; fails if more log is kept than
/// the settings allow.
pub fn run(dir: &Path, bytes: u64) -> Result<Figures, String> {
    let settings = Settings::default();
    // What waits to be flushed is kept too, and the current segment cannot go.
    let waiting = 2 * u64::from(settings.memtables_max) * settings.memtable_bytes;
    let bound = settings.wal_retained_bytes + 2 * settings.wal_segment_bytes + waiting;
    let said = |e: sidekey::Error| e.to_string();
    let db = Db::open(dir, settings.clone()).map_err(said)?;
    let (idle, busy) = (db.collection("idle").map_err(said)?, db.collection("busy").map_err(said)?);
    idle.put("old", "value").map_err(said)?;
    let value = vec![b'x'; VALUE];
    let mut largest = 0;
    for n in 0..bytes / VALUE as u64 {
        busy.put((n % 1000).to_be_bytes(), &value).map_err(said)?;
        largest = largest.max(db.stats().wal_retained_bytes);
        if largest > bound {
            return Err(format!("{largest} bytes of log are kept after {n} writes; at most {bound} may be"));
        }
    }
    db.close().map_err(said)?;
    let db = Db::open(dir, settings).map_err(said)?;
    let kept = db.collection("idle").and_then(|idle| idle.get("old")).map_err(said)?;
    match kept.as_deref() {
        Some(b"value") => Ok(Figures { written: bytes, largest, bound }),
        _ => Err("the idle collection's write is lost".into()),
    }
}
