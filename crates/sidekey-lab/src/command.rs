//! The commands: from arguments to plans, through the rounds, to a report.

use crate::arguments::{Aa, BenchArguments, Common, IndexArguments};
use crate::failure::{Failure, Result};
use crate::index::IndexPlan;
use crate::machine::{Machine, check_room};
use crate::plain::{PlainPlan, Workload};
use crate::plan::{Plan, Task};
use crate::ratio::geometric_mean;
use crate::report::{self, AaCheck, PeerResult, Report, SystemResult};
use crate::rounds::{self, Entrant};
use crate::systems::{IndexSetup, Regime, Settings, SystemName};
use std::fs;
use std::path::{Path, PathBuf};

/// Records of the full size.
fn full_size(value_bytes: usize) -> u64 {
    if value_bytes > 100 { 1_000_000 } else { 5_000_000 }
}

/// What a run is, whichever command it came from.
struct Outline {
    command: &'static str,
    title: String,
    records: u64,
    value_bytes: usize,
    settings: Settings,
    entrants: Vec<Entrant>,
}

/// `db_bench`.
pub fn bench(arguments: &BenchArguments) -> Result<Report> {
    let common = &arguments.common;
    let (records, value_bytes) = size(&arguments.value_bytes, common.scale)?;
    let settings = Settings::new(common.regime, records * (16 + value_bytes as u64));
    let workloads = if arguments.workloads.is_empty() { Workload::ALL.to_vec() } else { arguments.workloads.clone() };
    let task = PlainPlan { workloads, records, value_bytes, write_rate: arguments.write_rate, seed: common.seed };
    let entrants = entrants(&arguments.systems, "db_bench", &[SystemName::Sqlite], |system| {
        vec![Plan { system, settings: settings.clone(), task: Task::Plain(task.clone()) }]
    })?;
    let title = format!(
        "regime {}, {} keys of 16 B, values of {value_bytes} B, {} pairs, seed {}",
        common.regime.name(),
        records,
        common.pairs,
        common.seed
    );
    run(Outline { command: "db_bench", title, records, value_bytes, settings, entrants }, common)
}

/// `index`.
pub fn index(arguments: &IndexArguments) -> Result<Report> {
    let common = &arguments.common;
    let (records, value_bytes) = size(&arguments.value_bytes, common.scale)?;
    // Half of the upserts replace; an index entry is about as large as its attribute and key.
    let settings = Settings::new(common.regime, records * (16 + value_bytes as u64 + 4 * 40));
    let mut setups: Vec<IndexSetup> = Vec::new();
    for &indexes in &arguments.indexes {
        for &maintenance in &arguments.maintenance {
            let setup = IndexSetup { indexes: indexes.into(), maintenance };
            // Without an index, the maintenance makes no difference.
            if !setups.iter().any(|s| *s == setup || (s.indexes == 0 && indexes == 0)) {
                setups.push(setup);
            }
        }
    }
    let matches = arguments.matches;
    let entrants = entrants(&arguments.systems, "index", &[SystemName::LevelDb, SystemName::LevelDbMmap], |system| {
        let task =
            |&setup| IndexPlan { setup, upserts: records, record_bytes: value_bytes, matches, seed: common.seed };
        setups.iter().map(|setup| Plan { system, settings: settings.clone(), task: Task::Index(task(setup)) }).collect()
    })?;
    let title = format!(
        "regime {}, {records} upserts of {value_bytes} B, half of them of keys that are there, about {matches} matches a value, {} pairs, seed {}",
        common.regime.name(),
        common.pairs,
        common.seed
    );
    run(Outline { command: "index", title, records, value_bytes, settings, entrants }, common)
}

/// Records and bytes of a value.
fn size(value_bytes: &str, scale: f64) -> Result<(u64, usize)> {
    let value_bytes = value_bytes.parse().map_err(|e| Failure::usage(format!("--value-bytes: {e}")))?;
    Ok((((full_size(value_bytes) as f64 * scale) as u64).max(100), value_bytes))
}

/// The stores as entrants, each once; refuses those that this program has not or that have no part in the command.
fn entrants(
    systems: &[SystemName],
    command: &str,
    strangers: &[SystemName],
    plans: impl Fn(SystemName) -> Vec<Plan>,
) -> Result<Vec<Entrant>> {
    let mut entrants: Vec<Entrant> = Vec::new();
    for &system in systems {
        if strangers.contains(&system) {
            return Err(Failure::usage(format!("{} takes no part in {command}", system.name())));
        }
        system.check_built()?;
        if entrants.iter().all(|e| e.name != system.name()) {
            entrants.push(Entrant { name: system.name().to_owned(), plans: plans(system) });
        }
    }
    // Ratios are in terms of the first.
    entrants.sort_by_key(|e| e.name != SystemName::Sidekey.name());
    Ok(entrants)
}

fn run(outline: Outline, common: &Common) -> Result<Report> {
    let parent = common.dir.clone().unwrap_or_else(std::env::temp_dir);
    let refused =
        |e| Failure::usage(format!("cannot make a directory in {}: {e}; choose another --dir", parent.display()));
    let scratch = tempfile::Builder::new().prefix("sidekey-lab-").tempdir_in(&parent).map_err(refused)?;
    let data_bytes = outline.records * (16 + outline.value_bytes as u64);
    check_room(scratch.path(), 6 * data_bytes + (256 << 20))?;
    let json = common.json.as_ref().map(|path| json_file(path)).transpose()?;
    let machine = Machine::look(scratch.path());
    let ours = outline.entrants.first().filter(|e| e.name == SystemName::Sidekey.name());
    let twins: Vec<Entrant> =
        ours.filter(|_| common.aa != Aa::Skip).into_iter().flat_map(|e| [e.clone(), e.clone()]).collect();
    let processes = |entrants: &[Entrant], rounds: u32| {
        entrants.iter().map(|e| e.plans.len() as u64).sum::<u64>() * u64::from(rounds)
    };
    let (aa_pairs, pairs) = match common.aa {
        Aa::Only => (common.pairs.max(common.aa_pairs), 0),
        _ => (common.aa_pairs, common.pairs),
    };
    if common.aa == Aa::Only && twins.is_empty() {
        return Err(Failure::usage("--aa measures sidekey against itself, and --systems does not name it"));
    }
    let bar = rounds::progress(processes(&twins, aa_pairs) + processes(&outline.entrants, pairs));
    let mut aa = AaCheck::default();
    if !twins.is_empty() {
        let rounds = rounds::run(&twins, aa_pairs, scratch.path(), &bar, "A/A round")?;
        aa = AaCheck::of(rounds);
    }
    let rounds = rounds::run(&outline.entrants, pairs, scratch.path(), &bar, "round")?;
    bar.finish_and_clear();
    let report = assemble(outline, common, machine, aa, rounds, pairs);
    if let Some((file, path)) = json {
        serde_json::to_writer_pretty(file, &report)
            .map_err(|e| Failure::system(format!("write {}", path.display()), e))?;
    }
    Ok(report)
}

/// Made before the run: hours are not to be lost to a misspelt name.
fn json_file(path: &Path) -> Result<(fs::File, PathBuf)> {
    let refused = |e| Failure::usage(format!("cannot write --json {}: {e}", path.display()));
    Ok((fs::File::create(path).map_err(refused)?, path.to_owned()))
}

fn assemble(
    outline: Outline,
    common: &Common,
    machine: Machine,
    aa: AaCheck,
    rounds: Vec<rounds::Round>,
    pairs: u32,
) -> Report {
    // With --aa only, the first of the twins is shown.
    let shown = if pairs == 0 { &aa.rounds } else { &rounds };
    let names: Vec<&str> =
        outline.entrants.iter().map(|e| e.name.as_str()).take(if pairs == 0 { 1 } else { usize::MAX }).collect();
    let mut notes = remarks(&outline, common, &machine, pairs);
    let mut systems = Vec::new();
    let (mut peers, mut multiples) = (Vec::new(), Vec::new());
    for (at, name) in names.iter().enumerate() {
        let run = shown.first().and_then(|round| round.runs.get(at));
        notes.extend(run.iter().flat_map(|run| run.notes.clone()));
        let version = run.map_or_else(String::new, |run| run.version.clone());
        systems.push(SystemResult { name: (*name).to_owned(), version, summaries: report::summaries(shown, at) });
        multiples.extend(report::multiples(shown, at, name));
        if at > 0 && names.first() == Some(&SystemName::Sidekey.name()) {
            let comparisons = report::compare(shown, 0, at);
            let geometric_mean = geometric_mean(comparisons.iter().map(|c| c.cpu.median));
            peers.push(PeerResult { name: (*name).to_owned(), comparisons, geometric_mean });
        }
    }
    Report {
        command: outline.command.to_owned(),
        title: outline.title,
        seed: common.seed,
        scale: common.scale,
        records: outline.records,
        value_bytes: outline.value_bytes,
        pairs,
        settings: outline.settings,
        machine,
        notes,
        aa,
        systems,
        peers,
        multiples,
        rounds,
    }
}

/// What makes a result less than a claim.
fn remarks(outline: &Outline, common: &Common, machine: &Machine, pairs: u32) -> Vec<String> {
    let data = outline.records * (16 + outline.value_bytes as u64);
    let settings = &outline.settings;
    let mut notes = Vec::new();
    if cfg!(debug_assertions) {
        notes.push("a build with debug assertions: its figures mean nothing; build with --release".to_owned());
    }
    if (1..7).contains(&pairs) && outline.entrants.len() > 1 {
        notes.push(format!("{pairs} pairs: a claim needs at least 7"));
    }
    if machine.is_busy() {
        notes.push(format!(
            "the machine was busy (load {:.1} on {} cores): spreads will be wide",
            machine.load, machine.cores
        ));
    }
    if common.regime == Regime::Mib128 && data < 2 * settings.cache_bytes {
        notes.push(format!("{} MiB of data for caches of 128 MiB: mostly warm; use a larger --scale", data >> 20));
    }
    if data < 4 * settings.memtable_bytes {
        let (data, memtable) = (data >> 20, settings.memtable_bytes >> 20);
        notes.push(format!(
            "{data} MiB of data in memtables of {memtable} MiB: hardly any compaction happens; a claim needs a larger --scale"
        ));
    }
    notes
}
