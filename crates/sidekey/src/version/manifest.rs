//! The manifest file: a log of edit lists, and the file `CURRENT` that names it.
//!
//! Manifest: header of 24 bytes (magic 8, format version 4, checksum 4 of the rest, file number 8), then records: checksum 4 (bound to file
//! number and offset, over length and payload), payload length 4, payload. Every record is synced before it is acted on, and then confirmed by a
//! small record behind it that is not synced, and that the next record overwrites. A bad last record was therefore never acted on, or is a
//! confirmation: it is dropped.
//! A bad record before a good one, or no good one at all, is damage.
//!
//! The manifest is written anew at every open and when it has grown long, so nothing is ever appended behind a bad record.

use super::catalog::Catalog;
use super::edit::Edit;
use crate::base::checksum::checksum;
use crate::base::coding::Reader;
use crate::base::error::{Damage, Error, Result};
use crate::base::format::FORMAT_VERSION;
use crate::base::ids::FileNumber;
use crate::base::planted::{Fault, planted};
use crate::env::{File, FileSystem, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: [u8; 8] = *b"SIDEKEYM";
const HEADER: usize = 24;
/// What is to become `CURRENT`.
pub(crate) const CURRENT_NEW: &str = "CURRENT.new";
const RECORD_HEADER: usize = 8;

/// The open manifest and the state it describes.
#[derive(Debug)]
pub(crate) struct Manifest {
    files: Arc<dyn FileSystem>,
    dir: PathBuf,
    number: FileNumber,
    file: Arc<dyn File>,
    len: u64,
    /// Length with the first record alone.
    first_len: u64,
    catalog: Catalog,
}

/// The path of a manifest.
pub(crate) fn manifest_path(dir: &Path, number: FileNumber) -> PathBuf {
    dir.join(format!("MANIFEST-{:06}", number.0))
}

/// The path of the file that names the manifest in use.
pub(crate) fn current_path(dir: &Path) -> PathBuf {
    dir.join("CURRENT")
}

/// The number in a manifest's file name.
pub(crate) fn is_manifest(name: &str) -> Option<FileNumber> {
    let number = FileNumber(name.strip_prefix("MANIFEST-")?.parse().ok()?);
    (format!("MANIFEST-{:06}", number.0) == name).then_some(number)
}

impl Manifest {
    /// Writes a manifest of `catalog` under the next file number, makes it durable and switches `CURRENT` to it. After `NoSpace` none of it is left.
    pub fn create(files: Arc<dyn FileSystem>, dir: &Path, catalog: Catalog) -> Result<Manifest> {
        let path = manifest_path(dir, catalog.next_file);
        let created = Self::create_at(files.clone(), dir, &path, catalog);
        if matches!(created, Err(Error::NoSpace { .. })) {
            // CURRENT does not name it: left there, each attempt on a full disk would take a little more.
            let _ = files.remove(&dir.join(CURRENT_NEW));
            let _ = files.remove(&path);
        }
        created
    }

    fn create_at(files: Arc<dyn FileSystem>, dir: &Path, path: &Path, mut catalog: Catalog) -> Result<Manifest> {
        let number = catalog.next_file;
        catalog.next_file = FileNumber(number.0 + 1);
        let file = files.open(path, OpenMode::CreateNew).map_err(|e| Error::io(path, "create the manifest", e))?;
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        header.extend_from_slice(&header_sum(FORMAT_VERSION, number).to_le_bytes());
        header.extend_from_slice(&number.0.to_le_bytes());
        file.write_at(&[&header], 0).map_err(|e| Error::io(path, "write the manifest", e))?;
        let edits = catalog.as_edits();
        let mut manifest =
            Manifest { files, dir: dir.to_path_buf(), number, file, len: HEADER as u64, first_len: 0, catalog };
        manifest.append(&edits)?;
        manifest.first_len = manifest.len;
        manifest.switch_current()?;
        Ok(manifest)
    }

    /// Reads the manifest that `CURRENT` names.
    pub fn load(files: &dyn FileSystem, dir: &Path) -> Result<(FileNumber, Catalog)> {
        let current = current_path(dir);
        let text = read_all(files, &current)?;
        let number = decode_current(&text).map_err(|d| d.in_file(&current, 0))?;
        let path = manifest_path(dir, number);
        let bytes = read_all(files, &path)?;
        let catalog = decode_manifest(&bytes, number).map_err(|e| match e {
            Bad::Damage(d) => d.in_file(&path, 0),
            Bad::Newer(version) => Error::Incompatible(format!(
                "{}: format version {version} is newer than this build's {FORMAT_VERSION}; open it with a newer Sidekey",
                path.display()
            )),
        })?;
        Ok((number, catalog))
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub fn number(&self) -> FileNumber {
        self.number
    }

    /// Whether it has grown beyond `limit` bytes and beyond twice what it was when it was written.
    pub fn is_long(&self, limit: u64) -> bool {
        self.len > limit.max(2 * self.first_len)
    }

    /// Makes the edits durable, then applies them (VER-1). On error nothing is applied. After `NoSpace` the file is as it was; after any other error
    /// it is unknown what reached the file, and the caller stops writing.
    pub fn commit(&mut self, edits: &[Edit]) -> Result<()> {
        let mut next = self.catalog.clone();
        for edit in edits {
            next.apply(edit).map_err(Error::internal)?;
        }
        self.append(edits)?;
        self.catalog = next;
        Ok(())
    }

    /// Sets one past the largest used file number; durable with the next commit.
    pub fn set_next_file(&mut self, next: FileNumber) {
        self.catalog.next_file = self.catalog.next_file.max(next);
    }

    /// Writes the state into a new manifest and removes the old one.
    pub fn rewrite(&mut self) -> Result<()> {
        let old = manifest_path(&self.dir, self.number);
        *self = Manifest::create(self.files.clone(), &self.dir, self.catalog.clone())?;
        // What stays behind is an orphan that the next open removes.
        let _ = self.files.remove(&old);
        Ok(())
    }

    /// The bytes of a record that is to stand at the end.
    fn record(&self, edits: &[Edit]) -> Result<Vec<u8>> {
        let mut record = vec![0; RECORD_HEADER];
        edits.iter().for_each(|e| e.encode(&mut record));
        let len =
            u32::try_from(record.len() - RECORD_HEADER).map_err(|_| Error::internal("manifest edit over 4 GiB"))?;
        record[4..8].copy_from_slice(&len.to_le_bytes());
        let sum = checksum(self.number.0, self.len, &[&record[4..]]);
        record[..4].copy_from_slice(&sum.to_le_bytes());
        Ok(record)
    }

    fn append(&mut self, edits: &[Edit]) -> Result<()> {
        let record = self.record(edits)?;
        let path = manifest_path(&self.dir, self.number);
        if let Err(e) = self.file.write_at(&[&record], self.len) {
            let error = Error::io(&path, "append to the manifest", e);
            if matches!(error, Error::NoSpace { .. }) {
                // Nothing may ever stand behind a torn record: without this cut the error would be final.
                self.file.set_len(self.len).map_err(|e| Error::io(&path, "cut a torn record off the manifest", e))?;
            }
            return Err(error);
        }
        self.file.sync_data().map_err(|e| final_error(&path, "sync the manifest", e))?;
        self.len += record.len() as u64;
        self.confirm()
    }

    /// Writes an edit that changes nothing behind the record that was just synced, so that later damage to that record cannot be taken for a
    /// torn write. It is not synced, may be lost or torn, or missing for want of space, and the next record is written over it: nothing that
    /// counts ever stands behind it.
    fn confirm(&self) -> Result<()> {
        let record = self.record(&[Edit::nothing()])?;
        let _ = self.file.write_at(&[&record], self.len);
        Ok(())
    }

    fn switch_current(&self) -> Result<()> {
        let (temporary, current) = (self.dir.join(CURRENT_NEW), current_path(&self.dir));
        let failed = |doing| {
            let current = current.clone();
            move |e: io::Error| Error::io(&current, doing, e)
        };
        if self.files.exists(&temporary).map_err(failed("look for CURRENT.new"))? {
            self.files.remove(&temporary).map_err(failed("remove the old CURRENT.new"))?;
        }
        let file = self.files.open(&temporary, OpenMode::CreateNew).map_err(failed("create CURRENT.new"))?;
        file.write_at(&[encode_current(self.number).as_bytes()], 0).map_err(failed("write CURRENT.new"))?;
        file.sync_all().map_err(failed("sync CURRENT.new"))?;
        // The manifest's own name must be durable before CURRENT can point to it.
        self.files.sync_dir(&self.dir).map_err(failed("sync the directory"))?;
        self.files.rename(&temporary, &current).map_err(failed("rename CURRENT.new"))?;
        if planted(Fault::DirectoryNotSynced) {
            return Ok(());
        }
        // CURRENT names the new manifest already, durably or not: the old one may not be written on.
        self.files.sync_dir(&self.dir).map_err(|e| final_error(&current, "sync the directory", e))
    }
}

/// The error of a step after which the disk may hold the old or the new state: never `NoSpace`, after which callers would undo the step
/// and go on.
fn final_error(path: &Path, doing: &'static str, source: io::Error) -> Error {
    Error::Io { file: path.to_path_buf(), doing, source: Arc::new(source) }
}

fn encode_current(number: FileNumber) -> String {
    let line = format!("MANIFEST-{:06}", number.0);
    format!("{line} {:08x}\n", checksum(0, 0, &[line.as_bytes()]))
}

fn decode_current(bytes: &[u8]) -> Result<FileNumber, Damage> {
    let bad = Damage::new(0, "CURRENT does not name a manifest");
    let text = std::str::from_utf8(bytes).map_err(|_| bad.clone())?;
    let number = text.split(' ').next().and_then(is_manifest).ok_or(bad.clone())?;
    // Comparing with the one right encoding checks the checksum, the digits and the line's end at once.
    if text == encode_current(number) { Ok(number) } else { Err(Damage::new(0, "CURRENT fails its checksum")) }
}

pub(crate) fn read_all(files: &dyn FileSystem, path: &Path) -> Result<Vec<u8>> {
    let read = || -> io::Result<Vec<u8>> {
        let file = files.open(path, OpenMode::Read)?;
        let mut bytes = vec![0; usize::try_from(file.len()?).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    };
    read().map_err(|e| Error::io(path, "read the file", e))
}

/// The checksum of a manifest's header.
fn header_sum(version: u32, number: FileNumber) -> u32 {
    checksum(number.0, 0, &[&MAGIC, &version.to_le_bytes()])
}

#[derive(Debug)]
enum Bad {
    Damage(Damage),
    Newer(u32),
}

impl From<Damage> for Bad {
    fn from(d: Damage) -> Self {
        Bad::Damage(d)
    }
}

fn decode_manifest(bytes: &[u8], number: FileNumber) -> Result<Catalog, Bad> {
    let mut r = Reader::new(bytes);
    if r.take(8)? != MAGIC {
        return Err(Damage::new(0, "not a Sidekey manifest").into());
    }
    let (version, sum, named) = (r.u32()?, r.u32()?, FileNumber(r.u64()?));
    if version == 0 || sum != header_sum(version, named) || named != number {
        return Err(Damage::new(8, "manifest header is damaged").into());
    }
    if version > FORMAT_VERSION {
        return Err(Bad::Newer(version));
    }
    let mut catalog = Catalog::default();
    let mut records = 0;
    let mut bad: Option<Damage> = None;
    let mut at = HEADER;
    while at < bytes.len() {
        match record_at(bytes, at, number) {
            Ok(payload) => {
                if let Some(damage) = bad {
                    return Err(damage.into());
                }
                apply_record(&mut catalog, payload, at)?;
                records += 1;
                at += RECORD_HEADER + payload.len();
            }
            // A torn last record was never acted on; a good record further on shows that this one had been whole.
            Err(damage) => {
                bad.get_or_insert(damage);
                at += 1;
            }
        }
    }
    if records == 0 {
        return Err(Damage::new(HEADER, "manifest holds no whole record").into());
    }
    Ok(catalog)
}

fn record_at(bytes: &[u8], at: usize, number: FileNumber) -> Result<&[u8], Damage> {
    let mut r = Reader::new(bytes.get(at..).unwrap_or(&[]));
    let torn = |_| Damage::new(at, "manifest record is cut short");
    let sum = r.u32().map_err(torn)?;
    let len = r.u32().map_err(torn)?;
    let payload = r.take(len as usize).map_err(torn)?;
    if payload.is_empty() || checksum(number.0, at as u64, &[&len.to_le_bytes(), payload]) != sum {
        return Err(Damage::new(at, "manifest record fails its checksum"));
    }
    Ok(payload)
}

fn apply_record(catalog: &mut Catalog, payload: &[u8], at: usize) -> Result<(), Damage> {
    let mut r = Reader::new(payload);
    while !r.is_empty() {
        let place = at + RECORD_HEADER + r.position();
        let edit = Edit::decode(&mut r).map_err(|d| Damage::new(at + RECORD_HEADER + d.offset, d.what))?;
        catalog.apply(&edit).map_err(|what| Damage::new(place, what))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
