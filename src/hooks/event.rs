//! The events that git fires hooks for and that pycgate answers, and the shim of each.

use bstr::BString;
use clap::ValueEnum;

/// An event of git that pycgate has a hook for; the name on the command line is git's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HookEvent {
    /// Before a commit
    PreCommit,
    /// Before the commit of a merge without conflicts
    PreMergeCommit,
    /// After switch, checkout, clone and worktree add
    PostCheckout,
    /// After merge and pull
    PostMerge,
    /// After a commit
    PostCommit,
    /// After commit --amend and rebase
    PostRewrite,
    /// After each patch that am applies
    PostApplypatch,
    /// After each change of the index: reset, stash, rm, mv, sequencer steps
    PostIndexChange,
}

impl HookEvent {
    /// Every event, in the order in which a commit, a checkout and a rebase meet them.
    pub const ALL: [Self; 8] = [
        Self::PreCommit,
        Self::PreMergeCommit,
        Self::PostCheckout,
        Self::PostMerge,
        Self::PostCommit,
        Self::PostRewrite,
        Self::PostApplypatch,
        Self::PostIndexChange,
    ];

    /// The name of git's hook, which is also the name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::PreMergeCommit => "pre-merge-commit",
            Self::PostCheckout => "post-checkout",
            Self::PostMerge => "post-merge",
            Self::PostCommit => "post-commit",
            Self::PostRewrite => "post-rewrite",
            Self::PostApplypatch => "post-applypatch",
            Self::PostIndexChange => "post-index-change",
        }
    }

    /// The shim as it lies in the repository's `hooks/` folder, for those who copy it by hand.
    pub fn shim(self) -> &'static str {
        match self {
            Self::PreCommit => include_str!("../../hooks/pre-commit"),
            Self::PreMergeCommit => include_str!("../../hooks/pre-merge-commit"),
            Self::PostCheckout => include_str!("../../hooks/post-checkout"),
            Self::PostMerge => include_str!("../../hooks/post-merge"),
            Self::PostCommit => include_str!("../../hooks/post-commit"),
            Self::PostRewrite => include_str!("../../hooks/post-rewrite"),
            Self::PostApplypatch => include_str!("../../hooks/post-applypatch"),
            Self::PostIndexChange => include_str!("../../hooks/post-index-change"),
        }
    }

    /// Whether git passes something on the hook's standard input (the OLD NEW pairs).
    pub fn reads_stdin(self) -> bool {
        self == Self::PostRewrite
    }

    /// Whether pre-commit and prek have a stage for it.
    pub fn is_framework_stage(self) -> bool {
        !matches!(self, Self::PostApplypatch | Self::PostIndexChange)
    }
}

/// A git event, with what git passes to its hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// `pre-commit` and `pre-merge-commit`, with the file names a framework passes.
    PreCommit {
        /// Names relative to the root.
        given: Vec<BString>,
    },
    /// `post-index-change`, with either argument.
    PostIndexChange,
    /// `post-checkout OLD NEW 1`.
    SwitchedBranch {
        /// HEAD before.
        old: String,
        /// HEAD after.
        new: String,
    },
    /// `post-checkout OLD NEW 0`.
    CheckedOutFiles,
    /// `post-merge`.
    PostMerge,
    /// `post-commit`.
    PostCommit,
    /// `post-rewrite amend`, with the pairs of its standard input.
    Amended {
        /// OLD and NEW of each commit.
        pairs: Vec<(String, String)>,
    },
    /// `post-rewrite rebase` and `post-applypatch`.
    Rebased {
        /// OLD and NEW of each commit.
        pairs: Vec<(String, String)>,
    },
    /// pre-commit or post-commit under a framework that does not say which.
    FrameworkCommit {
        /// Names relative to the root.
        given: Vec<BString>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line_and_of_the_shims() {
        for event in HookEvent::ALL {
            let value = event.to_possible_value().expect("no event is hidden");
            assert_eq!(value.get_name(), event.name());
            let call = format!("\"$pycgate\" hook {} \"$@\"", event.name());
            assert!(event.shim().contains(&call), "{}", event.name());
        }
    }
}
