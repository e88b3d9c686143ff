//! Names that say nothing about what a file holds.

use crate::source::{Finding, Source, first_word, words};

const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "misc"];

pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    for part in source.path.trim_end_matches(".rs").split('/') {
        findings.extend(fault(part).map(|text| source.line(0, text)));
    }
    for at in words(&source.code, "mod") {
        let tail = &source.code[at + "mod".len()..];
        let name = first_word(tail);
        let opens = tail.trim_start().trim_start_matches(name).trim_start().starts_with('{');
        if opens {
            findings.extend(fault(name).map(|text| source.at(at, text)));
        }
    }
}

fn fault(name: &str) -> Option<String> {
    let last = name.rsplit(['_', '-']).next().unwrap_or(name);
    if EMPTY_NAMES.contains(&last) {
        return Some(format!("the name `{name}` does not say what is inside"));
    }
    let version =
        last.strip_prefix('v').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    (version && last != name).then(|| format!("`{name}`: a generation that is replaced is deleted, not numbered"))
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::check;

    #[test]
    fn empty_names_are_found_in_folders_files_and_inline_modules() {
        for path in ["src/utils.rs", "src/common/mod.rs", "src/lock_manager.rs", "tests/helpers/a.rs", "src/misc.rs"] {
            assert_eq!(findings(check, path, "").len(), 1, "{path}");
        }
        assert_eq!(findings(check, "src/a.rs", "\npub mod test_utils { }").len(), 1);
    }

    #[test]
    fn numbered_generations_are_found() {
        for path in ["src/block_v2.rs", "src/wal_v10/mod.rs"] {
            assert_eq!(findings(check, path, "").len(), 1, "{path}");
        }
    }

    #[test]
    fn telling_names_pass() {
        for path in ["src/common_prefix.rs", "src/v2.rs", "src/value_log/mod.rs", "src/management.rs"] {
            assert_eq!(findings(check, path, "mod a { } // mod utils {").len(), 0, "{path}");
        }
    }
}
