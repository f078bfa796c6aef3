//! The payload: the sources that differ from the base, as they are on disk; and whether all sources
//! are the same after a sweep ([`Certificate`]).
//!
//! The walk of the work tree has every stat anyway, so it hands each directory to a [`Comparer`],
//! which names candidates; [`Base::finish`] turns them into the payload.
#![forbid(unsafe_code)]

mod attributes;
mod base;
mod certificate;
mod compare;
mod comparer;
mod stamp;

use std::collections::BTreeMap;

use bstr::{BStr, BString};
use sha2::{Digest, Sha256};

pub use base::Base;
pub use certificate::{Certificate, Difference, Reference, SourceChange};
pub use comparer::{Candidate, Comparer, Folders, OnDisk, Question};
pub use stamp::{Moved, Stamp, Stamps};

/// The sources that differ from the base, each with the hash of its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The base as the user named it; `None` for HEAD.
    pub base: Option<String>,
    /// Path relative to the root, and the SHA-256 of the content; `None` for a deleted source.
    pub sources: BTreeMap<BString, Option<[u8; 32]>>,
    /// The same of the sources that differ and that the user leaves out of the payload.
    beyond: BTreeMap<BString, Option<[u8; 32]>>,
}

impl Payload {
    /// SHA-256 over the sorted paths and content hashes: it depends on nothing else.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for (path, hash) in &self.sources {
            hasher.update((path.len() as u64).to_be_bytes());
            hasher.update(path.as_slice());
            match hash {
                Some(hash) => {
                    hasher.update([1]);
                    hasher.update(hash);
                }
                None => hasher.update([0]),
            }
        }
        hasher.finalize().into()
    }

    /// The hash of a source that differs from the base, in the payload or left out of it; `None` if
    /// it does not differ.
    pub(super) fn content(&self, path: &BStr) -> Option<&Option<[u8; 32]>> {
        self.sources.get(path).or_else(|| self.beyond.get(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(sources: &[(&str, Option<u8>)]) -> Payload {
        let sources = sources
            .iter()
            .map(|(path, hash)| (BString::from(*path), hash.map(|byte| [byte; 32])))
            .collect();
        Payload {
            sources,
            ..Payload::default()
        }
    }

    #[test]
    fn the_digest_is_of_paths_and_contents_alone() {
        let one = payload(&[("a.py", Some(1)), ("b.py", None)]);
        assert_eq!(
            one.digest(),
            payload(&[("b.py", None), ("a.py", Some(1))]).digest()
        );
        for other in [
            payload(&[("a.py", Some(2)), ("b.py", None)]),
            payload(&[("a.py", Some(1))]),
            payload(&[("a.pyb.py", Some(1))]),
        ] {
            assert_ne!(one.digest(), other.digest());
        }
    }
}
