//! The only code that removes anything: the due entries of a scan and its ghosts, companions first.
#![forbid(unsafe_code)]

mod removal;

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};

use self::removal::Target;
use crate::bytecode::Kind;
use crate::fsys::relative::{is_below, join};
use crate::fsys::{Dir, DirBuffer, FileType};
use crate::scan::{Action, Scan, TreeKind};

/// Purges the due entries and removes the ghosts; a dry run only says what would be. Sets each
/// entry's action, the counts, and the list of ghosts: those removed, or that would be.
///
/// Machine code built from an entry goes before the entry itself, and where it cannot go the entry
/// stays: without it nothing would tell any more that the machine code may be of other content.
pub fn due(scan: &mut Scan, dry_run: bool) {
    let mut order: Vec<usize> = (0..scan.entries.len())
        .filter(|&at| scan.entries[at].due)
        .collect();
    order.sort_by_key(|&at| {
        let entry = &scan.entries[at];
        (entry.tree, entry.split().0.to_owned())
    });
    let mut touched: BTreeSet<BString> = BTreeSet::new();
    if dry_run {
        for &at in &order {
            touched.insert(scan.entries[at].split().0.to_owned());
            scan.entries[at].action = Action::WouldPurge;
        }
    } else {
        let (companions, entries): (Vec<usize>, Vec<usize>) = order
            .into_iter()
            .partition(|&at| scan.entries[at].kind == Kind::Companion);
        remove(scan, &companions, &mut touched);
        let left: BTreeSet<BString> = companions
            .iter()
            .map(|&at| &scan.entries[at])
            .filter(|companion| matches!(companion.action, Action::Failed(_)))
            .filter_map(|companion| companion.source.clone())
            .collect();
        let (held, free): (Vec<usize>, Vec<usize>) = entries.into_iter().partition(|&at| {
            let source = scan.entries[at].source.as_ref();
            source.is_some_and(|source| left.contains(source))
        });
        remove(scan, &free, &mut touched);
        for at in held {
            scan.counts.failed += 1;
            scan.entries[at].action = Action::Failed(
                "kept for as long as the machine code built from it cannot be removed".into(),
            );
        }
    }
    let ghosts = std::mem::take(&mut scan.ghosts);
    scan.ghosts = ghosts
        .into_iter()
        .filter(|ghost| touched.iter().any(|directory| is_below(directory, ghost)))
        .filter(|ghost| {
            if dry_run {
                would_be_empty(scan, ghost)
            } else {
                removal::ghost(&scan.trees[0].root, ghost.as_ref())
            }
        })
        .collect();
}

/// Removes entries in the order given, and notes their directories.
fn remove(scan: &mut Scan, order: &[usize], touched: &mut BTreeSet<BString>) {
    let targets: Vec<Target<'_>> = order.iter().map(|&at| target(scan, at)).collect();
    for (&at, outcome) in order.iter().zip(removal::entries(&targets)) {
        let entry = &mut scan.entries[at];
        entry.action = match outcome {
            Ok(()) => {
                scan.counts.purged += 1;
                if entry.tree == 0 {
                    touched.insert(entry.split().0.to_owned());
                }
                Action::Purged
            }
            Err(why) => {
                scan.counts.failed += 1;
                Action::Failed(why)
            }
        };
    }
}

fn target(scan: &Scan, at: usize) -> Target<'_> {
    let entry = &scan.entries[at];
    let tree = &scan.trees[entry.tree];
    let (directory, name) = entry.split();
    Target {
        root: &tree.root,
        prefix: tree.kind == TreeKind::Prefix,
        directory,
        name,
    }
}

/// Whether a dry run's ghost would be one: everything in it would be purged.
fn would_be_empty(scan: &Scan, ghost: &BString) -> bool {
    let due: BTreeSet<&BString> = scan
        .entries
        .iter()
        .filter(|entry| entry.due && entry.tree == 0)
        .map(|entry| &entry.path)
        .collect();
    let mut waiting = vec![ghost.clone()];
    let mut buffer = DirBuffer::default();
    while let Some(path) = waiting.pop() {
        let opened = Dir::open(&scan.trees[0].root).and_then(|root| root.open_below(&path));
        let Ok(directory) = opened else { return false };
        let mut only_due = true;
        let listed = directory.list(&mut buffer, |name, file_type| {
            let below = join(path.as_bstr(), name);
            match file_type {
                FileType::Directory => waiting.push(below),
                _ => only_due &= due.contains(&below),
            }
        });
        if listed.is_err() || !only_due {
            return false;
        }
    }
    true
}
