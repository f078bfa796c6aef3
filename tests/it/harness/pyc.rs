//! Headers and stats as interpreters compare them. Written for the tests, on purpose without our
//! library: the precondition of a test must not rest on the code under test.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::interpreter::Interpreter;

/// The header of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Python 2.7: the second alone.
    Second { mtime: u32 },
    /// 12 bytes, or 16 bytes with flags 0.
    Stamp { mtime: u32, size: u32 },
    /// 16 bytes with flags 1 or 3.
    Hash { checked: bool, hash: [u8; 8] },
}

/// Decodes the first bytes of an entry made by this interpreter.
pub fn header(entry: &[u8], interpreter: &Interpreter) -> Option<Header> {
    let word = |at: usize| {
        let bytes: [u8; 4] = entry.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    match interpreter.version {
        (2, _) => Some(Header::Second { mtime: word(4)? }),
        (3, ..=6) if !interpreter.pypy => Some(Header::Stamp {
            mtime: word(4)?,
            size: word(8)?,
        }),
        _ => match word(4)? {
            0 => Some(Header::Stamp {
                mtime: word(8)?,
                size: word(12)?,
            }),
            flags @ (1 | 3) => Some(Header::Hash {
                checked: flags == 3,
                hash: entry.get(8..16)?.try_into().ok()?,
            }),
            _ => None,
        },
    }
}

/// What a timestamp header must hold for a source as it is on disk now.
pub fn stamp(source: &Path) -> Option<(u32, u32)> {
    let stat = fs::metadata(source).ok()?;
    #[expect(clippy::cast_precision_loss, reason = "the interpreters compute so")]
    let seconds = stat.mtime() as f64 + 1e-9 * stat.mtime_nsec() as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "masked to 32 bits by the interpreters too"
    )]
    let stamp = (seconds as i64 as u32, stat.size() as u32);
    Some(stamp)
}

/// Whether an entry's timestamp header names the source as it is on disk now: the interpreter
/// would load it. False where there is no such entry.
pub fn matches(entry: &Path, source: &Path, interpreter: &Interpreter) -> bool {
    let (Ok(bytes), Some((mtime, size))) = (fs::read(entry), stamp(source)) else {
        return false;
    };
    match header(&bytes, interpreter) {
        Some(Header::Second { mtime: recorded }) => recorded == mtime,
        Some(Header::Stamp {
            mtime: recorded,
            size: length,
        }) => (recorded, length) == (mtime, size),
        _ => false,
    }
}
