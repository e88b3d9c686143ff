//! What a cell of CSV becomes in JSON.

use serde_json::Value as Json;

/// How cells are read.
#[derive(Clone, Debug)]
pub struct CellRule {
    /// Every cell is text.
    pub all_strings: bool,
    /// Texts that mean null, beside the empty cell and `NA`.
    pub nulls: Vec<String>,
}

impl CellRule {
    /// The JSON of a cell, or what is wrong with it; `text_column` keeps it text unless it is null.
    pub fn json(&self, cell: &str, text_column: bool) -> Result<Json, String> {
        if self.all_strings {
            return Ok(Json::String(cell.to_owned()));
        }
        // Blanks around a number or a word would hide it; text keeps them.
        let bare = cell.trim();
        if bare.is_empty() || bare == "NA" || self.nulls.iter().any(|null| null == bare) {
            return Ok(Json::Null);
        }
        if text_column {
            return Ok(Json::String(cell.to_owned()));
        }
        match bare {
            "true" | "TRUE" | "True" => return Ok(Json::Bool(true)),
            "false" | "FALSE" | "False" => return Ok(Json::Bool(false)),
            _ => {}
        }
        if is_no_json_number(bare) {
            return Err(format!("{bare} is no JSON number"));
        }
        match bare.as_bytes().first() {
            Some(b'-' | b'0'..=b'9') => match serde_json::from_str(bare) {
                Ok(number @ Json::Number(_)) => Ok(number),
                // 0042, 1.2.3, 2024-01-31, and numbers beyond f64.
                _ => Ok(Json::String(cell.to_owned())),
            },
            _ => Ok(Json::String(cell.to_owned())),
        }
    }
}

fn is_no_json_number(cell: &str) -> bool {
    let bare = cell.strip_prefix(['-', '+']).unwrap_or(cell);
    ["nan", "inf", "infinity"].iter().any(|name| bare.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule() -> CellRule {
        CellRule { all_strings: false, nulls: vec!["-".to_owned()] }
    }

    #[test]
    fn cells_become_numbers_booleans_nulls_and_text() {
        let cases = [
            ("12", json!(12)),
            ("-0.5", json!(-0.5)),
            ("1e3", json!(1000.0)),
            ("true", json!(true)),
            ("FALSE", json!(false)),
            ("", Json::Null),
            ("NA", Json::Null),
            ("-", Json::Null),
            ("0042", json!("0042")),
            ("+5", json!("+5")),
            ("2024-01-31", json!("2024-01-31")),
            (" 12 ", json!(12)),
            (" ", Json::Null),
            (" x ", json!(" x ")),
            ("N/A", json!("N/A")),
            ("Nantes", json!("Nantes")),
            ("1e999", json!("1e999")),
        ];
        for (cell, expected) in cases {
            assert_eq!(rule().json(cell, false).unwrap(), expected, "{cell}");
        }
    }

    #[test]
    fn numbers_that_json_lacks_are_refused_unless_read_as_null_or_text() {
        for cell in ["NaN", "nan", "inf", "-Infinity", "+INF"] {
            assert!(rule().json(cell, false).is_err(), "{cell}");
            assert_eq!(rule().json(cell, true).unwrap(), json!(cell));
        }
        let with_null = CellRule { nulls: vec!["NaN".to_owned()], ..rule() };
        assert_eq!(with_null.json("NaN", false).unwrap(), Json::Null);
    }

    #[test]
    fn all_strings_keeps_every_cell_as_it_stands() {
        let rule = CellRule { all_strings: true, nulls: Vec::new() };
        for cell in ["", "NA", "12", "NaN", "true"] {
            assert_eq!(rule.json(cell, false).unwrap(), json!(cell));
        }
    }
}
