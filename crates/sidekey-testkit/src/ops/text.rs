//! Operations as lines of a script.

use super::{Ask, Depth, Op, Order, PATHS, Part, Predicate, Write, collection_name, index_name};
use serde_json::{Map, Value as Json, json};
use std::ops::Bound;

/// The list as a script, with the lines that a script cannot say as comments.
pub fn script_of(ops: &[Op], maintenance: &str, settings: &Json) -> String {
    let mut writer = Writer { lines: Vec::new(), current: None, maintenance };
    writer.line(json!({"op": "open", "env": "memory", "settings": settings}));
    ops.iter().for_each(|op| writer.op(op));
    writer.lines.join("\n") + "\n"
}

struct Writer<'a> {
    lines: Vec<String>,
    current: Option<usize>,
    maintenance: &'a str,
}

impl Writer<'_> {
    fn line(&mut self, json: Json) {
        self.lines.push(json.to_string());
    }

    fn comment(&mut self, op: &Op) {
        self.lines.push(format!("# not in the script's words: {op:?}"));
    }

    fn within(&mut self, collection: usize, json: Json) {
        if self.current != Some(collection) {
            self.line(json!({"op": "collection", "name": collection_name(collection)}));
            self.current = Some(collection);
        }
        self.line(json);
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Write { write, sync } => {
                self.within(write.collection, Json::Object(write_line(write)));
                self.sync_after(*sync);
            }
            Op::Batch { writes, sync } => {
                let ops: Vec<Json> = writes.iter().map(batch_line).collect();
                let collection = writes.first().map_or(0, |w| w.collection);
                self.within(collection, json!({"op": "batch", "ops": ops}));
                self.sync_after(*sync);
            }
            Op::PutIf { write, present } => {
                let mut line = write_line(write);
                line.insert("op".into(), if *present { "put_if_present" } else { "put_if_absent" }.into());
                self.within(write.collection, Json::Object(line));
            }
            Op::Get { collection, key, at } => {
                let line = with_snapshot(json!({"op": "get", "key": key_json(key)}), *at);
                self.within(*collection, line);
            }
            Op::Scan { collection, low, high, reverse, limit, at } => match scan_line(low, high, *reverse, *limit) {
                Some(line) => self.within(*collection, with_snapshot(line, *at)),
                None => self.comment(op),
            },
            Op::Query(ask) => match query_line(ask) {
                Some(line) => self.within(ask.collection, with_snapshot(line, ask.at)),
                None => self.comment(op),
            },
            Op::CreateIndex { collection, path } => {
                let line = json!({"op": "create_index", "name": index_name(*path), "attribute": PATHS[*path],
                    "maintenance": self.maintenance});
                self.within(*collection, line);
            }
            Op::DropIndex { collection, path } => {
                self.within(*collection, json!({"op": "drop_index", "name": index_name(*path)}));
            }
            Op::Flush(part) => self.line(json!({"op": "flush", "target": part_name(*part)})),
            Op::Compact(part) => self.line(json!({"op": "compact", "target": part_name(*part)})),
            Op::Snapshot(slot) => self.line(json!({"op": "snapshot", "name": format!("s{slot}")})),
            Op::Release(slot) => self.line(json!({"op": "release", "name": format!("s{slot}")})),
            Op::Sync => self.line(json!({"op": "sync"})),
            Op::Reopen => self.line(json!({"op": "reopen"})),
            Op::PowerCut { .. } => {
                self.line(json!({"op": "sync"}));
                self.line(json!({"op": "crash"}));
            }
            Op::Verify => self.line(json!({"op": "verify", "expect": {"findings": []}})),
            Op::Count(ask) => match count_line(ask) {
                Some(line) => self.within(ask.collection, line),
                None => self.comment(op),
            },
            Op::IteratorOpen { .. } | Op::IteratorRead { .. } => self.comment(op),
        }
    }

    fn sync_after(&mut self, sync: bool) {
        if sync {
            self.line(json!({"op": "sync"}));
        }
    }
}

fn part_name(part: Part) -> &'static str {
    match part {
        Part::All => "all",
        Part::Primary => "primary",
        Part::Indexes => "indexes",
    }
}

fn key_json(key: &[u8]) -> Json {
    match std::str::from_utf8(key) {
        Ok(text) => text.into(),
        Err(_) => json!({"hex": hex(key)}),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn write_line(write: &Write) -> Map<String, Json> {
    let mut line = Map::new();
    line.insert("op".into(), if write.value.is_some() { "put" } else { "delete" }.into());
    line.insert("key".into(), key_json(&write.key));
    if let Some(value) = &write.value {
        // As JSON only where the script would store the very same bytes.
        match serde_json::from_slice::<Json>(value) {
            Ok(json) if json.to_string().as_bytes() == value => line.insert("value".into(), json),
            _ => line.insert("value_hex".into(), hex(value).into()),
        };
    }
    line
}

fn batch_line(write: &Write) -> Json {
    let mut line = write_line(write);
    line.insert("collection".into(), collection_name(write.collection).into());
    Json::Object(line)
}

fn with_snapshot(mut line: Json, at: Option<u8>) -> Json {
    if let Some(slot) = at {
        line["snapshot"] = format!("s{slot}").into();
    }
    line
}

fn scan_line(low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>, reverse: bool, limit: Option<usize>) -> Option<Json> {
    let mut line = json!({"op": "scan", "reverse": reverse});
    match low {
        Bound::Unbounded => {}
        Bound::Included(key) => line["low"] = key_json(key),
        Bound::Excluded(_) => return None,
    }
    match high {
        Bound::Unbounded => {}
        Bound::Excluded(key) => line["high"] = key_json(key),
        Bound::Included(_) => return None,
    }
    if let Some(limit) = limit {
        line["limit"] = limit.into();
    }
    Some(line)
}

fn put_bounds(line: &mut Json, low: &Bound<Json>, high: &Bound<Json>) {
    for (name, bound) in [("low", low), ("high", high)] {
        match bound {
            Bound::Unbounded => {}
            Bound::Included(value) => line[name] = value.clone(),
            Bound::Excluded(value) => {
                line[name] = value.clone();
                line[format!("{name}_open")] = true.into();
            }
        }
    }
}

fn query_line(ask: &Ask) -> Option<Json> {
    let order = match ask.order {
        Order::Newest => "newest",
        Order::Attribute => "attribute",
        Order::Key => "key",
    };
    let mut line = match &ask.predicate {
        Predicate::Equal(value) if ask.order != Order::Attribute && !ask.reverse => {
            let read = match ask.depth {
                Depth::Keys => "keys",
                Depth::Attributes => "attributes",
                Depth::Records => "records",
            };
            json!({"op": "lookup", "index": index_name(ask.path), "value": value, "order": order, "read": read})
        }
        Predicate::Range(low, high) if ask.order != Order::Key => {
            let mut line =
                json!({"op": "range", "index": index_name(ask.path), "order": order, "reverse": ask.reverse});
            put_bounds(&mut line, low, high);
            line
        }
        _ => return None,
    };
    if let Some(limit) = ask.limit {
        line["limit"] = limit.into();
    }
    Some(line)
}

fn count_line(ask: &Ask) -> Option<Json> {
    let mut line = json!({"op": "count", "index": index_name(ask.path)});
    match &ask.predicate {
        _ if ask.at.is_some() => return None,
        Predicate::Equal(value) => line["value"] = value.clone(),
        Predicate::Range(low, high) => put_bounds(&mut line, low, high),
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_becomes_lines_that_name_the_collection_once() {
        let put = |key: &str| Op::Write {
            write: Write { collection: 1, key: key.into(), value: Some(b"{\"a\":1}".to_vec()) },
            sync: false,
        };
        let raw = Write { collection: 1, key: vec![0xff], value: Some(b"{ }".to_vec()) };
        let text = script_of(&[put("x"), put("y"), Op::Write { write: raw, sync: true }], "validated", &json!({}));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 6);
        assert_eq!(lines[1], r#"{"name":"c1","op":"collection"}"#);
        assert_eq!(lines[3], r#"{"key":"y","op":"put","value":{"a":1}}"#);
        assert_eq!(lines[4], r#"{"key":{"hex":"ff"},"op":"put","value_hex":"7b207d"}"#);
    }
}
