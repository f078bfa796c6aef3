//! Git's events: what each means, and the files that have git tell of them.
#![forbid(unsafe_code)]

pub mod call;
pub mod event;
pub mod files;
pub mod suspects;

pub use event::{Event, HookEvent};
