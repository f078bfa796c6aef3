//! From a hook's arguments, environment and standard input to the event that git means. Pure.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use bstr::{BString, ByteSlice as _};

use crate::config::did_you_mean;
use crate::fsys::path::to_git;
use crate::hooks::event::{Event, HookEvent};

/// What a hook was called with.
pub struct Call<'c> {
    /// The event and its arguments.
    pub words: &'c [OsString],
    /// The root of the work tree, which names given by a framework are relative to.
    pub root: &'c Path,
    /// Looks up a variable of the environment.
    pub variable: &'c dyn Fn(&str) -> Option<OsString>,
    /// Reads standard input to its end.
    pub stdin: &'c dyn Fn() -> std::io::Result<Vec<u8>>,
}

impl Call<'_> {
    /// The event.
    ///
    /// # Errors
    /// An event that is not known, or arguments that git does not pass with it.
    pub fn event(&self) -> Result<Event> {
        let (event, arguments) = self
            .words
            .split_first()
            .context("no event is named: pycgate hook EVENT [ARG...]")?;
        let text = |index: usize| {
            let word: Option<&OsString> = arguments.get(index);
            word.map(|word| word.to_string_lossy().into_owned())
        };
        Ok(match event.to_string_lossy().as_ref() {
            "pre-commit" | "pre-merge-commit" => Event::PreCommit {
                given: self.names(arguments),
            },
            "post-index-change" => Event::PostIndexChange,
            "post-checkout" => match (text(0), text(1), text(2)) {
                (Some(old), Some(new), Some(flag)) if flag == "1" => {
                    Event::SwitchedBranch { old, new }
                }
                (Some(_), Some(_), Some(flag)) if flag == "0" => Event::CheckedOutFiles,
                _ => bail!("post-checkout takes OLD NEW and 0 or 1"),
            },
            "post-merge" => Event::PostMerge,
            "post-commit" => Event::PostCommit,
            "post-applypatch" => Event::Rebased { pairs: Vec::new() },
            "post-rewrite" => {
                let pairs = pairs(&(self.stdin)().context("cannot read standard input")?);
                rewritten(text(0).as_deref(), pairs)?
            }
            "auto" => self.of_a_framework(arguments)?,
            other => {
                let known = HookEvent::ALL.map(HookEvent::name);
                bail!("unknown event `{other}`{}", did_you_mean(other, &known))
            }
        })
    }

    /// pre-commit and prek run one command on every stage. prek names the stage, pre-commit leaves
    /// marks of it in the environment; on the stages of a commit there are none.
    fn of_a_framework(&self, arguments: &[OsString]) -> Result<Event> {
        let text = |name: &str| {
            let value = (self.variable)(name).filter(|value| !value.is_empty());
            value.map(|value| value.to_string_lossy().into_owned())
        };
        let stage = text("PREK_HOOK_STAGE");
        let is = |name: &str, marked: bool| match &stage {
            Some(stage) => stage == name,
            None => marked,
        };
        let checkout = text("PRE_COMMIT_CHECKOUT_TYPE");
        if is("post-checkout", checkout.is_some()) {
            let (old, new) = (text("PRE_COMMIT_FROM_REF"), text("PRE_COMMIT_TO_REF"));
            return Ok(match (checkout.as_deref(), old, new) {
                (Some("1"), Some(old), Some(new)) => Event::SwitchedBranch { old, new },
                _ => Event::CheckedOutFiles,
            });
        }
        if is("post-merge", text("PRE_COMMIT_IS_SQUASH_MERGE").is_some()) {
            return Ok(Event::PostMerge);
        }
        let command = text("PRE_COMMIT_REWRITE_COMMAND");
        if is("post-rewrite", command.is_some()) {
            // The frameworks do not pass git's pairs on.
            return rewritten(command.as_deref().or(Some("rebase")), Vec::new());
        }
        Ok(Event::FrameworkCommit {
            given: self.names(arguments),
        })
    }

    /// Names given by a framework, relative to the root. What lies elsewhere is left out.
    fn names(&self, arguments: &[OsString]) -> Vec<BString> {
        arguments
            .iter()
            .filter_map(|name| relative(name, self.root))
            .collect()
    }
}

fn relative(name: &OsStr, root: &Path) -> Option<BString> {
    let path = Path::new(name);
    let path = if path.is_absolute() {
        path.strip_prefix(root).ok()?
    } else {
        path.strip_prefix(".").unwrap_or(path)
    };
    Some(to_git(path).into_owned())
}

fn rewritten(command: Option<&str>, pairs: Vec<(String, String)>) -> Result<Event> {
    match command {
        Some("amend") => Ok(Event::Amended { pairs }),
        Some("rebase") => Ok(Event::Rebased { pairs }),
        Some(other) => bail!("post-rewrite after `{other}` is not known"),
        None => bail!("post-rewrite takes amend or rebase"),
    }
}

/// The lines `OLD NEW [EXTRA]` that git writes for post-rewrite. Others are left out.
fn pairs(input: &[u8]) -> Vec<(String, String)> {
    let id = |word: &[u8]| {
        let hex = !word.is_empty() && word.iter().all(u8::is_ascii_hexdigit);
        hex.then(|| String::from_utf8_lossy(word).into_owned())
    };
    input
        .lines()
        .filter_map(|line| {
            let mut words = line.split(|&byte| byte == b' ');
            Some((id(words.next()?)?, id(words.next()?)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(words: &[&str], environment: &[(&str, &str)], input: &str) -> Result<Event> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let variable = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let call = Call {
            words: &words,
            root: Path::new("/root/of/it"),
            variable: &variable,
            stdin: &|| Ok(input.as_bytes().to_vec()),
        };
        call.event()
    }

    fn strings(old: &str, new: &str) -> (String, String) {
        (old.to_owned(), new.to_owned())
    }

    #[test]
    fn events_of_git() {
        let (old, new) = strings("aa", "bb");
        assert_eq!(
            event(&["post-checkout", "aa", "bb", "1"], &[], "").expect("it"),
            Event::SwitchedBranch { old, new }
        );
        assert_eq!(
            event(&["post-checkout", "aa", "bb", "0"], &[], "").expect("it"),
            Event::CheckedOutFiles
        );
        assert_eq!(
            event(
                &["post-rewrite", "rebase"],
                &[],
                "aa bb\ncc dd extra\nno\n\nx y\n"
            )
            .expect("it"),
            Event::Rebased {
                pairs: vec![strings("aa", "bb"), strings("cc", "dd")]
            }
        );
        assert_eq!(
            event(
                &[
                    "pre-commit",
                    "./a.py",
                    "/root/of/it/b/c.py",
                    "/elsewhere/d.py"
                ],
                &[],
                ""
            )
            .expect("it"),
            Event::PreCommit {
                given: vec!["a.py".into(), "b/c.py".into()]
            }
        );
        for bad in [
            &[][..],
            &["post-checkout"],
            &["post-checkout", "aa", "bb", "2"],
            &["post-rewrite"],
            &["post-rewrite", "squash"],
            &["no-such-event"],
        ] {
            assert!(event(bad, &[], "").is_err(), "{bad:?}");
        }
    }

    #[test]
    fn stages_of_the_frameworks() {
        let (old, new) = strings("aa", "bb");
        let refs = [
            ("PRE_COMMIT_FROM_REF", "aa"),
            ("PRE_COMMIT_TO_REF", "bb"),
            ("PRE_COMMIT_CHECKOUT_TYPE", "1"),
        ];
        assert_eq!(
            event(&["auto"], &refs, "").expect("it"),
            Event::SwitchedBranch { old, new }
        );
        assert_eq!(
            event(&["auto"], &[("PRE_COMMIT_CHECKOUT_TYPE", "0")], "").expect("it"),
            Event::CheckedOutFiles
        );
        for squash in ["0", "1"] {
            assert_eq!(
                event(&["auto"], &[("PRE_COMMIT_IS_SQUASH_MERGE", squash)], "").expect("it"),
                Event::PostMerge
            );
        }
        assert_eq!(
            event(&["auto"], &[("PRE_COMMIT_REWRITE_COMMAND", "amend")], "").expect("it"),
            Event::Amended { pairs: Vec::new() }
        );
        assert_eq!(
            event(&["auto"], &[("PREK_HOOK_STAGE", "post-merge")], "").expect("it"),
            Event::PostMerge
        );
        // A mark left by an outer hook does not count where the stage is named.
        let named = [
            ("PREK_HOOK_STAGE", "pre-commit"),
            ("PRE_COMMIT_REWRITE_COMMAND", "amend"),
        ];
        assert_eq!(
            event(&["auto", "a.py"], &named, "").expect("it"),
            Event::FrameworkCommit {
                given: vec!["a.py".into()]
            }
        );
        assert_eq!(
            event(&["auto"], &[], "").expect("it"),
            Event::FrameworkCommit { given: Vec::new() }
        );
    }
}
