//! The hot loops whose instructions are counted, one to a run of this program: `cargo xtask counts` runs it under callgrind.
//!
//! `sidekey-counts list` names the loops with their numbers of operations; `sidekey-counts NAME` makes one ready, runs it inside
//! [`measured`], and fails if it did not do what its name says. Everything is in memory, on one thread and seeded, so that the count
//! is the same whenever and wherever the same program runs on the same kind of processor. Depends on the engine's public API only.

mod loops;
mod material;

use loops::{HotLoop, LOOPS, Ready};
use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("sidekey-counts: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn command(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [name] = arguments else { return Err("usage: sidekey-counts list|NAME".into()) };
    if name == "list" {
        let mut out = std::io::stdout().lock();
        for HotLoop { name, operations, .. } in LOOPS {
            writeln!(out, "{name} {operations}")?;
        }
        return Ok(());
    }
    let hot = LOOPS.iter().find(|hot| hot.name == name).ok_or_else(|| format!("`{name}` is not in the list"))?;
    run(hot).map_err(|fault| format!("{name}: {fault}").into())
}

/// Makes a loop ready, runs it once, and checks it.
fn run(hot: &HotLoop) -> Result<(), Box<dyn Error>> {
    let mut ready = (hot.prepare)(hot.operations)?;
    let before = ready.db.stats();
    let answer = measured(&mut ready)?;
    let after = ready.db.stats();
    if answer != ready.answer {
        return Err(format!("it answered {answer}, not {}", ready.answer).into());
    }
    let loaded = after.cache_misses - before.cache_misses;
    if !ready.blocks.contains(&loaded) {
        return Err(format!("it loaded {loaded} blocks, not {:?}", ready.blocks).into());
    }
    Ok(ready.db.close()?)
}

/// What callgrind collects: it is told this function's name, so the name stays and nothing is inlined into or out of it.
#[inline(never)]
fn measured(ready: &mut Ready) -> sidekey::Result<u64> {
    (ready.run)()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_does_what_its_name_says() {
        for hot in LOOPS {
            run(hot).unwrap_or_else(|fault| panic!("{}: {fault}", hot.name));
        }
    }

    #[test]
    fn a_loop_that_answers_something_else_is_a_fault() {
        let hot =
            HotLoop { prepare: |operations| Ok(Ready { answer: 1, ..(LOOPS[0].prepare)(operations)? }), ..LOOPS[0] };
        assert!(run(&hot).is_err_and(|fault| fault.to_string().contains("answered")));
        let hot = HotLoop {
            prepare: |operations| Ok(Ready { blocks: 7..=7, ..(LOOPS[0].prepare)(operations)? }),
            ..LOOPS[0]
        };
        assert!(run(&hot).is_err_and(|fault| fault.to_string().contains("blocks")));
    }

    #[test]
    fn an_unknown_name_is_a_fault() {
        assert!(command(&["no_such_loop".to_owned()]).is_err());
        assert!(command(&[]).is_err());
    }
}
