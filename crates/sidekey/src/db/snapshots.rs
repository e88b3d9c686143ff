//! Snapshots: sqns that compaction must respect while they are open.
//!
//! DB-7: a snapshot's sqn is taken and listed under one lock, the one under which compaction reads the list and the visible head. So
//! whatever a compaction drops was hidden from every snapshot listed, and from every later one.

use super::handle::Handle;
use super::inner::Inner;
use crate::base::error::{Error, Result};
use crate::base::ids::Sqn;
use std::fmt;
use std::sync::Arc;

/// A frozen view over all collections. Cheap to clone; usable from several threads.
///
/// While it is open, compaction keeps the versions that it sees, so drop it when it is not needed. It does not outlive the opening of the
/// database: after [`crate::Db::close`] its calls answer [`Error::Closed`].
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = sidekey::Db::open(dir.path().join("db"), Default::default())?;
/// let stock = db.collection("stock")?;
/// stock.put("nails", "100")?;
/// let then = db.snapshot();
/// stock.put("nails", "70")?;
/// stock.put("screws", "12")?;
///
/// assert_eq!(stock.get_at("nails", &then)?.as_deref(), Some(&b"100"[..]));
/// assert_eq!(stock.scan::<&str>(..).at(&then).count(), 1);
/// # Ok::<(), sidekey::Error>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    held: Arc<Held>,
}

struct Held {
    handle: Arc<Handle>,
    sqn: Sqn,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.handle.inner.release(self.sqn);
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("sqn", &self.held.sqn.0).finish()
    }
}

impl Snapshot {
    pub(super) fn new(handle: Arc<Handle>) -> Self {
        let sqn = handle.inner.hold();
        Self { held: Arc::new(Held { handle, sqn }) }
    }

    /// The sequence number of the last write that the snapshot sees.
    pub fn sqn(&self) -> u64 {
        self.held.sqn.0
    }

    /// The sqn, if the snapshot is of this open database.
    pub(super) fn checked_sqn(&self, handle: &Arc<Handle>) -> Result<Sqn> {
        handle.inner.check_open()?;
        if !Arc::ptr_eq(&self.held.handle, handle) {
            return Err(Error::invalid("the snapshot was taken from another open database"));
        }
        Ok(self.held.sqn)
    }
}

impl Inner {
    /// Lists the visible head as a snapshot.
    pub fn hold(&self) -> Sqn {
        let mut snapshots = self.snapshots.lock();
        let sqn = self.visible();
        *snapshots.entry(sqn).or_insert(0) += 1;
        sqn
    }

    /// Holds the visible head and every snapshot that is open, once more each; ascending.
    pub fn hold_all(&self) -> Vec<Sqn> {
        let mut snapshots = self.snapshots.lock();
        snapshots.entry(self.visible()).or_insert(0);
        snapshots.values_mut().for_each(|count| *count += 1);
        snapshots.keys().copied().collect()
    }

    /// Takes a snapshot off the list; tables that it kept dirty become worth a compaction.
    pub fn release(&self, sqn: Sqn) {
        let mut snapshots = self.snapshots.lock();
        if let Some(count) = snapshots.get_mut(&sqn) {
            *count -= 1;
            if *count == 0 {
                snapshots.remove(&sqn);
                drop(snapshots);
                self.post_work();
            }
        }
    }
}
