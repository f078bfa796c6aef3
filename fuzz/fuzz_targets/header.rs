//! Headers: whatever the bytes, a verdict and no panic.
#![no_main]

use std::io;

use libfuzzer_sys::fuzz_target;
use pycgate::bytecode::{EntryFacts, Evidence, SourceFacts, State, judge, parse_beside, parse_in_pycache};
use pycgate::fsys::{Stat, Time};

struct Desk<'d>(&'d [u8]);

impl Evidence for Desk<'_> {
    fn head(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.iter().copied().take(16).collect())
    }
    fn entry(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.to_vec())
    }
    fn source(&mut self) -> io::Result<Vec<u8>> {
        Ok(b"V = 1\n".to_vec())
    }
    fn present_paths(&mut self) -> Vec<Vec<u8>> {
        vec![b"/tree/mod.py".to_vec()]
    }
    fn place_touched(&mut self) -> Time {
        Time { sec: i64::MAX, nsec: 0 }
    }
}

fuzz_target!(|input: (i64, u32, u64, &[u8])| {
    let (sec, nsec, size, bytes) = input;
    let time = Time { sec, nsec: nsec % 1_000_000_000 };
    let stat = Stat { size, mtime: time, ctime: time, ..Stat::default() };
    let source = SourceFacts { stat, way_touched: None };
    let names: [&[u8]; 7] = [
        b"mod.cpython-36.pyc",
        b"mod.cpython-311.pyc",
        b"mod.pypy39.pyc",
        b"mod.cpython-311-pytest-5.4.3.pyc",
        b"mod.cpython-311-pytest-8.3.4.pyc",
        b"mod.graalpy242-311.pyc",
        b"mod.f-2.py311.nbi",
    ];
    let parsed = names.iter().filter_map(|name| parse_in_pycache(name)).chain(parse_beside(b"mod.pyc"));
    for name in parsed {
        let entry = EntryFacts { lstat: stat, stat: None };
        for read_header in [false, true] {
            let verdict = judge(&name, &entry, &source, &mut Desk(bytes), read_header);
            assert_ne!(verdict.state, State::Orphan);
            let _ = verdict.reason.to_string();
        }
    }
});
