//! The verdict on one metric as a sentence.

use super::form::Sentence;
use super::words;
use crate::grid::Tone;
use crate::marks;
use crate::units;
use kdyno_model::conclusion::{MetricRole, Says, Verdict};
use kdyno_model::finding::marks_of_both;
use kdyno_model::plan::{Depth, EvidenceUnit};

/// Evidence that would take longer than a night is called out of reach, ns,
pub(super) const REACH_NS: u64 = 12 * 3600 * 1_000_000_000;
/// and where it is not known how long a unit takes, more than so many times the units that there are.
const REACH: u32 = 10;
/// Not said of fewer units: their number is the one of the next look.
const UNITS_MIN: u32 = 6;

/// The verdict on one metric.
pub fn sentence(verdict: &Verdict, labels: &[String; 2]) -> Sentence {
    let [a, b] = labels;
    let ratio = verdict.judged_by();
    let change = ratio.as_ref().map(words::change).unwrap_or_default();
    let between = ratio.map(|ratio| words::between(&ratio, verdict.margin)).unwrap_or_default();
    let rests = words::units_of_evidence(verdict.n, verdict.unit_of_evidence);
    let figures = if between.is_empty() { rests.clone() } else { format!("{between}, {rests}") };
    let (metric, margin) = (words::metric(&verdict.of), words::margin(verdict.margin));
    let said = VerdictWording { verdict, a, b, metric, margin, change, between, rests, figures };
    let (tone, text) = said.is_imported().or_else(|| said.open()).unwrap_or_else(|| said.clear());
    let marked = marked(verdict);
    let text = match verdict.depth {
        Depth::Quick => format!("quick look, these starts only: {text}{marked}."),
        Depth::Verdict => format!("{text}{marked}."),
    };
    Sentence::new(tone, text)
}

/// A verdict, and what its sentence is made of.
struct VerdictWording<'a> {
    verdict: &'a Verdict,
    a: &'a str,
    b: &'a str,
    metric: String,
    margin: String,
    /// The estimate: `3 % higher`.
    change: String,
    /// Its interval; empty: there is none.
    between: String,
    /// How much evidence there is.
    rests: String,
    /// Both of these.
    figures: String,
}

impl VerdictWording<'_> {
    /// Which direction of what was imported is better is not stated.
    fn is_imported(&self) -> Option<(Tone, String)> {
        let Self { verdict, a, b, metric, change, figures, .. } = self;
        let little = match verdict.says {
            Says::Different { .. } => "",
            Says::MaybeMaterial { .. } => ", maybe by little",
            _ => return None,
        };
        let text = format!("{b} differs from {a}: {metric} is {change} ({figures}){little}");
        (verdict.role == MetricRole::Imported).then_some((Tone::Plain, text))
    }

    /// What has no answer; `None`: it has one.
    fn open(&self) -> Option<(Tone, String)> {
        let Self { verdict, a, b, metric, margin, change, between, rests, figures } = self;
        let text = match &verdict.says {
            Says::OnThisStart { starts_differ, .. } => {
                let starts = words::percent(*starts_differ, Some(starts_differ / 4.0));
                format!(
                    "on this start {metric} was {change} with {b} than with {a} ({figures}); starts differ by about {starts}, so \
                     another start may show no difference"
                )
            }
            // What one start shows is no reason to call a side worse.
            Says::MaybeMaterial { more_needed, .. } if verdict.depth == Depth::Quick => {
                let more = more(*more_needed, verdict);
                format!(
                    "on this start {metric} was {change} with {b} than with {a} ({figures}), and it is inconclusive whether that is \
                     more than the margin of {margin}; {more}"
                )
            }
            Says::MaybeMaterial { worse, more_needed } => {
                let word = if *worse { "worse" } else { "better" };
                let more = more(*more_needed, verdict);
                format!(
                    "{b} is maybe {word} than {a}: {metric} is {change} ({figures}), and it is inconclusive whether that is more \
                     than the margin of {margin}; {more}"
                )
            }
            Says::DifferentAlone { together, more_needed, .. } => {
                let more = more(*more_needed, verdict);
                format!(
                    "{b} differs from {a} in {metric} by itself: it is {change} ({between}); not with {together} metrics judged \
                     on {rests}: {more}"
                )
            }
            Says::Inconclusive { more_needed } => {
                let more = more(*more_needed, verdict);
                let lies =
                    if between.is_empty() { String::new() } else { format!(": the change lies {between}") };
                format!(
                    "inconclusive whether {b} differs from {a} in {metric}{lies}; {rests} compared, {more}"
                )
            }
            Says::Different { .. } | Says::Equivalent | Says::Invalid { .. } => return None,
        };
        Some((Tone::Warn, text))
    }

    fn clear(&self) -> (Tone, String) {
        let Self { verdict, a, b, metric, margin, change, between, rests, figures } = self;
        match &verdict.says {
            Says::Different { material: true, worse } => {
                let (tone, word) = if *worse { (Tone::Bad, "worse") } else { (Tone::Strong, "better") };
                let text = format!(
                    "{b} is {word} than {a}: {metric} is {change} ({figures}), where {margin} would matter"
                );
                (tone, text)
            }
            Says::Different { material: false, .. } => {
                let text = format!(
                    "{b} differs from {a}: {metric} is {change} ({figures}); less than the {margin} that matters"
                );
                (Tone::Plain, text)
            }
            Says::Invalid { reason } => (Tone::Bad, format!("{metric} of {b} and {a} is invalid: {reason}")),
            _ => {
                let lies = match between.as_str() {
                    "" => format!("within ±{margin} ({rests})"),
                    _ => format!("{figures}, within ±{margin}"),
                };
                let text = format!("{b} is equivalent to {a} in {metric}: the change lies {lies}");
                (Tone::Plain, text)
            }
        }
    }
}

/// What is said of the marks of its figures: only what must not be used voids a verdict, and then that is what it says.
fn marked(verdict: &Verdict) -> String {
    let marks = marks_of_both(&verdict.marks);
    match verdict.says {
        Says::Different { .. }
        | Says::MaybeMaterial { .. }
        | Says::DifferentAlone { .. }
        | Says::OnThisStart { .. }
        | Says::Equivalent => marks::validity_clause(&marks),
        Says::Inconclusive { .. } | Says::Invalid { .. } => marks::clause(&marks),
    }
}

/// How many more units it would take, and how long that is at the pace of those that ran.
fn more(needed: Option<u32>, verdict: &Verdict) -> String {
    match needed {
        Some(more) => {
            let needed = words::units_of_evidence(more, verdict.unit_of_evidence);
            let further_ns = verdict.unit_ns.map(|unit_ns| unit_ns.saturating_mul(u64::from(more)));
            let time = further_ns
                .map_or_else(String::new, |ns| format!(", {} at the pace of this run", units::duration(ns)));
            let is_time = matches!(verdict.unit_of_evidence, EvidenceUnit::Start | EvidenceUnit::Pair);
            let is_beyond = match further_ns {
                Some(ns) => ns > REACH_NS,
                None => is_time && verdict.n >= UNITS_MIN && more > verdict.n.saturating_mul(REACH),
            };
            let beyond = if is_beyond { ": not with this design on this machine" } else { "" };
            format!("about {needed} more needed{time}{beyond}")
        }
        None if verdict.ratio.as_ref().and_then(words::bounds).is_none() => {
            "too few for an interval, so it is unknown how many more are needed".to_owned()
        }
        None if verdict.depth == Depth::Quick => "a verdict needs more starts".to_owned(),
        None => "the estimate is so near to the margin that no number of them would decide".to_owned(),
    }
}
