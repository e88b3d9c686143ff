//! Whether a database's answers are the oracle's.

use crate::attr::Attr;
use crate::execute::{Answers, Got};
use crate::model::{Hit, Pairs};
use crate::ops::{Depth, PATHS};
use crate::oracle::{Expected, Usable};
use sidekey::{Error, ErrorKind, Row};
use std::collections::BTreeMap;

/// Compares all answers to one operation; an error says what differs. `acks` holds the engine's sequence number of each of
/// the model's.
pub fn compare(expected: &Expected, answers: &Answers, acks: &BTreeMap<u64, u64>) -> Result<(), String> {
    answers.iter().try_for_each(|answer| match answer {
        Ok(got) => compare_one(expected, got, acks),
        Err(error) if may_refuse(expected) && is_refusal(error) => Ok(()),
        Err(error) => Err(format!("error of kind {}: {error}", error.kind())),
    })
}

fn usable(expected: &Expected) -> Usable {
    match expected {
        Expected::Rows { usable, .. } | Expected::Count { usable, .. } => *usable,
        Expected::Whatever => Usable::Perhaps,
        _ => Usable::Yes,
    }
}

fn may_refuse(expected: &Expected) -> bool {
    usable(expected) != Usable::Yes
}

/// Errors that say "not like this", as opposed to "something is broken".
fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::Unsupported | ErrorKind::Conflict | ErrorKind::Busy)
}

fn compare_one(expected: &Expected, got: &Got, acks: &BTreeMap<u64, u64>) -> Result<(), String> {
    // A full scan answers whether there is an index or not.
    if usable(expected) == Usable::No && !matches!(got, Got::Matches(_)) {
        return Err(format!("an index that does not exist answered {}", short(got)));
    }
    let same = match (expected, got) {
        (Expected::Done, Got::Done | Got::Sqn(_)) | (Expected::Whatever, _) => true,
        (Expected::Applied(a), Got::Applied(b)) => a == b,
        (Expected::Value(a), Got::Value(b)) => a == b,
        (Expected::Pairs(a), Got::Pairs(b)) => a == b,
        (Expected::Count { rows, .. }, Got::Count(count)) => rows == count,
        (Expected::Count { rows, .. }, Got::Matches(pairs)) => *rows == pairs.len() as u64,
        (Expected::Rows { hits, .. }, Got::Matches(pairs)) => same_set(hits, pairs),
        (Expected::Rows { hits, limit, depth, path, .. }, Got::Rows(rows)) => {
            let hits = &hits[..hits.len().min(limit.unwrap_or(usize::MAX))];
            return same_rows(hits, rows, *depth, PATHS[*path], acks);
        }
        _ => false,
    };
    if same { Ok(()) } else { Err(format!("expected {}\n     got {}", short(expected), short(got))) }
}

fn same_set(hits: &[Hit], pairs: &Pairs) -> bool {
    let mut wanted: Vec<(&[u8], &[u8])> = hits.iter().map(|hit| (&hit.key[..], &hit.value[..])).collect();
    wanted.sort_unstable();
    wanted.into_iter().eq(pairs.iter().map(|(key, value)| (&key[..], &value[..])))
}

fn same_rows(hits: &[Hit], rows: &[Row], depth: Depth, path: &str, acks: &BTreeMap<u64, u64>) -> Result<(), String> {
    let differ = |what: &str| {
        let wanted: Vec<_> =
            hits.iter().map(|h| (String::from_utf8_lossy(&h.key), acks.get(&h.sqn), &h.attr)).collect();
        let got: Vec<_> = rows.iter().map(|r| (String::from_utf8_lossy(&r.key), r.sqn, &r.attributes)).collect();
        Err(format!("{what}: expected {}\n     got {}", short(&wanted), short(&got)))
    };
    if !hits.iter().map(|hit| &hit.key).eq(rows.iter().map(|row| &row.key)) {
        return differ("keys");
    }
    for (hit, row) in hits.iter().zip(rows) {
        if acks.get(&hit.sqn) != Some(&row.sqn) {
            return differ("sequence numbers");
        }
        let value = (depth == Depth::Records).then_some(&hit.value);
        if row.value.as_ref() != value {
            return differ("values");
        }
        let attribute = row.attributes.iter().find(|(p, _)| p == path);
        let right = attribute.is_some_and(|(_, value)| Attr::from_json(&value.to_json()).as_ref() == Some(&hit.attr));
        if depth == Depth::Attributes && !right {
            return differ("attributes");
        }
    }
    Ok(())
}

fn short(what: &impl std::fmt::Debug) -> String {
    const MOST: usize = 1500;
    let text = format!("{what:?}");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(usable: Usable) -> Expected {
        let hit = Hit { key: b"k".to_vec(), sqn: 3, attr: Attr::Bool(true), value: b"v".to_vec() };
        Expected::Rows { hits: vec![hit], limit: None, depth: Depth::Keys, path: 0, usable }
    }

    #[test]
    fn a_wrong_a_missing_and_a_surplus_answer_are_told_from_a_right_one() {
        let acks = BTreeMap::new();
        let check = |expected: &Expected, got| compare(expected, &vec![Ok(got)], &acks).is_ok();
        assert!(check(&Expected::Value(None), Got::Value(None)));
        assert!(!check(&Expected::Value(None), Got::Value(Some(vec![]))));
        assert!(!check(&Expected::Value(None), Got::Done));
        assert!(check(&query(Usable::Yes), Got::Matches(vec![(b"k".to_vec(), b"v".to_vec())])));
        assert!(!check(&query(Usable::Yes), Got::Matches(vec![(b"k".to_vec(), b"w".to_vec())])));
        assert!(!check(&query(Usable::Yes), Got::Rows(vec![])));
        assert!(!check(&query(Usable::No), Got::Rows(vec![])));
    }

    #[test]
    fn an_error_is_right_only_where_a_refusal_is() {
        let acks = BTreeMap::new();
        let fails = |expected: &Expected, error| compare(expected, &vec![Err(error)], &acks).is_err();
        assert!(fails(&Expected::Done, Error::Busy("x".into())));
        assert!(fails(&query(Usable::Yes), Error::Busy("x".into())));
        assert!(!fails(&query(Usable::Perhaps), Error::Busy("x".into())));
        assert!(fails(&query(Usable::Perhaps), Error::Internal("x".into())));
    }
}
