//! Hook files as text: what kind one is, pycgate's marked block, putting it in and taking it out.
//! No I/O.

use std::ops::Range;

use crate::hooks::event::HookEvent;

const BEGIN: &[u8] = b"# >>> pycgate >>>\n";
const END: &[u8] = b"# <<< pycgate <<<";
const ANY_PROGRAM: &str = "pycgate=pycgate\n";
const SHARED_STDIN: &str = include_str!("post-rewrite-shared.sh");

/// Beside `NAME`, the hook that was there before and that a block could not be put into.
pub const KEPT_SUFFIX: &str = ".pycgate-kept";

/// What else the hook file does beside pycgate's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing: the whole file is pycgate's.
    Alone,
    /// Lines of the user's own follow the block.
    Before,
    /// The block is followed by a call of the hook kept beside.
    Wrapper,
}

/// What kind of program a hook file without pycgate's block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A script of a POSIX-like shell: a block may follow its shebang.
    Shell,
    /// Anything else: Python, a binary, a script without shebang, a shell script that another
    /// interpreter reads as well.
    Other,
}

/// Tells what kind of program a hook file is.
pub fn kind(content: &[u8]) -> Kind {
    let Some((interpreter, rest)) = shebang(content) else {
        return Kind::Other;
    };
    let posix = [
        "sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "zsh", "yash",
    ];
    let is_shell = posix.iter().any(|name| name.as_bytes() == interpreter);
    if is_shell && !content.contains(&0) && !is_polyglot(rest) {
        Kind::Shell
    } else {
        Kind::Other
    }
}

/// The file name of the interpreter that the first line names, and what follows that line.
fn shebang(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let line_end = content
        .iter()
        .position(|&byte| byte == b'\n')
        .unwrap_or(content.len());
    let line = content[..line_end].strip_prefix(b"#!")?;
    let mut words = line
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty());
    let mut program = file_name(words.next()?);
    if program == b"env" {
        program = file_name(words.find(|word| !word.starts_with(b"-"))?);
    } else if program == b"busybox" {
        program = words.next()?;
    }
    Some((program, &content[line_end..]))
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// A shell script whose first command is a string, as in `'''exec' python "$0" "$@"`: the same
/// file is read by another interpreter, which would stumble over a block of shell.
fn is_polyglot(after_shebang: &[u8]) -> bool {
    let first = after_shebang
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty() && !line.starts_with(b"#"));
    first.is_some_and(|line| line.starts_with(b"'") || line.starts_with(b"\""))
}

/// The block for an event. `program` is the path of pycgate to prefer to the one on PATH;
/// `shared_stdin` if commands after the block read standard input too.
fn block(event: HookEvent, program: Option<&[u8]>, shared_stdin: bool) -> Vec<u8> {
    let shim = event.shim();
    let begin = find(shim.as_bytes(), BEGIN).expect("every shim has a block");
    let mut block = shim[begin..].to_owned();
    if event.reads_stdin() && shared_stdin {
        let own = format!("    \"$pycgate\" hook {} \"$@\" || :\n", event.name());
        assert!(block.contains(&own), "the shim of {} has it", event.name());
        block = block.replace(&own, SHARED_STDIN);
    }
    let Some(program) = program else {
        return block.into_bytes();
    };
    let (before, after) = block
        .split_once(ANY_PROGRAM)
        .expect("every shim names its program");
    let mut chosen = before.as_bytes().to_vec();
    chosen.extend_from_slice(b"pycgate=");
    chosen.extend(quote(program));
    chosen.extend_from_slice(b"\n[ -x \"$pycgate\" ] || pycgate=pycgate\n");
    chosen.extend_from_slice(after.as_bytes());
    chosen
}

/// Quotes for a shell.
pub fn quote(word: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for &byte in word {
        if byte == b'\'' {
            quoted.extend_from_slice(b"'\\''");
        } else {
            quoted.push(byte);
        }
    }
    quoted.push(b'\'');
    quoted
}

/// Everything of a shim before its block: shebang and comment.
fn head(event: HookEvent) -> &'static [u8] {
    let shim = event.shim().as_bytes();
    &shim[..find(shim, BEGIN).expect("every shim has a block")]
}

/// What a wrapper has after its block.
fn call_of_kept(event: HookEvent) -> Vec<u8> {
    let kept = format!("\"${{0%/*}}/{}{KEPT_SUFFIX}\"", event.name());
    format!("# The hook that was here before:\n[ ! -x {kept} ] || exec {kept} \"$@\"\n")
        .into_bytes()
}

/// A hook file that is pycgate's alone.
pub fn alone(event: HookEvent, program: Option<&[u8]>) -> Vec<u8> {
    [head(event), &block(event, program, false)].concat()
}

/// A hook file that calls the hook kept beside after pycgate.
pub fn wrapper(event: HookEvent, program: Option<&[u8]>) -> Vec<u8> {
    let block = block(event, program, true);
    [head(event), &block, &call_of_kept(event)].concat()
}

/// Puts the block right after the shebang of a shell script, where no early `exit` or `exec` of
/// the script can hide it.
pub fn with_block(script: &[u8], event: HookEvent, program: Option<&[u8]>) -> Vec<u8> {
    let mut block = block(event, program, true);
    match script.iter().position(|&byte| byte == b'\n') {
        Some(end) => [&script[..=end], &block, &script[end + 1..]].concat(),
        None => {
            // The file ends without a newline, and so does the block: `without_block` sees by
            // that where the first newline came from.
            block.pop();
            [script, b"\n", &block].concat()
        }
    }
}

/// Where the block lies in a hook file, the newline after it included. None without one.
pub fn find_block(script: &[u8]) -> Option<Range<usize>> {
    let begin = if script.starts_with(BEGIN) {
        0
    } else {
        find(script, &[b"\n", BEGIN].concat())? + 1
    };
    let end = begin + find(&script[begin..], &[b"\n", END].concat())? + 1 + END.len();
    match script.get(end) {
        None => Some(begin..end),
        Some(b'\n') => Some(begin..end + 1),
        Some(_) => None,
    }
}

/// The hook file as it was before the block was put in; unchanged where there is none.
pub fn without_block(script: &[u8]) -> Vec<u8> {
    let Some(mut range) = find_block(script) else {
        return script.to_vec();
    };
    if !script[range.clone()].ends_with(b"\n") {
        range.start = range.start.saturating_sub(1);
    }
    [&script[..range.start], &script[range.end..]].concat()
}

/// What a hook file with a block does beside it.
pub fn role(script: &[u8], event: HookEvent) -> Role {
    let rest = without_block(script);
    if rest == head(event) {
        Role::Alone
    } else if rest == [head(event), &call_of_kept(event)].concat() {
        Role::Wrapper
    } else {
        Role::Before
    }
}

/// The hook file with its block brought up to date.
pub fn renewed(script: &[u8], event: HookEvent, program: Option<&[u8]>) -> Vec<u8> {
    match role(script, event) {
        Role::Alone => alone(event, program),
        Role::Wrapper => wrapper(event, program),
        Role::Before => with_block(&without_block(script), event, program),
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_hooks() {
        for script in [
            "#!/bin/sh\nexit 0\n",
            "#! /usr/bin/env bash\n",
            "#!/usr/bin/env -S bash -e\n# comment\necho\n",
            "#!/bin/busybox sh\n",
            "#!/usr/bin/zsh",
        ] {
            assert_eq!(kind(script.as_bytes()), Kind::Shell, "{script}");
        }
        for script in [
            "",
            "echo no shebang\n",
            "#!/usr/bin/env python3\n",
            "#!/usr/bin/fish\n",
            "#!/bin/sh\r\n",
            "#!/bin/sh\n'''exec' python3 \"$0\" \"$@\"\n' '''\n",
            "#!/bin/sh\n\n\"exec\" \"python3\" \"$0\"\n",
            "#!/bin/sh\nexit 0\n\0binary",
            "\x7fELF",
            "#!",
        ] {
            assert_eq!(kind(script.as_bytes()), Kind::Other, "{script}");
        }
    }

    #[test]
    fn a_block_goes_in_and_comes_out_again() {
        let program = Some(b"/opt/it's here/pycgate".as_slice());
        for event in HookEvent::ALL {
            for script in [
                "#!/bin/sh\nexit 3\n",
                "#!/bin/sh",
                "#!/bin/sh\n",
                "#!/bin/sh\n\n",
            ] {
                let with = with_block(script.as_bytes(), event, program);
                assert!(find_block(&with).is_some());
                assert_eq!(role(&with, event), Role::Before);
                assert_eq!(renewed(&with, event, program), with);
                assert_eq!(without_block(&with), script.as_bytes(), "{script:?}");
            }
            let alone = alone(event, program);
            assert_eq!(role(&alone, event), Role::Alone);
            assert_eq!(renewed(event.shim().as_bytes(), event, program), alone);
            assert_eq!(renewed(&alone, event, None), event.shim().as_bytes());
            let wrapper = wrapper(event, program);
            assert_eq!(role(&wrapper, event), Role::Wrapper);
            assert_eq!(renewed(&wrapper, event, program), wrapper);
        }
    }

    #[test]
    fn markers_count_only_as_whole_lines() {
        assert_eq!(find_block(b"#!/bin/sh\necho '# >>> pycgate >>>'\n"), None);
        assert_eq!(find_block(b"#!/bin/sh\n# >>> pycgate >>>\n"), None);
    }
}
