//! Git's hook files: where a repository keeps them, what is there, putting pycgate's in and taking
//! them out.
//!
//! Everything is planned before anything is written, and what was written is taken back when a
//! later step fails: either all events are installed or nothing has changed. Git itself is asked
//! (`git rev-parse`, `git config`), because only the git that will run the hooks knows where it
//! looks for them.

pub mod apply;
pub mod configured;
pub mod manager;
pub mod plan;
pub mod script;
pub mod site;
