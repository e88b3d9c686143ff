//! Random operation lists. Few keys and few attribute values, so that overwrites, A → B → A, equal values and empty answers
//! are frequent; the values that encodings get wrong are in the pools.

mod values;

use crate::model::{Order, Predicate, Write};
use crate::ops::{Ask, Depth, Op, PATHS, Part};
use crate::rng::Rng;
use std::ops::Bound;
pub use values::{attribute, key_pool, value};

/// What a list may hold.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Operations after the ones that create indexes.
    pub ops: usize,
    /// Whether the list may close, reopen and cut the power.
    pub restarts: bool,
    /// Whether the list may create and drop indexes after its start.
    pub index_changes: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self { ops: 60, restarts: true, index_changes: true }
    }
}

/// The list of a seed.
pub fn operations(seed: u64, shape: Shape) -> Vec<Op> {
    let mut rng = Rng::new(seed);
    let collections = *rng.pick(&[1, 1, 1, 2, 3]);
    let keys = key_pool(&mut rng);
    let mut generator = Generator { rng, collections, keys, shape };
    let mut ops = Vec::new();
    for collection in 0..collections {
        for path in 0..PATHS.len() {
            if generator.rng.chance(4, 5) {
                ops.push(Op::CreateIndex { collection, path });
            }
        }
    }
    ops.extend((0..shape.ops).map(|_| generator.op()));
    ops
}

struct Generator {
    rng: Rng,
    collections: usize,
    keys: Vec<Vec<u8>>,
    shape: Shape,
}

impl Generator {
    fn op(&mut self) -> Op {
        match self.rng.below(1000) {
            0..270 => Op::Write { write: self.put(), sync: self.rng.chance(1, 8) },
            270..360 => Op::Write { write: self.delete(), sync: self.rng.chance(1, 8) },
            360..440 => self.batch(),
            440..480 => Op::PutIf { write: self.put(), present: self.rng.chance(1, 2) },
            480..520 => Op::Get { collection: self.collection(), key: self.key(), at: self.at() },
            520..560 => self.scan(),
            560..740 => Op::Query(self.ask()),
            740..770 => Op::Count(self.ask()),
            770..800 => Op::Snapshot(self.slot()),
            800..820 => Op::Release(self.slot()),
            820..835 => {
                Op::IteratorOpen { slot: self.slot(), collection: self.collection(), reverse: self.rng.chance(1, 2) }
            }
            835..860 => Op::IteratorRead { slot: self.slot(), records: 1 + self.rng.index(4) },
            860..910 => Op::Flush(self.part()),
            910..935 => Op::Compact(self.part()),
            935..945 => Op::Sync,
            945..950 => Op::Verify,
            950..975 => self.index_change(),
            _ => self.restart(),
        }
    }

    fn index_change(&mut self) -> Op {
        let (collection, path) = (self.collection(), self.rng.index(PATHS.len()));
        match (self.shape.index_changes, self.rng.chance(1, 2)) {
            (false, _) => Op::Flush(Part::All),
            (true, false) => Op::CreateIndex { collection, path },
            (true, true) => Op::DropIndex { collection, path },
        }
    }

    fn restart(&mut self) -> Op {
        match (self.shape.restarts, self.rng.chance(1, 2)) {
            (false, _) => Op::Write { write: self.put(), sync: false },
            (true, false) => Op::Reopen,
            (true, true) => Op::PowerCut { seed: self.rng.next_u64() },
        }
    }

    fn collection(&mut self) -> usize {
        self.rng.index(self.collections)
    }

    fn key(&mut self) -> Vec<u8> {
        self.rng.pick(&self.keys).clone()
    }

    fn slot(&mut self) -> u8 {
        self.rng.below(3) as u8
    }

    fn at(&mut self) -> Option<u8> {
        self.rng.chance(1, 3).then(|| self.slot())
    }

    fn part(&mut self) -> Part {
        *self.rng.pick(&[Part::All, Part::All, Part::Primary, Part::Indexes])
    }

    fn put(&mut self) -> Write {
        Write { collection: self.collection(), key: self.key(), value: Some(value(&mut self.rng)) }
    }

    fn delete(&mut self) -> Write {
        Write { collection: self.collection(), key: self.key(), value: None }
    }

    fn batch(&mut self) -> Op {
        let count = self.rng.index(6);
        let mut writes: Vec<Write> =
            (0..count).map(|_| if self.rng.chance(1, 3) { self.delete() } else { self.put() }).collect();
        // Half of the batches write one key again.
        if self.rng.chance(1, 2)
            && let Some(first) = writes.first().cloned()
        {
            let again = if self.rng.chance(1, 3) { None } else { Some(value(&mut self.rng)) };
            writes.push(Write { value: again, ..first });
        }
        Op::Batch { writes, sync: self.rng.chance(1, 8) }
    }

    fn scan(&mut self) -> Op {
        Op::Scan {
            collection: self.collection(),
            low: self.key_bound(),
            high: self.key_bound(),
            reverse: self.rng.chance(1, 2),
            limit: self.limit(),
            at: self.at(),
        }
    }

    fn key_bound(&mut self) -> Bound<Vec<u8>> {
        match self.rng.below(4) {
            0 => Bound::Included(self.key()),
            1 => Bound::Excluded(self.key()),
            _ => Bound::Unbounded,
        }
    }

    fn limit(&mut self) -> Option<usize> {
        *self.rng.pick(&[None, None, Some(0), Some(1), Some(2), Some(3), Some(100)])
    }

    fn ask(&mut self) -> Ask {
        let range = self.rng.chance(1, 2);
        let predicate = if range {
            Predicate::Range(self.attribute_bound(), self.attribute_bound())
        } else {
            Predicate::Equal(attribute(&mut self.rng))
        };
        // A range in the order of its keys is refused: it would have to be read whole and sorted.
        let orders: &[Order] =
            if range { &[Order::Newest, Order::Attribute] } else { &[Order::Newest, Order::Attribute, Order::Key] };
        Ask {
            collection: self.collection(),
            path: self.rng.index(PATHS.len()),
            predicate,
            order: *self.rng.pick(orders),
            reverse: self.rng.chance(1, 3),
            limit: self.limit(),
            depth: *self.rng.pick(&[Depth::Keys, Depth::Attributes, Depth::Records]),
            at: self.at(),
        }
    }

    fn attribute_bound(&mut self) -> Bound<serde_json::Value> {
        match self.rng.below(5) {
            0 | 1 => Bound::Included(attribute(&mut self.rng)),
            2 => Bound::Excluded(attribute(&mut self.rng)),
            _ => Bound::Unbounded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_seed_gives_one_list_and_lists_hold_every_kind() {
        assert_eq!(operations(7, Shape::default()), operations(7, Shape::default()));
        assert_ne!(operations(7, Shape::default()), operations(8, Shape::default()));
        let mut kinds = BTreeMap::new();
        for op in (0..50).flat_map(|seed| operations(seed, Shape::default())) {
            *kinds.entry(op.name()).or_insert(0) += 1;
        }
        assert_eq!(kinds.len(), 19, "{kinds:?}");
    }

    #[test]
    fn one_key_is_often_written_again_within_a_batch() {
        let again = (0..200).flat_map(|seed| operations(seed, Shape::default())).filter(|op| match op {
            Op::Batch { writes, .. } => writes
                .iter()
                .enumerate()
                .any(|(i, w)| writes[..i].iter().any(|v| v.key == w.key && v.collection == w.collection)),
            _ => false,
        });
        assert!(again.count() > 100);
    }
}
