//! What a run says on standard error while it goes on: a few lines that are redrawn on a terminal, a plain line
//! every few seconds elsewhere.

use crate::looks::ComparisonLooks;
use crate::out;
use kdyno_analysis::marks;
use kdyno_lab::{LiveTrial, RunProgress};
use kdyno_model::caveat::{Caveat, ScopedCaveat};
use kdyno_model::event::Subject;
use kdyno_model::finding::Scope;
use kdyno_model::outcome::TrialOutcome;
use kdyno_report::terminal::{
    LiveCourse, LiveState, PrintedOnce, TextOptions, live_line, live_line_of_pair, live_view,
    live_view_of_pair, trial_summary, trial_warnings,
};
use std::io::IsTerminal;

/// Distance of live lines where they cannot be redrawn, such as a log file.
const PLAIN_LINE_EVERY_NS: u64 = 5_000_000_000;

/// Prints progress.
pub(crate) struct Printer {
    quiet: bool,
    /// Lines can be redrawn.
    terminal: bool,
    options: TextOptions,
    drawn: LiveLines,
    /// How the trial that runs went so far, or each of the two of a duet.
    courses: [LiveCourse; 2],
    /// The looks of a comparison.
    looks: Option<ComparisonLooks>,
    /// Warnings and footnotes that were printed already.
    said: PrintedOnce,
    /// When the last plain line of this trial was printed, ns from T0.
    plain_at_ns: Option<u64>,
}

impl Printer {
    /// Prints to standard error; when `quiet`, warnings alone.
    pub(crate) fn new(quiet: bool, looks: Option<ComparisonLooks>) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal()
                && std::env::var_os("TERM").is_none_or(|name| name != "dumb"),
            options: out::note_options(),
            drawn: LiveLines::default(),
            courses: Default::default(),
            looks,
            said: PrintedOnce::default(),
            plain_at_ns: None,
        }
    }

    /// Takes one piece of news.
    pub(crate) fn tell(&mut self, progress: RunProgress) {
        match progress {
            RunProgress::Warning(what) => self.line(&format!("warning: {what}")),
            _ if self.quiet => {}
            RunProgress::Step(step) => self.line(&step),
            RunProgress::TrialStarted { trial, of } => {
                self.plain_at_ns = None;
                self.courses = Default::default();
                let of = of.map_or(String::new(), |of| format!(" of {of}"));
                let label = if trial.label.is_empty() { String::new() } else { format!(": {}", trial.label) };
                self.line(&format!("trial {}{of}{label}", trial.id));
            }
            RunProgress::Live(live) => self.live(&live),
            RunProgress::LiveOfPair(pair) => self.live_of_pair(&pair),
            // They are kept in the run file.
            RunProgress::ClientMetrics(_) => {}
            RunProgress::TrialEnded(outcome, _) => {
                let TrialOutcome { trial, findings, caveats, .. } = &*outcome;
                let mut stated = findings.clone();
                marks::at_least(&mut stated, caveats);
                let summary = trial_summary(trial, &stated, caveats, &mut self.said, &self.options);
                if !summary.trim().is_empty() {
                    self.painted(summary.trim_end());
                }
                let look = self.looks.as_mut().and_then(|looks| looks.take(&outcome, &self.options));
                if let Some(said) = look {
                    self.painted(&said);
                }
            }
        }
    }

    /// Prints a trial's warnings alone, where its rates are printed elsewhere.
    pub(crate) fn warnings_of(&mut self, outcome: &TrialOutcome) {
        let warnings = trial_warnings(&outcome.trial, &outcome.caveats, &self.options);
        if !warnings.is_empty() {
            self.painted(warnings.trim_end());
        }
    }

    fn live(&mut self, live: &LiveTrial) {
        let state = live_state(live);
        self.courses[0].push(live.complete_until, &live.figures);
        if self.terminal {
            let (options, rows) = self.room();
            self.redraw(&live_view(&state, &self.courses[0], &options, rows));
        } else {
            self.plain(&live_line(&state, &self.options), live.elapsed_ns);
        }
    }

    fn live_of_pair(&mut self, pair: &[LiveTrial; 2]) {
        let states = pair.each_ref().map(live_state);
        for (course, live) in self.courses.iter_mut().zip(pair) {
            course.push(live.complete_until, &live.figures);
        }
        if self.terminal {
            let (options, rows) = self.room();
            self.redraw(&live_view_of_pair(&states, &self.courses, &options, rows));
        } else {
            self.plain(&live_line_of_pair(&states, &self.options), pair[0].elapsed_ns);
        }
    }

    /// As wide and high as the terminal is now, which may have changed.
    fn room(&self) -> (TextOptions, usize) {
        match out::window() {
            Some(size) => {
                let options = TextOptions { width: usize::from(size.ws_col), ..self.options };
                (options, usize::from(size.ws_row))
            }
            None => (self.options, 0),
        }
    }

    fn redraw(&mut self, lines: &[String]) {
        out::draw(lines, |lines| self.drawn.redraw(lines));
    }

    fn plain(&mut self, text: &str, elapsed_ns: u64) {
        if self.plain_at_ns.is_none_or(|at_ns| elapsed_ns >= at_ns + PLAIN_LINE_EVERY_NS) {
            self.plain_at_ns = Some(elapsed_ns);
            out::note_painted(text);
        }
    }

    /// A line that stays; those that may be redrawn are wiped before it.
    fn line(&mut self, text: &str) {
        self.wipe();
        out::note(text);
    }

    /// The lines of a report.
    fn painted(&mut self, text: &str) {
        self.wipe();
        out::note_painted(text);
    }

    fn wipe(&mut self) {
        out::draw(&[], |_| self.drawn.wipe());
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        if self.drawn.lines > 0 {
            out::note("");
        }
    }
}

/// The lines on a terminal that may be redrawn, none of them wrapped.
#[derive(Debug, Default)]
struct LiveLines {
    lines: usize,
}

impl LiveLines {
    /// What takes them away: the cursor is in the last one.
    fn wipe(&mut self) -> String {
        match std::mem::take(&mut self.lines) {
            0 => String::new(),
            1 => "\r\x1b[J".to_owned(),
            lines => format!("\r\x1b[{}A\x1b[J", lines - 1),
        }
    }

    /// What puts these in their place. The cursor waits at the beginning of the last one, so that what a terminal echoes there,
    /// such as `^C`, wraps no line.
    fn redraw(&mut self, lines: &[String]) -> String {
        let wipe = self.wipe();
        self.lines = lines.len();
        format!("{wipe}{}\r", lines.join("\r\n"))
    }
}

fn live_state(live: &LiveTrial) -> LiveState {
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

/// Says last of all that a process of the cluster, or a component, ended in a trial, since the exit code does not where all was carried.
pub(crate) fn tell_died(caveats: &[ScopedCaveat]) {
    let died = caveats.iter().filter_map(|found| match (&found.caveat, found.scope) {
        (Caveat::ProcessDied { subject }, Scope::Trial(trial)) => {
            let of = if matches!(subject, Subject::Component(_)) { "system" } else { "cluster" };
            Some((format!("{subject} ended in trial {trial}"), of))
        }
        _ => None,
    });
    let (died, of): (Vec<String>, Vec<&str>) = died.unzip();
    if let Some(of) = of.first() {
        out::note(&format!(
            "warning: {}: figures are those of a {of} that lost it on the way; the exit code does not show that",
            died.join(", ")
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal shows after some output: only what is used here, on a screen without an end.
    fn screen(output: &str) -> Vec<String> {
        let mut lines: Vec<Vec<char>> = vec![Vec::new()];
        let (mut row, mut column) = (0_usize, 0_usize);
        let mut rest = output.chars();
        while let Some(c) = rest.next() {
            match c {
                '\r' => column = 0,
                '\n' => {
                    row += 1;
                    lines.resize(lines.len().max(row + 1), Vec::new());
                }
                '\x1b' => {
                    let code: String = rest.by_ref().skip(1).take_while(|c| !c.is_alphabetic()).collect();
                    match code.parse::<usize>() {
                        Ok(up) => row -= up,
                        Err(_) => {
                            lines.truncate(row + 1);
                            lines[row].truncate(column);
                        }
                    }
                }
                c => {
                    let line = &mut lines[row];
                    line.resize(line.len().max(column + 1), ' ');
                    line[column] = c;
                    column += 1;
                }
            }
        }
        lines.into_iter().map(|line| line.into_iter().collect()).collect()
    }

    fn texts(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn lines_are_redrawn_in_place_also_after_a_typed_interrupt() {
        let mut drawn = LiveLines::default();
        let mut output = "trial 1\r\n".to_owned() + &drawn.redraw(&texts(&["one", "two two", "three"]));
        assert_eq!(screen(&output), ["trial 1", "one", "two two", "three"]);
        output += "^C";
        output += &drawn.redraw(&texts(&["1", "2", "3"]));
        assert_eq!(screen(&output), ["trial 1", "1", "2", "3"]);
        output += &drawn.redraw(&texts(&["a single one"]));
        assert_eq!(screen(&output), ["trial 1", "a single one"]);
        output += &drawn.redraw(&texts(&["4", "5", "6"]));
        output += &(drawn.wipe() + "trial 2\r\n");
        assert_eq!(screen(&output), ["trial 1", "trial 2", ""]);
        assert_eq!(drawn.wipe(), "", "nothing is left that could be wiped");
    }
}
