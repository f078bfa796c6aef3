//! The header of an entry, and whether its interpreter accepts it for a source.

use super::dialect::{Dialect, Layout, Loader, Sip};
use super::hash::source_hash;
use crate::fsys::{Stat, Time};

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The four bytes every entry begins with.
    pub magic: [u8; 4],
    /// PEP 552's flags; 0 where the layout has none.
    pub flags: u32,
    /// What the entry is validated by.
    pub validation: Validation,
}

/// What an entry is validated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// Recorded mtime (seconds, 32 bits) and, but for Python 2, size (bytes, 32 bits).
    Stamp {
        /// Recorded mtime.
        mtime: u32,
        /// Recorded size.
        size: Option<u32>,
    },
    /// Source hash; unchecked ones are accepted whatever the source is.
    Hash {
        /// Recorded hash.
        hash: [u8; 8],
        /// Whether the interpreter compares it.
        checked: bool,
    },
}

/// What an interpreter says to a header without reading the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Loaded as it is.
    Accepted,
    /// Compiled anew.
    Rejected(Mismatch),
    /// Depends on the source's hash.
    Hash { hash: [u8; 8], checked: bool },
}

/// Why an interpreter does not load an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Too short for a header, or without the mark of one.
    Garbage,
    /// Beside its source: a magic number that no Python 2 has.
    Magic,
    /// Flags that no interpreter knows.
    Flags,
    /// Another source mtime.
    Mtime,
    /// Another source size.
    Size,
    /// Another source hash.
    Hash,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl Header {
    /// Decodes the head of an entry (its first 16 bytes or all it has).
    pub fn decode(head: &[u8], layout: Layout) -> Option<Self> {
        let magic: [u8; 4] = head.get(..4)?.try_into().ok()?;
        let (flags, validation) = match layout {
            Layout::Mtime => (
                0,
                Validation::Stamp {
                    mtime: word(head, 4)?,
                    size: None,
                },
            ),
            Layout::MtimeSize => (
                0,
                Validation::Stamp {
                    mtime: word(head, 4)?,
                    size: Some(word(head, 8)?),
                },
            ),
            Layout::Flags => {
                let flags = word(head, 4)?;
                let validation = if flags & 1 == 0 {
                    Validation::Stamp {
                        mtime: word(head, 8)?,
                        size: Some(word(head, 12)?),
                    }
                } else {
                    let hash = head.get(8..16)?.try_into().ok()?;
                    Validation::Hash {
                        hash,
                        checked: flags & 2 != 0,
                    }
                };
                (flags, validation)
            }
        };
        Some(Self {
            magic,
            flags,
            validation,
        })
    }

    /// Whether the interpreter loads an entry with this header for a source with this stat.
    pub(super) fn answer(&self, dialect: &Dialect, source: &Stat) -> Answer {
        if self.magic[2..] != *b"\r\n" {
            return Answer::Rejected(Mismatch::Garbage);
        }
        if self.flags > 3 {
            return Answer::Rejected(Mismatch::Flags);
        }
        match self.validation {
            // pytest knows flags 0 up to 9.1 and 3 from 9.2 on; 1 and 2 are none of its own.
            _ if matches!(dialect.loader, Loader::Pytest { .. }) && matches!(self.flags, 1 | 2) => {
                Answer::Rejected(Mismatch::Flags)
            }
            Validation::Hash { hash, checked } => Answer::Hash { hash, checked },
            Validation::Stamp { mtime, size } => {
                let seconds = if dialect.float_mtime {
                    float_seconds(source.mtime)
                } else {
                    source.mtime.sec
                };
                // Python 2 reads the recorded number with its sign, and masks the source's.
                let signed = dialect.layout == Layout::Mtime && mtime > i32::MAX as u32;
                if signed || !equal(mtime, seconds, dialect.masked) {
                    Answer::Rejected(Mismatch::Mtime)
                } else if size.is_some_and(|size| !equal(size, source.size as i64, dialect.masked))
                {
                    Answer::Rejected(Mismatch::Size)
                } else {
                    Answer::Accepted
                }
            }
        }
    }

    /// Whether the recorded hash is that of `source`.
    pub(super) fn hash_is_of(&self, hash: [u8; 8], sip: Sip, source: &[u8]) -> bool {
        source_hash(sip, self.magic, source) == hash
    }
}

/// A recorded 32-bit number against the source's own.
fn equal(recorded: u32, actual: i64, masked: bool) -> bool {
    if masked {
        recorded == actual as u32
    } else {
        i64::from(recorded) == actual
    }
}

/// `int(st_mtime)` as Python computes it: seconds plus 1e-9 times nanoseconds as a double,
/// truncated toward zero. It rounds up to the next second just before it.
pub fn float_seconds(time: Time) -> i64 {
    (time.sec as f64 + 1e-9 * f64::from(time.nsec)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_float_rounds_up_just_before_the_second() {
        let second = |nsec| {
            float_seconds(Time {
                sec: 1_700_000_000,
                nsec,
            })
        };
        assert_eq!(second(999_999_880), 1_700_000_000);
        assert_eq!(second(999_999_881), 1_700_000_001);
        assert_eq!(
            float_seconds(Time {
                sec: -2,
                nsec: 500_000_000
            }),
            -1
        );
    }

    #[test]
    fn no_length_panics() {
        for length in 0..16 {
            let head = vec![0; length];
            for layout in [Layout::Mtime, Layout::MtimeSize, Layout::Flags] {
                let _ = Header::decode(&head, layout);
            }
        }
        assert_eq!(Header::decode(&[0; 15], Layout::Flags), None);
        assert!(Header::decode(&[0; 8], Layout::Mtime).is_some());
    }
}
