//! What survives what: a killed process, a power cut, a full disk, a failing disk; and how to treat the errors.
//!
//! The power is cut and the disk fails in memory, with the file systems that Sidekey's own tests use.
//!
//! `cargo run -p sidekey --example durability`

#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use sidekey::env::{CrashPolicy, Env, Fault, FaultRule, FaultScript, FaultyFs, MemoryFs, Operation};
use sidekey::{Batch, Db, Error, ErrorKind, IndexSpec, Settings, SyncPolicy, WriteOptions};
use std::sync::Arc;

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Anyhow<()> {
    a_killed_process_loses_nothing()?;
    a_power_cut_loses_what_was_not_synced()?;
    a_full_disk_passes()?;
    a_failed_sync_is_final()?;
    Ok(())
}

/// Under every policy: when `put` returns, the operating system has the write.
fn a_killed_process_loses_nothing() -> Anyhow<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("db");
    let db = Db::open(&path, Settings::default())?;
    let notes = db.collection("notes")?;
    notes.create_index(IndexSpec::new("by_tag", "$.tag"))?;
    notes.put("a", r#"{"tag": "home"}"#)?;

    // One process, one handle tree: a second opening is refused, not harmful.
    let second = Db::open(&path, Settings::default());
    assert!(matches!(second, Err(Error::Busy(_))));

    db.abandon(); // as SIGKILL would: nothing is flushed, nothing is synced
    assert_eq!(notes.get("a").unwrap_err().kind(), ErrorKind::Closed);

    let db = Db::open(&path, Settings::default())?;
    assert_eq!(db.collection("notes")?.lookup("by_tag", "home").keys()?, [b"a"]);
    println!("killed process: nothing lost");
    Ok(())
}

/// Without a sync, a power cut may take the last writes: always the last ones, and never half a batch.
fn a_power_cut_loses_what_was_not_synced() -> Anyhow<()> {
    let mut never = Settings::default();
    never.sync = SyncPolicy::Never; // the default; the others are EveryMs(n) and Always
    let disk = MemoryFs::new();
    let db = Db::open_in(Env::deterministic(Arc::new(disk.clone()), 1), "db", never.clone())?;
    let orders = db.collection("orders")?;

    orders.put("1", "{}")?;
    let mut batch = Batch::new();
    batch.put(&orders, "2", "{}").put(&orders, "3", "{}");
    let synced = db.write_with(batch, WriteOptions::synced())?; // this one, and so all before it, is safe
    assert_eq!(db.durable_sqn(), synced);
    let last = orders.put("4", "{}")?;
    assert!(db.durable_sqn() < last); // `db.sync()` would make it safe

    let after = disk.crash(CrashPolicy::SyncedOnly, 1);
    let db = Db::open_in(Env::deterministic(Arc::new(after), 1), "db", never)?;
    let keys: Result<Vec<_>, _> = db.collection("orders")?.scan::<Vec<u8>>(..).map(|r| r.map(|(key, _)| key)).collect();
    assert_eq!(keys?, [b"1", b"2", b"3"]);

    let mut always = Settings::default();
    always.sync = SyncPolicy::Always;
    let disk = MemoryFs::new();
    let db = Db::open_in(Env::deterministic(Arc::new(disk.clone()), 1), "db", always.clone())?;
    db.collection("orders")?.put("5", "{}")?;
    let db = Db::open_in(Env::deterministic(Arc::new(disk.crash(CrashPolicy::SyncedOnly, 1)), 1), "db", always)?;
    assert!(db.collection("orders")?.get("5")?.is_some());
    println!("power cut: what was synced is there, in order and in whole batches");
    Ok(())
}

/// The write that does not fit fails and is not there; reads go on; writes go on when there is space.
fn a_full_disk_passes() -> Anyhow<()> {
    let disk = MemoryFs::new();
    let db = Db::open_in(Env::deterministic(Arc::new(disk.clone()), 1), "db", Settings::default())?;
    let items = db.collection("items")?;
    items.put("small", "1")?;
    disk.set_capacity(Some(disk.total_bytes() + 1000));
    match items.put("large", vec![b'7'; 10_000]) {
        Err(Error::NoSpace { .. }) => {}
        other => return Err(format!("expected a full disk, got {other:?}").into()),
    }
    assert!(items.get("small")?.is_some() && items.get("large")?.is_none());
    disk.set_capacity(None);
    items.put("large", vec![b'7'; 10_000])?;
    println!("full disk: writes failed, and went on when there was space");
    Ok(())
}

/// After a sync that failed nobody knows what the disk holds. The database refuses writes until it is opened again; the write that met
/// the error may be there then, or not: read it, or write it again.
fn a_failed_sync_is_final() -> Anyhow<()> {
    let disk = MemoryFs::new();
    let failing = FaultyFs::new(Arc::new(disk.clone()));
    let db = Db::open_in(Env::deterministic(Arc::new(failing.clone()), 1), "db", Settings::default())?;
    let items = db.collection("items")?;
    items.put("before", "1")?;
    db.sync()?;

    failing.set_script(FaultScript::none().rule(FaultRule::new(Fault::EIO).on(Operation::SyncData)));
    let mut batch = Batch::new();
    batch.put(&items, "unknown", "2");
    let error = db.write_with(batch, WriteOptions::synced()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);

    // The device works again, and still: writes are refused, with the cause; reads go on.
    match items.put("after", "3") {
        Err(Error::ReadOnly(cause)) => assert_eq!(cause.kind(), ErrorKind::Io),
        other => return Err(format!("expected a refusal, got {other:?}").into()),
    }
    assert!(items.get("before")?.is_some());
    drop((db, items));

    let db = Db::open_in(Env::deterministic(Arc::new(disk), 1), "db", Settings::default())?;
    let items = db.collection("items")?;
    assert!(items.get("before")?.is_some());
    items.put("unknown", "2")?; // the same write again does no harm, whichever way it went
    assert!(db.verify()?.is_empty());
    println!("failed sync: read-only until opened again");
    Ok(())
}
