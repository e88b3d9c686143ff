//! Several collections, batches that span them, a snapshot held while others write, and queries from several threads.
//!
//! `cargo run -p sidekey --example newest_events`

#![expect(clippy::print_stdout, reason = "an example shows its answers")]
#![expect(clippy::disallowed_methods, reason = "the engine's threads go through its environment; a user's need not")]

use sidekey::{Batch, Collection, Db, IndexSpec, Maintenance, Order, Read, Result, Settings, Value};
use std::thread;

const DEVICES: u64 = 10;
const EVENTS: u64 = 2_000;

/// An event and its device's new state, both or neither.
fn record(db: &Db, events: &Collection, devices: &Collection, n: u64) -> Result<u64> {
    let (device, level) = (n % DEVICES, n * 7 % 100);
    let mut batch = Batch::new();
    batch.put(events, format!("event-{n:06}"), format!(r#"{{"device": {device}, "level": {level}}}"#));
    batch.put(
        devices,
        format!("device-{device}"),
        format!(r#"{{"events": {}, "last_level": {level}}}"#, n / DEVICES + 1),
    );
    db.write(batch)
}

/// Whether the devices' own counts add up to the events that are there, as one moment shows them.
fn adds_up(db: &Db, events: &Collection, devices: &Collection) -> Result<bool> {
    let now = db.snapshot();
    let each: Result<Vec<u64>> = (0..DEVICES).map(|d| events.lookup("by_device", d).at(&now).count()).collect();
    let mut matching = 0;
    for (device, count) in (0..).zip(each?) {
        let Some(state) = devices.get_at(format!("device-{device}"), &now)? else { continue };
        matching += u64::from(String::from_utf8_lossy(&state).contains(&format!(r#""events": {count},"#)));
    }
    Ok(matching == DEVICES)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let db = Db::open(dir.path().join("events"), Settings::default())?;
    let events = db.collection("events")?;
    // Events are never replaced, so the default maintenance has nothing to clean. Device states are replaced all the time.
    events.create_index(IndexSpec::new("by_device", "$.device"))?;
    events.create_index(IndexSpec::new("by_level", "$.level"))?;
    let devices = db.collection("devices")?;
    devices.create_index(IndexSpec::new("by_level", "$.last_level").maintenance(Maintenance::Synchronous))?;

    for n in 0..EVENTS / 2 {
        record(&db, &events, &devices, n)?;
    }
    let half = db.snapshot();

    // One thread writes on while others read. Handles are cheap to clone; no reader holds a writer up.
    let readers: Vec<_> = (0..3_u64)
        .map(|device| {
            let (db, events, devices) = (db.clone(), events.clone(), devices.clone());
            thread::spawn(move || -> Result<u64> {
                let mut newest_seen = 0;
                for _ in 0..30 {
                    for row in events.lookup("by_device", device).limit(3).rows(Read::Keys)? {
                        newest_seen = newest_seen.max(row?.sqn);
                    }
                    assert!(adds_up(&db, &events, &devices)?, "a snapshot shows whole batches only");
                }
                Ok(newest_seen)
            })
        })
        .collect();
    for n in EVENTS / 2..EVENTS {
        record(&db, &events, &devices, n)?;
    }
    for reader in readers {
        let newest_seen = reader.join().map_err(|_| "a reader panicked")??;
        assert!(newest_seen > 0 && newest_seen <= db.visible_sqn());
    }

    // The three newest of one device.
    let newest = events.lookup("by_device", 4).limit(3).keys()?;
    assert_eq!(newest, [b"event-001994", b"event-001984", b"event-001974"]);

    // The newest of a whole range, and the same range by value.
    let high = || events.range("by_level", Value::from(98)..);
    assert_eq!(high().order(Order::Newest).limit(2).keys()?, [b"event-001957", b"event-001914"]);
    assert_eq!(high().reverse().limit(1).keys()?, [b"event-001957"]);
    assert_eq!(high().count()?, EVENTS / 50);

    // The snapshot still shows the middle of the story, in every collection.
    assert_eq!(events.scan::<Vec<u8>>(..).at(&half).count() as u64, EVENTS / 2);
    assert_eq!(events.lookup("by_device", 4).limit(1).at(&half).keys()?, [b"event-000994"]);
    let then = devices.get_at("device-4", &half)?.unwrap_or_default();
    println!("device 4 in the middle: {}", String::from_utf8_lossy(&then));
    let now = devices.get("device-4")?.unwrap_or_default();
    println!("device 4 at the end:    {}", String::from_utf8_lossy(&now));
    assert!(then != now);
    drop(half); // What it kept may go now.

    assert!(db.verify()?.is_empty());
    Ok(())
}
