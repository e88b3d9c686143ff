//! The commands as they are used every day.

mod support;

use serde_json::json;
use support::{Place, keys};

fn orders() -> Place {
    let place = Place::new();
    place.file(
        "orders.jsonl",
        r#"{"id":"o1","city":"Oslo","total":120}
{"id":"o2","city":"Rome","total":80.5}
{"id":"o3","city":"Oslo","total":40}
{"id":"o4","city":"Lima","total":300}
"#,
    );
    place.ok("load db orders orders.jsonl --key id --index by_city=$.city --index by_total=$.total:synchronous");
    place
}

#[test]
fn put_get_and_delete_one_record() {
    let place = Place::new();
    place.ok(r#"put db users ann '{"name": "Ann"}'"#);
    assert_eq!(place.ok("get db users ann"), "{\"name\": \"Ann\"}\n");
    assert_eq!(place.json("get db users ann"), json!({ "key": "ann", "found": true, "value": { "name": "Ann" } }));
    place.ok("delete db users ann --json");
    let ended = place.run("get db users ann");
    assert_eq!((ended.code, ended.out.as_str()), (1, ""));
    let ended = place.run("get db users ann --json");
    assert_eq!((ended.code, ended.out.trim()), (1, r#"{"found":false,"key":"ann"}"#));
}

#[test]
fn values_come_from_standard_input_and_may_be_raw_bytes() {
    let place = Place::new();
    assert_eq!(place.run_with("put db files a - --raw", "no json").code, 0);
    assert_eq!(place.ok("get db files a"), "no json\n");
    assert_eq!(place.json("get db files a")["value_hex"], "6e6f206a736f6e");
    assert_eq!(place.run_with("put db files 00ff - --hex", "{\"a\":1}").code, 0);
    assert_eq!(place.json_lines("scan db files --keys-only")[0], json!({ "key": { "hex": "00ff" } }));
    assert_eq!(place.json("get db files 00ff --hex")["value"], json!({ "a": 1 }));
}

#[test]
fn scan_follows_bounds_direction_and_limit() {
    let place = orders();
    assert_eq!(place.ok("scan db orders --keys-only"), "o1\no2\no3\no4\n");
    assert_eq!(place.ok("scan db orders --keys-only --low o2 --high o4"), "o2\no3\n");
    assert_eq!(place.ok("scan db orders --keys-only --reverse --limit 2"), "o4\no3\n");
    assert_eq!(place.ok("scan db orders --limit 1"), "o1\t{\"id\":\"o1\",\"city\":\"Oslo\",\"total\":120}\n");
}

#[test]
fn lookup_answers_newest_first_and_reads_what_is_asked() {
    let place = orders();
    assert_eq!(place.ok("lookup db orders by_city Oslo --read keys"), "o3\no1\n");
    assert_eq!(place.ok("lookup db orders by_city Oslo --read keys --order key"), "o1\no3\n");
    assert_eq!(keys(&place.json_lines("lookup db orders by_city Oslo --limit 1")), ["o3"]);
    let rows = place.json_lines("lookup db orders by_total 80.5 --read attributes");
    assert_eq!(rows[0]["attributes"], json!({ "$.city": "Rome", "$.total": 80.5 }));
    let table = place.ok("lookup db orders by_total 80.5 --read attributes");
    assert!(table.contains("$.city") && table.contains("Rome"), "{table}");
    assert_eq!(place.ok("lookup db orders by_total --string 80.5 --read keys"), "", "text never equals a number");
}

#[test]
fn range_follows_bounds_and_orders() {
    let place = orders();
    let range = |rest: &str| place.ok(&format!("range db orders by_total --read keys {rest}"));
    assert_eq!(range(""), "o3\no2\no1\no4\n");
    assert_eq!(range("--low 40 --high 120"), "o3\no2\no1\n");
    assert_eq!(range("--low 40 --high 120 --low-open --high-open"), "o2\n");
    assert_eq!(range("--low -5 --reverse --limit 2"), "o4\no1\n");
    assert_eq!(range("--low 80 --order newest"), "o4\no2\no1\n");
}

#[test]
fn count_counts_all_by_value_and_in_a_range() {
    let place = orders();
    assert_eq!(place.ok("count db orders"), "4\n");
    assert_eq!(place.ok("count db orders by_city Oslo"), "2\n");
    assert_eq!(place.json("count db orders by_total --low 100"), json!({ "count": 2 }));
    assert_eq!(place.ok("count db orders by_total --all"), "4\n");
}

#[test]
fn indexes_are_created_listed_and_dropped() {
    let place = orders();
    let created = place.json("index create db orders by_id $.id --maintenance synchronous");
    assert_eq!((created["state"].as_str(), created["existed"].as_bool()), (Some("ready"), Some(false)));
    assert_eq!(place.ok("lookup db orders by_id o2 --read keys"), "o2\n");
    assert_eq!(place.json("index create db orders by_id $.id --maintenance synchronous")["existed"], true);
    let listed = place.json("index list db");
    let names: Vec<&str> = listed["indexes"].as_array().unwrap().iter().filter_map(|i| i["name"].as_str()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    place.ok("index drop db orders by_id");
    assert_ne!(place.run("lookup db orders by_id o2").code, 0);
    assert!(place.ok("index list db orders").contains("by_city"));
}

#[test]
fn collections_and_stats_show_what_is_there() {
    let place = orders();
    assert_eq!(
        place.json("collections db"),
        json!({ "collections": [{ "name": "orders", "indexes": ["by_city", "by_total"] }] })
    );
    let stats = place.json("stats db");
    assert_eq!(stats["collections"][0]["name"], "orders");
    assert!(stats["visible_sqn"].as_u64().unwrap() >= 4);
    assert!(place.ok("stats db").contains("orders"));
}

#[test]
fn flush_compact_and_verify_leave_a_sound_database() {
    let place = orders();
    place.ok(r#"put db orders o1 '{"id":"o1","city":"Rome","total":1}'"#);
    place.ok("flush db");
    place.ok("compact db");
    assert_eq!(place.json("verify db"), json!({ "findings": [] }));
    assert_eq!(place.ok("lookup db orders by_city Rome --read keys"), "o1\no2\n");
    assert_eq!(place.ok("lookup db orders by_city Oslo --read keys"), "o3\n");
}

#[test]
fn script_answers_line_by_line() {
    let place = Place::new();
    let script = r#"# a comment
{"op":"open","path":"db"}
{"op":"collection","name":"c"}
{"op":"put","key":"k","value":{"a":1}}
{"op":"get","key":"k","expect":{"found":true,"value":{"a":1}}}
"#;
    let ended = place.run_with("script", script);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.out.lines().count(), 4);
    place.file("wrong.jsonl", "{\"op\":\"open\",\"path\":\"db\"}\n{\"op\":\"nonsense\"}\n{\"op\":\"verify\"}\n");
    let ended = place.run("script wrong.jsonl");
    assert_eq!((ended.code, ended.out.lines().count()), (1, 3), "{ended:?}");
}

#[test]
fn demo_ends_sound_and_leaves_nothing_behind() {
    let place = Place::new();
    let temporary = place.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let output = support::sidekey().arg("demo").env("TMPDIR", &temporary).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1,707") && text.contains("sound: no findings"), "{text}");
    assert!(text.contains("automatic 493, reviewed 1,214") && text.contains("automatic 492, reviewed 1,215"), "{text}");
    assert!(text.contains("explosions before 15, after 14"), "{text}");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn demo_keeps_its_database_where_it_is_told() {
    let place = Place::new();
    let steps = place.json_lines("demo --keep quakes");
    assert!(steps.len() >= 10 && steps.iter().all(|step| step["seconds"].is_number()));
    assert_eq!(place.ok("count quakes quakes"), "1706\n");
    assert_eq!(place.json("verify quakes"), json!({ "findings": [] }));
    assert_eq!(place.run("demo --keep quakes").code, 2, "a directory in use is refused");
}
