//! What is in a directory: names with their types, sorted.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io;

use bstr::BStr;

use crate::fsys::{Dir, DirBuffer, FileType};

/// So much of a name is compared as one number.
const HEAD: usize = size_of::<u128>();

/// Names and types of a directory's content, sorted by name.
#[derive(Debug, Default)]
pub struct Names {
    arena: Vec<u8>,
    spans: Vec<Span>,
}

/// One name: its first bytes as a number, and where it lies in the arena.
#[derive(Clone, Copy, Debug)]
struct Span {
    head: u128,
    start: usize,
    // The kernel's record of a name is no longer than 65,535 bytes.
    length: u16,
    file_type: FileType,
}

impl Span {
    fn of<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        &arena[self.start..self.start + usize::from(self.length)]
    }

    /// Compares with a name whose head is known. No name contains a zero, so equal heads of names
    /// that fit in them are equal names.
    fn compare(&self, arena: &[u8], head: u128, name: &[u8]) -> Ordering {
        match self.head.cmp(&head) {
            Ordering::Equal if usize::from(self.length).max(name.len()) > HEAD => {
                rest(self.of(arena)).cmp(rest(name))
            }
            order => order,
        }
    }
}

/// The first bytes of a name as a number that sorts as they do.
fn head(name: &[u8]) -> u128 {
    if let Some(whole) = name.first_chunk::<HEAD>() {
        return u128::from_be_bytes(*whole);
    }
    let mut bytes = [0; HEAD];
    bytes[..name.len()].copy_from_slice(name);
    u128::from_be_bytes(bytes)
}

fn rest(name: &[u8]) -> &[u8] {
    name.get(HEAD..).unwrap_or_default()
}

impl Names {
    /// Lists a directory.
    pub fn of(directory: &Dir, buffer: &mut DirBuffer) -> io::Result<Self> {
        let mut names = Self {
            arena: Vec::with_capacity(2048),
            spans: Vec::with_capacity(64),
        };
        directory.list(buffer, |name, file_type| names.push(name, file_type))?;
        names.sort();
        Ok(names)
    }

    /// Those of a few names that are there: to ask for them costs less than to list a directory.
    pub fn asked(directory: &Dir, names: &BTreeSet<Vec<u8>>) -> io::Result<Self> {
        let mut there = Self::default();
        // A set gives them sorted as they have to be here.
        for name in names {
            match directory.lstat(name) {
                Ok(stat) => there.push(name, stat.file_type()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(there)
    }

    fn push(&mut self, name: &[u8], file_type: FileType) {
        self.spans.push(Span {
            head: head(name),
            start: self.arena.len(),
            length: name.len() as u16,
            file_type,
        });
        self.arena.extend_from_slice(name);
    }

    /// Sorts by the heads, which are numbers, and then what has the same head.
    fn sort(&mut self) {
        let arena = &self.arena;
        self.spans.sort_unstable_by_key(|span| span.head);
        for same in self
            .spans
            .chunk_by_mut(|one, other| one.head == other.head)
            .filter(|same| same.len() > 1)
        {
            same.sort_unstable_by(|one, other| rest(one.of(arena)).cmp(rest(other.of(arena))));
        }
    }

    /// Opens a directory below a root and lists it.
    pub fn below(root: &Dir, path: &BStr, buffer: &mut DirBuffer) -> io::Result<(Dir, Self)> {
        let directory = root.open_below(path)?;
        let names = Self::of(&directory, buffer)?;
        Ok((directory, names))
    }

    /// Every name with its type.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], FileType)> {
        self.spans
            .iter()
            .map(|span| (span.of(&self.arena), span.file_type))
    }

    /// The name at a place in the listing, with its type.
    pub fn at(&self, at: usize) -> (&[u8], FileType) {
        let span = &self.spans[at];
        (span.of(&self.arena), span.file_type)
    }

    /// The type of what is called `name`.
    pub fn find(&self, name: &[u8]) -> Option<FileType> {
        let head = head(name);
        let at = self
            .spans
            .binary_search_by(|span| span.compare(&self.arena, head, name))
            .ok()?;
        Some(self.spans[at].file_type)
    }
}

/// Whether something of this type can be a source or an entry.
pub fn is_file(file_type: FileType) -> bool {
    matches!(file_type, FileType::File | FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found_whatever_their_length() {
        let tree = tempfile::tempdir().expect("a directory");
        let mut expected: Vec<String> = [
            "a",
            "aa",
            "exactly_sixteen_",
            "exactly_sixteen_.py",
            "exactly_sixteen_a",
            "exactly_sixteen",
            "\u{ff}\u{ff}",
            "z",
        ]
        .map(String::from)
        .into();
        for name in &expected {
            std::fs::write(tree.path().join(name), "").expect("a file");
        }
        let directory = Dir::open(tree.path()).expect("it opens");
        let names = Names::of(&directory, &mut DirBuffer::default()).expect("it lists");
        expected.sort();
        let found: Vec<&[u8]> = names.iter().map(|(name, _)| name).collect();
        assert_eq!(
            found,
            expected
                .iter()
                .map(|name| name.as_bytes())
                .collect::<Vec<_>>()
        );
        for name in &expected {
            let found = names.find(name.as_bytes());
            assert_eq!(found, Some(FileType::File), "{name}");
        }
        assert_eq!(names.find(b"exactly_sixteen_."), None);
        assert_eq!(names.find(b""), None);
        let few = ["z", "exactly_sixteen_.py", "aaa", "aa"].map(|name| name.as_bytes().to_vec());
        let asked = Names::asked(&directory, &few.into()).expect("they are looked for");
        let there: Vec<&[u8]> = asked.iter().map(|(name, _)| name).collect();
        assert_eq!(there, [&b"aa"[..], b"exactly_sixteen_.py", b"z"]);
        assert_eq!(asked.find(b"aa"), Some(FileType::File));
    }
}
