//! The command line.

use crate::plain::Workload;
use crate::systems::{Maintenance, Regime, SystemName};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const ABOUT: &str = "Measures Sidekey, alone or against its peers";

const LONG_ABOUT: &str = "\
Measures Sidekey, alone or against its peers.

Every store runs in processes of its own, the stores take turns, and the figure that decides is processor time per operation, flush and
compaction included. docs/LAB.md says what each figure means and how a claim is made.";

const BENCH_AFTER: &str = "\
Examples:
  sidekey-lab db_bench --systems sidekey --scale 0.01          a quick look at Sidekey alone
  sidekey-lab db_bench --systems sidekey,rocksdb --scale 1     a claim: full size, 7 pairs, the A/A check first
  sidekey-lab db_bench --systems sidekey,leveldb --regime 128m --scale 1 --json result.json

Exit code: 0 measured, 1 a store failed or answered wrongly, 2 the command cannot be run as given.";

const INDEX_AFTER: &str = "\
Workloads: upsert (half of new keys, half of keys that are there), newest10-keys, newest10-records, gets10 (the same records by primary
key, a get each), all-matches. Answers are compared with a model; a store that answers wrongly fails the run.

Examples:
  sidekey-lab index --systems sidekey --scale 0.01             a quick look at Sidekey alone
  sidekey-lab index --systems sidekey,rocksdb,sqlite --value-bytes 1000 --scale 0.2 --json result.json

Exit code: 0 measured, 1 a store failed or answered wrongly, 2 the command cannot be run as given.";

/// The program's arguments.
#[derive(Debug, Parser)]
#[command(name = "sidekey-lab", version, about = ABOUT, long_about = LONG_ABOUT, max_term_width = 130)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The field's workloads on a plain key-value store: fillseq, readrandom, ...
    #[command(name = "db_bench", visible_alias = "db-bench", after_help = BENCH_AFTER)]
    DbBench(BenchArguments),
    /// Upserts with 0, 1 and 4 secondary indexes, and queries by attribute
    #[command(after_help = INDEX_AFTER)]
    Index(IndexArguments),
    /// Does what a plan says in this process and prints one line of JSON: how the program runs itself
    #[command(hide = true)]
    Child {
        /// The plan, as JSON.
        plan: String,
        /// The directory for the store's files; it is removed in the end.
        dir: PathBuf,
    },
}

/// When Sidekey is measured against itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Aa {
    /// Before anything else
    First,
    /// And nothing else
    Only,
    /// Not at all: the result says "not checked"
    Skip,
}

/// What both commands take.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// Which cache sizes: warm, larger than the data; 128m, 128 MiB for every store
    #[arg(long, value_enum, default_value = "warm")]
    pub regime: Regime,
    /// Part of the full size: 5 million records of 100 B, 1 million of 1,000 B
    #[arg(long, default_value_t = 0.1, value_parser = scale)]
    pub scale: f64,
    /// How often each store runs; a claim needs 7
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "N")]
    pub pairs: u32,
    /// When Sidekey is measured against itself: its ratios must be 1.00 +- 0.05 before others are believed. `--aa` alone is `--aa only`
    #[arg(long, value_enum, default_value = "first", num_args = 0..=1, default_missing_value = "only", value_name = "WHEN")]
    pub aa: Aa,
    /// Pairs of the measurement against itself
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "N")]
    pub aa_pairs: u32,
    /// Seed of keys, values and order
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Writes the result with all raw figures to a file, as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where the stores' directories are made (and removed) [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `db_bench`.
#[derive(Clone, Debug, Args)]
pub struct BenchArguments {
    /// The stores, separated by commas; peers need a build with the feature of their name
    #[arg(long, value_delimiter = ',', default_value = "sidekey", value_name = "NAMES")]
    pub systems: Vec<SystemName>,
    /// The workloads, separated by commas, in this order; all by default
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub workloads: Vec<Workload>,
    /// Bytes of a value
    #[arg(long, default_value = "100", value_parser = ["100", "1000"], value_name = "BYTES")]
    pub value_bytes: String,
    /// Writes a second beside readwhilewriting's reader
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000), value_name = "N")]
    pub write_rate: u64,
    #[command(flatten)]
    pub common: Common,
}

/// Arguments of `index`.
#[derive(Clone, Debug, Args)]
pub struct IndexArguments {
    /// The stores, separated by commas; peers need a build with the feature of their name
    #[arg(long, value_delimiter = ',', default_value = "sidekey", value_name = "NAMES")]
    pub systems: Vec<SystemName>,
    /// Numbers of composite indexes to measure with
    #[arg(long, value_delimiter = ',', default_value = "0,1,4", value_parser = clap::value_parser!(u8).range(0..=4), value_name = "NUMBERS")]
    pub indexes: Vec<u8>,
    /// How the indexes follow the records; a store without one of them is compared by the other
    #[arg(long, value_enum, value_delimiter = ',', default_value = "validated,synchronous", value_name = "KINDS")]
    pub maintenance: Vec<Maintenance>,
    /// Bytes of a record
    #[arg(long, default_value = "100", value_parser = ["100", "1000"], value_name = "BYTES")]
    pub value_bytes: String,
    /// Records that share an attribute value, about: also try 10 and 1000
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..=1_000_000), value_name = "N")]
    pub matches: u64,
    #[command(flatten)]
    pub common: Common,
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if scale > 0.0 && scale <= 20.0 => Ok(scale),
        Ok(_) => Err("it must be above 0 and at most 20".to_owned()),
        Err(_) => Err("it must be a number, for example 0.1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn refused(arguments: &[&str]) -> String {
        Cli::try_parse_from(arguments).unwrap_err().to_string()
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_unknown_workload_is_refused_with_those_that_exist() {
        let message = refused(&["sidekey-lab", "db_bench", "--workloads", "readrandm"]);
        assert!(
            message.contains("readrandm") && message.contains("readrandom") && message.contains("deleterandom"),
            "{message}"
        );
    }

    #[test]
    fn sizes_out_of_range_are_refused_with_the_range() {
        assert!(refused(&["sidekey-lab", "db_bench", "--scale", "0"]).contains("above 0"));
        assert!(refused(&["sidekey-lab", "db_bench", "--value-bytes", "64"]).contains("1000"));
        assert!(refused(&["sidekey-lab", "index", "--indexes", "5"]).contains("0..=4"));
    }

    #[test]
    fn aa_alone_means_nothing_but_it() {
        let cli = Cli::try_parse_from(["sidekey-lab", "db_bench", "--aa", "--scale", "1"]).unwrap();
        assert!(matches!(cli.command, Command::DbBench(BenchArguments { common: Common { aa: Aa::Only, .. }, .. })));
    }
}
