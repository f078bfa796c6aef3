//! Walks the work tree and the prefix trees, pairs sources with entries and has them judged.
#![forbid(unsafe_code)]
