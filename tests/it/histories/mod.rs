//! Random histories of one tree: sources are edited, moved, linked and deleted, branches switched,
//! imports and compileall run in between, by every interpreter that is here; then the gate. After it
//! every module gives what the same interpreter gives in a copy of the sources without any entry.
//!
//! Histories go through time together, so that they share the waits that make entries settled. One
//! that goes wrong is printed with its seed and without the operations it does not need:
//! `PYCGATE_SEED=N` runs the history of seed N and those of the numbers after it, `PYCGATE_HISTORIES=M`
//! says how many.

mod draw;
mod driver;
mod operation;
mod tree;

use std::fmt::Write as _;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use draw::History;
use driver::{Drivers, Import};
use operation::{MODULES, Operation};
use tree::{Template, Tree};

use crate::harness;

/// More than the margin of so small a source.
const WAIT: Duration = Duration::from_millis(2200);

/// What has become of one history.
#[derive(Debug, Default)]
struct Outcome {
    /// Imports that differed from the truth before the gate.
    stale: usize,
    /// Imports that differ from the truth after it.
    survivors: Vec<String>,
    /// What the gate has removed or changed without reason.
    lost: Vec<String>,
    /// Imports of sourceless modules, which are kept.
    sourceless: usize,
    /// Why the last gate was not certain.
    inconclusive: Option<String>,
    /// Entries that the last gate has judged, and those that it has purged.
    scanned: usize,
    purged: usize,
    /// Entries of innocents that the last gate has seen.
    innocents: usize,
}

impl Outcome {
    fn is_wrong(&self) -> bool {
        !self.survivors.is_empty() || !self.lost.is_empty()
    }
}

/// Runs histories side by side.
fn run(template: &Template, histories: &[History]) -> Vec<Outcome> {
    let threads = thread::available_parallelism().map_or(2, NonZero::get) + 1;
    let share = histories.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let shares: Vec<_> = histories
            .chunks(share)
            .map(|histories| scope.spawn(|| run_one_by_one(template, histories)))
            .collect();
        let outcomes = shares.into_iter().map(|share| share.join());
        outcomes
            .flat_map(|share| share.expect("no panic"))
            .collect()
    })
}

fn run_one_by_one(template: &Template, histories: &[History]) -> Vec<Outcome> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let mut drivers = Drivers::default();
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut trees = Vec::new();
    for history in histories {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let base = template.beside(&format!("history{number}"));
        let mut outcome = Outcome::default();
        let tree = Tree::new(template, base, history.common);
        act(&tree, history, 0, &mut drivers, &mut outcome);
        trees.push((tree, Instant::now()));
        outcomes.push(outcome);
    }
    for round in 1..3 {
        for ((history, (tree, last)), outcome) in
            histories.iter().zip(&mut trees).zip(&mut outcomes)
        {
            thread::sleep(WAIT.saturating_sub(last.elapsed()));
            if round == 1 {
                tree.warm_up(&history.contexts, &mut drivers);
            }
            act(tree, history, round, &mut drivers, outcome);
            *last = Instant::now();
        }
    }
    for ((history, (tree, _)), outcome) in histories.iter().zip(trees).zip(&mut outcomes) {
        conclude(&tree, history, &mut drivers, outcome);
    }
    outcomes
}

fn act(
    tree: &Tree<'_>,
    history: &History,
    round: usize,
    drivers: &mut Drivers,
    outcome: &mut Outcome,
) {
    for operation in &history.rounds[round] {
        if matches!(operation, Operation::Gate) {
            gate(tree, history, round > 0, outcome);
        } else {
            tree.act(operation, &history.contexts, drivers);
        }
    }
}

/// The gate, and what it must leave alone. The innocents are such once they have been warmed up.
fn gate(tree: &Tree<'_>, history: &History, warm: bool, outcome: &mut Outcome) {
    let innocents = tree.innocents();
    let untouched = tree.untouched();
    let done = tree.gate(history).run();
    if tree.untouched() != untouched {
        outcome.lost.push("something that is no entry".to_owned());
    }
    if warm && tree.innocents() != innocents {
        outcome.lost.push("an innocent entry".to_owned());
    }
    outcome.innocents = innocents.len();
    let report: serde_json::Value = serde_json::from_str(&done.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", done.stdout, done.stderr));
    let count = |name: &str| {
        let count = report["counts"][name].as_u64();
        usize::try_from(count.expect("a number")).expect("not that many")
    };
    outcome.scanned = count("scanned");
    outcome.purged = count("purged");
    outcome.inconclusive = (done.status != 0).then_some(done.stderr);
}

fn conclude(tree: &Tree<'_>, history: &History, drivers: &mut Drivers, outcome: &mut Outcome) {
    if history.commit {
        tree.commit();
    }
    let truth = tree.truth();
    let truths: Vec<_> = history
        .contexts
        .iter()
        .map(|context| drivers.import_all(context, Import::Look, &truth))
        .collect();
    for (context, truth) in history.contexts.iter().zip(&truths) {
        let before = drivers.import_all(context, Import::Look, &tree.work);
        outcome.stale += before
            .iter()
            .zip(truth)
            .filter(|(one, two)| one != two)
            .count();
    }
    gate(tree, history, true, outcome);
    if outcome.inconclusive.is_some() {
        return;
    }
    for (context, truth) in history.contexts.iter().zip(&truths) {
        let after = drivers.import_all(context, Import::Look, &tree.work);
        for ((module, value), truth) in MODULES.iter().zip(&after).zip(truth) {
            if value == truth {
            } else if tree.sourceless(module) {
                outcome.sourceless += 1;
            } else {
                outcome
                    .survivors
                    .push(format!("{context}: {module} is {value}, in truth {truth}"));
            }
        }
    }
}

/// Draws histories and runs them; the first that goes wrong is printed as short as it can be.
fn draw_and_run(number: u64) {
    let given = |name| {
        let text = std::env::var(name).ok()?;
        Some(text.parse().expect("a number"))
    };
    const BATCH: usize = 300;
    let first = given("PYCGATE_SEED").unwrap_or_else(|| fastrand::u64(..1 << 40));
    let number = given("PYCGATE_HISTORIES").unwrap_or(number);
    let template = Template::new();
    let seeds: Vec<u64> = (first..first + number).collect();
    let mut outcomes = Vec::new();
    for seeds in seeds.chunks(BATCH) {
        let histories: Vec<History> = seeds.iter().map(|&seed| History::draw(seed)).collect();
        let done = run(&template, &histories);
        outcomes.extend(histories.into_iter().zip(done));
    }
    let said = summary(&outcomes);
    harness::announce(&said);
    let wrong: Vec<_> = outcomes
        .iter()
        .filter(|(_, outcome)| outcome.is_wrong())
        .collect();
    if !wrong.is_empty() {
        let mut text = said;
        for (history, outcome) in &wrong {
            let (survivors, lost) = (&outcome.survivors, &outcome.lost);
            let _ = write!(
                text,
                "\nseed {}: {survivors:?} lost: {lost:?}",
                history.seed
            );
        }
        // Shortening takes a while.
        harness::announce(&text);
        let few = &wrong[..wrong.len().min(5)];
        thread::scope(|scope| {
            let shorter: Vec<_> = few
                .iter()
                .map(|(history, _)| scope.spawn(|| shortest(&template, history)))
                .collect();
            for shortest in shorter {
                let shortest = shortest.join().expect("no panic");
                let _ = write!(text, "\n\nin short: {shortest}");
            }
        });
        panic!("{text}");
    }
    let share = |of: &dyn Fn(&Outcome) -> bool| {
        outcomes.iter().filter(|(_, outcome)| of(outcome)).count() * 100 / outcomes.len()
    };
    assert!(
        share(&|outcome| outcome.stale > 0) >= 25,
        "too few histories went stale to show anything"
    );
    assert!(
        share(&|outcome| outcome.inconclusive.is_some()) <= 5,
        "too many gates gave no answer"
    );
}

fn summary(outcomes: &[(History, Outcome)]) -> String {
    let first = outcomes.first().map_or(0, |(history, _)| history.seed);
    let sum = |of: &dyn Fn(&Outcome) -> usize| {
        let each = outcomes.iter().map(|(_, outcome)| of(outcome));
        (
            each.clone().filter(|&one| one > 0).count(),
            each.sum::<usize>(),
        )
    };
    let (stale, stale_imports) = sum(&|outcome| outcome.stale);
    let (wrong, _) = sum(&|outcome| usize::from(outcome.is_wrong()));
    let (inconclusive, _) = sum(&|outcome| usize::from(outcome.inconclusive.is_some()));
    let (_, sourceless) = sum(&|outcome| outcome.sourceless);
    let (_, innocents) = sum(&|outcome| outcome.innocents);
    let (_, scanned) = sum(&|outcome| outcome.scanned);
    let (_, purged) = sum(&|outcome| outcome.purged);
    format!(
        "{} histories from seed {first}: {stale} with {stale_imports} stale imports before the gate, \
         {wrong} wrong after it, {inconclusive} inconclusive; {purged} of {scanned} entries purged, \
         none of {innocents} innocents; {sourceless} imports of sourceless modules",
        outcomes.len()
    )
}

/// The same without what it does not need to go wrong.
fn shortest(template: &Template, history: &History) -> History {
    let mut shortest = history.clone();
    loop {
        let still_wrong = |left_out: &[Vec<usize>]| {
            let shorter: Vec<_> = left_out.iter().map(|one| shortest.without(one)).collect();
            let outcomes = run(template, &shorter);
            let wrong = left_out
                .iter()
                .zip(outcomes)
                .filter(|(_, outcome)| outcome.is_wrong())
                .map(|(left_out, _)| left_out.clone());
            wrong.collect::<Vec<_>>()
        };
        let one_by_one: Vec<_> = (0..shortest.len()).map(|one| vec![one]).collect();
        let needless = still_wrong(&one_by_one).concat();
        let together: Vec<_> = (1..=needless.len())
            .map(|many| needless[..many].to_vec())
            .collect();
        let Some(most) = still_wrong(&together).pop() else {
            return shortest;
        };
        shortest = shortest.without(&most);
    }
}

#[test]
fn some_random_histories() {
    draw_and_run(40);
}

#[test]
#[ignore = "the long form: ten thousand histories"]
fn ten_thousand_random_histories() {
    draw_and_run(10_000);
}
