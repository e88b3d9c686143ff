use super::*;
use crate::env::{Env, MemoryFs};
use crate::{Batch, Db, Settings};

#[test]
fn the_last_write_of_each_key_survives_its_batch_in_order() {
    let db = Db::open_in(Env::deterministic(Arc::new(MemoryFs::new()), 1), "db", Settings::default()).unwrap();
    let (a, b) = (db.collection("a").unwrap(), db.collection("b").unwrap());
    let mut batch = Batch::new();
    batch.put(&a, "x", "1").put(&b, "x", "2").put(&a, "y", "3").delete(&a, "x").put(&a, "y", "4").put(&b, "w", "5");
    let kept: Vec<_> =
        collapse(&batch.ops).iter().map(|op| (op.core.id == a.core.id, op.kind, op.key, op.value)).collect();
    let put = Kind::Put;
    let expected: [(bool, Kind, &[u8], &[u8]); 4] =
        [(false, put, b"x", b"2"), (true, Kind::Delete, b"x", b""), (true, put, b"y", b"4"), (false, put, b"w", b"5")];
    assert_eq!(kept, expected);
    assert!(collapse(&[]).is_empty());
}
