//! Prefix trees: `PREFIX/<absolute directory of the source>/mod.cpython-311.pyc`.
//!
//! A prefix holds directories of the whole machine, each at the place of its counterpart, the directory
//! of the sources. Only entries whose source resolves into this work tree are judged. The whole prefix
//! is walked for them, since a counterpart can lead into the work tree by a symlink, but nothing that is
//! no prefix: not where there is no counterpart, and where a directory is its own counterpart (the
//! prefix is `/`) only the way to the work tree.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::due::Asked;
use super::found::Found;
use super::names::Names;
use super::owner::Owner;
use super::pair::{Cache, entries_in};
use super::place::Place;
use super::venv::Venv;
use super::{Options, Tree, TreeKind};
use crate::bytecode::parse_in_pycache;
use crate::fsys::path::{below, in_prefix_of, of_prefix, real, relative_to, to_git};
use crate::fsys::relative::join;
use crate::fsys::{Dir, DirBuffer, FileType, Obstacle, Stat, Time, resolve};
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
    let mut buffer = DirBuffer::default();
    for prefix in prefixes {
        let mut waiting = vec![BString::default()];
        let mut followed = HashSet::new();
        while let Some(path) = waiting.pop() {
            let path = path.as_bstr();
            let counterpart = Counterpart::of(options.root, path);
            match &counterpart {
                Counterpart::None => continue,
                Counterpart::Ours { path, .. }
                    if options.exclude.directory_or_above(path.as_bstr()) =>
                {
                    continue;
                }
                _ => {}
            }
            let Some(listed) = prefix.list(path, &mut buffer, found) else {
                continue;
            };
            if let Some(way) = counterpart.way_to(options.root, &listed.directory) {
                waiting.extend(way.map(|name| join(path, &name)));
                continue;
            }
            // A symlink that leads back is followed once.
            let place = || {
                listed
                    .directory
                    .lstat(b".")
                    .map(|stat| (stat.dev, stat.ino))
            };
            if listed.symlinked
                && !place().is_ok_and(|place| followed.insert((place, counterpart.real())))
            {
                continue;
            }
            let below = listed
                .names
                .iter()
                .filter(|(name, file_type)| match file_type {
                    FileType::Directory => !matches!(*name, b".git" | b"__pycache__"),
                    FileType::Symlink => parse_in_pycache(name).is_none(),
                    _ => false,
                });
            waiting.extend(below.map(|(name, _)| join(path, name)));
            if let Counterpart::Ours { path: sources, way } = counterpart
                && entries_in(&listed.names).next().is_some()
            {
                let sources = (sources.as_bstr(), way);
                look(
                    options,
                    prefix,
                    sources,
                    path,
                    &listed,
                    &asked,
                    &mut buffer,
                    found,
                );
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

/// A directory of a prefix, listed.
struct Listed {
    directory: Dir,
    names: Names,
    /// Whether a symlink was followed on the way: nothing is removed there.
    symlinked: bool,
}

impl Prefix {
    /// Opens a directory of the prefix and lists it, behind a symlink only to look at it.
    fn list(&self, path: &BStr, buffer: &mut DirBuffer, found: &mut Found) -> Option<Listed> {
        let opened = match self.handle.open_below(path) {
            Ok(directory) => Ok((directory, false)),
            Err(error) if is_no_directory(&error) => {
                Dir::open(&below(&self.root, path)).map(|directory| (directory, true))
            }
            Err(error) => Err(error),
        };
        let listed = opened.and_then(|(directory, symlinked)| {
            Ok(Listed {
                names: Names::of(&directory, buffer)?,
                directory,
                symlinked,
            })
        });
        listed
            .map_err(|error| {
                found.trouble(below(&self.root, path), "reading the directory", error);
            })
            .ok()
    }
}

/// The directory of sources that a directory of a prefix stands for.
enum Counterpart {
    /// One in the work tree, or one that was there: relative to its root. And when the way to it last
    /// changed.
    Ours { path: BString, way: Option<Time> },
    /// One elsewhere.
    Elsewhere(PathBuf),
    /// There is none.
    None,
}

impl Counterpart {
    fn of(root: &Path, path: &BStr) -> Self {
        let absolute = of_prefix(path, root);
        let mut above = absolute.as_path();
        let mut missing: Vec<&std::ffi::OsStr> = Vec::new();
        // Where the directory itself is gone, what is left of the way to it decides.
        let resolved = loop {
            match (resolve(above), above.file_name(), above.parent()) {
                (Ok(resolved), ..) => break resolved,
                (Err(_), Some(name), Some(parent)) => {
                    missing.push(name);
                    above = parent;
                }
                (Err(_), ..) => return Self::None,
            }
        };
        let mut real = resolved.path;
        real.extend(missing.iter().rev());
        match relative_to(&real, root) {
            Some(path) => Self::Ours {
                path,
                way: resolved.links_touched.max(resolved.named),
            },
            None if missing.is_empty() => Self::Elsewhere(real),
            None => Self::None,
        }
    }

    /// Its real path, where it is known to exist.
    fn real(&self) -> BString {
        match self {
            Self::Ours { path, .. } => path.clone(),
            Self::Elsewhere(real) => to_git(real).into_owned(),
            Self::None => BString::default(),
        }
    }

    /// If `directory` is its own counterpart outside the work tree, what of it leads there: the next
    /// name, or nothing.
    fn way_to(&self, root: &Path, directory: &Dir) -> Option<impl Iterator<Item = BString>> {
        let Self::Elsewhere(real) = self else {
            return None;
        };
        let same = |stat: Stat| {
            let own = directory.lstat(b".");
            own.is_ok_and(|own| (own.dev, own.ino) == (stat.dev, stat.ino))
        };
        if !Stat::of(real).is_ok_and(same) {
            return None;
        }
        let rest = root.strip_prefix(real).ok();
        let next = rest.and_then(|rest| rest.components().next());
        Some(
            next.map(|name| to_git(name.as_os_str()).into_owned())
                .into_iter(),
        )
    }
}

/// Whether opening a directory has failed at something that is none: a symlink, perhaps.
fn is_no_directory(error: &io::Error) -> bool {
    Obstacle::of(error) == Some(Obstacle::Swapped)
}

/// Looks at the directory of a prefix that holds the entries of a directory's sources, both by their
/// absolute path.
pub fn look_at(
    options: &Options<'_>,
    prefix: &Prefix,
    directory: &Path,
    asked: &Asked<'_>,
    buffer: &mut DirBuffer,
    found: &mut Found,
) {
    let path = in_prefix_of(directory);
    let path = path.as_bstr();
    let Some(listed) = prefix.list(path, buffer, found) else {
        return;
    };
    if let Counterpart::Ours { path: sources, way } = Counterpart::of(options.root, path) {
        look(
            options,
            prefix,
            (sources.as_bstr(), way),
            path,
            &listed,
            asked,
            buffer,
            found,
        );
    }
}

/// Opens a prefix and adds it to the trees. One that does not exist holds nothing; one inside a
/// `.git`, by whatever name it is reached, is not ours to touch.
fn open(options: &Options<'_>, prefix: &Path, found: &mut Found) -> Option<Prefix> {
    let opened = real(prefix).and_then(|real| {
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
                let real = real(data);
                path.starts_with(data) || real.is_ok_and(|real| path.starts_with(real))
            })
        })
}

/// Looks at one directory of a prefix, if its sources are looked at where they are.
#[expect(clippy::too_many_arguments, reason = "where, what, and who gathers it")]
fn look(
    options: &Options<'_>,
    prefix: &Prefix,
    (source_directory, way): (&BStr, Option<Time>),
    path: &BStr,
    listed: &Listed,
    asked: &Asked<'_>,
    buffer: &mut DirBuffer,
    found: &mut Found,
) {
    let left_out = options.exclude.directory_or_above(source_directory);
    if left_out || Venv::of(options.root, source_directory).is_none() {
        return;
    }
    let opened =
        Dir::open(options.root).and_then(|root| Names::below(&root, source_directory, buffer));
    let none = Names::default();
    let (sources, source_names) = match &opened {
        Ok((sources, names)) => (sources, names),
        // The sources' directory is gone: every entry is an orphan.
        Err(error) if error.kind() == io::ErrorKind::NotFound => (&listed.directory, &none),
        // Whoever looks at the sources themselves names it.
        Err(_) => return,
    };
    let mut place = Place::new(options.root, source_directory, sources, source_names);
    place.way = way;
    let cache = Cache {
        tree: prefix.number,
        root: &prefix.root,
        path,
        directory: &listed.directory,
        realm: prefix.realm,
        symlinked: listed.symlinked,
    };
    place.look_into(&cache, &listed.names, options.rules(), asked, found);
}
