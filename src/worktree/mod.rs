//! What git says: root, references, index, change sets, payload. Knows no bytecode.
//!
//! Each part is read by what reads it best. git2 answers for references, objects, configuration and
//! attributes; gix-object takes trees apart; gix-index reads the index, which libgit2 cannot where it
//! is split or sparse; and the `git` command answers for the repositories that libgit2 refuses to
//! open ([`Git`]).

mod attributes;
mod changes;
mod compare;
pub mod event;
mod git;
mod index;
mod libgit2;
pub mod payload;
mod repo;
mod staging;
mod tracked;
mod trees;

pub use changes::{Change, ChangeKind, is_python};
pub use git::{Git, LOCAL_VARIABLES, parse_name_status};
pub use index::{Index, IndexEntry, safe};
pub use repo::Repo;
pub use tracked::Tracked;
