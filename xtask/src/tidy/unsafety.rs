//! Where unsafe code may live, and that each piece says why it is sound.

use crate::layers::ENGINE;
use crate::mask::is_word;
use crate::source::{Finding, Source, first_word, words};

/// The modules of the engine that may hold unsafe code.
const ALLOWED: &[&str] = &["memtable", "pool", "bptree"];

/// Foreign interfaces outside of the engine, each a file of its own.
const FOREIGN: &[&str] = &["crates/sidekey-lab/src/systems/leveldb/foreign.rs"];

/// How many lines of code may stand between a piece of unsafe code and the comment about it: the head of a statement that is
/// broken over several lines.
const CODE_BETWEEN: usize = 3;

/// What an `unsafe` announces.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// A block or an implementation: somebody vouches.
    Promise,
    /// A function or a trait: somebody else must vouch.
    Demand,
    /// A pointer type, an attribute, an extern block.
    Other,
}

/// Every `unsafe` of the file.
pub(super) fn pieces(source: &Source) -> impl Iterator<Item = (usize, Kind)> + '_ {
    words(&source.code, "unsafe").map(|at| {
        let tail = source.code[at + "unsafe".len()..].trim_start();
        let kind = match first_word(tail) {
            "impl" => Kind::Promise,
            "trait" => Kind::Demand,
            "fn" if tail["fn".len()..].trim_start().starts_with(is_word) => Kind::Demand,
            "" if tail.starts_with('{') => Kind::Promise,
            _ => Kind::Other,
        };
        (at, kind)
    })
}

pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    let module = source.path.strip_prefix(ENGINE).and_then(|path| path.split(['/', '.']).next());
    let allowed = module.is_some_and(|module| ALLOWED.contains(&module)) || FOREIGN.contains(&source.path.as_str());
    for (at, kind) in pieces(source) {
        if !allowed {
            findings.push(source.at(at, format!("unsafe code lives in {} only", ALLOWED.join(", "))));
        }
        let wanted: &[&str] = match kind {
            Kind::Promise => &["SAFETY:"],
            Kind::Demand => &["# Safety", "SAFETY:"],
            Kind::Other => continue,
        };
        if !explained(source, source.line_of(at), wanted) {
            findings.push(source.at(at, format!("unsafe without a `{}` comment above it", wanted[0])));
        }
    }
}

/// Whether one of the `wanted` words stands in a comment on `line` or right above it.
fn explained(source: &Source, line: usize, wanted: &[&str]) -> bool {
    let comments: Vec<&str> = source.comments.lines().take(line).collect();
    let code: Vec<&str> = source.code.lines().take(line).collect();
    let mut passed = 0;
    for (number, (comment, code)) in comments.iter().zip(&code).enumerate().rev() {
        if wanted.iter().any(|word| comment.contains(word)) {
            return true;
        }
        let code = code.trim();
        let is_code = !code.is_empty() && !code.starts_with("#[");
        let ends_before = number + 1 < line && (code.ends_with(';') || code.ends_with('}'));
        passed += usize::from(is_code && number + 1 < line);
        if ends_before || passed > CODE_BETWEEN {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::check;

    const PLACE: &str = "crates/sidekey/src/memtable/arena.rs";

    #[test]
    fn unsafe_code_elsewhere_is_found() {
        let text = "// SAFETY: none needed.\nlet a = unsafe { b };\n";
        for path in
            ["crates/sidekey/src/wal/mod.rs", "crates/sidekey/src/memtables.rs", "crates/sidekey-cli/src/pool/a.rs"]
        {
            assert_eq!(findings(check, path, text).len(), 1, "{path}");
        }
        for path in [PLACE, "crates/sidekey/src/pool/mod.rs", "crates/sidekey/src/bptree.rs"] {
            assert_eq!(findings(check, path, text), [""; 0], "{path}");
        }
    }

    #[test]
    fn the_word_in_comments_literals_and_other_words_is_fine() {
        let text = "// unsafe { }\n#![deny(unsafe_code)]\nconst A: &str = \"unsafe {\";\n";
        assert_eq!(findings(check, "src/a.rs", text), [""; 0]);
    }

    #[test]
    fn a_block_needs_a_reason() {
        for text in [
            "let a = unsafe { b };",
            "// SAFETY: of the line before.\nlet x = 1;\nlet a = unsafe { b };",
            "// Quite safe.\nunsafe impl Send for A {}",
            "/// Reads.\npub unsafe fn f() {}",
        ] {
            assert_eq!(findings(check, PLACE, text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_reason_near_by_counts() {
        for text in [
            "// SAFETY: it is\n// long.\nlet a = unsafe { b };",
            "// SAFETY: above a broken statement.\nlet a =\n    f(x)\n        .g(unsafe { b });",
            "let a = unsafe { b }; // SAFETY: beside.",
            "// SAFETY: above an attribute.\n#[cfg(unix)]\nunsafe impl Send for A {}",
            "/// Reads.\n///\n/// # Safety\n/// The place lives.\n#[inline]\npub unsafe fn f() {}",
            "type F = unsafe fn(u8) -> u8;",
        ] {
            assert_eq!(findings(check, PLACE, text), [""; 0], "{text}");
        }
    }
}
