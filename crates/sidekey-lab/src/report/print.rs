//! The result as tables.

use super::compare::label;
use super::{AaCheck, PeerResult, Report, SystemResult};
use crate::ratio::{AS_FAST, Spread};
use comfy_table::{CellAlignment, Table, presets};
use std::io::{self, Write};

/// Writes the whole result.
pub fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    heading(report, out)?;
    for system in &report.systems {
        figures(system, report.settings.budget_bytes(), out)?;
    }
    writeln!(out, "\n{}", report.aa.verdict())?;
    if !report.aa.comparisons.is_empty() {
        let own =
            PeerResult { name: "sidekey".to_owned(), comparisons: report.aa.comparisons.clone(), geometric_mean: None };
        ratios(&own, &AaCheck::default(), out)?;
    }
    for peer in &report.peers {
        writeln!(out, "\n{0} against sidekey, {0} / sidekey: above 1, sidekey is faster", peer.name)?;
        ratios(peer, &report.aa, out)?;
        if let Some(mean) = peer.geometric_mean {
            writeln!(out, "geometric mean of the ratios of processor time: {mean:.2}")?;
        }
    }
    multiples(report, out)
}

fn heading(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let (s, m) = (&report.settings, &report.machine);
    let mib = |bytes: u64| grouped(bytes >> 20);
    writeln!(out, "sidekey-lab {}: {}", report.command, report.title)?;
    writeln!(
        out,
        "settings: cache {} MiB, memtable {} MiB x {}, table {} MiB, first level {} MiB, level 0 compacts at {} tables, block {} B, {} filter bits",
        mib(s.cache_bytes),
        mib(s.memtable_bytes),
        s.memtables_max,
        mib(s.table_bytes),
        mib(s.level_base_bytes),
        s.level0_tables,
        grouped(s.block_bytes.into()),
        s.filter_bits
    )?;
    writeln!(
        out,
        "          no compression, checksums verified, log without syncs, one compaction thread and one flush thread"
    )?;
    let memory = m.memory_bytes >> 20;
    writeln!(
        out,
        "machine:  {}, {} cores, {} MiB, {}, {}, load {:.1}",
        m.processor,
        m.cores,
        grouped(memory),
        m.kernel,
        m.file_system,
        m.load
    )?;
    let versions: Vec<&str> = report.systems.iter().map(|s| s.version.as_str()).collect();
    writeln!(out, "versions: {}; sidekey-lab {}", versions.join(", "), env!("CARGO_PKG_VERSION"))?;
    report.notes.iter().try_for_each(|note| writeln!(out, "note:     {note}"))
}

fn figures(system: &SystemResult, budget_bytes: u64, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "\n{} (times in us per operation, latencies in us, memory in MiB of a budget of {})",
        system.name,
        budget_bytes >> 20
    )?;
    let mut table = table(&[
        "workload",
        "operations",
        "cpu",
        "quartiles",
        "wall",
        "settled",
        "p50",
        "p99",
        "p99.9",
        "max",
        "write amp",
        "space amp",
        "peak",
    ]);
    for s in &system.summaries {
        let us = |ns: Option<f64>| ns.map_or_else(String::new, |ns| format!("{:.1}", ns / 1e3));
        let amplification = |a: Option<f64>| a.map_or_else(String::new, |a| format!("{a:.2}"));
        table.add_row([
            label(&s.workload, &s.setup),
            grouped(s.operations),
            format!("{:.3}", s.cpu_us.median),
            quartiles(&s.cpu_us, 3),
            format!("{:.3}", s.wall_us.median),
            format!("{:.3}", s.settled_wall_us.median),
            us(s.p50_ns),
            us(s.p99_ns),
            us(s.p999_ns),
            us(s.max_ns),
            amplification(s.write_amplification),
            amplification(s.space_amplification),
            grouped(s.peak_bytes >> 20),
        ]);
    }
    lines(&table, out)
}

fn ratios(peer: &PeerResult, aa: &AaCheck, out: &mut impl Write) -> io::Result<()> {
    let own = peer.name == "sidekey";
    let mut table = table(&["workload", "cpu", "quartiles", "lowest", "highest", "wall", "quartiles", "pairs", ""]);
    for c in &peer.comparisons {
        let mut remarks = Vec::new();
        if !own && c.cpu.median < AS_FAST {
            remarks.push("slower".to_owned());
        }
        if !own && aa.is_even(&c.workload, &c.setup) == Some(false) {
            remarks.push("A/A not good".to_owned());
        }
        remarks.extend(c.other_setup.as_ref().map(|setup| format!("{} with {setup}", peer.name)));
        table.add_row([
            c.label(),
            format!("{:.2}", c.cpu.median),
            quartiles(&c.cpu, 2),
            format!("{:.2}", c.cpu.min),
            format!("{:.2}", c.cpu.max),
            format!("{:.2}", c.wall.median),
            quartiles(&c.wall, 2),
            c.cpu.count.to_string(),
            remarks.join(", "),
        ]);
    }
    if let Some(column) = table.column_mut(8) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    lines(&table, out)
}

fn multiples(report: &Report, out: &mut impl Write) -> io::Result<()> {
    if report.multiples.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nprocessor time in terms of another workload of the same store")?;
    let mut table = table(&["store", "workload", "in terms of", "times", "quartiles"]);
    for m in &report.multiples {
        let times = format!("{:.2}", m.cpu.median);
        table.add_row([m.system.clone(), m.of.clone(), m.in_terms_of.clone(), times, quartiles(&m.cpu, 2)]);
    }
    for at in [1, 2] {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    lines(&table, out)
}

fn quartiles(spread: &Spread, digits: usize) -> String {
    format!("{:.digits$}-{:.digits$}", spread.low_quartile, spread.high_quartile)
}

/// A table without frames; the first column is text, the others are numbers.
fn table(heading: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(heading.iter().map(|name| name.to_uppercase()));
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        column.set_cell_alignment(if at == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    table
}

fn lines(table: &Table, out: &mut impl Write) -> io::Result<()> {
    table.lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
}

/// A number with its thousands set apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
