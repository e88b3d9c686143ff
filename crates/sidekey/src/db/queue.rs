//! The write queue: writers put their requests in, one of them leads and serves all that wait (group commit; source: LevelDB, HyperLevelDB).
//!
//! DB-1: there is one leader at a time, and sqns are given out by it alone, so groups reach the log, the memtables and readers in sqn order.

use crate::base::error::Error;
use crate::env::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

use super::prepare::Request;

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

/// A request in the queue.
pub(super) struct Waiting {
    request: Mutex<Option<Request>>,
    reply: Mutex<Option<Reply>>,
    bytes: usize,
}

impl Waiting {
    pub fn take_request(&self) -> Option<Request> {
        self.request.lock().take()
    }

    pub fn answer(&self, reply: Reply) {
        *self.reply.lock() = Some(reply);
    }
}

/// Requests that one leader serves in one group, in bytes.
const GROUP_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct WriteQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Arc<Waiting>>,
    led: bool,
}

impl WriteQueue {
    /// Has the request served, by this thread if nobody else leads. `serve` answers every request of the group that it gets.
    pub fn submit(&self, request: Request, serve: impl Fn(&[Arc<Waiting>])) -> Reply {
        let bytes = request.bytes();
        let mine = Arc::new(Waiting { request: Mutex::new(Some(request)), reply: Mutex::new(None), bytes });
        let mut state = self.state.lock();
        state.waiting.push_back(mine.clone());
        loop {
            if let Some(reply) = mine.reply.lock().take() {
                return reply;
            }
            if state.led {
                state = self.changed.wait(state);
                continue;
            }
            state.led = true;
            let group = take_group(&mut state.waiting);
            drop(state);
            serve(&group);
            state = self.state.lock();
            state.led = false;
            self.changed.notify_all();
        }
    }

    /// Runs `work` as the leader: no write is in progress meanwhile.
    pub fn lead<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut state = self.state.lock();
        while state.led {
            state = self.changed.wait(state);
        }
        state.led = true;
        drop(state);
        let done = work();
        self.state.lock().led = false;
        self.changed.notify_all();
        done
    }
}

fn take_group(waiting: &mut VecDeque<Arc<Waiting>>) -> Vec<Arc<Waiting>> {
    let mut bytes = 0;
    let mut group = vec![];
    while let Some(next) = waiting.front() {
        if !group.is_empty() && bytes + next.bytes > GROUP_BYTES {
            break;
        }
        bytes += next.bytes;
        group.extend(waiting.pop_front());
    }
    group
}
