//! What closing says about writes that are not durable.

use sidekey::env::{Env, Fault, FaultRule, FaultScript, FaultyFs, MemoryFs, Operation};
use sidekey::{Db, ErrorKind, Settings};
use std::sync::Arc;

fn open(front: &FaultyFs) -> Db {
    Db::open_in(Env::deterministic(Arc::new(front.clone()), 1), "db", Settings::default()).unwrap()
}

fn failing_log_syncs() -> FaultScript {
    FaultScript::none().rule(FaultRule::new(Fault::EIO).on(Operation::SyncData).path_ends(".wal").from_then_on())
}

#[test]
fn closing_after_a_failed_sync_says_that_writes_may_be_lost() {
    let front = FaultyFs::new(Arc::new(MemoryFs::new()));
    let db = open(&front);
    let c = db.collection("c").unwrap();
    c.put("k", "v").unwrap();
    front.set_script(failing_log_syncs());
    assert_eq!(db.sync().unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(c.put("k2", "v").unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(c.get("k").unwrap().as_deref(), Some(&b"v"[..]));
    assert_eq!(db.close().unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(c.get("k").unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn damage_to_the_end_of_the_log_after_a_clean_close_is_found() {
    let disk = MemoryFs::new();
    let front = FaultyFs::new(Arc::new(disk.clone()));
    let db = open(&front);
    db.collection("c").unwrap().put("k", "value").unwrap();
    db.close().unwrap();
    drop(db);
    let log = disk.paths().into_iter().find(|p| p.extension().is_some_and(|e| e == "wal")).unwrap();
    let len = disk.read_file(&log).unwrap().len() as u64;
    disk.corrupt(&log, len - 12, 1).unwrap();
    let again = Db::open_in(Env::deterministic(Arc::new(disk), 2), "db", Settings::default());
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Corruption);
}
