//! What git converts between the work tree and its objects: line ends, `$Id$`, and what commands do.
//!
//! The bytes on disk may differ from those in the index, and git calls the file unchanged; or be
//! the same, and git calls it changed. Attributes decide. No configured command is run here: a file
//! that one would convert counts as changed as soon as git would look at its content.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice as _};

use crate::fsys::path::below;
use crate::fsys::relative::{join, split};
use crate::git::blob::is_blob;
use crate::git::{Attribute, Index, IndexEntry, Repo};

/// What attributes can do to the files of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Some attribute or configured line end may apply.
    pub any: bool,
    /// A command or an encoding may apply.
    pub command: bool,
}

impl Reach {
    fn or(self, other: Self) -> Self {
        Self {
            any: self.any || other.any,
            command: self.command || other.command,
        }
    }

    fn of_file(path: &Path) -> Self {
        let Ok(text) = std::fs::read(path) else {
            return Self::default();
        };
        Self {
            any: true,
            command: text.contains_str("filter") || text.contains_str("working-tree-encoding"),
        }
    }
}

/// Where attributes of one repository can come from, so that most files need no question.
pub struct Attributes {
    root: PathBuf,
    index: Arc<Index>,
    everywhere: Reach,
    known: Mutex<HashMap<BString, Reach>>,
}

impl Attributes {
    /// Those of a repository.
    pub fn of(repo: &Repo, index: &Arc<Index>) -> Self {
        let autocrlf = Reach {
            any: auto_line_ends(repo),
            command: false,
        };
        let configured = repo.config_path("core.attributesfile").or_else(|| {
            let home = || Some(Path::new(&std::env::var_os("HOME")?).join(".config"));
            let xdg = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
            Some(xdg.map(PathBuf::from).or_else(home)?.join("git/attributes"))
        });
        let shared = ["/etc", "/usr/local/etc", "/opt/homebrew/etc"]
            .map(|directory| Path::new(directory).join("gitattributes"));
        let everywhere = shared
            .into_iter()
            .chain(configured)
            .chain([repo.common_dir().join("info/attributes")])
            .fold(autocrlf, |reach, file| reach.or(Reach::of_file(&file)));
        Self {
            root: repo.root().to_path_buf(),
            index: Arc::clone(index),
            everywhere,
            known: Mutex::default(),
        }
    }

    /// The root of the repository.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What can apply to the files of a directory, by the `.gitattributes` there and above.
    pub fn reach(&self, directory: &BStr) -> Reach {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reach) = known().get(directory) {
            return *reach;
        }
        let above = if directory.is_empty() {
            self.everywhere
        } else {
            self.reach(split(directory).0)
        };
        let file = join(directory, b".gitattributes");
        let path = below(&self.root, &file);
        let own = if self.index.tracks(file.as_bstr()) && path.symlink_metadata().is_err() {
            // git reads it from the index then.
            Reach {
                any: true,
                command: true,
            }
        } else {
            Reach::of_file(&path)
        };
        let reach = above.or(own);
        known().insert(directory.to_owned(), reach);
        reach
    }
}

/// What the attributes of one file say.
pub struct Said {
    filter: Attribute,
    encoding: Attribute,
    text: Attribute,
    crlf: Attribute,
    eol: Attribute,
    ident: Attribute,
}

impl Said {
    /// What they say of each of these files.
    ///
    /// # Errors
    /// If neither libgit2 nor git can tell.
    pub fn of(repo: &Repo, paths: &[BString]) -> Result<Vec<Self>> {
        const NAMES: [&str; 6] = [
            "filter",
            "working-tree-encoding",
            "text",
            "crlf",
            "eol",
            "ident",
        ];
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let values = repo.attributes(paths, &NAMES)?;
        let said = values.chunks_exact(NAMES.len()).filter_map(|values| {
            let [filter, encoding, text, crlf, eol, ident] = values.to_vec().try_into().ok()?;
            Some(Self {
                filter,
                encoding,
                text,
                crlf,
                eol,
                ident,
            })
        });
        Ok(said.collect())
    }

    /// Whether a command (`filter`) or an encoding stands between the file and its object.
    pub fn needs_command(&self) -> bool {
        [&self.filter, &self.encoding]
            .into_iter()
            .any(|value| matches!(value, Attribute::Value(_)))
    }

    fn line_ends(&self, repo: &Repo) -> LineEnds {
        let of = |value: &Attribute| match value {
            Attribute::Set => Some(LineEnds::Text),
            Attribute::Unset => Some(LineEnds::Kept),
            value if value.is("auto") => Some(LineEnds::Auto),
            value if value.is("input") => Some(LineEnds::Text),
            _ => None,
        };
        if let Some(ends) = of(&self.text).or_else(|| of(&self.crlf)) {
            ends
        } else if self.eol.is("lf") || self.eol.is("crlf") {
            LineEnds::Text
        } else if auto_line_ends(repo) {
            LineEnds::Auto
        } else {
            LineEnds::Kept
        }
    }

    /// Whether the file is what the index says after the conversions that its attributes and the
    /// configuration ask for.
    pub fn same_after_conversion(&self, repo: &Repo, entry: &IndexEntry<'_>, bytes: &[u8]) -> bool {
        if self.needs_command() {
            return false;
        }
        let convert = match self.line_ends(repo) {
            LineEnds::Kept => false,
            LineEnds::Text => true,
            // A file that was committed with CRLF keeps them.
            LineEnds::Auto => {
                !Statistics::of(bytes).is_binary()
                    && !repo.blob(entry.id()).is_ok_and(|blob| {
                        let blob = Statistics::of(&blob);
                        blob.crlf > 0 && !blob.is_binary()
                    })
            }
        };
        let mut converted = if convert {
            bytes.replace("\r\n", "\n")
        } else {
            bytes.to_vec()
        };
        if self.ident == Attribute::Set {
            converted = without_ids(&converted);
        }
        is_blob(entry, &converted)
    }
}

/// What git does with CRLF when it takes a file in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnds {
    /// Nothing.
    Kept,
    /// They become LF.
    Text,
    /// They become LF if the file looks like text.
    Auto,
}

fn auto_line_ends(repo: &Repo) -> bool {
    repo.config("core.autocrlf").as_deref() == Some("input")
        || repo.config_bool("core.autocrlf", false)
}

/// What git counts to tell text from other content.
#[derive(Default)]
struct Statistics {
    nul: usize,
    lone_cr: usize,
    crlf: usize,
    printable: usize,
    other: usize,
}

impl Statistics {
    fn of(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        let mut rest = bytes;
        while let [byte, behind @ ..] = rest {
            rest = behind;
            match byte {
                b'\r' if behind.first() == Some(&b'\n') => {
                    found.crlf += 1;
                    rest = &behind[1..];
                }
                b'\r' => found.lone_cr += 1,
                b'\n' => {}
                0 => {
                    found.nul += 1;
                    found.other += 1;
                }
                // An end-of-file mark of DOS.
                0x1A if behind.is_empty() => {}
                0x08 | 0x09 | 0x0C | 0x1B => found.printable += 1,
                0x7F | 0x01..0x20 => found.other += 1,
                _ => found.printable += 1,
            }
        }
        found
    }

    fn is_binary(&self) -> bool {
        self.lone_cr > 0 || self.nul > 0 || self.printable / 128 < self.other
    }
}

/// `$Id: anything$` becomes `$Id$`.
fn without_ids(bytes: &[u8]) -> Vec<u8> {
    const HEAD: &[u8] = b"$Id:";
    let mut rest = bytes;
    let mut out = Vec::with_capacity(bytes.len());
    while let Some(at) = rest.find(HEAD) {
        let value = at + HEAD.len();
        let end = rest[value..].find_byteset(b"$\n").map(|end| value + end);
        match end.filter(|&end| rest[end] == b'$') {
            Some(end) => {
                out.extend_from_slice(&rest[..at]);
                out.extend_from_slice(b"$Id$");
                rest = &rest[end + 1..];
            }
            None => {
                out.extend_from_slice(&rest[..value]);
                rest = &rest[value..];
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_folded() {
        assert_eq!(
            without_ids(b"# $Id: 0123$ x\n$Id$\n$Id:$\n$Id: open\n$"),
            b"# $Id$ x\n$Id$\n$Id$\n$Id: open\n$"
        );
    }

    #[test]
    fn text_is_told_from_other_content() {
        for (bytes, binary) in [
            (&b""[..], false),
            (b"a = 1\r\nb = 2\r\n", false),
            (b"a\rb", true),
            (b"a\0b", true),
            (b"\x01\x02", true),
            (b"a\x1A", false),
        ] {
            assert_eq!(Statistics::of(bytes).is_binary(), binary, "{bytes:?}");
        }
    }
}
