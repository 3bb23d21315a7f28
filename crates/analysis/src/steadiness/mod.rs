//! Whether a trial's window was steady: its series are tested, and their figures are reported with the result.

pub(crate) mod courses;
mod short_term;

use crate::caveats::found::FoundCaveat;
use crate::error::AnalysisError;
use crate::evidence::{Window, is_open_loop};
use crate::rows::{ItemRows, TrialRows};
use crate::steady::{FigureKind, Penalties, SeriesShape, SeriesSteadiness, course};
use courses::SecondOf;
use kdyno_model::caveat::{Caveat, Degree, ScopedCaveat};
use kdyno_model::conclusion::{Conclusion, Level, ShortTerm, Steadiness, SteadyState};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Finding, Mark, Value};
use kdyno_model::metric::{Address, is_cost};

/// Rates of a load item.
const RATES: &[&str] =
    &["achieved_per_s", "acked_per_s", "acked_mib_per_s", "fetched_per_s", "fetched_wire_mib_per_s"];

/// What CPU time is divided by records for, or the other way round.
const EFFICIENCIES: &[&str] = &["cpu_us_per_record", "records_per_s_per_core"];

const BROKERS: &str = "brokers";

/// What is said of a trial's window.
#[derive(Debug, Default)]
pub(crate) struct WindowJudgement {
    pub(crate) conclusions: Vec<Conclusion>,
    pub(crate) caveats: Vec<ScopedCaveat>,
    /// A series is not steady, or too short to determine.
    has_doubtful: bool,
}

impl WindowJudgement {
    /// Whether every series that was tested is steady, and there was one.
    pub(crate) fn is_steady(&self) -> bool {
        !self.conclusions.is_empty() && !self.has_doubtful
    }
}

/// Tests the window, and marks the findings whose series are not steady or that it was too short for. Nothing is said of a trial without a window, with
/// a load that is meant to change, or that conditions a cluster.
///
/// # Errors
/// When a stored histogram is damaged.
pub(crate) fn judge(
    trial: &TrialRows<'_>,
    brokers: &[Subject],
    findings: &mut [Finding],
) -> Result<WindowJudgement, AnalysisError> {
    let mut judged = WindowJudgement::default();
    let is_judged = courses::is_constant(trial.evidence) && !trial.evidence.start.trial.is_conditioning();
    let Some(window) = trial.window.filter(|_| is_judged) else { return Ok(judged) };
    for item in &trial.items {
        let tested = item_series(trial, item, window)?;
        mark_item(item, &tested, findings);
        let short_term = short_term::of(trial, item, window);
        if short_term::is_marked(trial) {
            let is_open_loop = is_open_loop(item.plan);
            let concerns = |metric: &str| short_term::concerns(&short_term, is_open_loop, RATES, metric);
            put(Mark::ShortTerm, findings, |of| match of.metric.as_str() {
                // A price divided by the rate of what is written: of a consumer nothing is short.
                metric if is_cost(metric) => concerns("acked_per_s"),
                metric => of.subject == item.name && concerns(metric),
            });
        }
        judged.add(trial, item.name, &tested, short_term);
    }
    let seconds = window.first_second..window.end_second;
    let efficiency = courses::brokers_cpu_us_per_record(trial.evidence, brokers, seconds);
    if let Some(points) = courses::filled(&efficiency) {
        let tested = Tested::of(BROKERS, EFFICIENCIES[0], FigureKind::Rate, &points, window);
        let tested: Vec<Tested> = tested.into_iter().collect();
        for mark in tested.iter().filter_map(Tested::mark) {
            put(mark, findings, |of| is_of_brokers(of) && EFFICIENCIES.contains(&of.metric.as_str()));
        }
        judged.add(trial, BROKERS, &tested, Vec::new());
    }
    Ok(judged)
}

/// One tested series.
struct Tested {
    of: Address,
    course: SeriesSteadiness,
    window: Window,
}

impl Tested {
    fn of(subject: &str, metric: &str, figure: FigureKind, points: &[f64], window: Window) -> Option<Self> {
        let course = course(points, figure, Penalties::MARK)?;
        let of = Address { subject: subject.to_owned(), metric: metric.to_owned() };
        Some(Self { of, course, window })
    }

    fn mark(&self) -> Option<Mark> {
        match self.course.shape {
            SeriesShape::Steady => None,
            SeriesShape::Drifting { .. } => Some(Mark::Drifting),
            SeriesShape::SeveralLevels(_) => Some(Mark::SeveralLevels),
            SeriesShape::TooShort { .. } => Some(Mark::TooShortToTell),
        }
    }

    fn state(&self) -> SteadyState {
        let second =
            |point: usize| self.window.first_second.saturating_add(u32::try_from(point).unwrap_or(u32::MAX));
        match &self.course.shape {
            SeriesShape::Steady => SteadyState::Steady,
            SeriesShape::Drifting { per_point } => {
                SteadyState::Drifting { of: self.of.clone(), per_minute: 60.0 * per_point }
            }
            SeriesShape::SeveralLevels(levels) => {
                let level = |level: &crate::steady::LevelStretch| Level {
                    from_s: second(level.from),
                    to_s: second(level.to),
                    value: level.value,
                };
                SteadyState::SeveralLevels { of: self.of.clone(), levels: levels.iter().map(level).collect() }
            }
            SeriesShape::TooShort { needed } => {
                SteadyState::TooShort { needed_s: u32::try_from(*needed).unwrap_or(u32::MAX) }
            }
        }
    }

    /// What is unsteady, in words.
    fn detail(&self) -> Option<String> {
        let of = &self.of;
        match &self.course.shape {
            SeriesShape::Steady | SeriesShape::TooShort { .. } => None,
            SeriesShape::Drifting { per_point } => {
                Some(format!("{of} changed by {:+.1} % of its median per minute", 6000.0 * per_point))
            }
            SeriesShape::SeveralLevels(levels) => {
                let values = || levels.iter().map(|level| level.value);
                let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
                let ratio =
                    if low > 0.0 { format!("{:.2} × the lowest", high / low) } else { "above 0".to_owned() };
                Some(format!("{of} stayed at {} levels, the highest {ratio}", levels.len()))
            }
        }
    }
}

/// An item's rate and, in an open loop, its p50; the one that its figures are about is first.
fn item_series(
    trial: &TrialRows<'_>,
    item: &ItemRows<'_>,
    window: Window,
) -> Result<Vec<Tested>, AnalysisError> {
    let seconds = || window.first_second..window.end_second;
    let rate = courses::rate(trial.evidence, item.name, seconds());
    let metric = if item.plan.role.as_produce().is_some() { "acked_per_s" } else { "fetched_per_s" };
    // At less than a record a second, most seconds hold none by the schedule.
    let has_rate = rate.iter().sum::<f64>() >= rate.len() as f64;
    let tested = has_rate.then(|| Tested::of(item.name, metric, FigureKind::Rate, &rate, window));
    let mut tested: Vec<Tested> = tested.flatten().into_iter().collect();
    if is_open_loop(item.plan) {
        let p50 = courses::response_p50(trial.evidence, item.name, seconds(), SecondOf::Intent)?;
        let p50 = courses::filled(&p50)
            .and_then(|points| Tested::of(item.name, "response.p50", FigureKind::Latency, &points, window));
        tested.splice(0..0, p50);
    }
    Ok(tested)
}

/// A rate's mark goes to the rates and, of what drifts or steps, to CPU time per record; in a closed loop
/// latencies are what the rate makes them. A p50's goes to the latencies.
fn mark_item(item: &ItemRows<'_>, tested: &[Tested], findings: &mut [Finding]) {
    let is_open_loop = is_open_loop(item.plan);
    for (series, mark) in tested.iter().filter_map(|series| Some((series, series.mark()?))) {
        let is_latency = series.of.metric.contains('.');
        let moves = mark != Mark::TooShortToTell && !is_latency;
        put(mark, findings, |of| {
            let metric = of.metric.as_str();
            let own = of.subject == item.name;
            match metric.contains('.') {
                true => own && (is_latency || !is_open_loop),
                false if own => !is_latency && RATES.contains(&metric),
                // A price divided by the rate.
                false if is_cost(metric) => !is_latency && item.plan.role.as_produce().is_some(),
                false => moves && EFFICIENCIES.contains(&metric),
            }
        });
    }
}

/// All brokers together, a single one, or the system that they make up.
fn is_of_brokers(of: &Address) -> bool {
    of.subject == BROKERS || of.subject == "system" || of.subject.starts_with("broker-")
}

/// Marks the findings that have a value.
fn put(mark: Mark, findings: &mut [Finding], concerns: impl Fn(&Address) -> bool) {
    for finding in findings.iter_mut().filter(|finding| finding.estimate != Value::None) {
        if concerns(&finding.of) {
            finding.marks.insert(mark);
        }
    }
}

impl WindowJudgement {
    /// What the series of one subject say: the first that is unsteady, or else too short to determine, or else the one
    /// that comes first.
    fn add(&mut self, trial: &TrialRows<'_>, subject: &str, tested: &[Tested], short_term: Vec<ShortTerm>) {
        let Some(first) = tested.first() else { return };
        let scope = trial.scope();
        let unsteady = tested.iter().find(|series| series.detail().is_some());
        let reported = unsteady.or(tested.iter().find(|series| series.mark().is_some())).unwrap_or(first);
        self.has_doubtful |= reported.mark().is_some();
        self.conclusions.push(Conclusion::Steadiness(Steadiness {
            scope,
            item: subject.to_owned(),
            state: reported.state(),
            smallest_step: reported.course.smallest_step,
            short_term,
        }));
        let details: Vec<String> = tested.iter().filter_map(Tested::detail).collect();
        if !details.is_empty() {
            let caveat = Caveat::Unsteady { item: subject.to_owned(), detail: details.join("; ") };
            self.caveats.extend(FoundCaveat::from(caveat).scoped(trial, Degree::Usual));
        }
    }
}
