//! Background work: flush, compaction and interval syncs, as steps; threads only call the steps.

use super::inner::Inner;
use super::settings::SyncPolicy;
use crate::base::error::{Error, Result};
use crate::env::sync::atomic::Ordering;
use crate::env::{Thread, spawn};
use std::sync::Arc;
use std::time::Duration;

/// How long a thread rests after an error that may pass.
const REST: Duration = Duration::from_millis(100);

/// The running threads.
#[derive(Default)]
pub(super) struct Threads {
    threads: Vec<Thread>,
}

impl Threads {
    /// A flush thread, a compaction thread and, under an interval policy, a sync thread.
    pub fn start(inner: &Arc<Inner>) -> Result<Threads> {
        let mut threads = Threads::default();
        let started = threads.start_all(inner);
        if started.is_err() {
            // Those that run would hold the database, and its lock, for ever.
            threads.stop(inner);
        }
        started.map(|()| threads)
    }

    fn start_all(&mut self, inner: &Arc<Inner>) -> Result<()> {
        let mut start = |name: &str, run: fn(&Inner)| -> Result<()> {
            let running = Running { inner: inner.clone(), ended: false };
            let thread = spawn(name, move || running.run(run));
            self.threads.push(thread.map_err(|e| Error::io(&inner.dir, "start a thread", e))?);
            Ok(())
        };
        start("sidekey-flush", |inner| inner.work_loop(Inner::flush_step))?;
        start("sidekey-compact", |inner| inner.work_loop(Inner::compaction_step))?;
        if let SyncPolicy::EveryMs(_) = inner.settings.sync {
            start("sidekey-sync", Inner::sync_loop)?;
        }
        Ok(())
    }

    /// Tells the threads to stop after their present step and waits for them.
    pub fn stop(&mut self, inner: &Inner) {
        inner.work.lock().stop = true;
        inner.work_ready.notify_all();
        inner.stopping.notify_all();
        inner.room.notify_all();
        for thread in self.threads.drain(..) {
            // What a panic means has been said already, by `Running`.
            let _ = thread.join();
        }
    }
}

/// A thread at work. If it panics the database becomes read-only: writers would wait for it for ever.
struct Running {
    inner: Arc<Inner>,
    ended: bool,
}

impl Running {
    fn run(mut self, work: fn(&Inner)) {
        work(&self.inner);
        self.ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            self.inner.poison_unless_passing(Error::internal("a background thread panicked"));
        }
    }
}

impl Inner {
    /// One step of whatever is most needed. Returns whether there was anything to do.
    pub fn background_step(&self) -> Result<bool> {
        Ok(self.flush_step()? || self.compaction_step()?)
    }

    /// Runs a step again and again, waiting when there is nothing to do.
    fn work_loop(&self, step: fn(&Inner) -> Result<bool>) {
        let mut seen = 0;
        loop {
            {
                let mut work = self.work.lock();
                while work.posted == seen && !work.stop {
                    work = self.work_ready.wait(work);
                }
                if work.stop {
                    return;
                }
                seen = work.posted;
            }
            while !self.closed.load(Ordering::Acquire) {
                match step(self) {
                    // A flush makes work for compaction, and a compaction room for a flush.
                    Ok(true) => self.post_work(),
                    Ok(false) => break,
                    Err(e) => {
                        self.note_failure(e);
                        break;
                    }
                }
            }
        }
    }

    /// Keeps an error that may pass for the writers that wait for room, and rests; any other has made the database read-only already or does so now.
    fn note_failure(&self, error: Error) {
        let error = self.poison_unless_passing(error);
        if matches!(error, Error::NoSpace { .. }) {
            let mut work = self.work.lock();
            work.failures += 1;
            work.failed = Some(error);
            drop(work);
            self.room.notify_all();
            self.env.clock.sleep(REST);
        }
    }

    /// Syncs the log at the interval of the policy.
    fn sync_loop(&self) {
        let SyncPolicy::EveryMs(ms) = self.settings.sync else { return };
        let interval = Duration::from_millis(ms);
        loop {
            let work = self.work.lock();
            if work.stop {
                return;
            }
            drop(self.stopping.wait_timeout(work, interval));
            if self.work.lock().stop || self.sync_log().is_err() {
                return;
            }
        }
    }

    /// Under an interval policy without threads: syncs if the interval is over.
    pub fn sync_if_due(&self) -> Result<()> {
        let SyncPolicy::EveryMs(ms) = self.settings.sync else { return Ok(()) };
        let now = self.env.clock.monotonic();
        let due = {
            let mut work = self.work.lock();
            let due = now.saturating_sub(work.last_sync) >= Duration::from_millis(ms);
            if due {
                work.last_sync = now;
            }
            due
        };
        if due { self.sync_log() } else { Ok(()) }
    }
}
