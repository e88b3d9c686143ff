//! The pools that keys, attributes and values are drawn from.

use crate::rng::Rng;
use serde_json::{Value as Json, json};

/// 2 to 12 keys, among them ones with zero and 0xFF bytes and ones that are prefixes of others.
pub fn key_pool(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut pool: Vec<Vec<u8>> = vec![
        b"a".to_vec(),
        b"a\0".to_vec(),
        b"a\0\0".to_vec(),
        b"aa".to_vec(),
        b"ab".to_vec(),
        b"b".to_vec(),
        b"k1".to_vec(),
        b"k10".to_vec(),
        vec![0],
        vec![0, 0],
        vec![0xff],
        vec![0xff, 0xff],
        vec![0xff, 0],
        vec![b'p'; 300],
        [vec![b'p'; 300], vec![b'q']].concat(),
    ];
    let wanted = 2 + rng.index(11);
    while pool.len() > wanted {
        pool.swap_remove(rng.index(pool.len()));
    }
    pool
}

/// An attribute value that a record may have and a query may ask for.
pub fn attribute(rng: &mut Rng) -> Json {
    match rng.below(20) {
        // Mostly from three values, so that equal ones and A → B → A are frequent.
        0..8 => json!(rng.below(3)),
        8 => json!("x"),
        9 => json!(rng.pick(&["", "\0", "\0\u{1}", "x\0", "x\0y", "xy", "\u{ff}", "\u{10ffff}", "\u{7f}"])),
        10 => json!(rng.chance(1, 2)),
        11..13 => {
            let near = rng.pick(&[1_i64 << 53, -(1 << 53), 1 << 62, i64::MIN + 4, i64::MAX - 4]);
            json!(near + rng.below(5) as i64 - 2)
        }
        13 => json!(rng.pick(&[i64::MIN, i64::MAX, 0, -1])),
        14 => json!(rng.pick(&[u64::MAX, u64::MAX - 1, 1 << 63])),
        15 => {
            json!(rng.pick(&[9_007_199_254_740_992.0, 9_007_199_254_740_994.0, 1.8e19, 18_446_744_073_709_551_616.0]))
        }
        16 => json!(rng.pick(&[-0.0, 0.0, 1.0, 2.0, 0.5, -0.5, 1.5, 5e-324, -5e-324, f64::MAX, f64::MIN])),
        17 => json!("s".repeat(200 + rng.index(3))),
        _ => json!(rng.below(100) as f64 / 4.0),
    }
}

/// A value to store: mostly JSON with some of the attributes, sometimes large, sometimes no JSON at all.
pub fn value(rng: &mut Rng) -> Vec<u8> {
    match rng.below(24) {
        0 => opaque(rng),
        1 => odd(rng),
        _ => record(rng),
    }
}

fn record(rng: &mut Rng) -> Vec<u8> {
    let mut json = json!({});
    if rng.chance(5, 6) {
        json["a"] = if rng.chance(1, 12) { no_attribute(rng) } else { attribute(rng) };
    }
    if rng.chance(1, 2) {
        json["b"] = if rng.chance(1, 10) { attribute(rng) } else { json!({"c": attribute(rng)}) };
    }
    if rng.chance(1, 3) {
        json["l"] = if rng.chance(1, 10) { json!([]) } else { json!([attribute(rng), attribute(rng)]) };
    }
    match rng.below(40) {
        0 => json["pad"] = "p".repeat(64 << 10).into(),
        1..8 => json["pad"] = "q".repeat(rng.index(600)).into(),
        _ => {}
    }
    json.to_string().into_bytes()
}

fn no_attribute(rng: &mut Rng) -> Json {
    rng.pick(&[json!(null), json!([1]), json!({"b": 1}), json!([])]).clone()
}

fn opaque(rng: &mut Rng) -> Vec<u8> {
    let pool: [&[u8]; 6] = [b"", b"\xff\xfe\x00", b"not json", b"{\"a\":1", b"{\"a\":1} tail", b"\0\0\0\0"];
    rng.pick(&pool).to_vec()
}

fn odd(rng: &mut Rng) -> Vec<u8> {
    let pool: [&[u8]; 8] = [
        b"{\"a\":1,\"a\":2}",
        b" { \"a\" : 1 , \"z\" : [ ] } ",
        b"5",
        b"null",
        b"\"a\"",
        b"[{\"a\":1}]",
        b"{\"a\":1e2,\"b\":{\"c\":100000000000000000000}}",
        b"{\"\\u0061\":2,\"b\":{\"c\":\"\\u0078\"}}",
    ];
    rng.pick(&pool).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::{Attr, extract};

    #[test]
    fn every_attribute_of_the_pool_is_a_scalar() {
        let mut rng = Rng::new(1);
        assert!((0..2000).all(|_| Attr::from_json(&attribute(&mut rng)).is_some()));
    }

    #[test]
    fn pools_are_small_enough_for_overwrites_and_equal_values() {
        let mut rng = Rng::new(2);
        assert!((0..100).all(|_| (2..=12).contains(&key_pool(&mut rng).len())));
        let ones = (0..1000).filter(|_| extract(&value(&mut rng), "$.a") == Attr::from_json(&json!(1))).count();
        assert!(ones > 60, "{ones}");
    }
}
