use super::*;

/// The findings of an engine that consists of the given files and one small file for each module that they may name.
fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let mut sources: Vec<Source> =
        files.iter().map(|(path, text)| Source::new(&format!("{ENGINE}{path}"), text)).collect();
    for (module, _) in LAYERS {
        sources.push(Source::new(&format!("{ENGINE}{module}/mod.rs"), ""));
    }
    check(&sources).iter().map(Finding::to_string).collect()
}

fn refused(files: &[(&str, &str)], what: &str) {
    let found = findings(files);
    assert!(found.iter().any(|text| text.contains(what)), "expected {what:?} among {found:?}");
}

#[test]
fn imports_from_below_and_from_oneself_are_fine() {
    let text = "use crate::base::error::Result;\nuse crate::{env::File, wal::reader};\nuse super::super::base;";
    assert_eq!(findings(&[("wal/writer.rs", text)]), [""; 0]);
}

#[test]
fn an_upward_import_is_refused_with_file_and_line() {
    assert_eq!(
        findings(&[("wal/writer.rs", "//! Doc.\nuse crate::db::Db;")]),
        [
            "crates/sidekey/src/wal/writer.rs:2: `wal` (layer 2) imports `db` (layer 8): imports go downwards only; declare a \
          trait below and implement it above"
        ]
    );
}

#[test]
fn siblings_are_refused() {
    refused(&[("wal/mod.rs", "use crate::table::Block;")], "siblings");
    refused(&[("index/mod.rs", "fn f() { crate::validate::probe() }")], "siblings");
    refused(&[("env/mod.rs", "fn f(x: &crate::pool::Pool) {}")], "siblings");
}

#[test]
fn every_member_of_a_group_is_seen() {
    let text = "use crate::{\n    base::{error::Error, ids},\n    db,\n};";
    assert_eq!(findings(&[("tree/mod.rs", text)]).len(), 1);
    refused(&[("tree/mod.rs", text)], "tree/mod.rs:3: `tree` (layer 5) imports `db`");
    refused(&[("tree/mod.rs", "use crate::{base::{a, b}, query::{c}};")], "imports `query`");
}

#[test]
fn super_chains_that_reach_the_root_are_seen() {
    refused(&[("wal/mod.rs", "use super::db::Db;")], "imports `db`");
    refused(&[("wal/a/b.rs", "use super::super::super::{db};")], "imports `db`");
    assert_eq!(findings(&[("wal/a.rs", "use super::db::Db;")]), [""; 0], "wal::db is a child");
    refused(&[("wal/mod.rs", "mod inner { use super::super::db::Db; }")], "imports `db`");
    assert_eq!(findings(&[("wal/a.rs", "mod inner { use super::super::db::Db; }")]), [""; 0]);
}

#[test]
fn re_exports_and_macros_count_as_their_module() {
    let lib = ("lib.rs", "pub use base::error::{Error, Result};\npub use crate::db::{Db, handle::Handle as Grip};");
    assert_eq!(findings(&[lib, ("wal/mod.rs", "use crate::{Error, Result};")]), [""; 0]);
    refused(&[lib, ("wal/mod.rs", "fn f(x: crate::Db) {}")], "imports `db`");
    refused(&[lib, ("wal/mod.rs", "use crate::Grip;")], "imports `db`");
    let makro = ("query/mod.rs", "macro_rules! plan { () => {} }");
    refused(&[makro, ("wal/mod.rs", "fn f() { crate::plan!() }")], "imports `query`");
    refused(&[lib, ("wal/mod.rs", "use crate::Nothing;")], "no module");
    refused(&[lib, ("wal/mod.rs", "use crate::*;")], "no module");
}

#[test]
fn tests_literals_and_comments_are_exempt() {
    let text = "// crate::db::x\nconst A: &str = \"crate::db::x\";\npub(crate) fn f() {}\n\
                #[cfg(test)]\nmod tests { use crate::db::Db; }";
    assert_eq!(findings(&[("wal/mod.rs", text)]), [""; 0]);
    assert_eq!(findings(&[("wal/tests.rs", "use crate::db::Db;"), ("wal/tests/a.rs", "use crate::db::Db;")]), [""; 0]);
}

#[test]
fn code_after_a_test_item_is_not_exempt() {
    refused(&[("wal/mod.rs", "#[cfg(test)]\nmod tests;\nuse crate::db::Db;")], "imports `db`");
}

#[test]
fn a_module_without_a_layer_is_refused_once() {
    let found = findings(&[("extra/mod.rs", ""), ("extra/more.rs", "")]);
    assert_eq!(found.len(), 1);
    refused(&[("extra.rs", "")], "give it a layer");
}

#[test]
fn a_circle_is_shown() {
    refused(
        &[
            ("base/mod.rs", "use crate::tree::x;"),
            ("tree/mod.rs", "use crate::wal::x;"),
            ("wal/mod.rs", "use crate::base::x;"),
        ],
        "base -> tree -> wal -> base",
    );
}
