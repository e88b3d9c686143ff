//! `load`: formats, keys, and lines that are not as they should be.

mod support;

use serde_json::{Value as Json, json};
use support::{Place, exists, keys};

fn skipped(report: &Json) -> Vec<(&str, u64, u64)> {
    let number = |skip: &Json, field: &str| skip[field].as_u64().unwrap();
    let skips = report["skipped"].as_array().unwrap().iter();
    skips.map(|s| (s["reason"].as_str().unwrap(), number(s, "lines"), number(s, "first_line"))).collect()
}

#[test]
fn json_lines_are_loaded_and_accounted_for() {
    let place = Place::new();
    place.file("a.jsonl", "{\"id\":1,\"x\":true}\n\n{\"id\":2}\n{\"id\":1,\"x\":false}\n");
    let report = place.json("load db c a.jsonl --key id");
    assert_eq!(report["lines_read"], 4);
    assert_eq!(report["records_written"], 3);
    assert_eq!(report["bytes_read"], 47);
    assert_eq!(place.ok("count db c"), "2\n");
    assert_eq!(place.json("get db c 1")["value"]["x"], false, "the last of two lines with one key wins");
}

#[test]
fn report_is_a_table_for_people() {
    let place = Place::new();
    place.file("a.jsonl", "{\"id\":1}\n{oops\n");
    let ended = place.run("load db c a.jsonl --key id --on-error skip");
    assert_eq!(ended.code, 0, "{ended:?}");
    for word in ["records written", "lines skipped", "malformed JSON", "line 2", "records/s"] {
        assert!(ended.out.contains(word), "{word}: {ended:?}");
    }
    assert!(ended.err.contains("made a new database"), "{ended:?}");
}

#[test]
fn malformed_line_stops_the_load_and_names_the_place_and_what_is_safe() {
    let place = Place::new();
    place.file("a.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3,}\n{\"id\":4}\n");
    let (code, error) = place.error("load db c a.jsonl --key id --batch 1");
    assert_eq!((code, error["kind"].as_str()), (14, Some("Input")));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("a.jsonl, line 3") && message.contains("2 records were written before"), "{message}");
    assert_eq!((error["line"].as_u64(), error["records_written"].as_u64()), (Some(3), Some(2)));
    assert_eq!(place.ok("scan db c --keys-only"), "1\n2\n");
}

#[test]
fn records_before_a_bad_line_are_written_also_from_an_unfinished_batch() {
    let place = Place::new();
    place.file("a.jsonl", "{\"id\":1}\n{\"id\":2}\nnonsense\n");
    let (_, error) = place.error("load db c a.jsonl --key id");
    assert_eq!(error["records_written"], 2);
    assert_eq!(place.ok("count db c"), "2\n");
}

#[test]
fn bad_lines_are_skipped_when_asked_and_counted_by_reason() {
    let place = Place::new();
    place
        .file("a.jsonl", "{\"id\":1}\n{oops\n{\"no\":2}\n[3]\n{\"id\":null}\n{\"id\":[]}\n{\"id\":6}\n{\"id\":\"\"}\n");
    let report = place.json("load db c a.jsonl --key id --on-error skip");
    assert_eq!(report["records_written"], 2);
    let expected = [
        ("malformed JSON", 1, 2),
        ("missing key field", 2, 3),
        ("not an object", 1, 4),
        ("unfit key field", 1, 6),
        ("empty key", 1, 8),
    ];
    assert_eq!(skipped(&report), expected);
    assert_eq!(report["lines_skipped"], 6);
}

#[test]
fn skipping_ends_when_there_are_more_errors_than_allowed() {
    let place = Place::new();
    place.file("a.jsonl", "{\"id\":1}\nx\n{\"id\":2}\ny\n{\"id\":3}\n");
    let (code, error) = place.error("load db c a.jsonl --key id --on-error skip --max-errors 1");
    assert_eq!((code, error["line"].as_u64(), error["records_written"].as_u64()), (14, Some(4), Some(2)));
    assert_eq!(place.json("load db c a.jsonl --key id --on-error skip --max-errors 2")["records_written"], 3);
}

#[test]
fn missing_key_field_is_named() {
    let place = Place::new();
    place.file("a.jsonl", "{\"name\":\"Ann\"}\n");
    let (_, error) = place.error("load db c a.jsonl --key id");
    assert!(error["message"].as_str().unwrap().contains("key field 'id' is missing"), "{error}");
    place.file("a.csv", "name,city\nAnn,Oslo\n");
    let (code, error) = place.error("load fresh c a.csv --key id");
    assert!(error["message"].as_str().unwrap().contains("no column 'id'"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("name, city"), "{error}");
    assert_eq!(code, 14);
    assert!(!exists(&place.path("fresh")), "a header that cannot do makes no database");
}

#[test]
fn csv_cells_become_typed_json() {
    let place = Place::new();
    place.file("a.csv", "id,n,t,zip,empty,na\n1,-2.5,true,0042,,NA\n2,3,yes,\"a,\"\"b\",x,\"two\nlines\"\n");
    place.ok("load db c a.csv --key id");
    let expected = json!({ "id": 1, "n": -2.5, "t": true, "zip": "0042", "empty": null, "na": null });
    assert_eq!(place.json("get db c 1")["value"], expected);
    let expected = json!({ "id": 2, "n": 3, "t": "yes", "zip": "a,\"b", "empty": "x", "na": "two\nlines" });
    assert_eq!(place.json("get db c 2")["value"], expected);
    place.ok("load db s a.csv --key id --all-strings");
    assert_eq!(place.json("get db s 1")["value"]["n"], "-2.5");
    assert_eq!(place.json("get db s 1")["value"]["na"], "NA");
}

#[test]
fn nan_in_csv_is_refused_with_the_remedies_and_read_as_null_when_asked() {
    let place = Place::new();
    place.file("a.csv", "id,depth\n1,2.5\n2,NaN\n");
    let (code, error) = place.error("load db c a.csv --key id");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("line 3") && message.contains("'depth'") && message.contains("--null NaN"), "{message}");
    assert_eq!(code, 14);
    place.ok("load db c a.csv --key id --null NaN");
    assert_eq!(place.json("get db c 2")["value"]["depth"], Json::Null);
    place.ok("load db c a.csv --key id --string-columns depth");
    assert_eq!(place.json("get db c 2")["value"]["depth"], "NaN");
}

#[test]
fn duplicate_and_missing_headers_are_refused_before_a_database_is_made() {
    let place = Place::new();
    place.file("a.csv", "id,name,id\n1,Ann,2\n");
    let (code, error) = place.error("load db c a.csv --key id");
    assert!(error["message"].as_str().unwrap().contains("columns 1 and 3 are both called 'id'"), "{error}");
    assert_eq!(code, 14);
    place.file("empty.csv", "");
    let (_, error) = place.error("load db c empty.csv --key id");
    assert!(error["message"].as_str().unwrap().contains("header is missing"), "{error}");
    assert!(!exists(&place.path("db")));
}

#[test]
fn csv_row_with_another_number_of_cells_is_refused_or_skipped() {
    let place = Place::new();
    place.file("a.csv", "id,a\n1,x\n2,x,y\n3\n4,z\n");
    let (_, error) = place.error("load db c a.csv --key id");
    assert!(error["message"].as_str().unwrap().contains("line 3: 3 cells where the header has 2"), "{error}");
    let report = place.json("load db c a.csv --key id --on-error skip");
    assert_eq!(skipped(&report), [("wrong number of cells", 2, 3)]);
    assert_eq!(place.ok("scan db c --keys-only"), "1\n4\n");
}

#[test]
fn bytes_that_are_not_utf8_are_an_error_of_their_line() {
    let place = Place::new();
    std::fs::write(place.path("a.csv"), b"id,name\n1,Ann\n2,Ren\xe9\n3,Bo\n").unwrap();
    let report = place.json("load db c a.csv --key id --on-error skip");
    assert_eq!(skipped(&report), [("not UTF-8", 1, 3)]);
    assert_eq!(report["records_written"], 2);
}

#[test]
fn keys_of_several_fields_are_joined_and_may_not_merge() {
    let place = Place::new();
    place.file("a.csv", "order,line,x\n7,1,a\n7,2,b\n");
    place.ok("load db c a.csv --key order,line");
    assert_eq!(place.ok("scan db c --keys-only"), "7/1\n7/2\n");
    place.ok("load db d a.csv --key order,line --key-separator :");
    assert_eq!(place.ok("scan db d --keys-only"), "7:1\n7:2\n");
    place.file("b.csv", "a,b\nx/y,z\n");
    let (_, error) = place.error("load db c b.csv --key a,b");
    assert!(error["message"].as_str().unwrap().contains("--key-separator"), "{error}");
}

#[test]
fn counter_keys_continue_after_those_that_are_there() {
    let place = Place::new();
    place.file("a.jsonl", "{\"x\":1}\n{\"x\":2}\n");
    place.ok("load db c a.jsonl --key-counter");
    place.ok("load db c a.jsonl --key-counter");
    let rows = place.json_lines("scan db c --keys-only");
    assert_eq!(keys(&rows), ["000000000001", "000000000002", "000000000003", "000000000004"]);
    place.ok("put db c zzz 1");
    let (code, error) = place.error("load db c a.jsonl --key-counter");
    assert_eq!(code, 3);
    assert!(error["message"].as_str().unwrap().contains("zzz"), "{error}");
}

#[test]
fn standard_input_needs_a_format() {
    let place = Place::new();
    let ended = place.run_with("load db c - --key id", "{\"id\":1}\n");
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.err.contains("--format"), "{ended:?}");
    assert_eq!(place.run_with("load db c - --key id --format jsonl", "{\"id\":1}\n").code, 0);
    assert_eq!(place.run_with("load db c - --key id --format tsv", "id\tname\n2\tBo\n").code, 0);
    assert_eq!(place.ok("scan db c --keys-only"), "1\n2\n");
}

#[test]
fn record_beyond_a_limit_is_found_within_its_batch() {
    let place = Place::new();
    let long_key = "k".repeat(65_537);
    let long_city = "c".repeat(5000);
    place.file(
        "a.jsonl",
        &format!(
            "{{\"id\":\"a\",\"city\":\"Oslo\"}}\n{{\"id\":\"{long_key}\"}}\n{{\"id\":\"b\",\"city\":\"{long_city}\"}}\n{{\"id\":\"c\"}}\n"
        ),
    );
    let (code, error) = place.error("load stop c a.jsonl --key id --index by_city=$.city");
    assert_eq!((code, error["line"].as_u64(), error["records_written"].as_u64()), (14, Some(2), Some(1)), "{error}");
    let report = place.json("load skip c a.jsonl --key id --index by_city=$.city --on-error skip");
    assert_eq!(skipped(&report), [("refused record", 2, 2)]);
    assert_eq!(place.ok("scan skip c --keys-only"), "a\nc\n");
}

#[test]
fn index_with_another_definition_ends_the_load_before_a_record_is_written() {
    let place = Place::new();
    place.file("a.jsonl", "{\"id\":1}\n");
    place.ok("index create db c by_x $.x");
    let (code, error) = place.error("load db c a.jsonl --key id --index by_x=$.y");
    assert_eq!((code, error["kind"].as_str()), (5, Some("Conflict")));
    assert_eq!(place.ok("count db c"), "0\n");
    place.ok("load db c a.jsonl --key id --index by_x=$.x");
}

#[test]
fn a_load_larger_than_memtables_is_complete() {
    let place = Place::new();
    let lines: String = (0..3000).map(|i| format!("{{\"id\":{i},\"m\":{}}}\n", i % 7)).collect();
    place.file("a.jsonl", &lines);
    place.ok("load db c a.jsonl --key id --index by_m=$.m --batch 64 --set memtable_bytes=8192 --set table_bytes=8192");
    assert_eq!(place.ok("count db c"), "3000\n");
    assert_eq!(place.ok("count db c by_m 3"), "429\n");
    assert_eq!(place.json("verify db"), json!({ "findings": [] }));
}
