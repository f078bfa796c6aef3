//! Names of cache entries (PEP 3147, PEP 488), and the sources they can belong to.

use std::cell::Cell;
use std::cmp::Ordering;

/// What kind of file a name says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `mod.cpython-311.pyc` and its like, in `__pycache__` or a prefix.
    Cached,
    /// `mod.pyc`, `mod.pyo` beside `mod.py`.
    Beside,
    /// What an atomic write left over: `mod.cpython-311.pyc.140234`.
    Leftover,
    /// Machine code that numba built from an entry: `mod.f-2.py311.nbi`, `mod.f-2.py311.1.nbc`.
    Companion,
}

/// The parts of a cache entry's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryName<'a> {
    /// Kind of file.
    pub kind: Kind,
    /// The source's name without its suffix; for a companion everything before `.pyNN`.
    pub stem: &'a [u8],
    /// Cache tag (`cpython-311`); empty beside a source, `py311` for a companion.
    pub tag: &'a [u8],
    /// What a test runner appends to the tag: `pytest-8.3.4`.
    pub runner: Option<&'a [u8]>,
    /// `1` of `.opt-1`; tools put their own name there.
    pub opt: Option<&'a [u8]>,
    /// Whether the source's name has no suffix: `toolcpython-311.pyc` is the entry of `tool`.
    pub bare: bool,
}

/// The names in one source directory, sorted.
#[derive(Debug, Default)]
pub struct Listing<'a> {
    names: Vec<&'a [u8]>,
    hidden: bool,
    last: Cell<usize>,
}

impl<'a> Listing<'a> {
    /// A listing of `names`, in any order.
    pub fn new(mut names: Vec<&'a [u8]>) -> Self {
        names.sort_unstable();
        Self::sorted(names)
    }

    /// A listing of `names` that are sorted already.
    pub fn sorted(names: Vec<&'a [u8]>) -> Self {
        Self {
            hidden: names.iter().any(|name| name.starts_with(b".")),
            names,
            last: Cell::new(0),
        }
    }

    /// The name at a place in the listing.
    pub fn name(&self, at: usize) -> &'a [u8] {
        self.names[at]
    }

    /// The place of the name that is the concatenation of `parts`, if it is there.
    fn find(&self, parts: [&[u8]; 2]) -> Option<usize> {
        let at = self.lower_bound(parts);
        compare(self.names.get(at)?, parts).is_eq().then_some(at)
    }

    /// The place of the first name that is not less than the concatenation of `parts`. Entries come
    /// in the order of their sources, so the search begins where the last one ended.
    fn lower_bound(&self, parts: [&[u8]; 2]) -> usize {
        let less = |name: &&[u8]| compare(name, parts).is_lt();
        let last = self.last.get();
        let (before, after) = self.names.split_at(last);
        let found = if after.first().is_some_and(less) {
            match after.get(1) {
                Some(name) if less(name) => last + 2 + after[2..].partition_point(less),
                _ => last + 1,
            }
        } else if before.last().is_some_and(|name| !less(name)) {
            before.partition_point(less)
        } else {
            last
        };
        self.last.set(found);
        found
    }

    /// What follows `stem` and a dot in each of the names that begin with them, and its place.
    fn suffixes<'l>(&'l self, stem: &'l [u8]) -> impl Iterator<Item = (usize, &'a [u8])> + 'l {
        let from = self.lower_bound([stem, b"."]);
        (from..)
            .zip(&self.names[from..])
            .map_while(move |(at, name)| {
                let (head, rest) = name.split_at_checked(stem.len())?;
                let suffix = rest.strip_prefix(b".")?;
                (head == stem).then_some((at, suffix))
            })
    }
}

/// Compares a name with the concatenation of two parts.
fn compare(name: &[u8], [first, second]: [&[u8]; 2]) -> Ordering {
    match name.split_at_checked(first.len()) {
        Some((head, rest)) => head.cmp(first).then_with(|| rest.cmp(second)),
        // A name that is a beginning of the first part is less than the whole.
        None => name.cmp(first),
    }
}

/// Parses the name of a file in a `__pycache__` or a prefix directory. `None`: not a cache entry.
pub fn parse_in_pycache(file_name: &[u8]) -> Option<EntryName<'_>> {
    if file_name.ends_with(b".nbi") || file_name.ends_with(b".nbc") {
        return parse_companion(file_name);
    }
    let (body, kind) = match body_of(file_name) {
        Some(body) => (body, Kind::Cached),
        None => {
            let dot = file_name.iter().rposition(|&byte| byte == b'.')?;
            let number = &file_name[dot + 1..];
            if number.is_empty() || !number.iter().all(u8::is_ascii_digit) {
                return None;
            }
            (body_of(&file_name[..dot])?, Kind::Leftover)
        }
    };
    let (body, opt) = split_opt(body);
    let (stem, tag, runner, bare) = split_tag(body)?;
    Some(EntryName {
        kind,
        stem,
        tag,
        runner,
        opt,
        bare,
    })
}

/// Parses the name of a file beside its source.
pub fn parse_beside(file_name: &[u8]) -> Option<EntryName<'_>> {
    let stem = body_of(file_name)?;
    (!stem.is_empty()).then_some(EntryName {
        kind: Kind::Beside,
        stem,
        tag: b"",
        runner: None,
        opt: None,
        bare: false,
    })
}

fn body_of(file_name: &[u8]) -> Option<&[u8]> {
    file_name
        .strip_suffix(b".pyc")
        .or_else(|| file_name.strip_suffix(b".pyo"))
}

/// `mod.cpython-311.opt-1`: NAME of `.opt-NAME` is alphanumeric in Unicode's sense (PEP 488).
fn split_opt(body: &[u8]) -> (&[u8], Option<&[u8]>) {
    let Some(dot) = body.iter().rposition(|&byte| byte == b'.') else {
        return (body, None);
    };
    let opt = body[dot + 1..].strip_prefix(b"opt-").filter(|opt| {
        std::str::from_utf8(opt)
            .is_ok_and(|text| !text.is_empty() && text.chars().all(char::is_alphanumeric))
    });
    match opt {
        Some(opt) => (&body[..dot], Some(opt)),
        None => (body, None),
    }
}

/// Splits `mod.cpython-311-pytest-8.3.4` into stem, tag, runner and whether the stem is bare.
#[expect(
    clippy::type_complexity,
    reason = "four parts of one name, taken apart at once"
)]
fn split_tag(body: &[u8]) -> Option<(&[u8], &[u8], Option<&[u8]>, bool)> {
    // Nearly always the tag is what follows the last dot, and nothing else.
    if let Some(dot) = body.iter().rposition(|&byte| byte == b'.')
        && dot > 0
        && known_tag(&body[dot + 1..]) == Some(body.len() - dot - 1)
    {
        return Some((&body[..dot], &body[dot + 1..], None, false));
    }
    let starts = (1..body.len()).rev();
    for start in starts.filter(|&start| matches!(body[start], b'c' | b'p')) {
        let Some(length) = known_tag(&body[start..]) else {
            continue;
        };
        let (tag, rest) = body[start..].split_at(length);
        let runner = match rest {
            [] => None,
            [b'-', runner @ ..] if !runner.is_empty() => Some(runner),
            _ => continue,
        };
        let stem = &body[..start];
        match stem {
            [stem @ .., b'.'] if !stem.is_empty() => return Some((stem, tag, runner, false)),
            _ if !stem.contains(&b'.') => return Some((stem, tag, runner, true)),
            _ => {}
        }
    }
    let (plain, runner) = split_pytest(body);
    let dot = plain.iter().rposition(|&byte| byte == b'.')?;
    let tag = &plain[dot + 1..];
    (dot > 0 && looks_like_tag(tag)).then_some((&plain[..dot], tag, runner, false))
}

/// Takes `-pytest-8.3.4` off the tag of an interpreter that is not known.
fn split_pytest(body: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mark = body
        .windows(b"-pytest-".len())
        .rposition(|window| window.eq_ignore_ascii_case(b"-pytest-"));
    match mark {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    }
}

/// Length of a tag of CPython or PyPy at the beginning of `text`.
fn known_tag(text: &[u8]) -> Option<usize> {
    let head = [&b"cpython-"[..], b"pypy"]
        .into_iter()
        .find(|head| text.starts_with(head))?
        .len();
    let digits = text[head..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits < 2 {
        return None;
    }
    let flags = text[head + digits..]
        .iter()
        .take_while(|byte| byte.is_ascii_lowercase())
        .count();
    Some(head + digits + flags)
}

/// Tags of interpreters that are not known (`graalpy242-311`, `rustpython-01`): letters first, and
/// a digit somewhere.
fn looks_like_tag(tag: &[u8]) -> bool {
    tag.first().is_some_and(u8::is_ascii_alphabetic)
        && tag.iter().any(u8::is_ascii_digit)
        && tag
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// `mod.f-2.py311.nbi`, `guf-mod.f-2.py311.1.nbc`.
fn parse_companion(file_name: &[u8]) -> Option<EntryName<'_>> {
    let mut body = &file_name[..file_name.len() - 4];
    let mut dot = body.iter().rposition(|&byte| byte == b'.')?;
    if file_name.ends_with(b".nbc") {
        if !body[dot + 1..].iter().all(u8::is_ascii_digit) || dot + 1 == body.len() {
            return None;
        }
        body = &body[..dot];
        dot = body.iter().rposition(|&byte| byte == b'.')?;
    }
    let tag = &body[dot + 1..];
    let digits = tag.strip_prefix(b"py")?;
    if digits.len() < 2 || !digits[..2].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let stem = &body[..dot];
    (!stem.is_empty()).then_some(EntryName {
        kind: Kind::Companion,
        stem,
        tag,
        runner: None,
        opt: None,
        bare: false,
    })
}

impl<'a> EntryName<'a> {
    /// The sources in `listing` that this can be the entry of. Several files can share one entry:
    /// `conf.py` and `conf.cgi` are both compiled into `conf.cpython-311.pyc`.
    pub fn sources<'l>(&self, listing: &Listing<'l>) -> Vec<&'l [u8]> {
        let mut found = Vec::new();
        self.each_source(listing, &mut |at| found.push(listing.name(at)));
        found
    }

    /// The places in `listing` of the sources that this can be the entry of.
    pub fn each_source(&self, listing: &Listing<'_>, each: &mut dyn FnMut(usize)) {
        if self.kind == Kind::Companion {
            return self.companion_sources(listing, each);
        }
        if self.bare || self.kind == Kind::Beside || self.runner.is_some() {
            let suffix: &[u8] = if self.bare { b"" } else { b".py" };
            if let Some(at) = listing.find([self.stem, suffix]) {
                each(at);
            }
            return;
        }
        for (at, suffix) in listing.suffixes(self.stem) {
            if !matches!(suffix, b"pyc" | b"pyo" | b"") && !suffix.contains(&b'.') {
                each(at);
            }
        }
        if listing.hidden
            && !self.stem.contains(&b'.')
            && let Some(at) = listing.find([b".", self.stem])
        {
            each(at);
        }
    }

    /// A companion's stem is `mod.qualified.name-LINE`: every source whose module name it begins
    /// with can be meant, since module names contain dots. Where there is no module it is a script,
    /// which can have any suffix, or none.
    fn companion_sources(&self, listing: &Listing<'_>, each: &mut dyn FnMut(usize)) {
        let without = self.stem.strip_prefix(b"guf-");
        let stems = || {
            let stems = [Some(self.stem), without].into_iter().flatten();
            stems.flat_map(|stem| {
                let dots = (0..stem.len()).filter(|&at| stem[at] == b'.');
                dots.map(|dot| &stem[..dot])
            })
        };
        let mut modules = stems()
            .filter_map(|stem| listing.find([stem, b".py"]))
            .peekable();
        if modules.peek().is_some() {
            return modules.for_each(each);
        }
        for stem in stems() {
            listing.find([stem, b""]).into_iter().for_each(&mut *each);
            let suffixes = listing.suffixes(stem);
            suffixes
                .filter(|(_, suffix)| !suffix.is_empty() && !suffix.contains(&b'.'))
                .for_each(|(at, _)| each(at));
        }
    }

    /// Whether this can be an entry of the source called `source`, which may be gone.
    pub fn belongs_to(&self, source: &[u8]) -> bool {
        !self.sources(&Listing::new(vec![source])).is_empty()
    }

    /// The name of the source that the entry was most likely compiled from, for messages.
    pub fn likely_source(&self) -> Vec<u8> {
        let stem = match self.kind {
            Kind::Companion => self
                .stem
                .split(|&byte| byte == b'.')
                .next()
                .unwrap_or(self.stem),
            _ => self.stem,
        };
        if self.bare {
            stem.to_vec()
        } else {
            [stem, b".py"].concat()
        }
    }

    /// Whether a tool other than the interpreter wrote the entry (`-pytest-`, `.opt-NAME` but `1`
    /// and `2`): compiling takes tools longer.
    pub fn by_tool(&self) -> bool {
        self.runner.is_some() || self.opt.is_some_and(|opt| !matches!(opt, b"1" | b"2"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(name: &str) -> Option<(String, String, Option<String>, Option<String>)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let name = parse_in_pycache(name.as_bytes())?;
        Some((
            text(name.stem),
            text(name.tag),
            name.runner.map(text),
            name.opt.map(text),
        ))
    }

    fn expect(
        stem: &str,
        tag: &str,
        runner: Option<&str>,
        opt: Option<&str>,
    ) -> Option<(String, String, Option<String>, Option<String>)> {
        Some((
            stem.into(),
            tag.into(),
            runner.map(Into::into),
            opt.map(Into::into),
        ))
    }

    #[test]
    fn names_come_apart() {
        assert_eq!(
            parts("mod.cpython-311.pyc"),
            expect("mod", "cpython-311", None, None)
        );
        assert_eq!(
            parts("a.b.cpython-311.opt-1.pyc"),
            expect("a.b", "cpython-311", None, Some("1"))
        );
        assert_eq!(
            parts("mod.cpython-34.pyo"),
            expect("mod", "cpython-34", None, None)
        );
        assert_eq!(
            parts("x.cpython-311.cpython-311.pyc"),
            expect("x.cpython-311", "cpython-311", None, None)
        );
        assert_eq!(
            parts("t.cpython-311-pytest-8.3.4.pyc"),
            expect("t", "cpython-311", Some("pytest-8.3.4"), None)
        );
        assert_eq!(
            parts("t.cpython-27-PYTEST-4.6.11.pyc"),
            expect("t", "cpython-27", Some("PYTEST-4.6.11"), None)
        );
        assert_eq!(
            parts("m.cpython-311.opt-beartype0v23v1.pyc"),
            expect("m", "cpython-311", None, Some("beartype0v23v1"))
        );
        assert_eq!(
            parts("m.cpython-311.opt-é.pyc"),
            expect("m", "cpython-311", None, Some("é"))
        );
        assert_eq!(
            parts("m.cpython-311.pyc.140234"),
            expect("m", "cpython-311", None, None)
        );
        assert_eq!(parts("m.pypy39.pyc"), expect("m", "pypy39", None, None));
        assert_eq!(
            parts("m.graalpy242-311.pyc"),
            expect("m", "graalpy242-311", None, None)
        );
        assert_eq!(
            parts("t.graalpy242-311-pytest-8.3.4.pyc"),
            expect("t", "graalpy242-311", Some("pytest-8.3.4"), None)
        );
        assert_eq!(
            parts("a.b.pypy-27-PYTEST-4.6.11.pyc"),
            expect("a.b", "pypy-27", Some("PYTEST-4.6.11"), None)
        );
        assert_eq!(
            parts("toolcpython-311.pyc"),
            expect("tool", "cpython-311", None, None)
        );
        assert_eq!(
            parts("mod.f-2.py311.nbi"),
            expect("mod.f-2", "py311", None, None)
        );
        assert_eq!(
            parts("guf-mod.f-2.py311.1.nbc"),
            expect("guf-mod.f-2", "py311", None, None)
        );
        for other in [
            "notes.txt",
            "mod.pyc",
            "mod.py",
            ".pyc",
            "cpython-311.pyc",
            "mod.cpython-311.pyc.bak",
            "f.nbc",
            "m.txt.pyc",
        ] {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    fn sources<'l>(name: &str, listing: &'l [&'l str]) -> Vec<&'l str> {
        let listing = Listing::new(listing.iter().map(|name| name.as_bytes()).collect());
        let entry = parse_in_pycache(name.as_bytes()).expect("a cache entry");
        let found = entry.sources(&listing);
        found
            .into_iter()
            .map(|name| std::str::from_utf8(name).expect("text"))
            .collect()
    }

    #[test]
    fn entries_find_their_sources() {
        assert_eq!(
            sources("a.b.cpython-311.pyc", &["a.py", "a.b.py", "b.py"]),
            ["a.b.py"]
        );
        assert_eq!(sources("a.cpython-311.pyc", &["a.b.py"]), [""; 0]);
        assert_eq!(
            sources(
                "conf.cpython-311.pyc",
                &["conf.cgi", "conf.py", "conf.pyc", ".conf"]
            ),
            ["conf.cgi", "conf.py", ".conf"]
        );
        assert_eq!(
            sources("toolcpython-311.pyc", &["tool", "tool.py"]),
            ["tool"]
        );
        assert_eq!(sources("hidden.cpython-311.pyc", &[".hidden"]), [".hidden"]);
        assert_eq!(
            sources(
                "mod.Class.f-2.py311.nbi",
                &["mod.py", "mod.Class.py", "other.py"]
            ),
            ["mod.py", "mod.Class.py"]
        );
        assert_eq!(sources("guf-mod.f-2.py311.nbi", &["mod.py"]), ["mod.py"]);
        assert_eq!(
            sources("t.cpython-311-pytest-8.3.4.pyc", &["t.py", "t.cgi"]),
            ["t.py"]
        );
    }

    proptest! {
        #[test]
        fn what_is_built_comes_apart(stem in proptest::collection::vec(any::<u8>().prop_filter("no separator", |byte| !matches!(byte, 0 | b'/')), 1..20), opt in proptest::option::of("[a-z0-9]{1,6}")) {
            let mut name = stem.clone();
            name.extend_from_slice(b".cpython-311");
            if let Some(opt) = &opt {
                name.extend_from_slice(format!(".opt-{opt}").as_bytes());
            }
            name.extend_from_slice(b".pyc");
            let parsed = parse_in_pycache(&name).expect("a cache entry");
            prop_assert_eq!(parsed.stem, &stem[..]);
            prop_assert_eq!(parsed.opt, opt.as_ref().map(String::as_bytes));
            let mut source = stem;
            source.extend_from_slice(b".py");
            prop_assert!(parsed.belongs_to(&source));
        }

        #[test]
        fn a_listing_finds_what_is_there_in_any_order(names in proptest::collection::vec("[ab.]{1,3}", 0..12), asked in proptest::collection::vec(("[ab.]{0,2}", "[ab.]{0,2}"), 1..20)) {
            let listing = Listing::new(names.iter().map(String::as_bytes).collect());
            for (first, second) in asked {
                let there = names.contains(&format!("{first}{second}"));
                let found = listing.find([first.as_bytes(), second.as_bytes()]);
                prop_assert_eq!(found.is_some(), there, "{}{}", first, second);
            }
        }

        #[test]
        fn no_bytes_panic(name in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse_in_pycache(&name).map(|parsed| parsed.belongs_to(&name));
            let _ = parse_beside(&name);
        }
    }
}
