//! Does the suite find what is wrong? Arms each fault that is planted in the engine and runs the layers until one of them fails.
//!
//! Compiled only with `--cfg planted`, and so is the engine's side.

use crate::{crash, faults, metamorphic};
use sidekey::planted::{Fault, arm};
use std::time::Instant;

/// Lists of one round of the metamorphic layer.
const LISTS: u64 = 10;
/// Images of one round of the crash layer.
const IMAGES: u64 = 300;
/// Operations of a list in which operations of the file system fail.
const OPERATIONS: usize = 40;

/// What found a fault.
struct Caught {
    layer: &'static str,
    round: u64,
    what: String,
}

/// Runs all faults, reporting each line to `report`. The answer sums up.
///
/// # Errors
/// The faults that nothing found, or what a layer found although nothing was armed.
pub fn run(seed: u64, rounds: u64, report: &mut dyn FnMut(String)) -> Result<String, String> {
    // What is expected to fail need not print its panics.
    std::panic::set_hook(Box::new(|_| {}));
    arm(None);
    if let Some(found) = one_round(seed, 0) {
        return Err(format!("nothing is armed, but {} found: {}", found.layer, found.what));
    }
    let mut missed = vec![];
    for (fault, what) in Fault::ALL {
        let started = Instant::now();
        arm(Some(*fault));
        let caught = (0..rounds).find_map(|round| one_round(seed, round));
        arm(None);
        let seconds = started.elapsed().as_secs_f64();
        let name = format!("{fault:?}");
        match caught {
            Some(c) => report(format!(
                "{name:<22} {:<12} round {:<3} {seconds:>6.1} s  {}",
                c.layer,
                c.round,
                first_line(&c.what)
            )),
            None => {
                report(format!("{name:<22} NOT FOUND    {seconds:>6.1} s  {}", what.trim()));
                missed.push(name);
            }
        }
    }
    let all = Fault::ALL.len();
    match missed.is_empty() {
        true => Ok(format!("planted: {all} of {all} found")),
        false => Err(format!("planted: {} of {all} found; not found: {}", all - missed.len(), missed.join(", "))),
    }
}

fn one_round(seed: u64, round: u64) -> Option<Caught> {
    let caught = |layer: &'static str, what: String| Some(Caught { layer, round, what });
    if let Err(e) = metamorphic::run(seed + round * LISTS, LISTS, 60, 2) {
        return caught("metamorphic", e.what);
    }
    if let Err(e) = crash::run(seed + round * 100, IMAGES) {
        return caught("crash", e.what);
    }
    match faults::run(seed + round, 1, OPERATIONS, 3) {
        Err(e) => caught("faults", e.what),
        Ok(_) => None,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(110).collect()
}
