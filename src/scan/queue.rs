//! Work that makes more work, shared by threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What is left to do, and who waits for more.
pub struct Queue<T> {
    state: Mutex<State<T>>,
    more: Condvar,
}

struct State<T> {
    waiting: Vec<T>,
    /// How many are being worked on.
    busy: usize,
    /// How many threads have nothing to do.
    idle: usize,
}

impl<T> Queue<T> {
    /// A queue that begins with `waiting`.
    pub fn new(waiting: Vec<T>) -> Self {
        Self {
            state: Mutex::new(State {
                waiting,
                busy: 0,
                idle: 0,
            }),
            more: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next to work on, or `None` when there is nothing left to do for anybody. Each is followed
    /// by one [`Queue::done`].
    pub fn next(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(next) = state.waiting.pop() {
                state.busy += 1;
                return Some(next);
            }
            if state.busy == 0 {
                return None;
            }
            state.idle += 1;
            state = self
                .more
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// One is done, and this came of it.
    pub fn done(&self, more: Vec<T>) {
        let mut state = self.lock();
        state.waiting.extend(more);
        state.busy -= 1;
        // Waking is a system call even where nobody sleeps.
        if state.idle > 0 && (!state.waiting.is_empty() || state.busy == 0) {
            self.more.notify_all();
        }
    }
}
