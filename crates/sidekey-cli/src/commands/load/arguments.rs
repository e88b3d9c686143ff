//! The command line of `load`.

use crate::database::Database;
use clap::{ArgGroup, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  sidekey load ./shop orders orders.jsonl --key id
  sidekey load ./shop orders orders.csv --key order_id --index by_city=$.city
  sidekey load ./shop lines lines.csv --key order_id,line     keys such as 1007/2
  zcat log.jsonl.gz | sidekey load ./shop log - --key-counter --on-error skip

Cells of CSV become JSON: numbers as JSON writes them (12, -0.5, 1e6), true and false, null for an empty cell \
and for NA, text otherwise. So 0042 stays text. Blanks around numbers do not matter. NaN and inf are refused, \
since JSON has no such numbers: read them as null with --null NaN, or as text with --string-columns or --all-strings.

Whatever stops the load, the records written before stay, and the message says how many they are.";

/// Load JSON Lines or CSV into a collection
///
/// Each line becomes one record; a record whose key exists is replaced. The database, the collection and the indexes
/// named with --index are made first if they are missing.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("keys").required(true))]
pub struct Arguments {
    #[command(flatten)]
    pub database: Database,

    /// Collection
    pub collection: String,

    /// File to load, - for standard input
    pub file: PathBuf,

    /// Field that is the primary key; several, joined by the separator: --key a,b,c
    #[arg(long, value_name = "FIELD", value_delimiter = ',', group = "keys", help_heading = "Keys")]
    pub key: Vec<String>,

    /// What joins the parts of a key of several fields
    #[arg(long, value_name = "TEXT", default_value = "/", requires = "key", help_heading = "Keys")]
    pub key_separator: String,

    /// Number the records: 000000000001, 000000000002, … continuing after what is there
    #[arg(long, group = "keys", help_heading = "Keys")]
    pub key_counter: bool,

    /// Format of the file; guessed from its name without this: .jsonl .ndjson .json .csv .tsv
    #[arg(long, value_enum, help_heading = "Format")]
    pub format: Option<Format>,

    /// What separates the cells of CSV (default: comma; tab for tsv)
    #[arg(long, value_name = "CHARACTER", help_heading = "Format")]
    pub delimiter: Option<char>,

    /// Read cells with this text as null too (may be repeated)
    #[arg(long, value_name = "TEXT", help_heading = "Format")]
    pub null: Vec<String>,

    /// Columns of CSV that stay text whatever they look like
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', help_heading = "Format")]
    pub string_columns: Vec<String>,

    /// Keep every cell of CSV as text, empty ones too
    #[arg(long, conflicts_with_all = ["null", "string_columns"], help_heading = "Format")]
    pub all_strings: bool,

    /// Index to create before loading, if it is missing: by_city=$.city or by_city=$.city:synchronous (may be repeated)
    #[arg(long = "index", value_name = "NAME=PATH[:MAINTENANCE]")]
    pub indexes: Vec<String>,

    /// What to do about a line that cannot be loaded
    #[arg(long, value_enum, default_value_t = OnError::Stop)]
    pub on_error: OnError,

    /// With --on-error skip: stop after all, once more lines than this were skipped
    #[arg(long, value_name = "N")]
    pub max_errors: Option<u64>,

    /// Records that are written together
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub batch: u32,

    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

/// `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// JSON Lines: one JSON object a line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
    /// Tab-separated values with a header
    Tsv,
}

/// `--on-error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnError {
    /// End the load there
    Stop,
    /// Leave the line out and go on
    Skip,
}
