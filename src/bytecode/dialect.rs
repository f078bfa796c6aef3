//! Which interpreter wrote an entry, and how that interpreter validates what it reads.

use super::name::{EntryName, Kind};

/// The layout of an entry's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// 8 bytes: magic, mtime (Python 2).
    Mtime,
    /// 12 bytes: magic, mtime, size (CPython 3.3 to 3.6, pytest before 6.2).
    MtimeSize,
    /// 16 bytes: magic, flags, then mtime and size or a hash (PEP 552).
    Flags,
}

/// The SipHash an interpreter keys its source hashes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sip {
    /// SipHash-1-3: CPython 3.11 and later.
    OneThree,
    /// SipHash-2-4: CPython up to 3.10, PyPy.
    TwoFour,
}

/// Who else stands between the interpreter and the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loader {
    /// The interpreter's own import.
    Import,
    /// pytest's assertion rewriting, which keeps entries of its own.
    Pytest {
        /// Whether it leaves in an entry the path it was compiled for (before 9.2).
        keeps_path: bool,
    },
}

/// How one interpreter validates its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Header layout.
    pub layout: Layout,
    /// Whether the source's mtime goes through a C double before it is cut to whole seconds.
    pub float_mtime: bool,
    /// Whether the source's mtime and size are masked to 32 bits before they are compared. Where
    /// they are not, a larger or negative one never matches.
    pub masked: bool,
    /// Keyed hash of PEP 552, where there is one.
    pub sip: Option<Sip>,
    /// The one magic number of the releases, where it is known. It acquits nobody: pre-releases and
    /// patched interpreters have others under the same tag, and whoever wrote an entry reads it.
    pub magic: Option<u16>,
    /// Whose entries these are.
    pub loader: Loader,
}

/// Magic number of the released CPython 3.`minor`; 3.5 changed it between patch releases.
fn cpython_magic(minor: u32) -> Option<u16> {
    Some(match minor {
        3 => 3230,
        4 => 3310,
        6 => 3379,
        7 => 3394,
        8 => 3413,
        9 => 3425,
        10 => 3439,
        11 => 3495,
        12 => 3531,
        13 => 3571,
        _ => return None,
    })
}

/// Magic number of CPython 2.7.
const MAGIC_27: u16 = 62211;

/// Whether a Python 1 or 2 has this magic number and so may read entries beside their sources: the
/// first of CPython's own list is the lowest of them, and Python 3's are all far below it.
pub(super) fn before_python_3(magic: u16) -> bool {
    magic >= 20_121
}

/// The magic number at the head of an entry; `None` without the mark that follows it.
pub(super) fn magic(head: &[u8]) -> Option<u16> {
    match head {
        [low, high, b'\r', b'\n', ..] => Some(u16::from_le_bytes([*low, *high])),
        _ => None,
    }
}

/// `cpython-311` is (3, 11): one digit of major version, the rest is the minor one.
fn version(digits: &[u8]) -> Option<(u32, u32)> {
    let text = std::str::from_utf8(digits).ok()?;
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((
        text.get(..1)?.parse().ok()?,
        text.get(1..end)?.parse().ok()?,
    ))
}

impl Dialect {
    /// The dialect of an entry by the tag in its name, or for an entry beside its source by the
    /// magic in `head`. `None` for an interpreter that is not known: such an entry is judged by
    /// times alone.
    pub fn of(name: &EntryName<'_>, head: &[u8]) -> Option<Self> {
        match name.kind {
            Kind::Companion | Kind::Leftover => None,
            Kind::Beside => Self::by_magic(head),
            Kind::Cached => {
                let interpreter = Self::by_tag(name.tag)?.that_wrote(head)?;
                match name.runner {
                    None => Some(interpreter),
                    Some(runner) => interpreter.under_pytest(runner),
                }
            }
        }
    }

    fn by_tag(tag: &[u8]) -> Option<Self> {
        let (pypy, digits) = if let Some(digits) = tag.strip_prefix(b"cpython-") {
            (false, digits)
        } else {
            (true, tag.strip_prefix(b"pypy")?)
        };
        match version(digits)? {
            (2, 7) if !pypy => Some(Self::python_2()),
            (3, minor @ 3..=6) if !pypy => Some(Self {
                layout: Layout::MtimeSize,
                float_mtime: true,
                masked: false,
                sip: None,
                magic: cpython_magic(minor),
                loader: Loader::Import,
            }),
            (3, minor @ 7..) => Some(Self {
                layout: Layout::Flags,
                float_mtime: true,
                masked: true,
                sip: Some(if minor >= 11 && !pypy {
                    Sip::OneThree
                } else {
                    Sip::TwoFour
                }),
                magic: if pypy { None } else { cpython_magic(minor) },
                loader: Loader::Import,
            }),
            _ => None,
        }
    }

    /// What is known of the interpreter with this tag that wrote `head`. Where the magic number is not
    /// that of the releases, the hash may be another one (3.11 moved to SipHash-1-3 on its way), and
    /// in two versions the layout: 3.3 added the size with magic 3210, 3.7 the flags with 3392.
    fn that_wrote(self, head: &[u8]) -> Option<Self> {
        let (Some(release), Some(magic)) = (self.magic, magic(head)) else {
            return Some(self);
        };
        if magic == release {
            return Some(self);
        }
        let layout_moved = [3, 7].map(cpython_magic).contains(&Some(release));
        (!layout_moved).then_some(Self { sip: None, ..self })
    }

    fn python_2() -> Self {
        Self {
            layout: Layout::Mtime,
            float_mtime: false,
            masked: true,
            sip: None,
            magic: Some(MAGIC_27),
            loader: Loader::Import,
        }
    }

    fn by_magic(head: &[u8]) -> Option<Self> {
        (magic(head)? == MAGIC_27).then(Self::python_2)
    }

    /// `pytest-8.3.4`: pytest before 6.2 writes 12 bytes, from 6.2 on 16. 9.2 moved to hashes,
    /// which the flags in the header tell.
    fn under_pytest(self, runner: &[u8]) -> Option<Self> {
        let name = runner.get(..7)?;
        if !name.eq_ignore_ascii_case(b"pytest-") {
            return None;
        }
        let version = std::str::from_utf8(&runner[7..]).ok()?;
        let mut parts = version.split(|c: char| !c.is_ascii_digit());
        let major: u32 = parts.next()?.parse().ok()?;
        let minor: u32 = parts.next()?.parse().ok()?;
        let layout = if (major, minor) < (6, 2) {
            Layout::MtimeSize
        } else {
            Layout::Flags
        };
        Some(Self {
            layout,
            float_mtime: true,
            masked: true,
            loader: Loader::Pytest {
                keeps_path: (major, minor) < (9, 2),
            },
            ..self
        })
    }
}
