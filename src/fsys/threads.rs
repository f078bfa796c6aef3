//! Work on many directories at once.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};

/// So many directories must wait before threads are worth their start.
pub const WORTH_THREADS: usize = 24;

/// Items that threads take one after the other.
pub struct Shared<'i, T> {
    items: &'i [T],
    next: AtomicUsize,
}

impl<'i, T> Shared<'i, T> {
    /// All of them are waiting.
    pub fn new(items: &'i [T]) -> Self {
        Self {
            items,
            next: AtomicUsize::new(0),
        }
    }

    /// The next item with its position, if one is left.
    pub fn next(&self) -> Option<(usize, &'i T)> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        Some((at, self.items.get(at)?))
    }
}

/// How many threads can run at once; asked once, as that takes a dozen system calls.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| available_parallelism().map_or(1, usize::from))
}

/// What `work` makes in as many threads as there are cores if there are `directories` enough, else
/// in this one. This thread does something else `first`.
pub fn in_threads<T: Send>(
    directories: usize,
    first: impl FnOnce(),
    work: impl Fn() -> T + Sync,
) -> Vec<T> {
    let threads = if directories < WORTH_THREADS {
        1
    } else {
        cores()
    };
    scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(&work)).collect();
        first();
        let mut parts = vec![work()];
        for other in others {
            parts.push(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        parts
    })
}
