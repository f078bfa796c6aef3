//! Has racy entries proved by interpreters, for `check --prove` and `gate --prove`.

use std::path::PathBuf;

use anyhow::Result;
use bstr::ByteSlice;

use crate::bytecode::{Kind, Reason, State};
use crate::fsys::path::below;
use crate::python::prove::{Answer, Question, prove};
use crate::scan::{self, Entry, Scan};

/// Asks the interpreters about every racy entry of a scan: acquitted ones become settled, others
/// stale; where nobody can say they stay racy, with the reason why.
///
/// # Errors
/// If an interpreter the user named does not work.
pub fn acquit(scan: &mut Scan, pythons: &[PathBuf]) -> Result<()> {
    let racy: Vec<usize> = (0..scan.entries.len())
        .filter(|&at| scan.entries[at].state == State::Racy)
        .collect();
    let mut asked = Vec::new();
    let mut questions = Vec::new();
    for at in racy {
        match question(scan, &scan.entries[at]) {
            Ok(question) => {
                asked.push(at);
                questions.push(question);
            }
            Err(why) => unproved(&mut scan.entries[at], why.to_owned()),
        }
    }
    for (at, answer) in asked.into_iter().zip(prove(&questions, pythons)?) {
        let counts = &mut scan.counts;
        let entry = &mut scan.entries[at];
        match answer {
            Answer::Same => {
                (entry.state, entry.reason) = (State::Settled, Reason::ProvedSame);
                entry.due = entry.payload && entry.untouchable.is_none();
                counts.racy -= 1;
                counts.settled += 1;
            }
            Answer::Differs(what) => {
                (entry.state, entry.reason) = (State::Stale, Reason::ProvedDifferent { what });
                counts.racy -= 1;
                counts.stale += 1;
            }
            Answer::Unknown(why) => unproved(entry, why),
        }
    }
    Ok(())
}

fn unproved(entry: &mut Entry, why: String) {
    let otherwise = Box::new(entry.reason.clone());
    entry.reason = Reason::Unproved { why, otherwise };
}

fn question(scan: &Scan, entry: &Entry) -> Result<Question, &'static str> {
    let (_, name) = entry.split();
    let parsed = entry.parsed().ok_or("its name is no entry's")?;
    if !matches!(entry.kind, Kind::Cached | Kind::Beside) {
        return Err("it is no bytecode of an interpreter's own");
    }
    if parsed.by_tool() {
        return Err("a tool has rewritten the source before compiling it");
    }
    let root = &scan.trees[0].root;
    let source = entry.source.as_ref().ok_or("its source is gone")?;
    let source = below(root, source);
    let directory = source.parent().unwrap_or(root);
    if scan::owners(directory, &parsed).len() > 1 {
        return Err("several sources share this entry, and it can be the code of one of them only");
    }
    let level = match parsed.opt {
        Some(b"1") => 1,
        Some(b"2") => 2,
        _ if name.ends_with(b".pyo") => 1,
        _ => 0,
    };
    let tag = if entry.kind == Kind::Beside {
        "cpython-27".into()
    } else {
        entry.tag.to_str_lossy().into_owned()
    };
    Ok(Question {
        source,
        entry: scan.absolute(entry),
        tag,
        level,
    })
}
