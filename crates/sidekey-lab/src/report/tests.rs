use super::*;
use crate::figures::Figures;
use crate::latency::Latency;
use crate::meter::Spent;
use crate::rounds::Run;
use crate::systems::Regime;

fn figures(workload: &str, setup: &str, cpu_us: f64) -> Figures {
    let spent = Spent {
        process_s: cpu_us / 1e6,
        thread_s: 0.0,
        wall_s: 2.0 * cpu_us / 1e6,
        written_bytes: 0,
        peak_bytes: 9 << 20,
    };
    let latency = Latency { p50_ns: 1_000, p99_ns: 2_000, p999_ns: 3_000, max_ns: (cpu_us * 1e3) as u64, samples: 1 };
    Figures {
        setup: setup.to_owned(),
        latency: Some(latency),
        user_bytes: 100,
        store_written_bytes: Some(250),
        disk_bytes: 120,
        live_bytes: 100,
        harness_bytes: 1 << 20,
        ..Figures::new(workload, 1, spent, spent)
    }
}

fn run(system: &str, figures: Vec<Figures>) -> Run {
    Run { system: system.to_owned(), place: 0, version: format!("{system} 1.0"), notes: vec![], figures }
}

/// Rounds of two stores with one workload.
fn rounds(pairs: &[(f64, f64)]) -> Vec<Round> {
    let one = |&(ours, other): &(f64, f64)| Round {
        runs: vec![run("sidekey", vec![figures("get", "", ours)]), run("peer", vec![figures("get", "", other)])],
    };
    pairs.iter().map(one).collect()
}

#[test]
fn ratios_are_taken_round_by_round() {
    // The second round ran on a machine ten times as slow: the ratio does not see it, a ratio of medians would.
    let found = compare(&rounds(&[(1.0, 2.0), (10.0, 20.0), (1.0, 3.0)]), 0, 1);
    assert_eq!(found.len(), 1);
    assert!((found[0].cpu.median - 2.0).abs() < 1e-9 && (found[0].cpu.max - 3.0).abs() < 1e-9);
    assert!((found[0].wall.median - 2.0).abs() < 1e-9);
}

#[test]
fn a_summary_has_medians_and_amplifications() {
    let found = summaries(&rounds(&[(1.0, 2.0), (5.0, 2.0), (2.0, 2.0)]), 0);
    let s = &found[0];
    assert!((s.cpu_us.median - 2.0).abs() < 1e-9);
    assert_eq!((s.p50_ns, s.max_ns), (Some(1_000.0), Some(5_000.0)));
    assert_eq!((s.write_amplification, s.space_amplification), (Some(2.5), Some(1.2)));
    assert_eq!(s.peak_bytes, 8 << 20);
}

#[test]
fn a_store_without_the_maintenance_is_compared_by_the_one_it_has() {
    let ours = vec![figures("upsert", "4 validated", 1.0), figures("upsert", "4 synchronous", 2.0)];
    let other = vec![figures("upsert", "1 synchronous", 3.0), figures("upsert", "4 synchronous", 8.0)];
    let found = compare(&[Round { runs: vec![run("sidekey", ours), run("sqlite", other)] }], 0, 1);
    assert!((found[0].cpu.median - 8.0).abs() < 1e-9);
    assert_eq!(found[0].other_setup.as_deref(), Some("4 synchronous"));
    assert!((found[1].cpu.median - 4.0).abs() < 1e-9);
    assert_eq!(found[1].other_setup, None);
}

#[test]
fn indexes_and_queries_are_given_in_terms_of_their_base() {
    let list = vec![
        figures("upsert", "0", 2.0),
        figures("upsert", "4 validated", 6.0),
        figures("newest10-records", "4 validated", 30.0),
        figures("gets10", "4 validated", 20.0),
    ];
    let found = multiples(&[Round { runs: vec![run("sidekey", list)] }], 0, "sidekey");
    let shown: Vec<_> =
        found.iter().map(|m| (m.of.as_str(), m.in_terms_of.as_str(), (m.cpu.median * 100.0).round())).collect();
    let expected =
        [("upsert 4 validated", "upsert 0", 300.0), ("newest10-records 4 validated", "gets10 4 validated", 150.0)];
    assert_eq!(shown, expected);
}

#[test]
fn the_aa_verdict_names_what_is_uneven() {
    assert_eq!(AaCheck::default().verdict(), "A/A: not checked");
    let good = AaCheck::of(rounds(&[(1.0, 1.01), (1.0, 0.99), (1.0, 1.2)]));
    assert!(good.good == Some(true) && good.verdict().starts_with("A/A: good: 3 pairs"));
    let bad = AaCheck::of(rounds(&[(1.0, 1.08)]));
    assert_eq!(bad.good, Some(false));
    assert_eq!(bad.is_even("get", ""), Some(false));
    assert_eq!(bad.is_even("put", ""), None);
    assert!(bad.verdict().contains("NOT good") && bad.verdict().contains("get 1.08"), "{}", bad.verdict());
}

fn report(aa: AaCheck) -> Report {
    let rounds = rounds(&[(2.0, 1.0), (2.0, 1.2)]);
    let system = |name: &str, at| SystemResult {
        name: name.to_owned(),
        version: format!("{name} 1.0"),
        summaries: summaries(&rounds, at),
    };
    let comparisons = compare(&rounds, 0, 1);
    Report {
        command: "db_bench".to_owned(),
        title: "a title".to_owned(),
        seed: 1,
        scale: 0.1,
        records: 1,
        value_bytes: 100,
        pairs: 2,
        settings: Settings::new(Regime::Mib128, 1),
        machine: Machine::look(std::path::Path::new("/")),
        notes: vec!["something to know".to_owned()],
        aa,
        systems: vec![system("sidekey", 0), system("peer", 1)],
        peers: vec![PeerResult { name: "peer".to_owned(), comparisons, geometric_mean: Some(0.55) }],
        multiples: vec![],
        rounds: rounds.clone(),
    }
}

fn printed(report: &Report) -> String {
    let mut out = Vec::new();
    print(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_tables_say_what_was_measured_and_what_lost() {
    let text = printed(&report(AaCheck::default()));
    for part in
        ["something to know", "cache 128 MiB", "peer 1.0", "A/A: not checked", "slower", "0.55", "peer / sidekey"]
    {
        assert!(text.contains(part), "'{part}' is not in\n{text}");
    }
    let checked = printed(&report(AaCheck::of(rounds(&[(1.0, 1.2)]))));
    assert!(checked.contains("A/A not good"), "{checked}");
}

#[test]
fn the_json_has_settings_machine_ratios_and_raw_figures() {
    let json = serde_json::to_value(report(AaCheck::default())).unwrap();
    assert_eq!(json["settings"]["regime"], "128m");
    assert_eq!(json["aa"]["good"], serde_json::Value::Null);
    assert!(json["machine"]["cores"].as_u64() > Some(0));
    assert_eq!(json["systems"][1]["version"], "peer 1.0");
    assert!(json["peers"][0]["comparisons"][0]["cpu"]["median"].as_f64() < Some(0.95));
    assert!(json["rounds"][1]["runs"][0]["figures"][0]["cpu_us"].is_f64());
    let back: Report = serde_json::from_value(json).unwrap();
    assert_eq!(back.peers, report(AaCheck::default()).peers);
}

#[test]
fn thousands_are_set_apart() {
    assert_eq!([0, 999, 1_000, 12_345_678].map(print::grouped), ["0", "999", "1,000", "12,345,678"]);
}
