//! The bundled records; `data/README.md` states where they are from.

use crate::failure::{Failure, Result};
use serde_json::Value as Json;
use sidekey::Error;

/// One JSON object a line, oldest event first.
pub const QUAKES: &str = include_str!("../../../data/earthquakes.jsonl");

/// Hours that the load ends with, for the query by time.
pub const HOUR_MS: i64 = 3_600_000;

/// Parses one record.
pub fn parse(line: &[u8]) -> Result<Json> {
    serde_json::from_slice(line)
        .map_err(|e| Failure::from(Error::Internal(format!("a bundled record is not the JSON that was stored: {e}"))))
}

/// A text field of a record, empty if it has none.
pub fn text<'a>(quake: &'a Json, field: &str) -> &'a str {
    quake[field].as_str().unwrap_or_default()
}

/// A record on one line, for people.
pub fn describe(quake: &Json) -> String {
    let magnitude = quake["mag"].as_f64().map_or_else(|| "  ?".to_owned(), |mag| format!("{mag:4.1}"));
    format!(
        "{:<12} {magnitude}  {}  {:<9}  {}",
        text(quake, "id"),
        moment(quake["time"].as_i64().unwrap_or_default()),
        text(quake, "status"),
        text(quake, "place")
    )
}

/// Milliseconds since 1970 as `2018-02-07 01:26` (UTC).
pub fn moment(ms: i64) -> String {
    let minutes = ms.div_euclid(60_000);
    let (days, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minute / 60, minute % 60)
}

/// Year, month and day of a day counted from 1970-01-01; the method of Howard Hinnant's "chrono-compatible low-level
/// date algorithms": years begin in March, so that the leap day is a year's last.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn bundled_records_are_distinct_ordered_by_time_and_have_the_indexed_attributes() {
        let quakes: Vec<Json> = QUAKES.lines().map(|line| parse(line.as_bytes()).unwrap()).collect();
        assert_eq!(quakes.len(), 1707);
        let ids: HashSet<&str> = quakes.iter().map(|quake| text(quake, "id")).collect();
        assert_eq!(ids.len(), quakes.len());
        assert!(quakes.is_sorted_by_key(|quake| quake["time"].as_i64()));
        for quake in &quakes {
            assert!(quake["mag"].is_number(), "{quake}");
            for field in ["type", "net", "status", "place"] {
                assert!(quake[field].is_string(), "{field} of {quake}");
            }
        }
    }

    #[test]
    fn moments_are_calendar_dates() {
        assert_eq!(moment(0), "1970-01-01 00:00");
        assert_eq!(moment(1_517_966_773_840), "2018-02-07 01:26");
        assert_eq!(moment(951_782_400_000), "2000-02-29 00:00");
        assert_eq!(moment(-60_000), "1969-12-31 23:59");
    }
}
