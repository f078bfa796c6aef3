//! The only code that removes anything: entries and ghosts.
#![forbid(unsafe_code)]
