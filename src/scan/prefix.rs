//! Prefix trees: `PREFIX/<absolute directory of the source>/mod.cpython-311.pyc`.
//!
//! The whole prefix is walked, since a directory in it can lead into the work tree by a symlink;
//! only entries whose source resolves into the work tree are judged.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use bstr::{BStr, BString, ByteSlice};

use super::found::Found;
use super::names::Names;
use super::owner::Owner;
use super::place::{Cache, One, Place, entries_in};
use super::venv::Venv;
use super::{Options, Tree, TreeKind};
use crate::fsys::relative::join;
use crate::fsys::{Dir, DirBuffer, FileType, Resolved, Time, resolve};
use crate::payload::Payload;

/// Walks the prefix trees.
pub fn walk(options: &Options<'_>, payload: &Payload, found: &mut Found) -> Result<()> {
    for prefix in options.prefixes {
        let Some(tree) = open(options, prefix, found) else {
            continue;
        };
        let mut buffer = DirBuffer::default();
        let mut waiting = vec![BString::default()];
        while let Some(path) = waiting.pop() {
            let listed = match Names::below(&tree.handle, path.as_bstr(), &mut buffer) {
                Ok(listed) => listed,
                Err(error) => {
                    found.trouble(
                        prefix.join(path.to_path_lossy()),
                        "reading the directory",
                        error,
                    );
                    continue;
                }
            };
            let below = listed
                .1
                .iter()
                .filter(|(name, file_type)| *file_type == FileType::Directory && *name != b".git");
            waiting.extend(below.map(|(name, _)| join(path.as_bstr(), name)));
            if entries_in(&listed.1).next().is_some() {
                let each = |found: &mut Found, one: &One<'_>| {
                    found.take(options.rules(), one, &|judged| {
                        let source = judged.source.map(|source| one.place.relative(source));
                        source.is_some_and(|source| payload.sources.contains_key(&source))
                    });
                };
                directory(
                    options,
                    &tree,
                    path.as_bstr(),
                    &listed,
                    &mut buffer,
                    found,
                    &each,
                );
            }
        }
    }
    Ok(())
}

/// An open prefix.
pub struct Prefix {
    number: usize,
    root: PathBuf,
    realm: usize,
    /// Its handle.
    pub handle: Dir,
}

/// Opens a prefix and adds it to the trees. One that does not exist holds nothing; one inside a
/// `.git`, by whatever name it is reached, is not ours to touch.
pub fn open(options: &Options<'_>, prefix: &Path, found: &mut Found) -> Option<Prefix> {
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

/// Gives `each` entry of one directory of a prefix with its place, if its sources lie in the work
/// tree and are looked at there.
pub fn directory(
    options: &Options<'_>,
    prefix: &Prefix,
    path: &BStr,
    (directory, names): &(Dir, Names),
    buffer: &mut DirBuffer,
    found: &mut Found,
    each: &dyn Fn(&mut Found, &One<'_>),
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
    for one in cache.each(&place, entries_in(names)) {
        each(found, &one);
    }
    found.failed(&place);
}

/// The directory of the work tree that a directory of a prefix holds entries for, and the latest
/// ctime of the symlinks on the way to it.
fn sources_of(root: &Path, path: &BStr) -> Option<(BString, Option<Time>)> {
    let absolute = PathBuf::from("/").join(path.to_path_lossy());
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
    let relative = real.strip_prefix(root).ok()?;
    Some((relative.as_os_str().as_bytes().into(), links_touched))
}
