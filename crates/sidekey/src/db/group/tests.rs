use super::*;
use crate::base::error::ErrorKind;
use crate::db::Collection;
use crate::db::prepare::WriteOp;
use crate::db::queue::Reply;
use crate::db::scratch::Forming;
use crate::env::{Env, MemoryFs};
use crate::{Db, IndexSpec, Settings};

fn open(disk: &MemoryFs) -> (Db, Collection) {
    let db = Db::open_in(Env::deterministic(Arc::new(disk.clone()), 1), "db", Settings::default()).unwrap();
    let c = db.collection("c").unwrap();
    (db, c)
}

fn put<'a>(c: &'a Collection, key: &'a str, value: &'a str) -> WriteOp<'a> {
    WriteOp { core: &c.core, kind: Kind::Put, key: key.as_bytes(), value: value.as_bytes() }
}

fn prepared(c: &Collection, ops: &[WriteOp<'_>], condition: Condition) -> Request {
    let mut request = Request::default();
    c.handle.inner.prepare(ops, condition, &mut request, &mut Forming::default()).unwrap();
    request
}

/// Serves the requests as one group and tells what became of each: the sqn, "not applied", "again", or the error.
fn serve(c: &Collection, requests: &mut [Request]) -> Vec<String> {
    let inner = &c.handle.inner;
    inner.queue.lead(|| inner.serve(&mut Group::default(), requests));
    let told = |request: &mut Request| match request.reply.take().unwrap() {
        Reply::Done { last, applied: true } => last.to_string(),
        Reply::Done { applied: false, .. } => "not applied".to_owned(),
        Reply::Again => "again".to_owned(),
        Reply::Failed(e) => format!("{:?}", e.kind()),
    };
    requests.iter_mut().map(told).collect()
}

#[test]
fn each_request_of_a_group_meets_what_those_before_it_wrote() {
    let disk = MemoryFs::new();
    let (db, c) = open(&disk);
    c.create_index(IndexSpec::new("a", "$.a")).unwrap();
    c.put("k", r#"{"a":1}"#).unwrap();
    let delete = WriteOp { kind: Kind::Delete, ..put(&c, "k", "") };
    let mut requests = [
        prepared(&c, &[put(&c, "k", "{}")], Condition::IfAbsent),
        prepared(&c, &[put(&c, "k", r#"{"a":2}"#)], Condition::Always),
        prepared(&c, &[put(&c, "m", r#"{"a":2}"#), delete], Condition::Always),
        prepared(&c, &[put(&c, "k", r#"{"a":3}"#)], Condition::IfPresent),
        prepared(&c, &[put(&c, "k", r#"{"a":4}"#)], Condition::Always),
        prepared(&c, &[put(&c, "n", r#"{"a":5}"#)], Condition::IfAbsent),
    ];
    assert_eq!(serve(&c, &mut requests), ["not applied", "2", "4", "again", "5", "6"]);
    let check = |db: &Db, c: &Collection| {
        assert_eq!(c.get("k").unwrap().as_deref(), Some(&br#"{"a":4}"#[..]));
        let counts: Vec<_> = (1..6).map(|a| c.lookup("a", a).count().unwrap()).collect();
        assert_eq!(counts, [0, 1, 0, 1, 1]);
        // Nothing was blind: entries of k at 1, 2 and 4, their two deletes, and those of m and n.
        assert_eq!(c.raw_entries("a").unwrap(), 7);
        assert_eq!(db.verify().unwrap(), []);
    };
    check(&db, &c);
    drop((c, db));
    let (db, c) = open(&disk);
    check(&db, &c);
}

#[test]
fn a_request_that_fails_leaves_the_others_of_its_group_as_if_it_had_not_been() {
    let (db, c) = open(&MemoryFs::new());
    c.create_index(IndexSpec::new("a", "$.a")).unwrap();
    let last = Sqn::MAX.0;
    c.handle.inner.visible.store(last - 3, std::sync::atomic::Ordering::Release);
    let mut requests = [
        prepared(&c, &[put(&c, "k", r#"{"a":1}"#)], Condition::Always),
        prepared(&c, &["k", "l", "m"].map(|key| put(&c, key, r#"{"a":2}"#)), Condition::Always),
        prepared(&c, &[put(&c, "k", r#"{"a":3}"#)], Condition::Always),
    ];
    let told = [(last - 2).to_string(), format!("{:?}", ErrorKind::InvalidArgument), (last - 1).to_string()];
    assert_eq!(serve(&c, &mut requests), told);
    assert_eq!(c.get("l").unwrap(), None);
    let counts: Vec<_> = (1..4).map(|a| c.lookup("a", a).count().unwrap()).collect();
    assert_eq!(counts, [0, 0, 1]);
    assert_eq!(db.verify().unwrap(), []);
}

#[test]
fn a_condition_that_does_not_hold_writes_nothing() {
    let (db, c) = open(&MemoryFs::new());
    let sqn = c.put("k", "1").unwrap();
    let logged = db.stats().wal_written_bytes;
    assert!(!c.put_if_absent("k", "2").unwrap());
    assert!(!c.put_if_present("l", "3").unwrap());
    assert_eq!((db.visible_sqn(), db.stats().wal_written_bytes), (sqn, logged));
    assert_eq!(c.put("k", "4").unwrap(), sqn + 1);
}
