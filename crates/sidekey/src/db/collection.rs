//! A collection: its pinned state and the handle that users hold.

use super::handle::Handle;
use super::prepare::{Condition, WriteOp};
use super::query::Query;
use super::scan::Scan;
use super::snapshots::Snapshot;
use super::write::WriteOptions;
use crate::base::error::{Error, Result};
use crate::base::ids::{CollectionId, Sqn, TreeKind};
use crate::base::key::Kind;
use crate::base::value::Value;
use crate::env::sync::atomic::AtomicU64;
use crate::index::set::{IndexSet, decode_record};
use crate::index::spec::{IndexInfo, IndexSpec};
use crate::tree::Superversion;
use arc_swap::ArcSwap;
use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

/// A superversion and the index set that goes with it, pinned as one: a reader that knows an index also has its entries.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub core_id: CollectionId,
    pub superversion: Arc<Superversion>,
    pub set: Arc<IndexSet>,
}

impl View {
    /// This view with another superversion.
    pub fn with(&self, change: impl FnOnce(&mut Superversion)) -> View {
        let mut superversion = Superversion::clone(&self.superversion);
        change(&mut superversion);
        View { superversion: Arc::new(superversion), ..self.clone() }
    }
}

/// What an open collection is.
pub(super) struct CollectionCore {
    pub id: CollectionId,
    pub name: String,
    view: ArcSwap<View>,
    pub opaque_values: AtomicU64,
}

impl CollectionCore {
    pub fn new(id: CollectionId, name: String, superversion: Superversion, set: IndexSet) -> Arc<Self> {
        let view = View { core_id: id, superversion: Arc::new(superversion), set: Arc::new(set) };
        Arc::new(Self { id, name, view: ArcSwap::from_pointee(view), opaque_values: AtomicU64::new(0) })
    }

    /// Pins the present state.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Pins the present state for a moment: cheaper than [`CollectionCore::view`], and a thread has few such pins.
    #[inline]
    pub fn pin(&self) -> arc_swap::Guard<Arc<View>> {
        self.view.load()
    }

    /// Replaces the state by a pure function of it; may be called from several threads.
    pub fn change(&self, change: impl Fn(&View) -> View) {
        self.view.rcu(|view| change(view));
    }

    /// Puts an empty memtable pair before the active one; false if that is empty itself. Only the leader calls this.
    pub fn switch(&self) -> bool {
        let view = self.view();
        let active = &view.superversion.active;
        if active.is_empty() {
            return false;
        }
        let fresh = Arc::new(active.successor());
        self.change(|view| {
            view.with(|next| {
                next.immutable.insert(0, view.superversion.active.clone());
                next.active = fresh.clone();
            })
        });
        true
    }
}

impl fmt::Debug for CollectionCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collection").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A named set of records with its own indexes, opened by [`crate::Db::collection`]. Cheap to clone; usable from several threads.
///
/// A value is any bytes. If it is JSON (UTF-8), the attributes that indexes ask for are taken from it; if it is not, it has none, and
/// [`crate::CollectionStats::opaque_values`] counts it.
#[derive(Clone)]
pub struct Collection {
    pub(super) handle: Arc<Handle>,
    pub(super) core: Arc<CollectionCore>,
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

impl Collection {
    /// The collection's name.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    fn single(&self, kind: Kind, key: &[u8], value: &[u8], condition: Condition) -> Result<(u64, bool)> {
        let op = WriteOp { core: &self.core, kind, key, value };
        self.handle.inner.write(&[op], condition, WriteOptions::default())
    }

    /// Stores a record, replacing what the key had. Returns the write's sequence number.
    ///
    /// The key has 1 byte to 64 KiB, key and value together up to 1 GiB. When this returns, the write survives the death of the process;
    /// when it survives a power cut is the matter of [`crate::SyncPolicy`]. To wait for that in one write see
    /// [`crate::Db::write_with`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] beyond a limit, also if an indexed attribute takes more than 4 KiB encoded; [`Error::NoSpace`]: not
    /// written, try again when there is space; [`Error::Io`]: it may be there after the next opening, or not; [`Error::ReadOnly`] ever after
    /// that, until the database is opened again.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<u64> {
        Ok(self.single(Kind::Put, key.as_ref(), value.as_ref(), Condition::Always)?.0)
    }

    /// Removes a record; a key that is not there is no error. Returns the write's sequence number.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<u64> {
        Ok(self.single(Kind::Delete, key.as_ref(), &[], Condition::Always)?.0)
    }

    /// Stores a record if the key has none, atomically. Returns whether it did. Reads the old version first.
    pub fn put_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.single(Kind::Put, key.as_ref(), value.as_ref(), Condition::IfAbsent)?.1)
    }

    /// Replaces a record if the key has one, atomically. Returns whether it did. Reads the old version first.
    pub fn put_if_present(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.single(Kind::Put, key.as_ref(), value.as_ref(), Condition::IfPresent)?.1)
    }

    /// The record of a key, as of now.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.get_with(key, <[u8]>::to_vec)
    }

    /// The record of a key, as of now, read where it lies, without a copy. `read` is called at most once, with the value; meanwhile what
    /// it reads stays in memory, but no lock is held, so it may call the database.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = sidekey::Db::open(dir.path().join("db"), Default::default())?;
    /// let pages = db.collection("pages")?;
    /// pages.put("home", "<html>...")?;
    /// assert_eq!(pages.get_with("home", |page| page.len())?, Some(9));
    /// assert_eq!(pages.get_with("away", |page| page.len())?, None);
    /// # Ok::<(), sidekey::Error>(())
    /// ```
    pub fn get_with<T>(&self, key: impl AsRef<[u8]>, read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        self.handle.inner.check_open()?;
        // Pinned before the sqn is taken (TREE-1).
        let view = self.core.pin();
        let at = self.handle.inner.visible();
        read_put(&view.superversion, key.as_ref(), at, read)
    }

    /// The record of a key as a snapshot sees it.
    pub fn get_at(&self, key: impl AsRef<[u8]>, snapshot: &Snapshot) -> Result<Option<Vec<u8>>> {
        let at = snapshot.checked_sqn(&self.handle)?;
        read_put(&self.core.pin().superversion, key.as_ref(), at, <[u8]>::to_vec)
    }

    /// The records of many keys, in the order of `keys`, all as of one moment: none of a batch written meanwhile, or all of it. Where several
    /// keys lie near one another this is cheaper than as many calls of [`Collection::get`], cheapest if the keys come in order.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = sidekey::Db::open(dir.path().join("db"), Default::default())?;
    /// let stock = db.collection("stock")?;
    /// stock.put("nails", "100")?;
    /// stock.put("screws", "12")?;
    /// let found = stock.multi_get(&["screws", "glue", "nails"])?;
    /// assert_eq!(found, [Some(b"12".to_vec()), None, Some(b"100".to_vec())]);
    /// # Ok::<(), sidekey::Error>(())
    /// ```
    pub fn multi_get(&self, keys: &[impl AsRef<[u8]>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.handle.inner.check_open()?;
        // Pinned before the sqn is taken (TREE-1).
        let view = self.core.view();
        let at = self.handle.inner.visible();
        let mut order: Vec<(usize, &[u8])> = keys.iter().map(AsRef::as_ref).enumerate().collect();
        order.sort_by_key(|(_, key)| *key);
        let sorted: Vec<&[u8]> = order.iter().map(|(_, key)| *key).collect();
        let mut values = vec![None; keys.len()];
        view.superversion.tree(TreeKind::Primary).read_many(&sorted, at, |n, kind, stored| {
            if kind == Kind::Put {
                values[order[n].0] = Some(decode_record(stored)?.1.to_vec());
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// The records of a key range (`..`, `a..b`, `a..=b`), in key order, as of now. The whole collection is `scan::<&str>(..)`.
    pub fn scan<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Scan {
        Scan::new(self.clone(), &range)
    }

    /// Creates an index and fills it from the records that are there; writers wait meanwhile. An index with the same definition is
    /// left as it is; one that a crash left invalid is built anew.
    ///
    /// # Errors
    /// [`Error::Conflict`] if an index of that name has another definition; [`Error::Unsupported`] for choices that this version does not
    /// build; [`Error::InvalidArgument`] for a path that is none, or beyond 64 indexes.
    pub fn create_index(&self, spec: IndexSpec) -> Result<()> {
        self.handle.inner.create_index(&self.core, &spec)
    }

    /// Drops an index. Its entries are removed by later compactions.
    pub fn drop_index(&self, name: &str) -> Result<()> {
        self.handle.inner.drop_index(&self.core, name)
    }

    /// The indexes with their states, in the order of their creation.
    pub fn indexes(&self) -> Vec<IndexInfo> {
        self.core.view().set.indexes.iter().map(|i| i.info.clone()).collect()
    }

    /// The records whose attribute equals `value`, newest first unless said otherwise. An index that does not exist is an error when the
    /// query runs.
    pub fn lookup(&self, index: &str, value: impl Into<Value>) -> Query {
        Query::lookup(self.clone(), index, value.into())
    }

    /// The records whose attribute lies in a range (`..`, `a..b`, `a..=b` of [`Value`]s), by attribute unless said otherwise. A range
    /// with one bound holds values of that bound's type only; one without holds every record that has an entry.
    pub fn range(&self, index: &str, range: impl RangeBounds<Value>) -> Query {
        Query::range(self.clone(), index, &range)
    }

    /// How many entries and deletes of an index there are physically, in all memtables and tables: its size with what is not cleaned yet.
    /// Reads the whole index.
    pub fn raw_entries(&self, index: &str) -> Result<u64> {
        self.handle.inner.check_open()?;
        let view = self.core.view();
        let def = view.set.named(index).ok_or_else(|| no_index(&self.core, &view.set, index))?;
        crate::check::count_raw(&view.superversion, def.incarnation)
    }
}

/// Reads the value of a key's newest version, if that is a put.
fn read_put<T>(superversion: &Superversion, key: &[u8], at: Sqn, read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
    let found = superversion.tree(TreeKind::Primary).read(key, at, |_, kind, stored| match kind {
        Kind::Put => decode_record(stored).map(|(_, value)| Some(read(value))),
        Kind::Delete => Ok(None),
    })?;
    found.unwrap_or(Ok(None))
}

/// The error for a name that no index has.
pub(super) fn no_index(core: &CollectionCore, set: &IndexSet, name: &str) -> Error {
    let names: Vec<&str> = set.indexes.iter().map(|i| i.info.spec.name.as_str()).collect();
    let have = if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
    Error::invalid(format!("collection '{}' has no index '{name}'; {have}", core.name))
}

#[cfg(test)]
mod tests;
