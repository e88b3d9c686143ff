//! What a power cut leaves of a disk.
//!
//! CRASH-1: whatever was synced, and not changed since, is in every image under every policy.
//! CRASH-2: an image is a function of the disk's state, the policy and the seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::chance::Dice;
use super::content::Content;
use super::disk::{Change, Directory, Disk, FileState, Inode, NameChange, Names};
use crate::env::sync::Mutex;

/// The unit in which devices write.
const SECTOR_BYTES: u64 = 512;

/// Garbage is put into this much of an area that grew; the rest stays zero, so that an image of a sparse file is cheap.
const MOST_GARBAGE_BYTES: u64 = 1 << 20;

/// What becomes, in a power cut, of that which was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPolicy {
    /// All of it is lost.
    SyncedOnly,
    /// None of it is lost.
    KeepAll,
    /// As little order as POSIX promises. Each write is kept, lost, cut, kept by 512-byte sectors or, one time in ten, kept in
    /// any bytes; each change of a length is kept or lost apart from the bytes, with zeros or garbage where the file grew; each
    /// change of a name is kept or lost on its own.
    Random,
    /// As orderly as a journalling file system. Each file keeps its first so many writes, the next perhaps in part; the names
    /// keep the first so many changes of the whole disk.
    Prefix,
}

/// The disk after a power cut now.
pub(super) fn image(disk: &Disk, policy: CrashPolicy, seed: u64) -> Disk {
    let mut changes: Vec<u64> = disk.directories.values().flat_map(|d| d.pending.iter().map(|(at, _)| *at)).collect();
    changes.sort_unstable();
    let mut dice = Dice::new(seed, u64::MAX);
    let kept_changes = dice.below(changes.len() + 1);
    let first_lost = changes.get(kept_changes).copied().unwrap_or(u64::MAX);
    let keep = |number: u64| match policy {
        CrashPolicy::SyncedOnly => false,
        CrashPolicy::KeepAll => true,
        CrashPolicy::Random => Dice::new(!seed, number).coin(),
        CrashPolicy::Prefix => number < first_lost,
    };
    copy(disk, |directory, copies| {
        let mut names = directory.durable.clone();
        for (number, change) in &directory.pending {
            if keep(*number) {
                change.apply(&mut names);
            }
        }
        let survives = |inode: &Inode| {
            let mut dice = Dice::new(seed, inode.number);
            FileState::settled(file_image(&inode.file.lock(), policy, &mut dice))
        };
        let names = copies.names(&names, survives);
        Directory { current: names.clone(), durable: names, pending: Vec::new() }
    })
}

/// The disk after the process died now: nothing is lost, and nothing is more durable than before.
pub(super) fn after_kill(disk: &Disk) -> Disk {
    copy(disk, |directory, copies| {
        let same = |inode: &Inode| inode.file.lock().clone();
        let mut pending = Vec::with_capacity(directory.pending.len());
        for (number, change) in &directory.pending {
            let change = match change {
                NameChange::Add { name, inode } => {
                    NameChange::Add { name: name.clone(), inode: copies.inode(inode, same) }
                }
                NameChange::Rename { from, to, inode } => {
                    NameChange::Rename { from: from.clone(), to: to.clone(), inode: copies.inode(inode, same) }
                }
                NameChange::Remove { name } => NameChange::Remove { name: name.clone() },
            };
            pending.push((*number, change));
        }
        let current = copies.names(&directory.current, same);
        Directory { current, durable: copies.names(&directory.durable, same), pending }
    })
}

fn copy(disk: &Disk, mut each: impl FnMut(&Directory, &mut Copies) -> Directory) -> Disk {
    let mut copies = Copies::default();
    let mut new = Disk::new();
    new.directories = disk.directories.iter().map(|(path, d)| (path.clone(), each(d, &mut copies))).collect();
    new.capacity = disk.capacity;
    new.inodes = disk.inodes;
    new.name_changes = disk.name_changes;
    new
}

/// Copies of inodes, one for each, so that two names of one file stay so.
#[derive(Default)]
struct Copies(BTreeMap<u64, Arc<Inode>>);

impl Copies {
    fn inode(&mut self, of: &Arc<Inode>, file: impl Fn(&Inode) -> FileState) -> Arc<Inode> {
        let make = || Arc::new(Inode { number: of.number, file: Mutex::new(file(of)) });
        Arc::clone(self.0.entry(of.number).or_insert_with(make))
    }

    fn names(&mut self, names: &Names, file: impl Fn(&Inode) -> FileState) -> Names {
        names.iter().map(|(name, inode)| (name.clone(), self.inode(inode, &file))).collect()
    }
}

fn file_image(file: &FileState, policy: CrashPolicy, dice: &mut Dice) -> Content {
    let mut content = file.durable.clone();
    match policy {
        CrashPolicy::SyncedOnly => {}
        CrashPolicy::KeepAll => file.pending.iter().for_each(|change| change.apply(&mut content)),
        CrashPolicy::Random => file.pending.iter().for_each(|change| scatter(&mut content, change, dice)),
        CrashPolicy::Prefix => {
            let kept = dice.below(file.pending.len() + 1);
            file.pending[..kept].iter().for_each(|change| change.apply(&mut content));
            if let Some(Change::Write { offset, bytes }) = file.pending.get(kept) {
                content.write(*offset, &bytes[..dice.below(bytes.len() + 1)]);
            }
        }
    }
    content
}

/// Applies some of a change.
fn scatter(content: &mut Content, change: &Change, dice: &mut Dice) {
    match change {
        Change::SetLen(len) => {
            if dice.coin() {
                resize(content, *len, dice);
            }
        }
        Change::Write { offset, bytes } => {
            let end = offset + bytes.len() as u64;
            if end > content.len() && dice.coin() {
                resize(content, end, dice);
            }
            scatter_bytes(content, *offset, bytes, dice);
        }
    }
}

fn resize(content: &mut Content, len: u64, dice: &mut Dice) {
    let old = content.len();
    content.set_len(len);
    if len > old && dice.coin() {
        let mut garbage = vec![0; (len - old).min(MOST_GARBAGE_BYTES) as usize];
        dice.fill(&mut garbage);
        content.write(old, &garbage);
    }
}

/// Applies some of a write's bytes, as far as the file reaches.
fn scatter_bytes(content: &mut Content, offset: u64, bytes: &[u8], dice: &mut Dice) {
    if dice.below(10) == 0 {
        for (at, byte) in (offset..).zip(bytes) {
            if dice.coin() {
                content.write_clipped(at, &[*byte]);
            }
        }
        return;
    }
    match dice.below(4) {
        0 => {}
        1 => content.write_clipped(offset, bytes),
        2 => content.write_clipped(offset, &bytes[..dice.below(bytes.len() + 1)]),
        _ => {
            let (mut at, mut rest) = (offset, bytes);
            while !rest.is_empty() {
                let to_border = (SECTOR_BYTES - at % SECTOR_BYTES) as usize;
                let (sector, after) = rest.split_at(to_border.min(rest.len()));
                if dice.coin() {
                    content.write_clipped(at, sector);
                }
                at += sector.len() as u64;
                rest = after;
            }
        }
    }
}
