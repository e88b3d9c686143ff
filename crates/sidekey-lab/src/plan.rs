//! What a child process is told to do: one line of JSON on its command line.

use crate::index::IndexPlan;
use crate::plain::PlainPlan;
use crate::systems::{Settings, SystemName};
use serde::{Deserialize, Serialize};

/// One process: one store, one list of workloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The store.
    pub system: SystemName,
    /// Its settings.
    pub settings: Settings,
    /// The workloads.
    pub task: Task,
}

/// The workloads of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// A plain key-value store.
    Plain(PlainPlan),
    /// Records with indexes.
    Index(IndexPlan),
}
