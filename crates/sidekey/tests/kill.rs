//! A short run of killed processes on real files; `sidekey-testkit kill` runs longer ones.
//!
//! The children are this very test program: it is started again, told by an environment variable to be a child.

use sidekey_testkit::kill;
use std::process::Command;

const ROLE: &str = "SIDEKEY_KILL_CHILD";

#[test]
fn a_killed_process_loses_nothing_it_acknowledged() {
    let program = std::env::current_exe().expect("a test program has a path");
    let spawn = |args: &[String]| {
        let mut command = Command::new(&program);
        command.args(["child_process", "--exact", "--nocapture"]).env(ROLE, args.join("\n"));
        command
    };
    let figures = kill::run(1, 20, &spawn).unwrap_or_else(|what| panic!("{what}"));
    assert_eq!(figures.kills, 20);
    assert!(figures.acknowledged > 100, "{figures:?}");
}

/// The child's life, if this process is one; nothing otherwise.
#[test]
fn child_process() {
    if let Ok(role) = std::env::var(ROLE) {
        let args: Vec<String> = role.lines().map(str::to_owned).collect();
        kill::child(&args).unwrap_or_else(|what| panic!("{what}"));
    }
}
