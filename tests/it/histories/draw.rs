//! How histories are drawn.

use std::fmt;

use fastrand::Rng;

use super::operation::{Context, MODULES, Mode, Operation, When};
use crate::harness::interpreter;

/// Sources, relative to the work tree. `gen/` is ignored by git, `../out/` lies outside.
const SOURCES: [&str; 13] = [
    "a.py",
    "b.py",
    "pkg.py",
    "pkg/__init__.py",
    "pkg/m.py",
    "one/__init__.py",
    "one/x.py",
    "two/x.py",
    "two/sub/y.py",
    "gen/x.py",
    "link.py",
    "../out/o.py",
    "../out/impl/x.py",
];

/// Directories of sources. `new` is there only after a move to it.
const DIRECTORIES: [&str; 6] = ["pkg", "one", "two", "two/sub", "gen", "new"];

/// Where symlinks are put.
const LINKS: [&str; 6] = ["link.py", "b.py", "pkg/m.py", "one/x.py", "linked", "new"];

/// Where symlinks lead, relative to the work tree.
const TARGETS: [&str; 12] = [
    "a.py",
    "one/x.py",
    "two/x.py",
    "linked/x.py",
    "gen/x.py",
    "missing.py",
    "one",
    "two",
    "gen",
    "two/sub",
    "../out/o.py",
    "../out/impl",
];

/// Kinds of survivors that no history is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The real directory of a symlinked source swapped by rename.
    LinkedMove,
    /// Directories swapped by rename under a prefix.
    PrefixMove,
    /// A symlink to a directory inside a prefix.
    LinkedPrefix,
    /// A symlinked `__pycache__`.
    LinkedEntries,
    /// Entries touched after the race.
    TouchedEntries,
    /// A `__pycache__` moved to another directory.
    MovedEntries,
    /// An entry beside a source whose name now leads to a directory or nowhere.
    NoFile,
    /// `pkg/__init__.pyc` left beside the `pkg.py` that the package has become.
    Shadow,
    /// An entry beside a deleted source of a directory that has become a repository.
    Nested,
}

/// Those known and not closed, and those that the documents name as a limit.
const LEFT_OUT: &[Kind] = &[
    Kind::LinkedMove,
    Kind::PrefixMove,
    Kind::LinkedPrefix,
    Kind::LinkedEntries,
    Kind::TouchedEntries,
    Kind::MovedEntries,
    Kind::NoFile,
    Kind::Shadow,
    Kind::Nested,
];

/// Whether histories have it, or nothing is said of it.
pub fn drawn(kind: Kind) -> bool {
    !LEFT_OUT.contains(&kind)
}

/// What happens in rounds, with a wait beyond the margin between them.
#[derive(Clone, Debug)]
pub struct History {
    /// What it was drawn from.
    pub seed: u64,
    /// Whether all sources begin with the same mtime.
    pub common: bool,
    /// Whether everything is committed in the end.
    pub commit: bool,
    /// Who takes part.
    pub contexts: Vec<Context>,
    /// The operations.
    pub rounds: Vec<Vec<Operation>>,
}

/// Which operations a history has at all: some of each kind, so that those it has meet.
struct Taste {
    links: bool,
    moves: bool,
    git: bool,
    compile: bool,
    entries: bool,
    outside: bool,
    prefix: bool,
    values: usize,
    contexts: usize,
}

impl History {
    /// The history of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut taste = Taste {
            links: rng.u8(..3) > 0,
            moves: rng.u8(..3) > 0,
            git: rng.bool(),
            compile: rng.bool(),
            entries: rng.u8(..4) == 0,
            outside: rng.u8(..4) == 0,
            prefix: rng.u8(..4) == 0,
            values: 0,
            contexts: 2,
        };
        if taste.links && taste.moves && !drawn(Kind::LinkedMove) {
            taste.links = rng.bool();
            taste.moves = !taste.links;
        }
        if taste.prefix && taste.moves && !drawn(Kind::PrefixMove) {
            taste.prefix = rng.bool();
            taste.moves = !taste.prefix;
        }
        let contexts = (0..taste.contexts)
            .map(|_| Context::draw(&mut rng, taste.prefix))
            .collect();
        Self {
            seed,
            common: rng.bool(),
            commit: rng.u8(..3) > 0,
            contexts,
            rounds: (0..3)
                .map(|_| {
                    let length = rng.usize(1..9);
                    (0..length).map(|_| taste.draw(&mut rng)).collect()
                })
                .collect(),
        }
    }

    /// How many operations it has.
    pub fn len(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    /// The same without some operations, counted over all rounds.
    pub fn without(&self, left_out: &[usize]) -> Self {
        let mut shorter = self.clone();
        let mut number = 0;
        for round in &mut shorter.rounds {
            round.retain(|_| {
                number += 1;
                !left_out.contains(&(number - 1))
            });
        }
        shorter
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}, common mtime: {}, committed: {}",
            self.seed, self.common, self.commit
        )?;
        for (number, context) in self.contexts.iter().enumerate() {
            writeln!(f, "{number} is {context}")?;
        }
        for round in &self.rounds {
            writeln!(f, "round:")?;
            for operation in round {
                writeln!(f, "  {operation:?}")?;
            }
        }
        Ok(())
    }
}

impl Context {
    fn draw(rng: &mut Rng, prefix: bool) -> Self {
        let all = interpreter::all();
        let python = &all[rng.usize(..all.len())];
        let prefixes = prefix && python.is_3() && python.version >= (3, 8) && rng.u8(..3) > 0;
        Self {
            python,
            optimize: rng.usize(..8).saturating_sub(5),
            prefix: prefixes.then(|| if rng.bool() { ".prefix" } else { "../prefix" }),
        }
    }
}

impl Taste {
    fn draw(&mut self, rng: &mut Rng) -> Operation {
        loop {
            if let Some(operation) = self.candidate(rng) {
                return operation;
            }
        }
    }

    /// One operation, if the history has such ones.
    fn candidate(&mut self, rng: &mut Rng) -> Option<Operation> {
        let by = rng.usize(..self.contexts);
        let one = self.source(rng);
        let two = self.source(rng);
        let directory = directory(rng);
        let another = DIRECTORIES[rng.usize(..DIRECTORIES.len())];
        Some(match rng.usize(..66) {
            0..18 => self.write(rng),
            18..30 => Operation::Import {
                by,
                module: (rng.u8(..4) == 0).then(|| MODULES[rng.usize(..MODULES.len() - 1)]),
            },
            30..32 => Operation::Time {
                path: one,
                time: rng.usize(..4),
            },
            32 => Operation::Chmod { path: one },
            33 => Operation::Copy { from: one, to: two },
            34 => Operation::Remove { path: one },
            35 => Operation::Hollow { directory },
            36 => Operation::RemoveTree { directory },
            37 => Operation::ToModule,
            38 => Operation::ToPackage,
            39 => Operation::HardLink { from: one, to: two },
            40 => Operation::Pack {
                directory,
                caches: rng.bool(),
            },
            41 => Operation::Unpack,
            42 => Operation::Gate,
            43 => Operation::Move {
                from: one,
                to: two,
                git: self.git && rng.bool(),
            },
            44 => Operation::Swap { one, two },
            45..50 if self.git => self.git(rng),
            50..53 if self.links => self.link(rng)?,
            53..55 if self.moves => Operation::Move {
                from: directory,
                to: another,
                git: self.git && rng.bool(),
            },
            55..57 if self.moves => Operation::Swap {
                one: directory,
                two: another,
            },
            57..60 if self.compile => Operation::Compile {
                by,
                mode: [
                    Mode::Plain,
                    Mode::Timestamp,
                    Mode::Checked,
                    Mode::Unchecked,
                    Mode::Levels,
                    Mode::Legacy,
                ][rng.usize(..6)],
                force: rng.u8(..3) == 0,
            },
            60 if self.git => Operation::Nest { directory },
            61..64 if self.entries => self.entries(rng, directory, another)?,
            64 => Operation::Overtaken {
                by,
                module: MODULES[rng.usize(..MODULES.len() - 1)],
                value: self.value(),
            },
            65 if self.git && rng.u8(..4) == 0 => Operation::Track,
            _ => return None,
        })
    }

    fn value(&mut self) -> usize {
        self.values += 1;
        self.values
    }

    fn source(&self, rng: &mut Rng) -> &'static str {
        loop {
            let source = SOURCES[rng.usize(..SOURCES.len())];
            if self.outside || !source.starts_with("..") {
                return source;
            }
        }
    }

    fn write(&mut self, rng: &mut Rng) -> Operation {
        Operation::Write {
            path: self.source(rng),
            value: self.value(),
            long: rng.u8(..10) == 0,
            moved: rng.u8(..3) == 0,
            when: [When::Kept, When::Kept, When::Kept, When::Now, When::Common][rng.usize(..5)],
        }
    }

    fn link(&self, rng: &mut Rng) -> Option<Operation> {
        let to = TARGETS[rng.usize(..TARGETS.len())];
        (self.outside || !to.starts_with("..")).then(|| Operation::Link {
            at: LINKS[rng.usize(..LINKS.len())],
            to,
        })
    }

    fn git(&self, rng: &mut Rng) -> Operation {
        const COMMANDS: [&[&str]; 19] = [
            &["switch", "-q", "other"],
            &["switch", "-q", "main"],
            &["switch", "-q", "-f", "other"],
            &["checkout", "-q", "-f", "main"],
            &["stash", "-q"],
            &["stash", "-q", "-u"],
            &["stash", "pop", "-q"],
            &["reset", "-q", "--hard"],
            &["reset", "-q", "--hard", "HEAD~1"],
            &["checkout", "-q", "--", "."],
            &["clean", "-q", "-f", "-d"],
            &["commit", "-q", "-a", "-m", "more"],
            &["commit", "-q", "-a", "-m", "more"],
            &["cherry-pick", "other"],
            &["merge", "-q", "other"],
            &["rebase", "-q", "other"],
            &["config", "core.trustctime", "false"],
            &["update-index", "--assume-unchanged", "a.py", "pkg/m.py"],
            &["update-index", "--skip-worktree", "b.py", "two/x.py"],
        ];
        Operation::Git(COMMANDS[rng.usize(..COMMANDS.len())])
    }

    fn entries(
        &self,
        rng: &mut Rng,
        directory: &'static str,
        another: &'static str,
    ) -> Option<Operation> {
        match rng.u8(..4) {
            0 if drawn(Kind::TouchedEntries) => Some(Operation::TouchEntries { directory }),
            1 if drawn(Kind::MovedEntries) => Some(Operation::MoveEntries {
                from: directory,
                to: another,
            }),
            2 if drawn(Kind::LinkedEntries) => Some(Operation::LinkEntries {
                from: directory,
                to: another,
            }),
            3 if self.prefix && drawn(Kind::LinkedPrefix) => Some(Operation::LinkPrefix),
            _ => None,
        }
    }
}

fn directory(rng: &mut Rng) -> &'static str {
    DIRECTORIES[rng.usize(..DIRECTORIES.len())]
}
