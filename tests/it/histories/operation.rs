//! What can happen to a tree. Every operation may fail and then does nothing, so that a history
//! stays one when some of it is left out.

use std::fmt;

use crate::harness::Interpreter;

/// Everything that is imported in the end.
pub const MODULES: [&str; 19] = [
    "a",
    "b",
    "pkg",
    "pkg.m",
    "pkg.x",
    "one",
    "one.x",
    "two",
    "two.x",
    "two.sub.y",
    "gen",
    "gen.x",
    "new",
    "new.x",
    "new.m",
    "link",
    "linked",
    "linked.x",
    INNOCENT,
];

/// What no operation touches.
pub const INNOCENT: &str = "innocent.i";

/// Who imports and compiles.
#[derive(Clone, Debug)]
pub struct Context {
    /// The interpreter.
    pub python: &'static Interpreter,
    /// How many times `-O`.
    pub optimize: usize,
    /// Where its entries lie, beside the sources if nowhere else; relative to the work tree.
    pub prefix: Option<&'static str>,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -O{}", self.python.tag, self.optimize)?;
        self.prefix
            .map_or(Ok(()), |prefix| write!(f, " under {prefix}"))
    }
}

/// The mtime of a source that has been written.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// The one it had before.
    Kept,
    /// That of now.
    Now,
    /// One that many sources have.
    Common,
}

/// How entries are written by compileall.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    Plain,
    Timestamp,
    Checked,
    Unchecked,
    Legacy,
    Levels,
}

/// One operation; numbers of values name content, those of `by` a context of the history.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Writes a source, in place or by moving a new file over it.
    Write {
        path: &'static str,
        value: usize,
        long: bool,
        moved: bool,
        when: When,
    },
    /// Sets a source's mtime to one of few.
    Time { path: &'static str, time: usize },
    /// Changes the mode, and with it the ctime alone.
    Chmod { path: &'static str },
    /// `cp -p`.
    Copy {
        from: &'static str,
        to: &'static str,
    },
    /// `tar -c`, with the entries or without.
    Pack {
        directory: &'static str,
        caches: bool,
    },
    /// `tar -x` of what has been packed last.
    Unpack,
    /// `mv` or `git mv`, of a source or a directory.
    Move {
        from: &'static str,
        to: &'static str,
        git: bool,
    },
    /// Gives two sources or directories each other's name.
    Swap {
        one: &'static str,
        two: &'static str,
    },
    /// Points a symlink somewhere, in place of what is there.
    Link { at: &'static str, to: &'static str },
    /// A hard link, in place of what is there.
    HardLink {
        from: &'static str,
        to: &'static str,
    },
    /// Removes a source.
    Remove { path: &'static str },
    /// Removes what is in a directory except the entries.
    Hollow { directory: &'static str },
    /// `rm -r`.
    RemoveTree { directory: &'static str },
    /// `pkg/__init__.py` becomes `pkg.py`.
    ToModule,
    /// `pkg.py` becomes `pkg/__init__.py`.
    ToPackage,
    /// `git init` in a directory.
    Nest { directory: &'static str },
    /// `git` with these arguments.
    Git(&'static [&'static str]),
    /// Imports one module, or all.
    Import {
        by: usize,
        module: Option<&'static str>,
    },
    /// Imports one module, whose source is written anew, at its old mtime and size, between being
    /// read and the entry being written.
    Overtaken {
        by: usize,
        module: &'static str,
        value: usize,
    },
    /// `git add -f` of every entry.
    Track,
    /// `compileall`.
    Compile { by: usize, mode: Mode, force: bool },
    /// `touch` of every entry of a directory.
    TouchEntries { directory: &'static str },
    /// Moves one `__pycache__` to another directory.
    MoveEntries {
        from: &'static str,
        to: &'static str,
    },
    /// Makes one `__pycache__` a symlink to that of another directory.
    LinkEntries {
        from: &'static str,
        to: &'static str,
    },
    /// Moves a directory of the prefix away and links it back.
    LinkPrefix,
    /// A gate in between.
    Gate,
}
