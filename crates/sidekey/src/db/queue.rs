//! The write queue: a writer that meets nobody serves itself; writers that meet put their requests in, and one of them leads and serves all that
//! wait (group commit; source: LevelDB, HyperLevelDB).
//!
//! DB-1: there is one leader at a time, and sqns are given out by it alone, so groups reach the log, the memtables and readers in sqn order.
//!
//! Leadership is the bit LED of a word. A writer alone takes it by one compare-and-swap and gives it back by another, and touches nothing else. Who
//! finds it taken sets WAITED, under the lock of the queue, before it sleeps: then the leader's second compare-and-swap fails, and it comes to the
//! lock and wakes the sleepers. While somebody waits the word is not zero, so nobody overtakes the queue.

use super::prepare::Request;
use crate::base::error::Error;
use crate::env::sync::atomic::{AtomicU32, Ordering};
use crate::env::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

/// What became of a request.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// Visible; the sqn of its last operation, and whether its condition held.
    Done {
        last: u64,
        applied: bool,
    },
    /// Something that it was prepared with has changed: prepare it anew.
    Again,
    Failed(Error),
}

/// Somebody leads.
const LED: u32 = 1;
/// Somebody waits for a reply or to lead.
const WAITED: u32 = 2;

/// Requests that one leader serves in one group, in bytes.
const GROUP_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct WriteQueue {
    word: AtomicU32,
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Waiting>,
    /// How many wait to lead without a request.
    wanting: usize,
}

/// A request in the queue. Its writer has the other end of the slot, in which the served request comes back.
struct Waiting {
    request: Request,
    bytes: usize,
    slot: Arc<Mutex<Option<Request>>>,
}

impl WriteQueue {
    /// Has the request served, by this thread if nobody else leads. `serve` gives every request of the group that it gets its reply.
    pub fn submit(&self, request: &mut Request, serve: impl FnMut(&mut [Request])) -> Reply {
        if self.try_lead() {
            let mut serve = serve;
            serve(std::slice::from_mut(request));
            self.stop_leading();
        } else {
            self.submit_and_wait(request, serve);
        }
        request.reply.take().unwrap_or_else(|| Reply::Failed(Error::internal("a request was not answered")))
    }

    #[cold]
    fn submit_and_wait(&self, request: &mut Request, mut serve: impl FnMut(&mut [Request])) {
        let slot = Arc::new(Mutex::new(None));
        let mut state = self.state.lock();
        let mine = mem::take(request);
        state.waiting.push_back(Waiting { bytes: mine.bytes(), request: mine, slot: slot.clone() });
        loop {
            if let Some(served) = slot.lock().take() {
                *request = served;
                return;
            }
            if !self.claim() {
                state = self.changed.wait(state);
                continue;
            }
            let (mut group, slots) = take_group(&mut state.waiting);
            drop(state);
            serve(&mut group);
            for (slot, served) in slots.iter().zip(group) {
                *slot.lock() = Some(served);
            }
            state = self.state.lock();
            self.yield_lead(&state);
        }
    }

    /// Runs `work` as the leader: no write is in progress meanwhile.
    pub fn lead<T>(&self, work: impl FnOnce() -> T) -> T {
        if !self.try_lead() {
            let mut state = self.state.lock();
            state.wanting += 1;
            while !self.claim() {
                state = self.changed.wait(state);
            }
            state.wanting -= 1;
        }
        let done = work();
        self.stop_leading();
        done
    }

    fn try_lead(&self) -> bool {
        self.word.compare_exchange(0, LED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Leads, or tells the leader that somebody waits. Called with the queue's lock held.
    fn claim(&self) -> bool {
        self.word.fetch_or(LED | WAITED, Ordering::AcqRel) & LED == 0
    }

    fn stop_leading(&self) {
        if self.word.compare_exchange(LED, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.yield_lead(&self.state.lock());
        }
    }

    /// Stops leading and wakes all that wait: for their replies, or for one of them to lead.
    fn yield_lead(&self, state: &QueueState) {
        let waited = !state.waiting.is_empty() || state.wanting > 0;
        self.word.store(if waited { WAITED } else { 0 }, Ordering::Release);
        self.changed.notify_all();
    }
}

type Slots = Vec<Arc<Mutex<Option<Request>>>>;

fn take_group(waiting: &mut VecDeque<Waiting>) -> (Vec<Request>, Slots) {
    let (mut bytes, mut group, mut slots) = (0, vec![], vec![]);
    while let Some(next) = waiting.front() {
        if !group.is_empty() && bytes + next.bytes > GROUP_BYTES {
            break;
        }
        bytes += next.bytes;
        if let Some(Waiting { request, slot, .. }) = waiting.pop_front() {
            group.push(request);
            slots.push(slot);
        }
    }
    (group, slots)
}

#[cfg(test)]
mod tests;
