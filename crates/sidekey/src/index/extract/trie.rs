//! The paths of all attributes of a collection, merged, so that one walk over a document serves them all.
//!
//! TRIE-1: nodes are numbered in preorder: the nodes below node `n` are `n + 1 .. end(n)`.
//! TRIE-2: at each place of a document at most one node applies. Where `[2]` and `[*]` meet, the node of `[2]` therefore
//! holds what stands below `[*]` as well.

use super::super::path::{JsonPath, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A place in documents that some path leads to or through.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The attributes whose path ends here, by their place in the extractor's list.
    pub slots: Vec<u32>,
    /// One past the last node of the subtree.
    end: u32,
    /// Fields by name, sorted.
    fields: Vec<(Box<str>, u32)>,
    /// Array elements by number, sorted.
    elements: Vec<(u32, u32)>,
    /// All other array elements.
    each: Option<u32>,
}

impl Node {
    /// Whether no path leads further.
    pub fn is_leaf(&self) -> bool {
        self.fields.is_empty() && self.elements.is_empty() && self.each.is_none()
    }

    /// The child for element `n` of an array.
    pub fn element(&self, n: u32) -> Option<u32> {
        match self.elements.binary_search_by_key(&n, |(n, _)| *n) {
            Ok(at) => self.elements.get(at).map(|(_, child)| *child),
            Err(_) => self.each,
        }
    }

    /// The child for the field `name`, and its place among the fields.
    #[inline]
    pub fn field(&self, name: &str) -> Option<(usize, u32)> {
        // Up to here a pass that mostly compares lengths beats the jumps of a binary search.
        const LINEAR: usize = 8;
        let at = if self.fields.len() <= LINEAR {
            self.fields.iter().position(|(field, _)| **field == *name)?
        } else {
            self.fields.binary_search_by(|(field, _)| (**field).cmp(name)).ok()?
        };
        self.fields.get(at).map(|(_, child)| (at, *child))
    }
}

/// The merged paths; node 0 is the root.
#[derive(Debug)]
pub(super) struct Trie {
    nodes: Vec<Node>,
}

type Rest<'a> = (&'a [Step], u32);

impl Trie {
    /// Merges the paths; an attribute's slot is its place in `paths`.
    pub fn build<'a>(paths: impl Iterator<Item = &'a JsonPath>) -> Trie {
        let rests: Vec<Rest<'_>> = paths.zip(0..).map(|(path, slot)| (path.steps(), slot)).collect();
        let mut trie = Trie { nodes: vec![] };
        trie.add(&rests);
        trie
    }

    /// Adds the node at which `rests` begin, and all below; the recursion is as deep as the longest path.
    fn add(&mut self, rests: &[Rest<'_>]) -> u32 {
        let at = self.nodes.len();
        self.nodes.push(Node::default());
        let mut node = Node::default();
        let mut fields: BTreeMap<&str, Vec<Rest<'_>>> = BTreeMap::new();
        let mut numbers = BTreeSet::new();
        let mut each: Vec<Rest<'_>> = vec![];
        for (steps, slot) in rests {
            match steps.split_first() {
                None => node.slots.push(*slot),
                Some((Step::Field(name), rest)) => fields.entry(name).or_default().push((rest, *slot)),
                Some((Step::Index(n), _)) => {
                    numbers.insert(*n);
                }
                Some((Step::Each, rest)) => each.push((rest, *slot)),
            }
        }
        for (name, below) in fields {
            node.fields.push((name.into(), self.add(&below)));
        }
        for n in numbers {
            let below: Vec<Rest<'_>> =
                rests.iter().filter_map(|(steps, slot)| step_to(steps, n).map(|rest| (rest, *slot))).collect();
            node.elements.push((n, self.add(&below)));
        }
        if !each.is_empty() {
            node.each = Some(self.add(&each));
        }
        node.end = self.nodes.len() as u32;
        self.nodes[at] = node;
        at as u32
    }

    /// A node by its number.
    #[inline]
    pub fn node(&self, n: u32) -> &Node {
        &self.nodes[n as usize]
    }

    /// The numbers of a node and all below it.
    pub fn subtree(&self, n: u32) -> Range<u32> {
        n..self.node(n).end
    }
}

/// What is left of `steps` after element `n` of an array, if they lead there.
fn step_to(steps: &[Step], n: u32) -> Option<&[Step]> {
    match steps.split_first() {
        Some((Step::Each, rest)) => Some(rest),
        Some((Step::Index(m), rest)) if *m == n => Some(rest),
        _ => None,
    }
}
