use super::*;
use crate::tree::MemPair;
use crate::version::TreeVersion;
use crate::version::fixture::{TableDir, Version};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the order of the questions, the gaps between them and the sources of the answers.
    #[test]
    fn every_question_gets_the_newest_version_of_its_key(
        stored in proptest::collection::btree_set((0u8..100, 1u64..20, any::<bool>()), 1..150),
        asked in proptest::collection::vec(0u8..100, 0..60), at in 0u64..20, flushed in 1u64..20,
    ) {
        let mut seen = BTreeSet::new();
        let versions: Vec<Version> = stored
            .into_iter()
            .filter(|(k, sqn, _)| seen.insert((*k, *sqn)))
            .map(|(k, sqn, put)| (vec![k], sqn, if put { Kind::Put } else { Kind::Delete }, vec![k, sqn as u8]))
            .collect();
        let (old, new): (Vec<_>, Vec<_>) = versions.iter().cloned().partition(|v| v.1 <= flushed);
        let dir = TableDir::new();
        let tables = [(6, old), (0, new)].into_iter().filter(|(_, v)| !v.is_empty());
        let tables: Vec<_> = tables.map(|(level, v)| (level, dir.table(TreeKind::Primary, &v))).collect();
        let superversion = Superversion {
            active: Arc::new(MemPair::new(1024)),
            immutable: vec![],
            versions: [Arc::new(TreeVersion::default().with(&[], &tables)), Arc::default()],
            flushed: Sqn(20),
            blind_floor: Sqn::ZERO,
        };
        let mut questions = InOrder::new(&superversion, TreeKind::Primary, Sqn(at));
        for (n, key) in asked.iter().enumerate() {
            questions.ask(&[*key], &[*key, 1], Sqn(n as u64));
        }
        let mut answered = vec![];
        for _ in 0..2 {
            questions.answer(|answer| {
                assert_eq!(answer.about, [answer.key[0], 1]);
                assert_eq!(asked[answer.sqn.0 as usize], answer.key[0]);
                let newest = versions.iter().filter(|v| v.0 == answer.key && v.1 <= at).max_by_key(|v| v.1);
                assert_eq!(answer.newest, newest.map(|v| (Sqn(v.1), v.2, &v.3[..])));
                answered.push(answer.key[0]);
                Ok(())
            }).unwrap();
        }
        let mut sorted = asked.clone();
        sorted.sort_unstable();
        prop_assert_eq!(answered, sorted);
    }
}
