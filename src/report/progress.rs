//! A sign of life for long scans: only on a terminal, only after half a second.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::style::{Terminal, count};

/// How long a scan may take without a word.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shows how many directories have been looked at.
pub struct Progress {
    started: Instant,
    bar: Option<Mutex<Option<ProgressBar>>>,
}

impl Progress {
    /// Nothing is shown unless standard error is a terminal and the user wants to hear something.
    pub fn new(terminal: Terminal, quiet: bool) -> Self {
        let bar = (terminal.is_terminal && !quiet).then(|| Mutex::new(None));
        Self {
            started: Instant::now(),
            bar,
        }
    }

    /// Tells the number of directories so far.
    pub fn seen(&self, directories: u64) {
        if !directories.is_multiple_of(256) || self.started.elapsed() < PATIENCE {
            return;
        }
        let Some(Ok(mut bar)) = self.bar.as_ref().map(Mutex::lock) else {
            return;
        };
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar
        });
        bar.set_message(format!(
            "looking at bytecode: {}",
            count(directories, "directory", "directories")
        ));
        bar.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(Ok(Some(bar))) = self
            .bar
            .as_ref()
            .map(|bar| bar.lock().map(|mut bar| bar.take()))
        {
            bar.finish_and_clear();
        }
    }
}
