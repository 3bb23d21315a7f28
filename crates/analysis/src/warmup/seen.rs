//! What was seen of a warm-up, from the evidence of a trial under way.

use super::{SeriesKind, SoFar, WarmupBounds, WarmupProgress, WarmupSeries, has_ended};
use crate::error::AnalysisError;
use crate::evidence::{NS_PER_S, is_open_loop, items};
use crate::steadiness::courses::{self, SecondOf};
use crate::steady::FigureKind;
use crate::trial::brokers_of;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::{LoadPlan, PhasesPlan};

impl WarmupBounds {
    /// Series of a warm-up that ends by evidence; `None` for one that always lasts the same time.
    pub fn of(phases: &PhasesPlan) -> Option<Self> {
        let auto = phases.warmup_auto?;
        let seconds = |ns: u64| u32::try_from(ns.div_ceil(NS_PER_S)).unwrap_or(u32::MAX);
        let most_s = seconds(phases.measure_start_ns());
        Some(Self { least_s: seconds(auto.least_ns), most_s, records_min: auto.records_min })
    }
}

/// The state of the warm-up of a trial under way. `evidence` holds what was stored of it since T0, `seconds` says of
/// how many whole seconds since T0 all rows have come. `None`: its warm-up does not end by evidence.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn progress(evidence: &TrialEvidence, seconds: u32) -> Result<Option<WarmupProgress>, AnalysisError> {
    let Some(bounds) = WarmupBounds::of(&evidence.start.trial.effective.phases) else { return Ok(None) };
    Ok(Some(has_ended(&so_far(evidence, seconds)?, &bounds)))
}

/// The series that must have settled: the rate of each item that is there by then, in an open loop its p50 and its open records, and the brokers'
/// CPU time per record where all of them are probed.
///
/// # Errors
/// When a stored histogram is damaged.
pub fn so_far(evidence: &TrialEvidence, seconds: u32) -> Result<SoFar, AnalysisError> {
    let mut watched = Vec::new();
    let mut records = 0.0;
    for (name, item) in items(evidence).filter(|(_, item)| !item.span.is_late()) {
        let rate = courses::rate(evidence, name, 0..seconds);
        let served: f64 = rate.iter().sum();
        records += served;
        // An item that reads what no one writes has nothing to settle.
        if item.role.as_produce().is_some() || served > 0.0 {
            let metric = if item.role.as_produce().is_some() { "acked_per_s" } else { "fetched_per_s" };
            watched.push(as_figure(format!("{name}.{metric}"), FigureKind::Rate, rate));
        }
        watched.extend(of_open_loop(evidence, name, item, seconds)?);
    }
    let mut cpu = courses::brokers_cpu_us_per_record(evidence, &brokers_of(evidence), 0..seconds);
    // Readings of the newest second may not be there yet.
    while cpu.last().is_some_and(Option::is_none) {
        cpu.pop();
    }
    let cpu = courses::filled(&cpu);
    watched.extend(cpu.map(|cpu| as_figure("brokers.cpu_us_per_record".to_owned(), FigureKind::Rate, cpu)));
    // A sum of whole numbers far below 2⁵³.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(SoFar { seconds, records: records as u64, watched })
}

fn of_open_loop(
    evidence: &TrialEvidence,
    name: &str,
    item: &LoadPlan,
    seconds: u32,
) -> Result<Vec<WarmupSeries>, AnalysisError> {
    if !is_open_loop(item) {
        return Ok(Vec::new());
    }
    let p50 = courses::response_p50(evidence, name, 0..seconds, SecondOf::Outcome)?;
    let p50 = courses::filled(&p50).unwrap_or_default();
    let queue = courses::queue_s(evidence, name, seconds);
    Ok(vec![
        as_figure(format!("{name}.response.p50"), FigureKind::Latency, p50),
        WarmupSeries { what: format!("the open records of {name}"), by: SeriesKind::Queue, points: queue },
    ])
}

fn as_figure(what: String, figure: FigureKind, points: Vec<f64>) -> WarmupSeries {
    WarmupSeries { what, by: SeriesKind::As(figure), points }
}
