//! The options of libgit2 that are global to the process, and why they are set.

use std::sync::{Mutex, Once, PoisonError};

/// Sets what holds for every repository: extensions that libgit2 does not list although it reads
/// such repositories well enough, and no verification of each object's hash (git does none either
/// when it reads a tree).
pub(super) fn set_up() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        git2::opts::strict_hash_verification(false);
        // SAFETY: libgit2 keeps the list in a static variable; `Once` makes this the only write,
        // and it comes before the first repository is opened.
        #[allow(unsafe_code)]
        let _ = unsafe { git2::opts::set_extensions(&["partialclone", "worktreeconfig"]) };
    });
}

/// Opens a repository although somebody else owns it: in hooks, where git itself has checked, and
/// where git's own answer is that it is safe.
pub(super) fn without_owner_check<T>(open: impl FnOnce() -> T) -> T {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: this sets one integer of libgit2's, one thread at a time.
    #[allow(unsafe_code)]
    let _ = unsafe { git2::opts::set_verify_owner_validation(false) };
    let opened = open();
    // SAFETY: as above.
    #[allow(unsafe_code)]
    let _ = unsafe { git2::opts::set_verify_owner_validation(true) };
    opened
}
