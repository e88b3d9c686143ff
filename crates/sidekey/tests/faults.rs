//! A short run of failing file system operations; `sidekey-testkit faults` runs longer ones.

use sidekey_testkit::faults;

#[test]
fn failing_operations_give_typed_errors_and_lose_nothing_acknowledged() {
    let figures = faults::run(1, 12, 50, 3).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(figures.struck * 2 > figures.runs, "{figures:?}");
    assert!(figures.errors.contains_key("Io") && figures.errors.contains_key("NoSpace"), "{figures:?}");
}
