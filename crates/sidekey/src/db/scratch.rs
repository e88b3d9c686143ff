//! What a write needs while it is under way, kept by its thread for the next one: in the steady state a write allocates nothing.

use super::group::Group;
use super::prepare::Request;
use crate::index::extract::Extracted;
use std::cell::Cell;

/// The buffers of one write.
#[derive(Default)]
pub(super) struct Scratch {
    pub request: Request,
    pub forming: Forming,
    /// Of the group that this write leads.
    pub group: Group,
}

/// What forming an operation takes.
#[derive(Default)]
pub(super) struct Forming {
    pub extracted: Extracted,
    pub header: Vec<u8>,
    pub old_header: Vec<u8>,
}

thread_local! {
    static SPARE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// This thread's buffers, or new ones.
    pub fn take() -> Box<Scratch> {
        SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Keeps the buffers, which hold on to nothing of the database and to bounded memory.
    pub fn give_back(mut self: Box<Scratch>) {
        self.request.clear();
        self.group.clear();
        // A thread that ends keeps nothing.
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }
}
