//! Work on many directories at once.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread::{available_parallelism, scope};

/// So many directories must wait before threads are worth their start.
pub const WORTH_THREADS: usize = 24;

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
