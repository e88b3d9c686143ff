//! The command line: every command, in groups, and the help around them.

use crate::Outcome;
use crate::commands::{
    collections, compact, count, delete, demo, flush, get, index, load, lookup, put, range, scan, script, stats, verify,
};
use crate::failure::Result;
use crate::output::Output;
use clap::{Parser, Subcommand};

const OVERVIEW: &str = "\
Look and learn:
  demo         Load real records, query them, and see what each step costs
  stats        Show what a database holds and has done
  collections  List the collections
Write:
  load         Load JSON Lines or CSV into a collection
  put          Store one record
  delete       Delete one record
Read:
  get          Print one record by its key
  scan         Print records in key order
  lookup       Find records whose attribute equals a value
  range        Find records whose attribute lies in a range
  count        Count records, all or by attribute
Tend:
  index        Create, drop and list indexes
  verify       Check everything against everything
  flush        Write what is in memory to tables
  compact      Merge tables, dropping what is obsolete
  script       Run operations from a file, one JSON object a line";

const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}\n";

const EXAMPLES: &str = "\
Examples:
  sidekey demo
  sidekey load ./shop orders orders.csv --key order_id --index by_city=$.city
  sidekey lookup ./shop orders by_city Oslo --limit 5

DB is the database's directory and always comes first. `sidekey help COMMAND` shows options and examples; \
`sidekey --help` also lists the exit codes.";

const LONG_EXAMPLES: &str = "\
Examples:
  sidekey demo
  sidekey load ./shop orders orders.csv --key order_id --index by_city=$.city
  sidekey lookup ./shop orders by_city Oslo --limit 5
  sidekey range ./shop orders by_total --low 100 --reverse --limit 10
  sidekey verify ./shop

DB is the database's directory and always comes first. `sidekey help COMMAND` shows options and examples.

Output:
  Answers go to standard output; notes, progress and errors to standard error.
  With --json an answer is one JSON document, or one line of JSON for each record
  (scan, lookup, range), and an error is {\"error\":{\"kind\":\"…\",\"message\":\"…\"}}.
  Keys that are not text appear as {\"hex\":\"…\"}, values that are not JSON as value_hex.

Exit codes:
   0  done
   1  the answer is no: key not found, findings of verify, a failed script line
   2  the command line is wrong (Usage)
   3  InvalidArgument   an argument or a record beyond what the engine accepts
   4  Unsupported       this version cannot do that
   5  Conflict          something with that name exists with another definition
   6  Busy              the database is open elsewhere, or the index is not ready
   7  Corruption        a file does not hold what was written to it
   8  Incompatible      the files are of another format or version
   9  NoSpace           the disk is full
  10  ReadOnly          writes are refused until the database is opened again
  11  Io                the operating system refused
  12  Closed            the database was closed
  13  Internal          a fault of Sidekey's own: please report it
  14  Input             a line of the data to load is not what it should be";

/// An embedded key-value store with first-class secondary indexes
#[derive(Debug, Parser)]
#[command(name = "sidekey", version, help_template = TEMPLATE, before_help = OVERVIEW, after_help = EXAMPLES)]
#[command(after_long_help = LONG_EXAMPLES, disable_help_subcommand = false, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// Answer in JSON, errors too
    #[arg(long, global = true)]
    pub json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Arguments),
    Stats(stats::Arguments),
    Collections(collections::Arguments),
    Load(Box<load::Arguments>),
    Put(put::Arguments),
    Delete(delete::Arguments),
    Get(get::Arguments),
    Scan(scan::Arguments),
    Lookup(lookup::Arguments),
    Range(range::Arguments),
    Count(count::Arguments),
    #[command(subcommand)]
    Index(index::Command),
    Verify(verify::Arguments),
    Flush(flush::Arguments),
    Compact(compact::Arguments),
    Script(script::Arguments),
}

impl Cli {
    /// Runs the command.
    pub fn run(self, output: &mut Output) -> Result<Outcome> {
        match self.command {
            Command::Demo(arguments) => demo::run(&arguments, output),
            Command::Stats(arguments) => stats::run(&arguments, output),
            Command::Collections(arguments) => collections::run(&arguments, output),
            Command::Load(arguments) => load::run(&arguments, output),
            Command::Put(arguments) => put::run(&arguments, output),
            Command::Delete(arguments) => delete::run(&arguments, output),
            Command::Get(arguments) => get::run(&arguments, output),
            Command::Scan(arguments) => scan::run(&arguments, output),
            Command::Lookup(arguments) => lookup::run(&arguments, output),
            Command::Range(arguments) => range::run(&arguments, output),
            Command::Count(arguments) => count::run(&arguments, output),
            Command::Index(command) => index::run(&command, output),
            Command::Verify(arguments) => verify::run(&arguments, output),
            Command::Flush(arguments) => flush::run(&arguments, output),
            Command::Compact(arguments) => compact::run(&arguments, output),
            Command::Script(arguments) => script::run(&arguments, output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::exit_code;
    use clap::CommandFactory;
    use sidekey::ErrorKind;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn overview_lists_every_command_with_its_own_summary() {
        for command in Cli::command().get_subcommands() {
            let summary = command.get_about().expect("a summary").to_string();
            let line = OVERVIEW.lines().find(|line| line.split_whitespace().next() == Some(command.get_name()));
            let line = line.unwrap_or_else(|| panic!("{} is missing from the overview", command.get_name()));
            assert!(line.ends_with(&format!("  {summary}")), "'{line}' does not say '{summary}'");
        }
    }

    #[test]
    fn every_command_has_examples() {
        for command in Cli::command().get_subcommands() {
            let text = command.get_after_help().unwrap_or_else(|| panic!("{} has no examples", command.get_name()));
            assert!(text.to_string().contains("sidekey "), "{}", command.get_name());
        }
    }

    #[test]
    fn help_lists_the_exit_code_of_every_error_kind() {
        let kinds = [
            ErrorKind::InvalidArgument,
            ErrorKind::Unsupported,
            ErrorKind::Conflict,
            ErrorKind::Busy,
            ErrorKind::Corruption,
            ErrorKind::Incompatible,
            ErrorKind::NoSpace,
            ErrorKind::ReadOnly,
            ErrorKind::Io,
            ErrorKind::Closed,
            ErrorKind::Internal,
        ];
        for kind in kinds {
            let line = format!("{:>4}  {} ", exit_code(kind), kind.name());
            assert!(LONG_EXAMPLES.contains(&line), "'{line}' is missing");
        }
    }
}
