//! A short run of power cuts; `sidekey-testkit crash` runs longer ones.

use sidekey_testkit::crash;

#[test]
fn every_power_cut_leaves_a_prefix_of_the_commits_with_all_that_was_durable() {
    let figures = crash::run(1, 5000).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(figures.nested > 50, "{figures:?}");
    assert!(figures.lossy > 50, "no image had lost anything, so nothing was tested: {figures:?}");
}
