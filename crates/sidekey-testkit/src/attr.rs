//! The oracle's own idea of attributes: how they are taken out of a record and how they compare. Written from the manual,
//! not from the engine, and in the plainest way that is right.

use serde_json::Value as Json;
use std::cmp::Ordering;

/// An attribute's value. Kinds sort in the order of the variants.
#[derive(Clone, Debug)]
pub enum Attr {
    /// `false` before `true`.
    Bool(bool),
    /// By numeric value, whatever the notation.
    Number(Number),
    /// By UTF-8 bytes.
    Text(String),
}

/// A number as JSON has it.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer of 64 bits, signed or not.
    Int(i128),
    /// Everything else; finite.
    Float(f64),
}

impl Attr {
    /// The attribute value of a JSON value; null, arrays and objects have none.
    pub fn from_json(json: &Json) -> Option<Attr> {
        match json {
            Json::Bool(b) => Some(Attr::Bool(*b)),
            Json::String(s) => Some(Attr::Text(s.clone())),
            Json::Number(n) => Some(Attr::Number(match (n.as_i64(), n.as_u64()) {
                (Some(i), _) => Number::Int(i.into()),
                (_, Some(u)) => Number::Int(u.into()),
                _ => Number::Float(n.as_f64()?),
            })),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// Whether two values are of the same kind.
    pub fn same_kind(&self, other: &Attr) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Ord for Attr {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Attr::Bool(a), Attr::Bool(b)) => a.cmp(b),
            (Attr::Number(a), Attr::Number(b)) => a.cmp(b),
            (Attr::Text(a), Attr::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Attr {
    fn rank(&self) -> u8 {
        match self {
            Attr::Bool(_) => 0,
            Attr::Number(_) => 1,
            Attr::Text(_) => 2,
        }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (*self, *other) {
            (Number::Int(a), Number::Int(b)) => a.cmp(&b),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b).expect("JSON has no NaN"),
            (Number::Int(a), Number::Float(b)) => int_with_float(a, b),
            (Number::Float(a), Number::Int(b)) => int_with_float(b, a).reverse(),
        }
    }
}

fn int_with_float(int: i128, float: f64) -> Ordering {
    // Beyond 2^100 a float is outside every 64-bit integer; below, its floor fits an i128 exactly.
    if float.abs() >= 2f64.powi(100) {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    let floor = float.floor();
    int.cmp(&(floor as i128)).then(if float > floor { Ordering::Less } else { Ordering::Equal })
}

macro_rules! order_from_ord {
    ($($name:ty),*) => { $(
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> { Some(self.cmp(other)) }
        }
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool { self.cmp(other) == Ordering::Equal }
        }
        impl Eq for $name {}
    )* };
}
order_from_ord!(Attr, Number);

/// What a JSON path (`$.a.b`, `$.a[0]`, `$['odd name']`) finds in a stored value; nothing in bytes that are no JSON.
pub fn extract(value: &[u8], path: &str) -> Option<Attr> {
    let json: Json = serde_json::from_slice(value).ok()?;
    Attr::from_json(find(&json, path)?)
}

fn find<'a>(json: &'a Json, path: &str) -> Option<&'a Json> {
    let mut at = json;
    let mut rest = path.strip_prefix('$')?;
    while !rest.is_empty() {
        if let Some(dotted) = rest.strip_prefix('.') {
            let end = dotted.find(['.', '[']).unwrap_or(dotted.len());
            at = at.as_object()?.get(&dotted[..end])?;
            rest = &dotted[end..];
        } else {
            let (step, after) = rest.strip_prefix('[')?.split_once(']')?;
            at = match step.strip_prefix('\'') {
                Some(name) => at.as_object()?.get(name.strip_suffix('\'')?)?,
                None => at.as_array()?.get(step.parse::<usize>().ok()?)?,
            };
            rest = after;
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn attr(json: Json) -> Attr {
        Attr::from_json(&json).unwrap()
    }

    #[test]
    fn numbers_compare_by_exact_value_whatever_their_notation() {
        assert_eq!(attr(json!(1)), attr(json!(1.0)));
        assert_eq!(attr(json!(-0.0)), attr(json!(0)));
        assert!(attr(json!(9_007_199_254_740_993_i64)) > attr(json!(9_007_199_254_740_992.0)));
        assert!(attr(json!(9_007_199_254_740_993_i64)) < attr(json!(9_007_199_254_740_994_i64)));
        assert!(attr(json!(u64::MAX)) < attr(json!(18_446_744_073_709_551_616.0)));
        assert!(attr(json!(i64::MIN)) > attr(json!(-1e30)));
        assert!(attr(json!(0)) < attr(json!(1e-300)) && attr(json!(-1)) < attr(json!(-1e-300)));
    }

    #[test]
    fn kinds_sort_bool_number_text() {
        assert!(attr(json!(true)) < attr(json!(-5)) && attr(json!(1e300)) < attr(json!("")));
    }

    #[test]
    fn paths_reach_members_elements_and_odd_names() {
        let value = br#"{"a":{"b":5},"l":[7,{"x":"y"}],"odd name":true,"n":null}"#;
        assert_eq!(extract(value, "$.a.b"), Some(attr(json!(5))));
        assert_eq!(extract(value, "$.l[1].x"), Some(attr(json!("y"))));
        assert_eq!(extract(value, "$['odd name']"), Some(attr(json!(true))));
        for nothing in ["$.a", "$.l", "$.n", "$.missing", "$.l[2]", "$.a[0]"] {
            assert_eq!(extract(value, nothing), None, "{nothing}");
        }
        assert_eq!(extract(b"{\"a\":1} x", "$.a"), None);
        assert_eq!(extract(b"{\"a\":1,\"a\":2}", "$.a"), Some(attr(json!(2))));
    }
}
