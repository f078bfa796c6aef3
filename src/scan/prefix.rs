//! Prefix trees: `PREFIX/<absolute directory of the source>/mod.cpython-311.pyc`.
//!
//! The whole prefix is walked, since a directory in it can lead into the work tree by a symlink;
//! only entries whose source resolves into the work tree are judged.

use std::io;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::due::Asked;
use super::found::Found;
use super::names::Names;
use super::owner::Owner;
use super::pair::{Cache, entries_in};
use super::place::{self, Place};
use super::venv::Venv;
use super::{Options, Tree, TreeKind};
use crate::fsys::path::{of_prefix, relative_to};
use crate::fsys::relative::join;
use crate::fsys::{Dir, DirBuffer, FileType, Resolved, Time, resolve};
use crate::payload::Payload;

/// Opens the prefixes and adds them to the trees. What cannot be opened is noted.
pub fn open_all(options: &Options<'_>, found: &mut Found) -> Vec<Prefix> {
    let prefixes = options.prefixes.iter();
    prefixes
        .filter_map(|prefix| open(options, prefix, found))
        .collect()
}

/// Walks the prefix trees.
pub fn walk(options: &Options<'_>, prefixes: &[Prefix], payload: &Payload, found: &mut Found) {
    let asked = Asked::Payload(payload);
    for prefix in prefixes {
        let mut buffer = DirBuffer::default();
        let mut waiting = vec![BString::default()];
        while let Some(path) = waiting.pop() {
            let path = path.as_bstr();
            let Some(listed) = place::open(prefix.top(), path, None, &mut buffer, found) else {
                continue;
            };
            let below = listed
                .1
                .iter()
                .filter(|(name, file_type)| *file_type == FileType::Directory && *name != b".git");
            waiting.extend(below.map(|(name, _)| join(path, name)));
            if entries_in(&listed.1).next().is_some() {
                look(options, prefix, path, &listed, &asked, &mut buffer, found);
            }
        }
    }
}

/// An open prefix.
pub struct Prefix {
    number: usize,
    root: PathBuf,
    realm: usize,
    handle: Dir,
}

impl Prefix {
    /// Its root, to open directories below it.
    pub fn top(&self) -> (&Path, &Dir) {
        (&self.root, &self.handle)
    }
}

/// Opens a prefix and adds it to the trees. One that does not exist holds nothing; one inside a
/// `.git`, by whatever name it is reached, is not ours to touch.
fn open(options: &Options<'_>, prefix: &Path, found: &mut Found) -> Option<Prefix> {
    let opened = prefix.canonicalize().and_then(|real| {
        if in_repository_data(options, prefix) || in_repository_data(options, &real) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it lies inside a `.git`, where nothing is ever removed: use a prefix elsewhere",
            ));
        }
        Ok((Dir::open(&real)?, real))
    });
    let (handle, real) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            found.trouble(prefix.to_path_buf(), "opening the bytecode prefix", error);
            return None;
        }
    };
    let number = found.trees.len();
    let owner = if real.starts_with(options.root) {
        Owner::Given
    } else {
        Owner::Around(real.clone())
    };
    // By its real path, so that it can be told which repository tracks what in it.
    found.trees.push(Tree {
        root: real.clone(),
        kind: TreeKind::Prefix,
    });
    Some(Prefix {
        number,
        root: real,
        realm: found.realms.add(owner),
        handle,
    })
}

fn in_repository_data(options: &Options<'_>, path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
        || options.repo.is_some_and(|repo| {
            [repo.git_dir(), repo.common_dir()].iter().any(|data| {
                let real = data.canonicalize();
                path.starts_with(data) || real.is_ok_and(|real| path.starts_with(real))
            })
        })
}

/// Looks at one directory of a prefix, if its sources lie in the work tree and are looked at there.
pub fn look(
    options: &Options<'_>,
    prefix: &Prefix,
    path: &BStr,
    (directory, names): &(Dir, Names),
    asked: &Asked<'_>,
    buffer: &mut DirBuffer,
    found: &mut Found,
) {
    let Some((source_directory, links)) = sources_of(options.root, path) else {
        return;
    };
    let left_out = options
        .exclude
        .directory_or_above(source_directory.as_bstr());
    if left_out || Venv::of(options.root, source_directory.as_bstr()).is_none() {
        return;
    }
    let opened = Dir::open(options.root)
        .and_then(|root| Names::below(&root, source_directory.as_bstr(), buffer));
    let none = Names::default();
    let (sources, source_names) = match &opened {
        Ok((sources, names)) => (sources, names),
        // The sources' directory is gone: every entry is an orphan.
        Err(error) if error.kind() == io::ErrorKind::NotFound => (directory, &none),
        // Whoever looks at the sources themselves names it.
        Err(_) => return,
    };
    let mut place = Place::new(
        options.root,
        source_directory.as_bstr(),
        sources,
        source_names,
    );
    place.links = links;
    let cache = Cache {
        tree: prefix.number,
        root: &prefix.root,
        path,
        directory,
        realm: prefix.realm,
        symlinked: false,
    };
    place.look_into(&cache, names, options.rules(), asked, found);
}

/// The directory of the work tree that a directory of a prefix holds entries for, and the latest
/// ctime of the symlinks on the way to it.
fn sources_of(root: &Path, path: &BStr) -> Option<(BString, Option<Time>)> {
    let absolute = of_prefix(path, root);
    let mut above = absolute.as_path();
    let mut missing: Vec<&std::ffi::OsStr> = Vec::new();
    // Where the directory itself is gone, what is left of the way to it decides.
    let Resolved {
        path: mut real,
        links_touched,
    } = loop {
        match resolve(above) {
            Ok(resolved) => break resolved,
            Err(_) => {
                missing.push(above.file_name()?);
                above = above.parent()?;
            }
        }
    };
    real.extend(missing.iter().rev());
    Some((relative_to(&real, root)?, links_touched))
}
