//! Git operations that rewrite a source in the second in which it was compiled.

use super::{Dir, pyc, race};

/// Two states of a repository that the same second holds, and what leads from one to the other.
pub struct Situation {
    /// Builds the history; hooks are not yet installed.
    pub prepare: fn(&mut Dir),
    /// What is written just before Python runs for the first time, in the second that counts.
    pub edit: fn(&Dir),
    /// The git operation.
    pub act: fn(&Dir),
    /// The source that changes, relative to the work tree.
    pub source: &'static str,
    /// What Python runs before and after.
    pub code: &'static str,
    /// What the second run must print.
    pub right: &'static str,
    /// More hooks than those of the repository itself.
    pub install: fn(&Dir),
}

impl Situation {
    /// Plain Python runs the old code without the hooks, and the new code with them.
    pub fn check(&self) {
        let (without, _) = self.run(false);
        assert_ne!(
            without, self.right,
            "the incident did not happen without hooks"
        );
        let (with, _) = self.run(true);
        assert_eq!(with, self.right, "stale with hooks");
    }

    /// Plain Python runs the old code though the hooks are there, and the new code under the gate.
    pub fn check_that_only_the_gate_covers_it(&self) {
        let (with_hooks, dir) = self.run(true);
        assert_ne!(with_hooks, self.right, "no hook fires");
        let gate = dir.pycgate(["gate", "-q", "--"]);
        let python = &super::interpreter::main().path;
        assert_eq!(gate.arg(python).args(["-c", self.code]).ok(), self.right);
    }

    /// What plain Python prints after the operation, in a run where both states of the source
    /// have the same stamp.
    fn run(&self, hooks: bool) -> (String, Dir) {
        race::in_one_second_after(
            || {
                let mut dir = Dir::new();
                (self.prepare)(&mut dir);
                if hooks {
                    dir.install();
                    (self.install)(&dir);
                }
                dir
            },
            |dir| {
                let source = dir.path(self.source);
                (self.edit)(&dir);
                let before = pyc::stamp(&source);
                let old = dir.py(self.code);
                (self.act)(&dir);
                let printed = dir.py(self.code);
                (pyc::stamp(&source) == before).then(|| {
                    let truth = dir.truth(self.code);
                    assert_eq!(truth, self.right, "the operation did what it should");
                    assert_ne!(old, self.right, "the operation changed something");
                    (printed, dir)
                })
            },
        )
    }
}
