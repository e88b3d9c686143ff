#![expect(clippy::disallowed_methods, reason = "the queue is about threads")]

use super::*;
use crate::env::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;

/// Runs `threads` writers of `rounds` requests each and returns how many groups had more than one.
fn race(threads: u64, rounds: u64, queue: &WriteQueue, served: &AtomicU64, busy: &AtomicBool) -> u64 {
    let shared = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut request = Request::default();
                for _ in 0..rounds {
                    let reply = queue.submit(&mut request, |group| {
                        assert!(!busy.swap(true, Ordering::AcqRel), "two leaders (DB-1)");
                        shared.fetch_add(u64::from(group.len() > 1), Ordering::Relaxed);
                        for request in group {
                            let last = served.fetch_add(1, Ordering::Relaxed);
                            request.reply = Some(Reply::Done { last, applied: true });
                        }
                        thread::yield_now();
                        busy.store(false, Ordering::Release);
                    });
                    assert!(matches!(reply, Reply::Done { .. }));
                }
            });
        }
    });
    shared.into_inner()
}

#[test]
fn every_request_is_served_once_by_one_leader_at_a_time() {
    let (queue, served, busy) = (WriteQueue::default(), AtomicU64::new(0), AtomicBool::new(false));
    race(6, 300, &queue, &served, &busy);
    assert_eq!(served.into_inner(), 1800);
    assert_eq!(queue.word.load(Ordering::Relaxed), 0, "nobody leads and nobody waits");
}

#[test]
fn nobody_writes_while_another_leads() {
    let (queue, served, busy) = (WriteQueue::default(), AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..200 {
                queue.lead(|| {
                    assert!(!busy.swap(true, Ordering::AcqRel), "two leaders (DB-1)");
                    thread::yield_now();
                    busy.store(false, Ordering::Release);
                });
            }
        });
        scope.spawn(|| race(3, 200, &queue, &served, &busy));
    });
    assert_eq!(served.into_inner(), 600);
}

#[test]
fn requests_that_wait_are_served_as_one_group() {
    let (queue, served, busy) = (WriteQueue::default(), AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let shared = queue.lead(|| {
            let writers = scope.spawn(|| race(3, 1, &queue, &served, &busy));
            while queue.state.lock().waiting.len() < 3 {
                thread::yield_now();
            }
            writers
        });
        assert_eq!(shared.join().unwrap(), 1);
    });
}
