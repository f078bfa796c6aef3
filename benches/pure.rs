//! The pure parts: names, headers, verdicts. `cargo bench --bench pure`.

use std::io;

use divan::{Bencher, black_box};
use pycgate::bytecode::{
    EntryFacts, Evidence, Listing, Sip, SourceFacts, judge, parse_in_pycache, settled_by_times,
    source_hash,
};
use pycgate::fsys::{Stat, Time};

fn main() {
    divan::main();
}

const NAMES: [&[u8]; 4] = [
    b"models.cpython-313.pyc",
    b"a.long.dotted.name.cpython-311.opt-2.pyc",
    b"test_views.cpython-312-pytest-8.3.4.pyc",
    b"fast.kernel-17.py311.1.nbc",
];

#[divan::bench]
fn parse_names(bencher: Bencher) {
    bencher.bench(|| {
        NAMES
            .iter()
            .filter(|name| parse_in_pycache(black_box(name)).is_some())
            .count()
    });
}

#[divan::bench(args = [10, 100, 1000])]
fn find_sources(bencher: Bencher, files: usize) {
    let names: Vec<String> = (0..files)
        .map(|number| format!("module{number:04}.py"))
        .collect();
    let listing = Listing::new(names.iter().map(String::as_bytes).collect());
    let entry = parse_in_pycache(b"module0005.cpython-313.pyc").expect("an entry's name");
    bencher.bench_local(|| black_box(&entry).sources(&listing).len());
}

struct Head(Vec<u8>);

impl Evidence for Head {
    fn head(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.clone())
    }
    fn entry(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.clone())
    }
    fn source(&mut self) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }
    fn present_paths(&mut self) -> Vec<Vec<u8>> {
        Vec::new()
    }
    fn place_touched(&mut self) -> Time {
        Time::default()
    }
}

fn facts(after: i64) -> (EntryFacts, SourceFacts) {
    let at = |sec| Time { sec, nsec: 7 };
    let stat = |sec| Stat {
        size: 900,
        mtime: at(sec),
        ctime: at(sec),
        ..Stat::default()
    };
    let entry = EntryFacts {
        lstat: stat(1_700_000_000 + after),
        stat: None,
    };
    (
        entry,
        SourceFacts {
            stat: stat(1_700_000_000),
            way_touched: None,
        },
    )
}

#[divan::bench]
fn settle_by_times(bencher: Bencher) {
    let name = parse_in_pycache(b"models.cpython-313.pyc").expect("an entry's name");
    let (entry, source) = facts(60);
    bencher.bench(|| settled_by_times(black_box(&name), black_box(&entry), black_box(&source)));
}

#[divan::bench]
fn judge_racy(bencher: Bencher) {
    let name = parse_in_pycache(b"models.cpython-313.pyc").expect("an entry's name");
    let (entry, source) = facts(1);
    let mut head = Head(
        [
            &3571_u16.to_le_bytes()[..],
            b"\r\n",
            &[0; 4],
            &1_700_000_000_u32.to_le_bytes(),
            &900_u32.to_le_bytes(),
        ]
        .concat(),
    );
    bencher.bench_local(|| judge(black_box(&name), &entry, &source, &mut head, false));
}

#[divan::bench(args = [1_000, 100_000])]
fn hash_sources(bencher: Bencher, size: usize) {
    let source = vec![b'x'; size];
    bencher.bench(|| source_hash(Sip::OneThree, *b"\xcb\r\r\n", black_box(&source)));
}
