//! What git says: root, references, index, differences, what is tracked. Knows no bytecode.
//!
//! Each part is read by what reads it best. git2 answers for references, objects, configuration and
//! attributes; gix-object takes trees apart; gix-index reads the index, which libgit2 cannot where it
//! is split or sparse; and the `git` command answers for the repositories that libgit2 refuses to
//! open ([`Git`]).

pub mod blob;
mod change;
pub mod command;
pub mod diff;
pub mod index;
mod libgit2;
mod plumbing;
mod repo;
pub mod stat;
mod tracked;

pub use change::{Change, ChangeKind, is_python};
pub use command::Git;
pub use index::{Index, IndexEntry, safe};
pub use plumbing::parse_name_status;
pub use repo::{Attribute, Repo};
pub use tracked::Tracked;
