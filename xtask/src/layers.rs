//! Which module of the engine may import which.
//!
//! Every top-level module of the engine has a layer. Product code of a module imports only modules of lower layers; modules of one
//! layer are siblings and do not import one another. `lib.rs` is the face of the crate and free. Tests are exempt.
//!
//! Imports are found as paths: `crate::x`, `crate::{x, y}`, and `super::` chains that reach the crate's root. A name that `lib.rs`
//! re-exports counts as an import of the module it comes from.

use std::collections::{BTreeMap, BTreeSet};

use crate::mask::is_word;
use crate::source::{Finding, Source, closing, first_word, words};

/// Where the engine's modules live.
pub(crate) const ENGINE: &str = "crates/sidekey/src/";

/// The layer of each top-level module. A new module gets its line here, after a thought about who may import it.
const LAYERS: &[(&str, u8)] = &[
    ("base", 0),
    ("env", 1),
    ("pool", 1),
    ("wal", 2),
    ("memtable", 2),
    ("table", 2),
    ("value_log", 2),
    ("bptree", 2),
    ("iter", 2),
    ("version", 3),
    ("compaction", 4),
    ("inspect", 4),
    ("tree", 5),
    ("index", 6),
    ("validate", 6),
    ("query", 7),
    ("check", 7),
    ("db", 8),
];

fn layer(module: &str) -> Option<u8> {
    LAYERS.iter().find(|(name, _)| *name == module).map(|&(_, layer)| layer)
}

/// Checks the engine's files among `sources`.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let engine: Vec<&Source> =
        sources.iter().filter(|source| source.path.starts_with(ENGINE) && source.is_rust()).collect();
    let origins = origins(&engine);
    let mut findings = Vec::new();
    let mut edges = BTreeSet::new();
    let mut without_layer = BTreeSet::new();
    for source in &engine {
        let place = place(source);
        let Some(from) = place.first() else { continue };
        if layer(from).is_none() {
            if without_layer.insert(from.clone()) {
                findings.push(
                    source.line(0, format!("module `{from}` has no layer: give it a layer in xtask/src/layers.rs")),
                );
            }
            continue;
        }
        for (at, name) in imports(source, place.len()) {
            match origins.get(name) {
                _ if name == from => {}
                Some(to) if to == from => {}
                Some(to) => {
                    edges.insert((from.clone(), to.clone()));
                    findings.extend(refusal(from, to).map(|text| source.at(at, text)));
                }
                None => findings.push(source.at(at, format!("`{name}` is no module, re-export or macro of the crate"))),
            }
        }
    }
    findings.extend(cycle(&edges).map(|text| Finding { path: ENGINE.to_owned(), line: 0, text }));
    findings
}

/// Why `from` may not import `to`, if so.
fn refusal(from: &str, to: &str) -> Option<String> {
    let (above, below) = (layer(from)?, layer(to)?);
    let reason = match above.cmp(&below) {
        std::cmp::Ordering::Greater => return None,
        std::cmp::Ordering::Equal => "siblings do not import one another",
        std::cmp::Ordering::Less => "imports go downwards only; declare a trait below and implement it above",
    };
    Some(format!("`{from}` (layer {above}) imports `{to}` (layer {below}): {reason}"))
}

/// The module path of a file below the crate's root; empty for `lib.rs`.
fn place(source: &Source) -> Vec<String> {
    let path = source.path.trim_start_matches(ENGINE).trim_end_matches(".rs");
    path.split('/').filter(|part| !matches!(*part, "mod" | "lib")).map(str::to_owned).collect()
}

/// From which top-level module each name at the crate's root comes: the modules, the re-exports of `lib.rs`, and macros.
fn origins(engine: &[&Source]) -> BTreeMap<String, String> {
    let mut origins = BTreeMap::new();
    for source in engine {
        let Some(module) = place(source).into_iter().next() else {
            re_exports(&source.code, &mut origins);
            continue;
        };
        for at in words(&source.code, "macro_rules") {
            let name =
                first_word(source.code[at..].trim_start_matches("macro_rules").trim_start().trim_start_matches('!'));
            origins.insert(name.to_owned(), module.clone());
        }
        origins.insert(module.clone(), module);
    }
    origins
}

/// Adds what the `use` items of `code` bring to the crate's root.
fn re_exports(code: &str, origins: &mut BTreeMap<String, String>) {
    for at in words(code, "use") {
        let tree = code[at + "use".len()..].trim_start();
        let tree = &tree[..tree.find(';').unwrap_or(tree.len())];
        let tree = tree.trim_start_matches("crate::").trim_start_matches("self::");
        let module = first_word(tree);
        for leaf in tree.split([',', '{', '}']) {
            let name = leaf.trim().rsplit(|c| !is_word(c)).next().unwrap_or_default();
            if !name.is_empty() && name != module {
                origins.insert(name.to_owned(), module.to_owned());
            }
        }
    }
}

/// The names at the crate's root that product code of `source` refers to, with their offsets. `depth` is the length of the file's
/// module path.
fn imports(source: &Source, depth: usize) -> Vec<(usize, &str)> {
    let code = &source.code;
    let inline = inline_modules(code);
    let mut found = Vec::new();
    for at in words(code, "crate").filter(|&at| !source.is_test(at)) {
        let after = at + "crate".len();
        if let Some(tail) = code[after..].strip_prefix("::") {
            names(code, code.len() - tail.len(), &mut found);
        }
    }
    for at in words(code, "super").filter(|&at| !source.is_test(at) && !code[..at].ends_with("super::")) {
        let mut tail = at;
        let mut steps = 0;
        while code[tail..].starts_with("super::") {
            tail += "super::".len();
            steps += 1;
        }
        let nesting = inline.iter().filter(|module| module.contains(&at)).count();
        if steps > 0 && steps == depth + nesting {
            names(code, tail, &mut found);
        }
    }
    found
}

fn inline_modules(code: &str) -> Vec<std::ops::Range<usize>> {
    let bodies = words(code, "mod").filter_map(|at| {
        let open = at + code[at..].find(['{', ';'])?;
        code[open..].starts_with('{').then(|| open..closing(code, open))
    });
    bodies.collect()
}

/// The first names of the path or of the group of paths at `at`.
fn names<'a>(code: &'a str, at: usize, found: &mut Vec<(usize, &'a str)>) {
    let tail = &code[at..];
    let start = at + tail.len() - tail.trim_start().len();
    if !code[start..].starts_with('{') {
        let name = first_word(&code[start..]);
        if name != "self" && !name.is_empty() {
            found.push((start, name));
        } else if code[start..].starts_with('*') {
            found.push((start, "*"));
        }
        return;
    }
    let end = closing(code, start);
    let mut item = start + 1;
    let mut at = item;
    while at < end {
        match code.as_bytes()[at] {
            b'{' => at = closing(code, at),
            b',' => {
                names(code, item, found);
                item = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if !code[item..end].trim().is_empty() {
        names(code, item, found);
    }
}

/// Describes one cycle among `edges`, if there is any. Only wrong imports can make one; it shows which of them to cut.
fn cycle(edges: &BTreeSet<(String, String)>) -> Option<String> {
    fn visit<'a>(edges: &'a BTreeSet<(String, String)>, path: &mut Vec<&'a str>, done: &mut BTreeSet<&'a str>) -> bool {
        let Some(&here) = path.last() else { return false };
        for (_, to) in edges.iter().filter(|(from, _)| from == here) {
            if let Some(start) = path.iter().position(|seen| seen == to) {
                path.drain(..start);
                path.push(to);
                return true;
            }
            if !done.contains(to.as_str()) {
                path.push(to);
                if visit(edges, path, done) {
                    return true;
                }
                path.pop();
            }
        }
        done.insert(here);
        false
    }
    let mut done = BTreeSet::new();
    for (from, _) in edges {
        let mut path = vec![from.as_str()];
        if !done.contains(from.as_str()) && visit(edges, &mut path, &mut done) {
            return Some(format!("modules import one another in a circle: {}", path.join(" -> ")));
        }
    }
    None
}

#[cfg(test)]
mod tests;
