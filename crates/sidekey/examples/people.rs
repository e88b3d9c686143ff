//! First steps: open a database, index an attribute, write, look up, change, delete.
//!
//! `cargo run -p sidekey --example people`

#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use sidekey::{Db, IndexSpec, Order, Read, Settings, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let db = Db::open(dir.path().join("people"), Settings::default())?;

    // A collection is a named set of records. An index is one line: a name and the JSON path of an attribute.
    let people = db.collection("people")?;
    people.create_index(IndexSpec::new("by_city", "$.city"))?;
    people.create_index(IndexSpec::new("by_age", "$.age"))?;

    people.put("ann", r#"{"city": "Oslo", "age": 41}"#)?;
    people.put("bob", r#"{"city": "Oslo", "age": 35}"#)?;
    people.put("cid", r#"{"city": "Rome", "age": 29}"#)?;
    people.put("dot", r#"{"city": "Rome"}"#)?; // no age: not in by_age
    assert_eq!(people.get("ann")?.as_deref(), Some(&br#"{"city": "Oslo", "age": 41}"#[..]));

    // A look-up by value returns what was written last first; with a limit, the newest so many.
    assert_eq!(people.lookup("by_city", "Oslo").keys()?, [b"bob", b"ann"]);
    assert_eq!(people.lookup("by_city", "Oslo").limit(1).keys()?, [b"bob"]);

    // A range comes in the order of the attribute.
    assert_eq!(people.range("by_age", Value::from(30)..).keys()?, [b"bob", b"ann"]);
    assert_eq!(people.range("by_age", ..).keys()?, [b"cid", b"bob", b"ann"]);
    assert_eq!(people.range("by_age", ..).order(Order::Newest).keys()?, [b"cid", b"bob", b"ann"]);

    // A put replaces the record, and every index follows.
    people.put("ann", r#"{"city": "Rome", "age": 42}"#)?;
    assert_eq!(people.lookup("by_city", "Oslo").keys()?, [b"bob"]);
    assert_eq!(people.lookup("by_city", "Rome").keys()?, [b"ann", b"dot", b"cid"]);
    assert_eq!(people.lookup("by_age", 41).count()?, 0);

    people.delete("dot")?;
    assert_eq!(people.lookup("by_city", "Rome").count()?, 2);

    // An index may come later: it is built from the records that are there.
    people.create_index(IndexSpec::new("by_name", "$.name"))?;
    assert_eq!(people.range("by_name", ..).count()?, 0);
    people.drop_index("by_name")?;

    for row in people.lookup("by_city", "Rome").rows(Read::Records)? {
        let row = row?;
        let value = row.value.unwrap_or_default();
        println!("{}  {}", String::from_utf8_lossy(&row.key), String::from_utf8_lossy(&value));
    }

    // Dropping the last handle closes the database too; `close` also says whether it went well.
    db.close()?;
    Ok(())
}
