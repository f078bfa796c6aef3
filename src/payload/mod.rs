//! The payload: the sources that differ from the base, as they are on disk.
//!
//! The walk of the work tree has every stat anyway, so it hands each directory to a [`Comparer`],
//! which names candidates; [`Base::finish`] turns them into the payload.
#![forbid(unsafe_code)]

mod attributes;
mod base;
mod compare;
mod comparer;

use std::collections::BTreeMap;

use bstr::BString;
use sha2::{Digest, Sha256};

pub use base::Base;
pub use comparer::{Candidate, Comparer, Folders, Question, Read};

/// The sources that differ from the base, each with the hash of its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The base as the user named it; `None` for HEAD.
    pub base: Option<String>,
    /// Path relative to the root, and the SHA-256 of the content; `None` for a deleted source.
    pub sources: BTreeMap<BString, Option<[u8; 32]>>,
}

/// What happened to a source between two payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadChange {
    /// It has other content.
    Changed,
    /// It differs from the base now and did not before.
    Appeared,
    /// It was there and is gone, or is as in the base again.
    Vanished,
}

impl PayloadChange {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Appeared => "appeared",
            Self::Vanished => "vanished",
        }
    }
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

    /// What differs in `later`.
    pub fn difference(&self, later: &Self) -> Vec<(BString, PayloadChange)> {
        let mut changes = Vec::new();
        for (path, before) in &self.sources {
            let change = match (before, later.sources.get(path)) {
                (Some(_), None | Some(None)) => PayloadChange::Vanished,
                (None, Some(Some(_)) | None) => PayloadChange::Appeared,
                (Some(before), Some(Some(after))) if before != after => PayloadChange::Changed,
                _ => continue,
            };
            changes.push((path.clone(), change));
        }
        for (path, after) in &later.sources {
            if !self.sources.contains_key(path) {
                let change = if after.is_some() {
                    PayloadChange::Appeared
                } else {
                    PayloadChange::Vanished
                };
                changes.push((path.clone(), change));
            }
        }
        changes.sort_by(|one, other| one.0.cmp(&other.0));
        changes
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
            base: None,
            sources,
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

    #[test]
    fn every_difference_is_named() {
        let before = payload(&[
            ("a.py", Some(1)),
            ("b.py", Some(1)),
            ("c.py", None),
            ("d.py", Some(1)),
        ]);
        let after = payload(&[
            ("a.py", Some(2)),
            ("c.py", Some(1)),
            ("d.py", Some(1)),
            ("e.py", Some(1)),
        ]);
        let words: Vec<_> = before
            .difference(&after)
            .into_iter()
            .map(|(path, change)| (path.to_string(), change.word()))
            .collect();
        let expected = [
            ("a.py", "changed"),
            ("b.py", "vanished"),
            ("c.py", "appeared"),
            ("e.py", "appeared"),
        ];
        assert_eq!(words, expected.map(|(path, word)| (path.to_owned(), word)));
    }
}
