//! The rule: racily valid bytecode.
//!
//! git calls an index entry racily clean when its recorded stat matches although its file may have
//! changed after it was recorded (Documentation/technical/racy-git). Bytecode has the same trouble
//! and gets the same answer. An entry that its interpreter accepts is settled if it was written
//! later than its source was touched, by more than compiling can have taken.

use std::io;

use bstr::ByteSlice as _;

use super::State;
use super::dialect::{Dialect, Loader, before_python_3, magic};
use super::header::{Answer, Header, Mismatch};
use super::name::{EntryName, Kind};
use super::reason::Reason;
use crate::fsys::{Stat, Time};

const SECOND: i128 = 1_000_000_000;

/// The stats of an entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryFacts {
    /// Of the entry itself.
    pub lstat: Stat,
    /// Of what it points to, where it is a symlink.
    pub stat: Option<Stat>,
}

impl EntryFacts {
    /// When it was written: the earliest of its times, that of its birth included, where it is a
    /// symlink also of those of what it points to. Touching it moves the others, and interpreters
    /// write each entry into a file of its own.
    pub fn written(&self) -> Time {
        let earliest = |stat: &Stat| {
            let changed = stat.mtime.min(stat.ctime);
            stat.born.map_or(changed, |born| changed.min(born))
        };
        let own = earliest(&self.lstat);
        self.stat
            .as_ref()
            .map_or(own, |stat| own.min(earliest(stat)))
    }
}

/// The stats of a source.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceFacts {
    /// Of the source, symlinks followed.
    pub stat: Stat,
    /// When the way to it last changed: the latest ctime of the symlinks passed, or the time at which a
    /// directory behind them (for a prefix: any) can have got its name.
    pub way_touched: Option<Time>,
}

/// What a verdict may have to look at, asked for only when it matters.
pub trait Evidence {
    /// The first bytes of the entry: 16, or all it has.
    ///
    /// # Errors
    /// What reading it gives.
    fn head(&mut self) -> io::Result<Vec<u8>>;
    /// The whole entry.
    ///
    /// # Errors
    /// What reading it gives.
    fn entry(&mut self) -> io::Result<Vec<u8>>;
    /// The whole source.
    ///
    /// # Errors
    /// What reading it gives.
    fn source(&mut self) -> io::Result<Vec<u8>>;
    /// The absolute paths of the source at present: as reached and resolved.
    fn present_paths(&mut self) -> Vec<Vec<u8>>;
    /// The latest ctime of the directories above the source, up to that of the file system.
    fn place_touched(&mut self) -> Time;
}

/// A state and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The state.
    pub state: State,
    /// Why.
    pub reason: Reason,
}

impl Verdict {
    fn new(state: State, reason: Reason) -> Self {
        Self { state, reason }
    }

    /// The verdict over an entry without any source.
    pub fn orphan(reason: Reason) -> Self {
        Self::new(State::Orphan, reason)
    }
}

/// The three times the rule compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The earliest of the entry's times.
    pub written: Time,
    /// The latest ctime of the source, or the last change of the way to it if that is later.
    pub touched: Time,
    /// How long the read-to-write of the compile can have taken, in ns.
    pub margin: i128,
}

impl Timeline {
    /// Nanoseconds from touching the source to writing the entry; negative if it was older.
    pub fn after(&self) -> i128 {
        self.written.as_nanos() - self.touched.as_nanos()
    }

    /// Whether the entry was written later than the source was touched by more than the margin.
    pub fn settles(&self) -> bool {
        self.after() > self.margin
    }
}

/// The times that the rule compares for one entry of one source.
pub fn timeline(name: &EntryName<'_>, entry: &EntryFacts, source: &SourceFacts) -> Timeline {
    Timeline {
        written: entry.written(),
        touched: touched(source),
        margin: margin(name, entry, source),
    }
}

fn touched(source: &SourceFacts) -> Time {
    source
        .way_touched
        .map_or(source.stat.ctime, |links| links.max(source.stat.ctime))
}

/// When machine code that other content of this source went into can have been written at the
/// latest, in ns since 1970. Compiling to machine code takes seconds: it gets the margin of tools.
pub fn outdates_until(source: &SourceFacts) -> i128 {
    let coarse = i128::from(whole_seconds(&source.stat));
    touched(source).as_nanos() + tool_margin(source) + 2 * SECOND * coarse
}

fn tool_margin(source: &SourceFacts) -> i128 {
    10 * SECOND + i128::from(source.stat.size) * SECOND / 1024
}

/// How long compiling can have taken, in ns. Plain compiling was never seen below 100 KiB/s, a test
/// runner's rewriting under coverage and PyPy at 2 KiB/s. File systems that keep whole seconds and
/// clocks of other devices are each given 2 s more.
fn margin(name: &EntryName<'_>, entry: &EntryFacts, source: &SourceFacts) -> i128 {
    let compile = if name.by_tool() {
        tool_margin(source)
    } else {
        2 * SECOND + i128::from(source.stat.size) * SECOND / (16 * 1024)
    };
    let written = entry.stat.unwrap_or(entry.lstat);
    let coarse =
        whole_seconds(&source.stat) || whole_seconds(&written) || whole_seconds(&entry.lstat);
    let elsewhere = written.dev != source.stat.dev || entry.lstat.dev != source.stat.dev;
    compile + 2 * SECOND * (i128::from(coarse) + i128::from(elsewhere))
}

fn whole_seconds(stat: &Stat) -> bool {
    stat.mtime.nsec == 0 && stat.ctime.nsec == 0
}

/// Whether times alone settle the entry, so that no header need be read.
pub fn settled_by_times(name: &EntryName<'_>, entry: &EntryFacts, source: &SourceFacts) -> bool {
    timeline(name, entry, source).settles()
}

/// Judges one entry of one source. `read_header`: even where times settle, so that a rejected entry
/// is called so.
pub fn judge(
    name: &EntryName<'_>,
    entry: &EntryFacts,
    source: &SourceFacts,
    evidence: &mut dyn Evidence,
    read_header: bool,
) -> Verdict {
    let times = timeline(name, entry, source);
    let settled = || {
        Verdict::new(
            State::Settled,
            Reason::WrittenLater {
                after: times.after(),
            },
        )
    };
    if times.settles() && !read_header {
        return moved(name, &times, evidence).unwrap_or_else(settled);
    }
    if matches!(name.kind, Kind::Companion | Kind::Leftover) {
        return by_times(&times);
    }
    let head = match evidence.head() {
        Ok(head) => head,
        Err(error) => return unreadable("entry", &error),
    };
    let Some(dialect) = Dialect::of(name, &head) else {
        // While the source exists no Python 3 reads an entry beside it.
        return match magic(&head) {
            None if name.kind == Kind::Beside => {
                Verdict::new(State::Rejected, Reason::Mismatch(Mismatch::Garbage))
            }
            Some(magic) if name.kind == Kind::Beside && !before_python_3(magic) => {
                Verdict::new(State::Rejected, Reason::Mismatch(Mismatch::Magic))
            }
            _ => by_times(&times),
        };
    };
    let Some(header) = Header::decode(&head, dialect.layout) else {
        return Verdict::new(State::Rejected, Reason::Mismatch(Mismatch::Garbage));
    };
    match header.answer(&dialect, &source.stat) {
        Answer::Rejected(mismatch) => Verdict::new(State::Rejected, Reason::Mismatch(mismatch)),
        Answer::Accepted => moved(name, &times, evidence).unwrap_or_else(|| by_times(&times)),
        Answer::Hash { hash, checked } => {
            let Some(sip) = dialect.sip else {
                return by_times(&times);
            };
            match evidence.source() {
                Err(error) => unreadable("source", &error),
                Ok(bytes) if header.hash_is_of(hash, sip, &bytes) => {
                    Verdict::new(State::Settled, Reason::HashEqual)
                }
                Ok(_) if checked => Verdict::new(State::Rejected, Reason::Mismatch(Mismatch::Hash)),
                Ok(_) => Verdict::new(State::Stale, Reason::HashDiffers),
            }
        }
    }
}

fn by_times(times: &Timeline) -> Verdict {
    let after = times.after();
    if times.settles() {
        Verdict::new(State::Settled, Reason::WrittenLater { after })
    } else if after < 0 {
        Verdict::new(State::Racy, Reason::TouchedLater { after: -after })
    } else {
        Verdict::new(
            State::Racy,
            Reason::WithinMargin {
                after,
                margin: times.margin,
            },
        )
    }
}

/// What cannot be read cannot be proved right.
fn unreadable(what: &'static str, error: &io::Error) -> Verdict {
    Verdict::new(
        State::Racy,
        Reason::Unreadable {
            what,
            error: error.to_string(),
        },
    )
}

/// An entry of pytest before 9.2 that was compiled for another path. Its body is read only where a
/// directory above the source was touched after the entry was written: renaming one of them does
/// that, and nothing else changes the path without touching the source.
fn moved(name: &EntryName<'_>, times: &Timeline, evidence: &mut dyn Evidence) -> Option<Verdict> {
    if !keeps_its_path(name) || times.written > evidence.place_touched() {
        return None;
    }
    let body = match evidence.entry() {
        Ok(body) => body,
        Err(error) => return Some(unreadable("entry", &error)),
    };
    let found = evidence
        .present_paths()
        .iter()
        .any(|path| holds_string(&body, path) || holds_string(&body, &surrogates(path)));
    (!found).then(|| Verdict::new(State::Stale, Reason::OtherPath))
}

/// Whether a marshalled body holds this string and not one that only ends with it: marshal writes
/// the length in front, as one byte (short ASCII) or four.
fn holds_string(body: &[u8], string: &[u8]) -> bool {
    let Ok(length) = u32::try_from(string.len()) else {
        return false;
    };
    body.find_iter(string).any(|at| {
        let before = &body[..at];
        before.ends_with(&length.to_le_bytes())
            || u8::try_from(length).is_ok_and(|short| before.ends_with(&[short]))
    })
}

/// A path as Python 3 marshals it: bytes that are no UTF-8 become lone surrogates (PEP 383), which
/// marshal writes in three bytes each.
fn surrogates(path: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.extend_from_slice(chunk.valid().as_bytes());
        for &byte in chunk.invalid() {
            text.extend([0xed, 0xb0 | (byte >> 6), 0x80 | (byte & 0x3f)]);
        }
    }
    text
}

fn keeps_its_path(name: &EntryName<'_>) -> bool {
    name.runner.is_some()
        && Dialect::of(name, &[])
            .is_some_and(|dialect| dialect.loader == Loader::Pytest { keeps_path: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytecode::Layout;
    use crate::bytecode::parse_in_pycache;

    /// Evidence that is all in memory.
    #[derive(Default)]
    struct Desk {
        entry: Vec<u8>,
        source: Vec<u8>,
        path: Vec<u8>,
        place: Time,
        heads: u32,
    }

    impl Evidence for Desk {
        fn head(&mut self) -> io::Result<Vec<u8>> {
            self.heads += 1;
            Ok(self.entry.iter().copied().take(16).collect())
        }
        fn entry(&mut self) -> io::Result<Vec<u8>> {
            Ok(self.entry.clone())
        }
        fn source(&mut self) -> io::Result<Vec<u8>> {
            Ok(self.source.clone())
        }
        fn present_paths(&mut self) -> Vec<Vec<u8>> {
            vec![self.path.clone()]
        }
        fn place_touched(&mut self) -> Time {
            self.place
        }
    }

    const TOUCHED: i64 = 1_700_000_000;

    fn source(size: u64) -> SourceFacts {
        let time = Time {
            sec: TOUCHED,
            nsec: 5,
        };
        SourceFacts {
            stat: Stat {
                size,
                mtime: time,
                ctime: time,
                ..Stat::default()
            },
            way_touched: None,
        }
    }

    fn entry(after_ns: i128) -> EntryFacts {
        let ns = i128::from(TOUCHED) * SECOND + 5 + after_ns;
        let time = Time {
            sec: (ns / SECOND) as i64,
            nsec: (ns % SECOND) as u32,
        };
        EntryFacts {
            lstat: Stat {
                mtime: time,
                ctime: time,
                ..Stat::default()
            },
            stat: None,
        }
    }

    fn stamp(magic: u16, flags: u32, mtime: u32, size: u32) -> Vec<u8> {
        let mut head = magic.to_le_bytes().to_vec();
        head.extend(b"\r\n");
        for number in [flags, mtime, size] {
            head.extend(number.to_le_bytes());
        }
        head
    }

    fn state(
        name: &str,
        entry: &EntryFacts,
        source: &SourceFacts,
        desk: &mut Desk,
        read: bool,
    ) -> State {
        judge(
            &parse_in_pycache(name.as_bytes()).expect("an entry"),
            entry,
            source,
            desk,
            read,
        )
        .state
    }

    #[test]
    fn the_margin_is_what_separates_racy_from_settled() {
        let mut desk = Desk {
            entry: stamp(3495, 0, TOUCHED as u32, 16 * 1024),
            ..Desk::default()
        };
        let source = source(16 * 1024);
        let name = "m.cpython-311.pyc";
        assert_eq!(
            state(name, &entry(3 * SECOND), &source, &mut desk, false),
            State::Racy
        );
        assert_eq!(
            state(name, &entry(3 * SECOND + 1), &source, &mut desk, false),
            State::Settled
        );
        assert_eq!(desk.heads, 1, "times that settle need no header");
        let runner = "m.cpython-311-pytest-8.3.4.pyc";
        assert_eq!(
            state(runner, &entry(26 * SECOND), &source, &mut desk, false),
            State::Racy
        );
        assert_eq!(
            state(runner, &entry(26 * SECOND + 1), &source, &mut desk, false),
            State::Settled
        );
    }

    #[test]
    fn whole_seconds_and_other_devices_widen_it() {
        let name = parse_in_pycache(b"m.cpython-311.pyc").expect("an entry");
        let mut source = source(0);
        assert_eq!(timeline(&name, &entry(0), &source).margin, 2 * SECOND);
        source.stat.dev = 7;
        assert_eq!(timeline(&name, &entry(0), &source).margin, 4 * SECOND);
        source.stat.mtime.nsec = 0;
        source.stat.ctime.nsec = 0;
        assert_eq!(timeline(&name, &entry(0), &source).margin, 6 * SECOND);
    }

    #[test]
    fn links_and_restored_mtimes_count() {
        let name = parse_in_pycache(b"m.cpython-311.pyc").expect("an entry");
        let mut source = source(0);
        source.way_touched = Some(Time {
            sec: TOUCHED + 100,
            nsec: 0,
        });
        assert!(!settled_by_times(&name, &entry(50 * SECOND), &source));
        source.way_touched = None;
        let mut restored = entry(50 * SECOND);
        restored.lstat.mtime.sec = TOUCHED - 10;
        assert!(!settled_by_times(&name, &restored, &source));
    }

    #[test]
    fn hashes_prove() {
        let text = b"V=1\n".to_vec();
        let hash = [0x0b, 0x1b, 0x30, 0x22, 0x3e, 0xb1, 0x80, 0x61];
        for (flags, equal, differs) in [
            (1, State::Settled, State::Stale),
            (3, State::Settled, State::Rejected),
        ] {
            let mut entry_bytes = stamp(3495, flags, 0, 0);
            entry_bytes[8..].copy_from_slice(&hash);
            let mut desk = Desk {
                entry: entry_bytes,
                source: text.clone(),
                ..Desk::default()
            };
            let name = "m.cpython-311.pyc";
            assert_eq!(state(name, &entry(0), &source(4), &mut desk, false), equal);
            desk.source = b"V=2\n".to_vec();
            assert_eq!(
                state(name, &entry(0), &source(4), &mut desk, false),
                differs
            );
        }
    }

    #[test]
    fn what_the_interpreter_will_not_load_is_rejected() {
        let name = "m.cpython-311.pyc";
        let fresh = entry(0);
        let source = source(4);
        let good = stamp(3495, 0, TOUCHED as u32, 4);
        let judge_bytes = |bytes: Vec<u8>| {
            state(
                name,
                &fresh,
                &source,
                &mut Desk {
                    entry: bytes,
                    ..Desk::default()
                },
                false,
            )
        };
        assert_eq!(judge_bytes(good.clone()), State::Racy);
        assert_eq!(judge_bytes(stamp(3495, 2, TOUCHED as u32, 4)), State::Racy);
        for bytes in [
            stamp(3495, 0, TOUCHED as u32 + 1, 4),
            stamp(3495, 0, TOUCHED as u32, 5),
            stamp(3495, 4, TOUCHED as u32, 4),
            good[..15].to_vec(),
            Vec::new(),
            vec![7; 64],
        ] {
            assert_eq!(judge_bytes(bytes), State::Rejected);
        }
    }

    /// Pre-releases and patched interpreters have other magic numbers under the same tag.
    #[test]
    fn another_magic_number_acquits_nobody() {
        let judged = |tag: &str, bytes: Vec<u8>| {
            let name = format!("m.{tag}.pyc");
            let mut desk = Desk {
                entry: bytes,
                source: b"V=1\n".to_vec(),
                ..Desk::default()
            };
            state(&name, &entry(0), &source(4), &mut desk, false)
        };
        let second = TOUCHED as u32;
        assert_eq!(
            judged("cpython-313", stamp(3570, 0, second, 4)),
            State::Racy
        );
        assert_eq!(
            judged("cpython-313", stamp(3570, 0, second + 1, 4)),
            State::Rejected
        );
        // 3.11 changed its hash on the way to the release, and 3.7 its layout.
        assert_eq!(judged("cpython-311", stamp(3455, 1, 0, 0)), State::Racy);
        let older = [&stamp(3391, second, 4, 0)[..12], b"\xe3\0\0\0"].concat();
        assert_eq!(judged("cpython-37", older), State::Racy);
    }

    #[test]
    fn a_moved_runner_entry_is_stale() {
        let name = "t.cpython-311-pytest-7.4.4.pyc";
        let mut bytes = stamp(3495, 0, TOUCHED as u32, 4);
        bytes.extend(b"...\xfa\x0f/old/tests/t.py....");
        let mut desk = Desk {
            entry: bytes,
            path: b"/new/tests/t.py".to_vec(),
            ..Desk::default()
        };
        let late = entry(1000 * SECOND);
        assert_eq!(
            state(name, &late, &source(4), &mut desk, false),
            State::Settled
        );
        desk.place = Time {
            sec: TOUCHED + 2000,
            nsec: 0,
        };
        assert_eq!(
            state(name, &late, &source(4), &mut desk, false),
            State::Stale
        );
        desk.path = b"/old/tests/t.py".to_vec();
        assert_eq!(
            state(name, &late, &source(4), &mut desk, false),
            State::Settled
        );
        desk.path = b"/tests/t.py".to_vec();
        assert_eq!(
            state(name, &late, &source(4), &mut desk, false),
            State::Stale,
            "a path that only ends with the present one"
        );
        let newer = "t.cpython-311-pytest-9.2.0.pyc";
        desk.path = b"/new/tests/t.py".to_vec();
        assert_eq!(
            state(newer, &late, &source(4), &mut desk, false),
            State::Settled
        );
    }

    /// Paths as `marshal.dumps` of CPython 3.11 and 2.7 writes them.
    #[test]
    fn marshalled_paths_are_found() {
        // marshal.dumps(os.fsdecode(b'/a/\xff/\xc3\xa9.py'))
        let odd = b"u\x0c\x00\x00\x00/a/\xed\xb3\xbf/\xc3\xa9.py";
        let path = b"/a/\xff/\xc3\xa9.py";
        assert!(holds_string(odd, &surrogates(path)));
        assert!(!holds_string(odd, path));
        // marshal.dumps('/a/m.py') of 3.11, then of 2.7.
        assert!(holds_string(b"\xfa\x07/a/m.py", b"/a/m.py"));
        assert!(holds_string(b"s\x07\x00\x00\x00/a/m.py", b"/a/m.py"));
        assert!(!holds_string(b"\xfa\x09/x/a/m.py", b"/a/m.py"));
        assert!(!holds_string(b"", b"/a/m.py"));
    }

    /// The first 24 bytes of what `py_compile` of each interpreter wrote for `V=1\n` with the mtime
    /// 1,700,000,000.
    #[test]
    fn entries_of_real_interpreters_are_accepted() {
        let stamps = [
            (
                "cpython-36",
                "330d0d0a00f1536504000000e30000000000000000000000",
            ),
            (
                "cpython-37",
                "420d0d0a0000000000f1536504000000e300000000000000",
            ),
            (
                "cpython-38",
                "550d0d0a0000000000f1536504000000e300000000000000",
            ),
            (
                "cpython-39",
                "610d0d0a0000000000f1536504000000e300000000000000",
            ),
            (
                "cpython-310",
                "6f0d0d0a0000000000f1536504000000e300000000000000",
            ),
            (
                "cpython-311",
                "a70d0d0a0000000000f1536504000000e300000000000000",
            ),
            (
                "cpython-312",
                "cb0d0d0a0000000000f1536504000000e300000000000000",
            ),
            (
                "cpython-313",
                "f30d0d0a0000000000f1536504000000e300000000000000",
            ),
            ("pypy39", "50010d0a0000000000f15365040000006300000000000000"),
        ];
        let bytes = |hex: &str| -> Vec<u8> {
            (0..hex.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex"))
                .collect()
        };
        for (tag, hex) in stamps {
            let name = format!("m.{tag}.pyc");
            let judged = |size, entry_bytes: &[u8]| {
                let mut desk = Desk {
                    entry: entry_bytes.to_vec(),
                    ..Desk::default()
                };
                state(&name, &entry(0), &source(size), &mut desk, false)
            };
            assert_eq!(judged(4, &bytes(hex)), State::Racy, "{tag}");
            assert_eq!(judged(5, &bytes(hex)), State::Rejected, "{tag}");
            // The size is masked to 32 bits but for CPython up to 3.6.
            let wrapped = judged((1 << 32) + 4, &bytes(hex));
            let rejects = tag == "cpython-36";
            assert_eq!(wrapped == State::Rejected, rejects, "{tag}");
            let layout = Dialect::of(&parse_in_pycache(name.as_bytes()).expect("an entry"), &[]);
            let length = match layout.expect("known").layout {
                Layout::Mtime => 8,
                Layout::MtimeSize => 12,
                Layout::Flags => 16,
            };
            for cut in 0..length {
                assert_eq!(
                    judged(4, &bytes(hex)[..cut]),
                    State::Rejected,
                    "{tag} {cut}"
                );
            }
        }
        let hashes = [
            ("cpython-37", "420d0d0a0300000079c8f502b2f75300"),
            ("cpython-310", "6f0d0d0a03000000cdd8b095af09a871"),
            ("cpython-311", "a70d0d0a030000000b1b30223eb18061"),
            ("cpython-313", "f30d0d0a030000001d53fadb54b7a107"),
            ("pypy39", "50010d0a03000000122a6b20a94caca1"),
        ];
        for (tag, hex) in hashes {
            for (flags, text, expected) in [
                (3, "V=1\n", State::Settled),
                (3, "V=2\n", State::Rejected),
                (1, "V=1\n", State::Settled),
                (1, "V=2\n", State::Stale),
            ] {
                let mut desk = Desk {
                    entry: bytes(hex),
                    source: text.into(),
                    ..Desk::default()
                };
                desk.entry[4] = flags;
                let name = format!("m.{tag}.pyc");
                let state = state(&name, &entry(0), &source(4), &mut desk, false);
                assert_eq!(state, expected, "{tag} {flags} {text}");
            }
        }
    }

    /// Beside its source: CPython 2.7's by its header, another Python 2's by times, Python 3's never.
    #[test]
    fn entries_beside_go_by_magic() {
        let name = crate::bytecode::parse_beside(b"m.pyc").expect("an entry");
        let judged = |entry_bytes: &[u8], after| {
            let mut desk = Desk {
                entry: entry_bytes.to_vec(),
                ..Desk::default()
            };
            judge(&name, &entry(after), &source(4), &mut desk, true).state
        };
        // py_compile of 2.7.18, mtime 1,700,000,000.
        let python_2 = b"\x03\xf3\r\n\x00\xf1\x53\x65c\0\0\0\0";
        assert_eq!(judged(python_2, 0), State::Racy);
        assert_eq!(
            judged(b"\x03\xf3\r\n\x01\xf1\x53\x65c\0\0\0\0", 0),
            State::Rejected
        );
        // PyPy 2, a pre-release of 2.7, the first of CPython's list.
        for other_2 in [b"\x0a\xf3", b"\xe5\xf2", b"\x99\x4e"] {
            let other_2 = [other_2, &b"\r\n\x01\xf1\x53\x65c\0\0\0\0"[..]].concat();
            assert_eq!(judged(&other_2, 0), State::Racy);
            assert_eq!(judged(&other_2, 3 * SECOND), State::Settled);
        }
        assert_eq!(
            judged(b"\xa7\x0d\r\n\0\0\0\0\0\xf1\x53\x65", 0),
            State::Rejected
        );
        for garbage in [
            &b""[..],
            b"\x03",
            b"\x03\xf3\r",
            b"\x03\xf3\n\n\x00\xf1\x53\x65",
        ] {
            assert_eq!(judged(garbage, 0), State::Rejected);
        }
    }
}
