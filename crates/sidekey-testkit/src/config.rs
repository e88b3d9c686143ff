//! The ways in which one list is run. All must give the same answers.

use crate::ops::index_name;
use crate::rng::Rng;
use sidekey::{CompressionSetting, Maintenance, Settings, SyncPolicy};

/// How the queries of a list are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// Without an index: by a scan of all records.
    FullScan,
    /// By one composite index for each path.
    One(Maintenance),
    /// By two of them for each path, one of each maintenance, which must agree.
    Both,
}

/// One way to run a list.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its name in reports.
    pub name: String,
    /// The database's settings.
    pub settings: Settings,
    /// How queries are answered.
    pub indexing: Indexing,
}

impl Config {
    fn new(name: &str, indexing: Indexing, settings: Settings) -> Self {
        Self { name: name.into(), settings, indexing }
    }

    /// The indexes that stand for the index on a path.
    pub fn physical_indexes(&self, path: usize) -> Vec<(String, Maintenance)> {
        let name = index_name(path);
        match self.indexing {
            Indexing::FullScan => Vec::new(),
            Indexing::One(maintenance) => vec![(name, maintenance)],
            Indexing::Both => vec![
                (format!("{name}_synchronous"), Maintenance::Synchronous),
                (format!("{name}_validated"), Maintenance::Validated),
            ],
        }
    }
}

/// Sizes at which some lists fit one memtable and others do not.
fn medium() -> Settings {
    let mut settings = Settings::default();
    settings.memory_budget_bytes = 1 << 20;
    settings.memtable_bytes = 8 << 10;
    settings.table_bytes = 16 << 10;
    settings.block_bytes = 512;
    settings.level_base_bytes = 32 << 10;
    settings.wal_segment_bytes = 16 << 10;
    settings.wal_retained_bytes = 64 << 10;
    settings
}

/// The fixed configurations.
pub fn fixed() -> Vec<Config> {
    let with = |change: &dyn Fn(&mut Settings)| {
        let mut settings = Settings::tiny();
        change(&mut settings);
        settings
    };
    let (synchronous, validated) = (Indexing::One(Maintenance::Synchronous), Indexing::One(Maintenance::Validated));
    vec![
        Config::new("full scan, tiny", Indexing::FullScan, Settings::tiny()),
        Config::new("synchronous, tiny", synchronous, Settings::tiny()),
        Config::new("validated, tiny", validated, Settings::tiny()),
        Config::new("both, tiny", Indexing::Both, Settings::tiny()),
        Config::new("both, default", Indexing::Both, Settings::default()),
        Config::new("both, medium", Indexing::Both, medium()),
        Config::new(
            "both, no compression, no filters",
            Indexing::Both,
            with(&|s| (s.compression, s.filter_bits_per_key) = (CompressionSetting::None, 0)),
        ),
        Config::new("validated, one level-0 table", validated, with(&|s| s.level0_tables = 1)),
        Config::new(
            "both, always synced, large cache",
            Indexing::Both,
            with(&|s| (s.sync, s.memory_budget_bytes) = (SyncPolicy::Always, 64 << 20)),
        ),
    ]
}

/// Every axis drawn at random.
pub fn random(rng: &mut Rng) -> Config {
    let mut s = if rng.chance(1, 4) { medium() } else { Settings::tiny() };
    s.memory_budget_bytes = *rng.pick(&[64 << 10, 1 << 20, 64 << 20]);
    s.memtable_bytes = *rng.pick(&[256, 512, 1024, 4096, 64 << 10]);
    s.memtables_max = *rng.pick(&[2, 3, 5]);
    s.table_bytes = *rng.pick(&[256, 1024, 8192]);
    s.block_bytes = *rng.pick(&[16, 64, 256, 4096]);
    s.compression = *rng.pick(&[CompressionSetting::None, CompressionSetting::Lz4]);
    s.filter_bits_per_key = *rng.pick(&[0, 1, 10, 64]);
    s.level0_tables = *rng.pick(&[1, 2, 4]);
    s.level0_tables_max = s.level0_tables + *rng.pick(&[1, 3, 16]);
    s.level_base_bytes = *rng.pick(&[256, 2048, 32 << 10]);
    s.level_ratio = *rng.pick(&[2, 3, 10]);
    s.wal_segment_bytes = *rng.pick(&[256, 2048, 64 << 10]);
    s.wal_retained_bytes = *rng.pick(&[1024, 16 << 10, 1 << 20]);
    s.manifest_bytes = *rng.pick(&[256, 1024, 1 << 20]);
    s.sync = *rng.pick(&[SyncPolicy::Never, SyncPolicy::Never, SyncPolicy::EveryMs(10), SyncPolicy::Always]);
    let indexing = *rng.pick(&[
        Indexing::One(Maintenance::Synchronous),
        Indexing::One(Maintenance::Validated),
        Indexing::Both,
        Indexing::Both,
    ]);
    let text = serde_json::to_string(&s).expect("settings are plain data");
    Config::new(&format!("random: {indexing:?} {text}"), indexing, s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_is_within_the_ranges() {
        let mut rng = Rng::new(3);
        let random = (0..200).map(|_| random(&mut rng));
        assert!(fixed().into_iter().chain(random).all(|config| config.settings.check().is_ok()));
    }
}
