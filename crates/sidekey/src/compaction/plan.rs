//! What a compaction is going to do.

use crate::version::TableFile;
use std::sync::Arc;

/// Inputs and place of one compaction.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Input tables with their levels, level by level from the top.
    pub inputs: Vec<(usize, Arc<TableFile>)>,
    /// Where the outputs go.
    pub output_level: usize,
    /// Nothing older of any input key exists outside the inputs.
    pub bottom: bool,
    /// The single input may change its level as it is.
    pub trivial_move: bool,
    /// How urgent it is: a tree's excess over its limit in thousandths, from 1,000 on; 0 for what only tidies.
    pub score: u64,
}

impl Plan {
    pub fn input_bytes(&self) -> u64 {
        self.inputs.iter().map(|(_, t)| t.meta.size_bytes).sum()
    }
}
