//! The locks of the engine, in one place, so that a model checker can be put under them.
//!
//! A lock whose holder panicked is taken all the same: a panic is already the end of the write path (see `Error::Internal`), and
//! readers must be able to go on.

pub(crate) use std::sync::atomic;
pub(crate) use std::sync::{MutexGuard, OnceLock, RwLockReadGuard, RwLockWriteGuard};

use std::sync::PoisonError;
use std::time::Duration;

/// A mutual exclusion lock.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lock for many readers or one writer.
#[derive(Debug, Default)]
pub(crate) struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a change under a [`Mutex`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(std::sync::Condvar);

impl Condvar {
    pub const fn new() -> Self {
        Self(std::sync::Condvar::new())
    }

    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, at_most: Duration) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, at_most).unwrap_or_else(PoisonError::into_inner).0
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
