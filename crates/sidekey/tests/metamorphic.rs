//! A short metamorphic run; `sidekey-testkit metamorphic` runs longer ones.

use sidekey_testkit::metamorphic;

#[test]
fn random_lists_answer_alike_in_every_configuration_and_leave_no_stale_entry() {
    let figures = metamorphic::run(1, 200, 60, 2).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(figures.sequences, 200);
    assert_eq!(figures.kinds.len(), 19, "a kind of operation was never run: {:?}", figures.kinds);
}
