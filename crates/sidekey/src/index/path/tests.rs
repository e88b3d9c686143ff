use super::*;
use crate::base::error::ErrorKind;
use proptest::prelude::*;

fn field(name: &str) -> Step {
    Step::Field(name.into())
}

fn steps(text: &str) -> Vec<Step> {
    JsonPath::parse(text).unwrap().steps().to_vec()
}

fn any_path() -> impl Strategy<Value = JsonPath> {
    let name = prop::collection::vec(
        prop::sample::select(vec!['a', '_', '1', '\'', '"', '\\', ' ', 'é', '\n', '\u{1f600}', '.']),
        0..4,
    );
    let step = prop_oneof![
        3 => name.prop_map(|chars| Step::Field(chars.into_iter().collect())),
        1 => any::<u32>().prop_map(Step::Index),
        1 => Just(Step::Each),
    ];
    prop::collection::vec(step, 0..MAX_DEPTH).prop_map(|mut steps| {
        let mut seen = false;
        steps.retain(|step| *step != Step::Each || !std::mem::replace(&mut seen, true));
        JsonPath { steps }
    })
}

proptest! {
    #[test]
    fn the_printed_form_parses_back_to_the_path(path in any_path()) {
        prop_assert_eq!(JsonPath::parse(&path.to_string()).unwrap(), path);
    }

    #[test]
    fn any_text_parses_or_is_refused(text in prop_oneof![any::<String>(), "\\$[\\[\\].'\"a0*\\\\uD8-]{0,12}"]) {
        match JsonPath::parse(&text) {
            Ok(path) => prop_assert_eq!(JsonPath::parse(&path.to_string()).unwrap(), path),
            Err(error) => prop_assert_eq!(error.kind(), ErrorKind::InvalidArgument),
        }
    }
}

#[test]
fn all_forms_of_steps_are_read() {
    assert_eq!(steps("$"), []);
    assert_eq!(steps("$.a.b_1"), [field("a"), field("b_1")]);
    assert_eq!(steps("$['odd name'][\"x\"]"), [field("odd name"), field("x")]);
    assert_eq!(steps("$.a[0][4294967295]"), [field("a"), Step::Index(0), Step::Index(u32::MAX)]);
    assert_eq!(steps("$.list[*].x"), [field("list"), Step::Each, field("x")]);
    assert_eq!(steps(r#"$['']['\'\\\"\/\n']["'"]"#), [field(""), field("'\\\"/\n"), field("'")]);
    assert_eq!(steps(r"$['\u00e9\ud83d\ude00']"), [field("é😀")]);
    assert_eq!(steps("$.größe"), [field("größe")]);
}

#[test]
fn different_spellings_have_one_canonical_form() {
    let canonical = |text: &str| text.parse::<JsonPath>().unwrap().to_string();
    assert_eq!(canonical(r#"$["a"]['b'].c"#), "$.a.b.c");
    assert_eq!(canonical("$['1']['a-b']['']"), "$['1']['a-b']['']");
    assert_eq!(canonical(r#"$["it's"]['\n']"#), r"$['it\'s']['\u000a']");
    assert_eq!(canonical("$"), "$");
    assert!(JsonPath::parse("$.a[*]").unwrap().is_multi() && !JsonPath::parse("$.a[0]").unwrap().is_multi());
}

#[test]
fn errors_name_the_path_the_place_and_what_was_expected() {
    let cases = [
        ("", "path \"\", character 1: a path starts with '$'"),
        ("a.b", "path \"a.b\", character 1: a path starts with '$'"),
        ("$x", "path \"$x\", character 2: expected '.', '[' or the end (write other names as ['name'])"),
        ("$.é-b", "path \"$.é-b\", character 4: expected '.', '[' or the end (write other names as ['name'])"),
        ("$.", "path \"$.\", character 3: expected a name (write names that are no identifier as ['name'])"),
        ("$..a", "path \"$..a\", character 3: descent by '..' cannot be asked for"),
        ("$.*", "path \"$.*\", character 3: all elements of an array are written [*], all fields cannot be asked for"),
        ("$[", "path \"$[\", character 3: expected a quoted name, a number or '*'"),
        ("$[0", "path \"$[0\", character 4: expected ']'"),
        ("$[01]", "path \"$[01]\", character 3: a number has no leading zero"),
        ("$[4294967296]", "path \"$[4294967296]\", character 3: a number of an element is at most 4294967295"),
        ("$[-1]", "path \"$[-1]\", character 3: elements are counted from the front, from 0"),
        ("$['a", "path \"$['a\", character 3: the quote is not closed"),
        (r"$['\x']", r#"path "$['\\x']", character 4: unknown escape"#),
        (r"$['\u12']", r#"path "$['\\u12']", character 4: expected four hexadecimal digits after \u"#),
        (r"$['\ud800']", r#"path "$['\\ud800']", character 4: half of a surrogate pair is no character"#),
        ("$[*].a[*]", "path \"$[*].a[*]\", character 7: a path has at most one [*]"),
    ];
    for (text, message) in cases {
        let error = JsonPath::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_path_is_at_most_32_steps_deep() {
    let deepest = format!("${}", ".a".repeat(MAX_DEPTH));
    assert_eq!(steps(&deepest).len(), MAX_DEPTH);
    let error = JsonPath::parse(&format!("{deepest}.a")).unwrap_err();
    assert!(error.to_string().contains("at most 32 steps"), "{error}");
}
