//! Paths relative to a root, as git has them: bytes with `/`, the root itself empty.

use bstr::{BStr, BString, ByteSlice};

/// `directory/name`, or `name` in the root.
pub fn join(directory: &BStr, name: &[u8]) -> BString {
    let mut path = BString::from(Vec::with_capacity(directory.len() + 1 + name.len()));
    if !directory.is_empty() {
        path.extend_from_slice(directory);
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// The directory of a path, and its last name.
pub fn split(path: &BStr) -> (&BStr, &BStr) {
    match path.rfind_byte(b'/') {
        Some(slash) => (path[..slash].as_bstr(), path[slash + 1..].as_bstr()),
        None => (BStr::new(""), path),
    }
}

/// Whether a path is `top` or lies below it.
pub fn is_below(path: &[u8], top: &[u8]) -> bool {
    top.is_empty()
        || path
            .strip_prefix(top)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// A path that lies below `top`, relative to it.
pub fn within<'p>(path: &'p BStr, top: &BStr) -> &'p BStr {
    if top.is_empty() {
        return path;
    }
    path.get(top.len() + 1..).unwrap_or_default().as_bstr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_apart_and_together() {
        for (directory, name, path) in [("", "a.py", "a.py"), ("a/b", "c.py", "a/b/c.py")] {
            assert_eq!(join(directory.into(), name.as_bytes()), path);
            assert_eq!(split(path.into()), (directory.into(), name.into()));
            assert_eq!(within(path.into(), directory.into()), name);
        }
        assert_eq!(within("a".into(), "a".into()), "");
    }

    #[test]
    fn below_is_by_whole_names() {
        for (path, top, expected) in [
            ("a/b", "a", true),
            ("a", "a", true),
            ("ab", "a", false),
            ("a", "", true),
            ("a", "a/b", false),
        ] {
            assert_eq!(
                is_below(path.as_bytes(), top.as_bytes()),
                expected,
                "{path} {top}"
            );
        }
    }
}
