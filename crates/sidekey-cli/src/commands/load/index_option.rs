//! `--index name=$.path[:maintenance]`.

use crate::failure::{Failure, Result};
use sidekey::IndexSpec;

/// The definition that the option's text states.
pub fn parse(text: &str) -> Result<IndexSpec> {
    let wrong = |what: &str| {
        Failure::usage(format!("--index {text}: {what}"))
            .hint("for example --index by_city=$.city, or by_city=$.city:synchronous")
    };
    let (name, rest) = text.split_once('=').ok_or_else(|| wrong("expected NAME=PATH"))?;
    if name.is_empty() || rest.is_empty() {
        return Err(wrong("expected NAME=PATH"));
    }
    // A colon inside brackets belongs to the path: $['a:b'].
    match rest.rsplit_once(':') {
        Some((path, maintenance)) if !maintenance.contains(']') => {
            let maintenance = maintenance.parse().map_err(|e| wrong(&format!("maintenance {e}")))?;
            Ok(IndexSpec::new(name, path).maintenance(maintenance))
        }
        _ => Ok(IndexSpec::new(name, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sidekey::Maintenance;

    #[test]
    fn path_and_maintenance_are_told_apart() {
        let plain = parse("by_city=$.city").unwrap();
        assert_eq!((plain.name.as_str(), plain.attribute.as_str()), ("by_city", "$.city"));
        let synchronous = parse("by_mag=$.mag:synchronous").unwrap();
        assert_eq!((synchronous.attribute.as_str(), synchronous.maintenance), ("$.mag", Maintenance::Synchronous));
        let colon = parse("odd=$['a:b']:deferred").unwrap();
        assert_eq!((colon.attribute.as_str(), colon.maintenance), ("$['a:b']", Maintenance::Deferred));
        assert_eq!(parse("odd=$['a:b']").unwrap().attribute, "$['a:b']");
    }

    #[test]
    fn mistakes_name_what_is_possible() {
        assert!(parse("by_mag=$.mag:sync").unwrap_err().message.contains("synchronous, validated, deferred"));
        for text in ["$.mag", "=$.mag", "by_mag="] {
            assert!(parse(text).unwrap_err().message.contains("NAME=PATH"), "{text}");
        }
    }
}
