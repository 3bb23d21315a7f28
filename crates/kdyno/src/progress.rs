//! What a run says on standard error while it goes on: a line that is redrawn on a terminal, a plain line
//! every few seconds elsewhere.

use crate::out;
use kdyno_lab::{Live, Progress};
use kdyno_model::finding::Value;
use kdyno_model::plan::Plan;
use kdyno_report::terminal::{LiveState, TextOptions, live_line, trial_summary};
use std::io::{IsTerminal, Write};

/// Distance of live lines where they cannot be redrawn, such as a log file.
const PLAIN_LINE_EVERY_NS: u64 = 5_000_000_000;

/// Prints progress.
pub(crate) struct Printer<'a> {
    plan: &'a Plan,
    quiet: bool,
    terminal: bool,
    options: TextOptions,
    /// Whether the cursor stands behind a line that may be redrawn.
    drawn: bool,
    /// When the last plain line of this trial was printed, ns from T0.
    plain_at_ns: Option<u64>,
}

impl<'a> Printer<'a> {
    /// Prints to standard error; when `quiet`, warnings alone.
    pub(crate) fn new(plan: &'a Plan, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { plan, quiet, terminal, options: text_options(terminal), drawn: false, plain_at_ns: None }
    }

    /// Takes one piece of news.
    pub(crate) fn tell(&mut self, progress: Progress) {
        match progress {
            Progress::Warning(what) => self.line(&format!("warning: {what}")),
            _ if self.quiet => {}
            Progress::Step(step) => self.line(&step),
            Progress::TrialStarted { number, of, label, .. } => {
                self.plain_at_ns = None;
                let label = if label.is_empty() { String::new() } else { format!(": {label}") };
                self.line(&format!("trial {} of {of}{label}", number + 1));
            }
            Progress::Live(live) => self.live(&live),
            Progress::TrialEnded { trial, findings, caveats } => {
                let caveats: Vec<_> = caveats.into_iter().map(|(severity, c)| (trial, severity, c)).collect();
                let summary = trial_summary(self.plan, trial, &findings, &caveats, &self.options);
                self.line(summary.trim_end());
            }
        }
    }

    fn live(&mut self, live: &Live) {
        let text = live_line(&live_state(live), &self.options);
        if self.terminal {
            // A terminal that is gone has no reader to disappoint.
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K{text}");
            self.drawn = true;
        } else if self.plain_at_ns.is_none_or(|at_ns| live.elapsed_ns >= at_ns + PLAIN_LINE_EVERY_NS) {
            self.plain_at_ns = Some(live.elapsed_ns);
            out::note(&text);
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

impl Drop for Printer<'_> {
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
    let value = |ns: Option<u64>| ns.map_or(Value::None, |ns| Value::Is(ns as f64));
    let figures = &live.figures;
    LiveState {
        elapsed_ns: live.elapsed_ns,
        phase: live.phase,
        trial: live.number + 1,
        trials: live.of,
        label: live.label.clone(),
        offered_per_s: figures.offered_per_s as f64,
        achieved_per_s: figures.achieved_per_s as f64,
        acknowledged_per_s: figures.acknowledged_per_s as f64,
        fetched_per_s: figures.fetched_per_s.map(|fetched| fetched as f64),
        response_ns_p50: value(figures.response_ns_p50),
        response_ns_p99: value(figures.response_ns_p99),
        open_records: figures.open_records,
        failed: figures.failed,
        broker_cpu_percent: live.brokers_cpu_percent,
        worker_cpu_percent: live.workers_cpu_percent,
        remaining_ns: Some(live.remaining_ns),
    }
}
