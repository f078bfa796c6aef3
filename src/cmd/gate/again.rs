//! What has become of the sources during the sweep, and whether code ran that is not on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use bstr::BString;

use super::reasons::left;

use crate::bytecode::State;
use crate::cmd::prove::acquit;
use crate::cmd::session::Session;
use crate::fsys::Time;
use crate::fsys::path::{below, to_git};
use crate::git::Repo;
use crate::payload::{Base, Difference, SourceChange};
use crate::purge;
use crate::report::style::printable;
use crate::scan::{self, Options, Scan, Wanted};

/// How far the clock that the file system stamps with may lag behind the one that we ask.
const LAG: Duration = Duration::from_millis(50);

/// The look at the sources after the sweep.
pub struct Again<'a> {
    /// The session of before: a sweep can change the configuration.
    pub session: &'a Session,
    /// The options of before.
    pub options: Options<'a>,
    /// What was found before.
    pub scan: &'a Scan,
    /// What the payload was measured against.
    pub base: &'a Base,
    /// When the sweep began.
    pub started: SystemTime,
    /// Interpreters that the user names.
    pub pythons: &'a [PathBuf],
}

/// What the entries say of sources that were touched during the sweep.
#[derive(Default)]
struct Evidence {
    /// Entries that hold other code than their source, by source: each with why.
    convicted: BTreeMap<BString, Vec<String>>,
    /// Entries of which nobody can say, and so for the others.
    suspected: BTreeMap<BString, Vec<String>>,
    /// Why one of them is still there.
    left: Vec<String>,
}

impl Again<'_> {
    /// Looks again. Adds to the reasons for INCONCLUSIVE, and gives what is worth a note.
    pub fn look(&self, reasons: &mut Vec<String>) -> Vec<String> {
        let mut notes = Vec::new();
        let looked = self.is_work_tree().and_then(|()| {
            let differences = scan::again(&self.options, self.scan, self.base)?;
            self.judge(&differences, reasons, &mut notes)
        });
        if let Err(error) = looked {
            reasons.push(format!(
                "the sources could not be looked at again after the sweep: {error:#}"
            ));
        }
        notes
    }

    fn is_work_tree(&self) -> Result<()> {
        if self.session.repo.is_some() {
            let now = Repo::discover(&self.session.directory)?;
            anyhow::ensure!(
                now.is_some_and(|now| now.root() == self.session.root),
                "{} is no git work tree any more",
                self.session.root.display()
            );
        }
        Ok(())
    }

    fn judge(
        &self,
        differences: &[Difference],
        reasons: &mut Vec<String>,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let roots: Vec<&Path> = std::iter::once(self.options.root)
            .chain(self.options.also.iter().map(PathBuf::as_path))
            .collect();
        for (tree, root) in roots.iter().enumerate() {
            let of_tree: Vec<&Difference> = differences
                .iter()
                .filter(|difference| difference.tree == tree)
                .collect();
            let evidence = self.evidence(tree, root, &of_tree)?;
            for difference in of_tree {
                let path = self.name(tree, &difference.path);
                let mut against: Vec<&String> = evidence
                    .convicted
                    .get(&difference.path)
                    .into_iter()
                    .flatten()
                    .collect();
                // Where nobody can be asked, what was written is convicted; a mere change of mode is
                // not.
                if difference.change == SourceChange::Rewritten {
                    let suspected = evidence.suspected.get(&difference.path);
                    against.extend(suspected.into_iter().flatten());
                }
                match difference.change {
                    SourceChange::Rewritten | SourceChange::Touched if !against.is_empty() => {
                        reasons.extend(against.into_iter().map(|why| {
                            format!(
                                "{path} was rewritten during the sweep and put back, and code ran that is \
                                 not on disk: {why}"
                            )
                        }));
                    }
                    SourceChange::Rewritten => notes.push(format!(
                        "{path} was rewritten during the sweep with the same content"
                    )),
                    SourceChange::Touched => {}
                    change => reasons.push(format!("{path} {} during the sweep", change.word())),
                }
            }
            reasons.extend(evidence.left);
        }
        Ok(())
    }

    /// Has the entries proved that were written during the sweep, of sources that were touched in it,
    /// and that times do not settle. What nobody acquits is purged.
    fn evidence(&self, tree: usize, root: &Path, touched: &[&Difference]) -> Result<Evidence> {
        let mut evidence = Evidence::default();
        let wanted: Vec<Wanted> = touched
            .iter()
            .filter(|difference| {
                !matches!(
                    difference.change,
                    SourceChange::Vanished | SourceChange::Appeared
                )
            })
            .map(|difference| Wanted {
                path: difference.path.clone(),
                purge: false,
                gone: false,
                beside: false,
            })
            .collect();
        // Entries of other trees lie in them alone.
        if wanted.is_empty() {
            return Ok(evidence);
        }
        let options = Options {
            root,
            repo: self.options.repo.filter(|_| tree == 0),
            ..self.options
        };
        let mut scan = scan::sources(&options, &wanted)?;
        let since = Time::of(self.started.checked_sub(LAG).unwrap_or(UNIX_EPOCH));
        scan.entries
            .retain(|entry| entry.state >= State::Racy && entry.changed >= since);
        acquit(&mut scan, self.pythons)?;
        purge::due(&mut scan, false);
        for entry in scan.lying() {
            let Some(source) = &entry.source else {
                continue;
            };
            let path = self.name(tree, &entry.path);
            let against = match entry.state {
                State::Stale => &mut evidence.convicted,
                _ => &mut evidence.suspected,
            };
            let why = format!("{path}: {}", entry.reason);
            against.entry(source.clone()).or_default().push(why);
            evidence.left.extend(left(&scan, entry));
        }
        Ok(evidence)
    }

    /// A path of one of the trees as people read it.
    fn name(&self, tree: usize, path: &BString) -> String {
        match tree.checked_sub(1).and_then(|at| self.options.also.get(at)) {
            None => printable(path),
            Some(root) => printable(&to_git(&below(root, path))),
        }
    }
}
