//! Whether the licence of every dependency lets the project be given away under its own terms.

use serde_json::Value;

/// Licences that ask for no more than a notice. Others are added when a dependency needs them and somebody has read them.
const ALLOWED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "0BSD",
    "CC0-1.0",
    "BSL-1.0",
    "Unlicense",
];

/// What is wrong with the packages that `metadata`, the answer of `cargo metadata`, names, and how many there are.
pub(crate) fn check(metadata: &str) -> Result<(Vec<String>, usize), String> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata: no packages")?;
    let faults = packages.iter().filter_map(|package| {
        let reason = match package["license"].as_str() {
            None => "states no licence".to_owned(),
            Some(expression) => match allows(expression) {
                Ok(true) => return None,
                Ok(false) => format!("`{expression}` is not among the licences that xtask/src/licences.rs allows"),
                Err(fault) => format!("`{expression}`: {fault}"),
            },
        };
        let text = |field: &str| package[field].as_str().unwrap_or("?").to_owned();
        Some(format!("{} {}: {reason}", text("name"), text("version")))
    });
    Ok((faults.collect(), packages.len()))
}

/// Whether an SPDX expression leaves a choice of allowed licences. The old form `A/B` means `A OR B`.
fn allows(expression: &str) -> Result<bool, String> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let allowed = either(&mut words)?;
    match words.next() {
        None => Ok(allowed),
        Some(word) => Err(format!("`{word}` is not expected there")),
    }
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words<'_>) -> Result<bool, String> {
    let mut allowed = both(words)?;
    while words.next_if_eq(&"OR").is_some() {
        allowed |= both(words)?;
    }
    Ok(allowed)
}

fn both(words: &mut Words<'_>) -> Result<bool, String> {
    let mut allowed = single(words)?;
    while words.next_if_eq(&"AND").is_some() {
        allowed &= single(words)?;
    }
    Ok(allowed)
}

fn single(words: &mut Words<'_>) -> Result<bool, String> {
    match words.next() {
        Some("(") => {
            let allowed = either(words)?;
            words.next_if_eq(&")").map(|_| allowed).ok_or_else(|| "a bracket is not closed".to_owned())
        }
        None | Some("AND" | "OR" | "WITH" | ")") => Err("a licence is missing".to_owned()),
        Some(licence) => match words.next_if_eq(&"WITH") {
            None => Ok(ALLOWED.contains(&licence)),
            Some(_) => {
                let exception = words.next().ok_or("an exception is missing")?;
                Ok(ALLOWED.contains(&format!("{licence} WITH {exception}").as_str()))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_needs_one_allowed_licence_and_a_sum_needs_all() {
        for text in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/Apache-2.0",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "MIT OR GPL-2.0 AND GPL-3.0",
        ] {
            assert_eq!(allows(text), Ok(true), "{text}");
        }
        for text in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", "AGPL-3.0 OR SSPL-1.0", "mit"] {
            assert_eq!(allows(text), Ok(false), "{text}");
        }
    }

    #[test]
    fn an_exception_is_part_of_the_licence() {
        assert_eq!(allows("Apache-2.0 WITH LLVM-exception OR GPL-3.0"), Ok(true));
        assert_eq!(allows("MIT WITH Strings-attached"), Ok(false));
    }

    #[test]
    fn broken_expressions_are_faults() {
        for text in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT ISC", "Apache-2.0 WITH", "()"] {
            assert!(allows(text).is_err(), "{text}");
        }
    }

    #[test]
    fn packages_with_a_wrong_or_no_licence_are_named() {
        let metadata = r#"{"packages": [
            {"name": "good", "version": "1.0.0", "license": "MIT"},
            {"name": "bad", "version": "2.0.0", "license": "GPL-3.0"},
            {"name": "silent", "version": "3.0.0", "license": null}]}"#;
        let (faults, packages) = check(metadata).expect("it is well formed");
        assert_eq!((faults.len(), packages), (2, 3));
        assert!(faults[0].starts_with("bad 2.0.0: ") && faults[1].starts_with("silent 3.0.0: "), "{faults:?}");
    }

    #[test]
    fn an_answer_that_is_no_metadata_is_an_error() {
        assert!(check("").is_err());
        assert!(check("{}").is_err());
    }
}
