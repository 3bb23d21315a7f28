//! What a run says on standard error while it goes on: a line that is redrawn on a terminal, a plain line
//! every few seconds elsewhere.

use crate::looks::Looks;
use crate::out;
use kdyno_lab::{Live, Progress};
use kdyno_model::caveat::{Caveat, ScopedCaveat};
use kdyno_model::finding::Scope;
use kdyno_model::outcome::TrialOutcome;
use kdyno_report::terminal::{
    LiveState, TextOptions, live_line, live_line_of_pair, trial_summary, trial_warnings,
};
use std::io::{IsTerminal, Write};

/// Distance of live lines where they cannot be redrawn, such as a log file.
const PLAIN_LINE_EVERY_NS: u64 = 5_000_000_000;

/// Prints progress.
pub(crate) struct Printer {
    quiet: bool,
    terminal: bool,
    options: TextOptions,
    /// Whether the cursor stands behind a line that may be redrawn.
    drawn: bool,
    /// The looks of a comparison.
    looks: Option<Looks>,
    /// When the last plain line of this trial was printed, ns from T0.
    plain_at_ns: Option<u64>,
}

impl Printer {
    /// Prints to standard error; when `quiet`, warnings alone.
    pub(crate) fn new(quiet: bool, looks: Option<Looks>) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { quiet, terminal, options: text_options(terminal), drawn: false, looks, plain_at_ns: None }
    }

    /// Takes one piece of news.
    pub(crate) fn tell(&mut self, progress: Progress) {
        match progress {
            Progress::Warning(what) => self.line(&format!("warning: {what}")),
            _ if self.quiet => {}
            Progress::Step(step) => self.line(&step),
            Progress::TrialStarted { trial, of } => {
                self.plain_at_ns = None;
                let of = of.map_or(String::new(), |of| format!(" of {of}"));
                let label = if trial.label.is_empty() { String::new() } else { format!(": {}", trial.label) };
                self.line(&format!("trial {}{of}{label}", trial.id));
            }
            Progress::Live(live) => {
                let text = live_line(&live_state(&live), &self.options);
                self.live(&text, live.elapsed_ns);
            }
            Progress::LiveOfPair(pair) => {
                let text = live_line_of_pair(&pair.each_ref().map(live_state), &self.options);
                self.live(&text, pair[0].elapsed_ns);
            }
            // They are kept in the run file.
            Progress::ClientMetrics(_) => {}
            Progress::TrialEnded(outcome) => {
                let TrialOutcome { trial, findings, caveats, .. } = &*outcome;
                let summary = trial_summary(trial, findings, caveats, &self.options);
                if !summary.trim().is_empty() {
                    self.line(summary.trim_end());
                }
                let look = self.looks.as_mut().and_then(|looks| looks.take(&outcome, &self.options));
                if let Some(said) = look {
                    self.line(&said);
                }
            }
        }
    }

    /// Tells a trial's warnings alone, where its rates are told by others.
    pub(crate) fn warnings_of(&mut self, outcome: &TrialOutcome) {
        let warnings = trial_warnings(&outcome.trial, &outcome.caveats, &self.options);
        if !warnings.is_empty() {
            self.line(warnings.trim_end());
        }
    }

    fn live(&mut self, text: &str, elapsed_ns: u64) {
        if self.terminal {
            // A terminal that is gone has no reader to disappoint.
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K{text}");
            self.drawn = true;
        } else if self.plain_at_ns.is_none_or(|at_ns| elapsed_ns >= at_ns + PLAIN_LINE_EVERY_NS) {
            self.plain_at_ns = Some(elapsed_ns);
            out::note(text);
        }
    }

    /// A line that stays; one that may be redrawn is wiped before it.
    fn line(&mut self, text: &str) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
        out::note(text);
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        if self.drawn {
            let _ = writeln!(std::io::stderr().lock());
        }
    }
}

/// How text is laid out on a stream: as wide as the terminal, in colour only there.
pub(crate) fn text_options(terminal: bool) -> TextOptions {
    let width = match (terminal, rustix::termios::tcgetwinsize(std::io::stderr())) {
        (true, Ok(size)) if size.ws_col > 0 => usize::from(size.ws_col),
        // Wide enough for the widest bundled table, narrow enough for a pasted one.
        _ => 120,
    };
    TextOptions { width, colour: terminal }
}

fn live_state(live: &Live) -> LiveState {
    LiveState {
        elapsed_ns: live.elapsed_ns,
        phase: live.phase,
        trial: live.trial,
        trials: live.of,
        label: live.label.clone(),
        figures: live.figures,
        remaining_ns: live.remaining_ns,
    }
}

/// Says last of all that a process of the cluster ended in a trial, since the exit code does not where all was carried.
pub(crate) fn tell_died(caveats: &[ScopedCaveat]) {
    let died = caveats.iter().filter_map(|found| match (&found.caveat, found.scope) {
        (Caveat::ProcessDied { subject }, Scope::Trial(trial)) => {
            Some(format!("{subject} ended in trial {trial}"))
        }
        _ => None,
    });
    let died: Vec<String> = died.collect();
    if !died.is_empty() {
        out::note(&format!(
            "warning: {}: figures are those of a cluster that lost it on the way; the exit code tells nothing of that",
            died.join(", ")
        ));
    }
}
