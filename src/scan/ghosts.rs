//! Ghosts: directories left with nothing but caches of sources that are gone.

use std::collections::HashMap;

use bstr::{BString, ByteSlice};

use crate::fsys::relative::split;

/// A directory without anything but a `__pycache__` of orphans and subdirectories.
#[derive(Debug)]
pub struct Hollow {
    /// Path relative to the root.
    pub path: BString,
    /// Whether it has a `__pycache__` with orphans.
    pub caches: bool,
    /// Number of its subdirectories.
    pub below: usize,
}

/// The ghosts among hollow directories, children before their parents. The root is none.
pub fn ghosts(mut hollow: Vec<Hollow>) -> Vec<BString> {
    hollow.sort_by(|one, other| {
        let depth = |path: &BString| path.find_iter("/").count();
        depth(&other.path)
            .cmp(&depth(&one.path))
            .then_with(|| one.path.cmp(&other.path))
    });
    let mut ghosts_in: HashMap<BString, usize> = HashMap::new();
    let mut ghosts = Vec::new();
    for directory in hollow {
        let below = ghosts_in.get(&directory.path).copied().unwrap_or(0);
        if directory.path.is_empty() || below != directory.below || !directory.caches && below == 0
        {
            continue;
        }
        let (parent, _) = split(directory.path.as_bstr());
        *ghosts_in.entry(parent.to_owned()).or_default() += 1;
        ghosts.push(directory.path);
    }
    ghosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_hollow_all_the_way_down_is_a_ghost() {
        let hollow = |path: &str, caches, below| Hollow {
            path: path.into(),
            caches,
            below,
        };
        let found = ghosts(vec![
            hollow("", false, 3),
            hollow("gone", true, 1),
            hollow("gone/sub", true, 0),
            hollow("half", true, 1),
            hollow("uploads", false, 0),
            hollow("outer", false, 1),
            hollow("outer/inner", true, 0),
        ]);
        assert_eq!(found, ["gone/sub", "outer/inner", "gone", "outer"]);
    }
}
