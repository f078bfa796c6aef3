//! What we call accepted or rejected is what each interpreter does with the file, and the hashes
//! are its own.

use std::collections::BTreeMap;
use std::fs;

use filetime::FileTime;
use pycgate::bytecode::{Sip, source_hash};

use crate::harness::{Dir, Interpreter, announce, interpreter};
use crate::report::valid;

const SOURCE: &str = "V = 'source'\n";

/// Magic, code of an entry that says `entry`, and the source's hash where there is one.
fn ingredients(python: &Interpreter, dir: &Dir) -> (Vec<u8>, Vec<u8>, Option<Vec<u8>>) {
    let code = "import binascii, marshal, sys\n\
                try:\n    import importlib.util as u; magic = u.MAGIC_NUMBER\n\
                except ImportError:\n    import imp; magic = imp.get_magic(); u = None\n\
                body = marshal.dumps(compile(\"V = 'entry'\\n\", 'x', 'exec'))\n\
                digest = u.source_hash(b\"V = 'source'\\n\") if hasattr(u, 'source_hash') else b''\n\
                for part in (magic, body, digest): print(binascii.hexlify(part).decode('ascii') + '.')\n";
    let answer = dir.python(python, code);
    let mut parts = answer.lines().map(|line| {
        let hex = line.trim_end_matches('.');
        (0..hex.len() / 2)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex"))
            .collect::<Vec<u8>>()
    });
    let mut next = || parts.next().expect("three parts");
    let (magic, body, hash) = (next(), next(), next());
    (magic, body, Some(hash).filter(|hash| !hash.is_empty()))
}

fn header(python: &Interpreter, magic: &[u8], flags: u32, mtime: u32, size: u32) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    if python.version >= (3, 7) {
        bytes.extend(flags.to_le_bytes());
    }
    bytes.extend(mtime.to_le_bytes());
    if python.version.0 == 3 {
        bytes.extend(size.to_le_bytes());
    }
    bytes
}

/// Puts entries beside a source of this mtime; says for each what we and the interpreter think.
fn compare(python: &Interpreter, dir: &Dir, mtime: FileTime, variants: &BTreeMap<String, Vec<u8>>) {
    fs::create_dir_all(dir.path("__pycache__")).expect("a directory");
    for (name, bytes) in variants {
        let source = format!("{name}.py");
        dir.write(&source, SOURCE);
        filetime::set_file_mtime(dir.path(&source), mtime).expect("the mtime");
        fs::write(dir.path(dir.entry(python, &source)), bytes).expect("an entry");
    }
    let report = valid(
        &dir.pycgate(&["check", "--exit-zero", "--all-entries", "--format", "json"])
            .ok(),
    );
    let entries = report["entries"].as_array().expect("a list");
    let ours: BTreeMap<String, bool> = entries
        .iter()
        .map(|entry| {
            let source = entry["source"]
                .as_str()
                .expect("a source")
                .trim_end_matches(".py")
                .to_owned();
            (source, entry["state"] != "rejected")
        })
        .collect();
    assert_eq!(ours.len(), variants.len());
    let names: Vec<&str> = variants.keys().map(String::as_str).collect();
    let code = format!(
        "import sys; sys.dont_write_bytecode = True\n\
         for name in '{}'.split():\n\
         \x20   try: print(name + ' ' + __import__(name).V)\n\
         \x20   except Exception: print(name + ' entry')\n",
        names.join(" ")
    );
    for line in dir.python(python, &code).lines() {
        let (name, says) = line.split_once(' ').expect("a name and what it says");
        let accepted = says == "entry";
        assert_eq!(
            ours[name], accepted,
            "{} {name} with source mtime {mtime}: the interpreter says {says}",
            python.tag
        );
    }
    for name in names {
        fs::remove_file(dir.path(format!("{name}.py"))).expect("it is there");
    }
    let _ = fs::remove_dir_all(dir.path("__pycache__"));
    dir.command("sh").args(["-c", "rm -f *.pyc"]).ok();
}

#[test]
fn rejected_is_what_the_interpreter_rejects() {
    for python in interpreter::all() {
        let dir = Dir::plain();
        let (magic, body, hash) = ingredients(python, &dir);
        let (second, size) = (1_700_000_000_u32, SOURCE.len() as u32);
        let whole = |header: Vec<u8>| [header, body.clone()].concat();
        let good = header(python, &magic, 0, second, size);
        let mut variants = BTreeMap::new();
        let mut add = |name: &str, bytes: Vec<u8>| {
            variants.insert(format!("m_{name}"), bytes);
        };
        add("good", whole(good.clone()));
        add(
            "mtime_later",
            whole(header(python, &magic, 0, second + 1, size)),
        );
        add(
            "mtime_earlier",
            whole(header(python, &magic, 0, second - 1, size)),
        );
        add(
            "size_more",
            whole(header(python, &magic, 0, second, size + 1)),
        );
        add(
            "size_less",
            whole(header(python, &magic, 0, second, size - 1)),
        );
        add(
            "no_mark",
            whole([&magic[..2], b"\n\n", &good[4..]].concat()),
        );
        add("zeros", vec![0; 64]);
        add("ones", vec![0xff; 64]);
        for length in 0..=good.len() {
            add(&format!("cut_{length}"), good[..length].to_vec());
        }
        // Each byte of the header off by one. Any magic number is taken for one of the interpreter's
        // own: PyPy's change with releases that share a tag, CPython's with pre-releases.
        for at in 2..good.len() {
            for (word, by) in [("up", 1_u8), ("down", 255)] {
                let mut odd = good.clone();
                odd[at] = odd[at].wrapping_add(by);
                add(&format!("byte_{at}_{word}"), whole(odd));
            }
        }
        for flags in [2, 4, 5, 6, 7, 8, 1 << 31] {
            add(
                &format!("flags_{flags}"),
                whole(header(python, &magic, flags, second, size)),
            );
        }
        for flags in [1_u32, 3] {
            if let Some(hash) = &hash {
                let head = [&magic[..], &flags.to_le_bytes()].concat();
                add(
                    &format!("hash_right_{flags}"),
                    whole([&head[..], hash].concat()),
                );
                add(
                    &format!("hash_wrong_{flags}"),
                    whole([&head[..], &[7; 8]].concat()),
                );
            }
        }
        announce(&format!("{}: {} headers", python.tag, variants.len()));
        compare(
            python,
            &dir,
            FileTime::from_unix_time(i64::from(second), 5),
            &variants,
        );
    }
}

/// Lengths around SipHash's block of eight bytes, and a source of some size.
#[test]
fn source_hashes_are_the_interpreter_s_own() {
    let lengths: Vec<usize> = (0..=33).chain([255, 256, 1000]).collect();
    let code = format!(
        "import binascii, importlib.util as u\n\
         for n in {lengths:?}: print(binascii.hexlify(u.MAGIC_NUMBER + \
         u.source_hash(bytes(bytearray(i * 7 % 256 for i in range(n))))).decode('ascii'))\n"
    );
    let dir = Dir::plain();
    for python in interpreter::all() {
        if python.version < (3, 7) {
            continue;
        }
        let sip = if python.version >= (3, 11) && !python.pypy {
            Sip::OneThree
        } else {
            Sip::TwoFour
        };
        let answer = dir.python(python, &code);
        let mut seen = 0;
        for (length, line) in lengths.iter().zip(answer.lines()) {
            let bytes: Vec<u8> = (0..line.len() / 2)
                .map(|at| u8::from_str_radix(&line[2 * at..2 * at + 2], 16).expect("hex"))
                .collect();
            let magic = bytes[..4].try_into().expect("four bytes");
            let source: Vec<u8> = (0..*length).map(|i| (i * 7 % 256) as u8).collect();
            let ours = source_hash(sip, magic, &source);
            assert_eq!(ours, bytes[4..], "{} {length} bytes", python.tag);
            seen += 1;
        }
        assert_eq!(seen, lengths.len());
    }
}

#[test]
fn mtimes_are_compared_as_the_interpreter_does() {
    let moments = [
        (1_700_000_000, 999_999_880),
        (1_700_000_000, 999_999_881),
        (1_700_000_000, 999_999_999),
        (1_000_000_000, 999_999_940),
        (1_000_000_000, 999_999_941),
        (2_000_000_000, 999_999_882),
        ((1_i64 << 31) + 5, 0),
        ((1_i64 << 32) + 5, 0),
        (-5, 0),
        (-5, 500_000_000),
        (0, 0),
        (1, 0),
    ];
    for python in interpreter::all() {
        let dir = Dir::plain();
        let (magic, body, _) = ingredients(python, &dir);
        for (sec, nsec) in moments {
            let mut variants = BTreeMap::new();
            for by in -2..=2 {
                let recorded = (sec + by) as u32;
                let name = format!("m_{}", by + 2);
                variants.insert(
                    name,
                    [
                        header(python, &magic, 0, recorded, SOURCE.len() as u32),
                        body.clone(),
                    ]
                    .concat(),
                );
            }
            compare(python, &dir, FileTime::from_unix_time(sec, nsec), &variants);
        }
    }
}
