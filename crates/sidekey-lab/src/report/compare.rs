//! Summaries and ratios from raw figures.

use crate::figures::Figures;
use crate::ratio::Spread;
use crate::rounds::Round;
use serde::{Deserialize, Serialize};

/// One workload of one store, over all rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// See [`Figures::workload`].
    pub workload: String,
    /// See [`Figures::setup`].
    pub setup: String,
    /// Operations of one round.
    pub operations: u64,
    /// See [`Figures::cpu_us`].
    pub cpu_us: Spread,
    /// See [`Figures::wall_us`].
    pub wall_us: Spread,
    /// See [`Figures::settled_wall_us`].
    pub settled_wall_us: Spread,
    /// Medians of the rounds' percentiles, and the largest of their maxima, in nanoseconds.
    pub p50_ns: Option<f64>,
    /// See [`Summary::p50_ns`].
    pub p99_ns: Option<f64>,
    /// See [`Summary::p50_ns`].
    pub p999_ns: Option<f64>,
    /// See [`Summary::p50_ns`].
    pub max_ns: Option<f64>,
    /// Bytes written for each byte of the user's.
    pub write_amplification: Option<f64>,
    /// Bytes on disk for each live byte.
    pub space_amplification: Option<f64>,
    /// The store's memory at the peak, in bytes: the largest of all rounds.
    pub peak_bytes: u64,
}

/// One workload of two stores: the other's cost in terms of Sidekey's. Above 1, Sidekey is faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// See [`Figures::workload`].
    pub workload: String,
    /// See [`Figures::setup`].
    pub setup: String,
    /// The other's setup, where it has not the same.
    pub other_setup: Option<String>,
    /// Ratios of processor time, one of each round.
    pub cpu: Spread,
    /// Ratios of wall time.
    pub wall: Spread,
}

/// The cost of one workload in terms of another of the same store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Multiple {
    /// The store.
    pub system: String,
    /// The workload.
    pub of: String,
    /// What its cost is given in.
    pub in_terms_of: String,
    /// Ratios of processor time, one of each round.
    pub cpu: Spread,
}

impl Comparison {
    /// Workload and setup.
    pub fn label(&self) -> String {
        label(&self.workload, &self.setup)
    }
}

/// Workload and setup in one.
pub fn label(workload: &str, setup: &str) -> String {
    if setup.is_empty() { workload.to_owned() } else { format!("{workload} {setup}") }
}

fn figures_of(rounds: &[Round], system: usize) -> impl Iterator<Item = &[Figures]> {
    rounds.iter().filter_map(move |round| round.runs.get(system)).map(|run| run.figures.as_slice())
}

/// The workloads of entrant number `system`, over all rounds.
pub fn summaries(rounds: &[Round], system: usize) -> Vec<Summary> {
    let Some(first) = figures_of(rounds, system).next() else { return vec![] };
    let summary = |at: usize, shown: &Figures| {
        // Every process of a system does the same list, so that a place in it is the same workload in every round.
        let all: Vec<&Figures> = figures_of(rounds, system).filter_map(|figures| figures.get(at)).collect();
        let spread = |part: fn(&Figures) -> f64| Spread::of(all.iter().map(|f| part(f)));
        let median =
            |part: fn(&Figures) -> Option<f64>| Spread::of(all.iter().filter_map(|f| part(f))).map(|s| s.median);
        Some(Summary {
            workload: shown.workload.clone(),
            setup: shown.setup.clone(),
            operations: shown.operations,
            cpu_us: spread(|f| f.cpu_us)?,
            wall_us: spread(|f| f.wall_us)?,
            settled_wall_us: spread(|f| f.settled_wall_us)?,
            p50_ns: median(|f| Some(f.latency?.p50_ns as f64)),
            p99_ns: median(|f| Some(f.latency?.p99_ns as f64)),
            p999_ns: median(|f| Some(f.latency?.p999_ns as f64)),
            max_ns: all.iter().filter_map(|f| f.latency).map(|l| l.max_ns as f64).reduce(f64::max),
            write_amplification: median(Figures::write_amplification),
            space_amplification: median(Figures::space_amplification),
            peak_bytes: all.iter().map(|f| f.store_peak_bytes()).max().unwrap_or_default(),
        })
    };
    first.iter().enumerate().filter_map(|(at, shown)| summary(at, shown)).collect()
}

/// Entrant number `other` in terms of entrant number `ours`, workload by workload, round by round.
pub fn compare(rounds: &[Round], ours: usize, other: usize) -> Vec<Comparison> {
    let (Some(our_list), Some(other_list)) = (figures_of(rounds, ours).next(), figures_of(rounds, other).next()) else {
        return vec![];
    };
    let comparison = |at: usize, shown: &Figures| {
        let partner = partner(our_list, at, other_list)?;
        let pairs = figures_of(rounds, ours).zip(figures_of(rounds, other));
        let pairs: Vec<_> = pairs.filter_map(|(a, b)| Some((a.get(at)?, b.get(partner)?))).collect();
        let met = &other_list.get(partner)?.setup;
        Some(Comparison {
            workload: shown.workload.clone(),
            setup: shown.setup.clone(),
            other_setup: (*met != shown.setup).then(|| met.clone()),
            cpu: Spread::of(pairs.iter().map(|(a, b)| b.cpu_us / a.cpu_us))?,
            wall: Spread::of(pairs.iter().map(|(a, b)| b.settled_wall_us / a.settled_wall_us))?,
        })
    };
    our_list.iter().enumerate().filter_map(|(at, shown)| comparison(at, shown)).collect()
}

/// The place in `others` of what our figures at `at` are compared with: the same workload and setup (the second of two if ours is), or
/// else the same workload with the same number of indexes.
fn partner(ours: &[Figures], at: usize, others: &[Figures]) -> Option<usize> {
    let wanted = ours.get(at)?;
    let same = |f: &Figures| f.workload == wanted.workload && f.setup == wanted.setup;
    let earlier = ours.iter().take(at).filter(|f| same(f)).count();
    let indexes = |f: &Figures| f.setup.split(' ').next().unwrap_or_default().to_owned();
    let similar = |f: &Figures| f.workload == wanted.workload && indexes(f) == indexes(wanted);
    let place = others.iter().enumerate().filter(|(_, f)| same(f)).nth(earlier).map(|(i, _)| i);
    place.or_else(|| others.iter().position(similar))
}

/// What indexes cost an upsert, and what newest-10 costs beside gets of the same records.
pub fn multiples(rounds: &[Round], system: usize, name: &str) -> Vec<Multiple> {
    let Some(first) = figures_of(rounds, system).next() else { return vec![] };
    let multiple = |at: usize, base: usize| {
        let pairs = figures_of(rounds, system).filter_map(|f| Some((f.get(at)?.cpu_us, f.get(base)?.cpu_us)));
        let (of, base) = (first.get(at)?, first.get(base)?);
        Some(Multiple {
            system: name.to_owned(),
            of: label(&of.workload, &of.setup),
            in_terms_of: label(&base.workload, &base.setup),
            cpu: Spread::of(pairs.map(|(of, base)| of / base))?,
        })
    };
    let place = |workload: &str, setup: &str| first.iter().position(|f| f.workload == workload && f.setup == setup);
    let base_of = |f: &Figures| match f.workload.as_str() {
        "upsert" if f.setup != "0" => place("upsert", "0"),
        "newest10-keys" | "newest10-records" => place("gets10", &f.setup),
        _ => None,
    };
    first.iter().enumerate().filter_map(|(at, f)| multiple(at, base_of(f)?)).collect()
}
