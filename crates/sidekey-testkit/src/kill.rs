//! Kills a process that writes, on the real file system, and lets another one see what is left.
//!
//! Three processes: the parent, which kills; the worker, which writes batches over two collections with indexes of both
//! maintenances and says `ack n` for each; the verifier, which opens what the worker left and compares. A kill keeps what was
//! written to the page cache, so every acknowledged batch must be there, synced or not; the batch in flight may be.
//!
//! Batch `n` is a function of the seed and `n`, and writes `n` into a record of its own, so the verifier knows what to expect.

use crate::model::{Model, Order, Predicate, Write};
use crate::rng::Rng;
use serde_json::json;
use sidekey::{Batch, Collection, CompressionSetting, Db, Error, IndexSpec, Maintenance, Settings, WriteOptions};
use std::io::{self, BufRead, BufReader, Write as _};
use std::ops::Bound;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Workers killed.
    pub kills: u64,
    /// Of them, before they had opened the database.
    pub kills_in_recovery: u64,
    /// Batches that were acknowledged.
    pub acknowledged: u64,
}

/// Rounds after which a new directory is used, so that the expected state stays quick to compute.
const ROUNDS_PER_DIRECTORY: u64 = 20;
const KEYS: u64 = 300;
const INDEXES: [(&str, &str, Maintenance); 3] = [
    ("a_synchronous", "$.a", Maintenance::Synchronous),
    ("a_validated", "$.a", Maintenance::Validated),
    ("c_validated", "$.b.c", Maintenance::Validated),
];

/// Makes the command that runs [`child`] with these arguments in another process.
pub type Spawn<'a> = &'a dyn Fn(&[String]) -> Command;

/// Runs rounds of write, kill, verify.
///
/// # Errors
/// What the verifier found, or why a process could not be run.
pub fn run(seed: u64, rounds: u64, spawn: Spawn<'_>) -> Result<Figures, String> {
    let mut rng = Rng::new(seed);
    let mut figures = Figures::default();
    let mut directory = None;
    let mut acknowledged = 0;
    for round in 0..rounds {
        if round % ROUNDS_PER_DIRECTORY == 0 {
            directory = Some(tempfile::tempdir().map_err(|e| format!("a temporary directory: {e}"))?);
            acknowledged = 0;
        }
        let Some(place) = &directory else { continue };
        let path = place.path().join("db").display().to_string();
        let args = |role: &str| vec![role.to_owned(), path.clone(), seed.to_string()];
        // Every tenth kill does not wait for the worker to have opened the database.
        let early = round % 10 == 9;
        let wait = Duration::from_millis(1 + rng.below(if early { 30 } else { 300 }));
        let context = |what: String| {
            format!("seed {seed}, round {round}, killed after {wait:?}, {acknowledged} acknowledged: {what}")
        };
        let killed = kill_one(&mut spawn(&args("worker")), wait, early).map_err(context)?;
        figures.kills += 1;
        figures.kills_in_recovery += u64::from(!killed.opened);
        figures.acknowledged += killed.last_ack.saturating_sub(acknowledged);
        acknowledged = acknowledged.max(killed.last_ack);
        let mut verifier = args("verify");
        verifier.push(acknowledged.to_string());
        acknowledged = verify_in_child(&mut spawn(&verifier))
            .map_err(|what| format!("seed {seed}, round {round}, {acknowledged} acknowledged: {what}"))?;
    }
    Ok(figures)
}

#[derive(Debug, Default)]
struct Killed {
    opened: bool,
    last_ack: u64,
}

fn kill_one(command: &mut Command, wait: Duration, early: bool) -> Result<Killed, String> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| format!("cannot start the worker: {e}"))?;
    let stdout = child.stdout.take().ok_or("the worker has no output")?;
    let mut lines = BufReader::new(stdout).lines();
    let mut killed = Killed::default();
    if !early {
        // Up to the line that says that it is open; a worker that ends before says why on its error output.
        killed.opened = lines.by_ref().map_while(Result::ok).any(|line| line.trim() == "open");
    }
    let reader = std::thread::spawn(move || {
        let (mut opened, mut last) = (false, 0);
        // The last line may be cut short by the kill: a number counts only if its line was ended by a mark.
        for line in lines.map_while(Result::ok) {
            opened |= line.trim() == "open";
            let ack = line.strip_prefix("ack ").and_then(|rest| rest.strip_suffix('.'));
            last = ack.and_then(|n| n.parse().ok()).unwrap_or(last);
        }
        (opened, last)
    });
    std::thread::sleep(wait);
    let ended = child.try_wait().map_err(|e| format!("cannot ask for the worker: {e}"))?;
    child.kill().and_then(|()| child.wait().map(drop)).map_err(|e| format!("cannot kill the worker: {e}"))?;
    let (opened, last_ack) = reader.join().map_err(|_| "the reader of acknowledgements panicked")?;
    match ended {
        Some(status) => Err(format!("the worker ended by itself: {status}")),
        None => Ok(Killed { opened: opened || killed.opened, last_ack }),
    }
}

fn verify_in_child(command: &mut Command) -> Result<u64, String> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|e| format!("cannot start the verifier: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let recovered = text.lines().find_map(|line| line.strip_prefix("recovered ")?.parse().ok());
    match recovered {
        Some(recovered) if output.status.success() => Ok(recovered),
        _ => Err(format!("the verifier says: {}", text.trim())),
    }
}

/// The life of a child process: `worker PATH SEED`, which ends only when it is killed or fails, or `verify PATH SEED ACKED`.
///
/// # Errors
/// What went wrong.
pub fn child(args: &[String]) -> Result<(), String> {
    let number = |at: usize| args.get(at).and_then(|n| n.parse::<u64>().ok()).ok_or("a number is missing");
    match args {
        [role, path, ..] if role == "worker" => work(Path::new(path), number(2)?).map_err(|e| e.to_string()),
        [role, path, ..] if role == "verify" => {
            let recovered = verify(Path::new(path), number(2)?, number(3)?)?;
            say(&format!("recovered {recovered}")).map_err(|e| e.to_string())
        }
        _ => Err(format!("unknown role in {args:?}")),
    }
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

struct Opened {
    db: Db,
    data: Collection,
    meta: Collection,
}

fn open(path: &Path) -> Result<Opened, Error> {
    let mut settings = Settings::default();
    settings.memory_budget_bytes = 2 << 20;
    settings.memtable_bytes = 64 << 10;
    settings.table_bytes = 64 << 10;
    settings.level_base_bytes = 128 << 10;
    settings.wal_segment_bytes = 128 << 10;
    settings.wal_retained_bytes = 512 << 10;
    settings.manifest_bytes = 8 << 10;
    settings.compression = CompressionSetting::Lz4;
    let db = Db::open(path, settings)?;
    let (data, meta) = (db.collection("data")?, db.collection("meta")?);
    for (name, attribute, maintenance) in INDEXES {
        data.create_index(IndexSpec::new(name, attribute).maintenance(maintenance))?;
    }
    Ok(Opened { db, data, meta })
}

/// The number of the newest batch that is there.
fn newest_batch(meta: &Collection) -> Result<u64, Error> {
    let value = meta.get("n")?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&value).parse().unwrap_or(0))
}

/// Writes of batch `n`: collection 0 is the data, 1 the counter.
fn batch(seed: u64, n: u64) -> Vec<Write> {
    let mut rng = Rng::new(seed ^ n.wrapping_mul(0x9e37_79b9));
    let mut writes: Vec<Write> = (0..1 + rng.below(3))
        .map(|_| {
            let key = format!("k{:04}", rng.below(KEYS)).into_bytes();
            let value = (!rng.chance(1, 6)).then(|| {
                let pad = "p".repeat(rng.index(200));
                json!({"a": rng.below(10), "b": {"c": format!("c{}", rng.below(50))}, "n": n, "pad": pad})
            });
            Write { collection: 0, key, value: value.map(|json| json.to_string().into_bytes()) }
        })
        .collect();
    writes.push(Write { collection: 1, key: b"n".to_vec(), value: Some(n.to_string().into_bytes()) });
    writes
}

fn work(path: &Path, seed: u64) -> Result<(), Error> {
    let opened = open(path)?;
    let first = newest_batch(&opened.meta)? + 1;
    let broken = |e: io::Error| Error::Internal(format!("cannot acknowledge: {e}"));
    say("open").map_err(broken)?;
    for n in first.. {
        let mut writes = Batch::new();
        for write in batch(seed, n) {
            let collection = if write.collection == 0 { &opened.data } else { &opened.meta };
            match write.value {
                Some(value) => writes.put(collection, write.key, value),
                None => writes.delete(collection, write.key),
            };
        }
        let options = if n.is_multiple_of(64) { WriteOptions::synced() } else { WriteOptions::default() };
        opened.db.write_with(writes, options)?;
        say(&format!("ack {n}.")).map_err(broken)?;
    }
    Ok(())
}

fn verify(path: &Path, seed: u64, acknowledged: u64) -> Result<u64, String> {
    let said = |e: Error| format!("error of kind {}: {e}", e.kind());
    let opened = open(path).map_err(said)?;
    let recovered = newest_batch(&opened.meta).map_err(said)?;
    if recovered < acknowledged {
        return Err(format!("batch {recovered} is the newest, but {acknowledged} was acknowledged"));
    }
    let mut model = Model::new();
    for n in 1..=recovered {
        model.commit(&batch(seed, n));
    }
    let pairs: Vec<_> = opened.data.scan::<Vec<u8>>(..).collect::<Result<_, _>>().map_err(said)?;
    if pairs != model.scan(0, &Bound::Unbounded, &Bound::Unbounded, model.sqn()) {
        return Err(format!("the records are not those of batch {recovered}"));
    }
    for (name, path, _) in INDEXES {
        let asks = [(Order::Newest, sidekey::Order::Newest), (Order::Attribute, sidekey::Order::Attribute)];
        for (order, engine_order) in asks {
            let all = Predicate::Range(Bound::Unbounded, Bound::Unbounded);
            let wanted = model.query(0, path, &all, (order, false), model.sqn());
            let keys = opened.data.range(name, ..).order(engine_order).keys().map_err(said)?;
            if !wanted.iter().map(|hit| &hit.key).eq(&keys) {
                return Err(format!("index {name} does not answer as batch {recovered} in order {order:?}"));
            }
        }
    }
    crate::execute::no_findings(&opened.db).map_err(said)?;
    opened.db.close().map_err(said)?;
    Ok(recovered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_a_function_of_seed_and_number_and_counts_itself() {
        assert_eq!(batch(1, 5), batch(1, 5));
        assert_ne!(batch(1, 5), batch(1, 6));
        let last = batch(1, 5).pop().unwrap();
        assert_eq!((last.collection, last.value.as_deref()), (1, Some(&b"5"[..])));
    }
}
