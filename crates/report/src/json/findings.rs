//! Findings, caveats and conclusions with what they speak of.

use crate::answer;
use crate::caveats;
use crate::input::ReportInput;
use crate::names::{ScopeParts, bounded, finite, name_of};
use kdyno_model::caveat::{Concern, ScopedCaveat};
use kdyno_model::conclusion::Conclusion;
use kdyno_model::finding::{Finding, Interval, NotResolvable, Scope, Value};
use schemars::JsonSchema;
use serde::Serialize;

/// What a finding or a caveat speaks of. Fields that do not belong to the kind are null.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ScopeDocument {
    /// `trial` (its measure phase), `case` (over its trials, in a comparison those of one side), `pair`, `comparison`,
    /// `search`, `published_row` (what a source says of itself) or `run`.
    kind: String,
    /// Number of the trial, from 1.
    trial: Option<u32>,
    /// Index of the case, from 0.
    case: Option<u32>,
    /// For a comparison's trial or case which side: `A` or `B`.
    side: Option<String>,
    /// Which pair of the case, from 1.
    pair: Option<u32>,
    /// Index of the published row, from 0.
    published_row: Option<u32>,
}

/// A number that may only be known to be "at least" something.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct NumberDocument {
    /// The number; null when nothing was counted.
    value: Option<f64>,
    /// The true value is this or more.
    at_least: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct FindingDocument {
    /// What it speaks of.
    scope: ScopeDocument,
    /// A load item, `brokers`, `broker-N`, `system`, `workers`, `process-NAME` of what `--probe` named,
    /// `group:NAME` of a consumer group, or `host`.
    subject: String,
    /// Metric name, e.g. `response.p99`.
    metric: String,
    /// `value`; `ratio_to_first_row`: the value ÷ that of the table's first row, with published figures that of the
    /// first that has both; `ratio_b_to_a` of a comparison; `ratio_of_contrast`: of the case to the one it is compared
    /// with.
    quantity: String,
    /// Unit of the value, e.g. `ns`, `records_per_s`, `cpu_us_per_record`.
    unit: String,
    /// The number: of a trial its figure, of a case the median over its trials, of two trials their mean; null when
    /// nothing was counted.
    value: Option<f64>,
    /// The value is only known to be at least this, because the quantile falls among failed or unresolved
    /// records, or because the load queued.
    at_least: bool,
    /// How many values it rests on.
    n: u32,
    /// Smallest of them; null when there is one.
    min: Option<NumberDocument>,
    /// Largest of them; null when there is one.
    max: Option<NumberDocument>,
    /// Where the true value lies; null when that cannot be determined.
    interval: Option<IntervalDocument>,
    /// Why there is no interval: `one_trial`, `too_few_trials`, `censored`, `no_value`, `too_short` or `no_method`; null
    /// when there is one.
    not_resolvable: Option<String>,
    /// Trials needed for an interval, where there are too few.
    trials_needed: Option<u32>,
    /// The number's marks: `invalid` (do not use it), `drifting`,
    /// `several_levels`, `too_short_to_tell`, `short_term`, `few_records`, `backlog`.
    marks: Vec<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct IntervalDocument {
    /// Lower bound, in the finding's unit; null when it is no number.
    low: Option<f64>,
    /// Upper bound, in the finding's unit; null when it is no number.
    high: Option<f64>,
    /// Probability that intervals made so hold the true value, 0 to 1.
    level: Option<f64>,
    /// How it was made, e.g. `order_statistics`.
    method: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct CaveatDocument {
    /// What it concerns.
    scope: ScopeDocument,
    /// `note`, `warning` or `invalid` (the figures must not be used).
    severity: String,
    /// Which figures of the scope: `everything`, `rates`, `latencies`, `mean`, or `latencies_from` a quantile on.
    concerns: String,
    /// The load item whose latencies those are; null for everything.
    concerns_item: Option<String>,
    /// The lowest quantile of those; null unless from one on.
    concerns_quantile: Option<String>,
    /// Which caveat, e.g. `shared-processors`.
    kind: String,
    /// What happened and what it means for the figures, in words.
    message: String,
    /// What to do about it, in words; empty when there is nothing to do.
    remedy: String,
    /// Its own fields, as the run file keeps them: the load item, the numbers in the message.
    details: serde_json::Map<String, serde_json::Value>,
}

pub(super) fn finding(finding: &Finding, input: &ReportInput<'_>) -> FindingDocument {
    let NumberDocument { value, at_least } = number(finding.estimate);
    let (interval, not_resolvable) = match finding.interval {
        Interval::Bounds { low, high, level, method } => {
            let bounds = IntervalDocument {
                low: finite(low),
                high: finite(high),
                level: finite(level),
                method: method.to_string(),
            };
            (Some(bounds), None)
        }
        Interval::NotResolvable(reason) => (None, Some(reason)),
    };
    FindingDocument {
        scope: scope(finding.scope, input),
        subject: finding.of.subject.clone(),
        metric: finding.of.metric.clone(),
        quantity: finding.quantity.to_string(),
        unit: name_of(&finding.unit),
        value,
        at_least,
        n: finding.n,
        min: finding.range.map(|(min, _)| number(min)),
        max: finding.range.map(|(_, max)| number(max)),
        interval,
        not_resolvable: not_resolvable.map(|reason| name_of(&reason)),
        trials_needed: match not_resolvable {
            Some(NotResolvable::TooFewTrials { needed }) => Some(needed),
            _ => None,
        },
        marks: finding.marks.iter().map(Into::into).collect(),
    }
}

pub(super) fn caveat(one: &ScopedCaveat, input: &ReportInput<'_>) -> CaveatDocument {
    let (kind, details) = tagged(&one.caveat);
    let (concerns_item, concerns_quantile) = match &one.concerns {
        Concern::Everything => (None, None),
        Concern::Latencies { item }
        | Concern::Rates { item }
        | Concern::Mean { item }
        | Concern::Command { item, .. } => (Some(item.clone()), None),
        Concern::LatenciesFrom { item, quantile } | Concern::ServiceFrom { item, quantile } => {
            (Some(item.clone()), Some(quantile.clone()))
        }
    };
    CaveatDocument {
        scope: scope(one.scope, input),
        severity: one.severity.to_string(),
        concerns: name_of(&one.concerns),
        concerns_item,
        concerns_quantile,
        kind,
        message: caveats::sentence(&one.caveat),
        remedy: caveats::remedy(&one.caveat).to_owned(),
        details,
    }
}

/// A judgement, in words and with its numbers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct ConclusionDocument {
    /// What it concerns.
    scope: ScopeDocument,
    /// `steadiness`, `limit`, `demand`, `verdict`, `search`, `claim`, `told-apart`, `setting-differs`, `members`, `health` or
    /// `processes`.
    kind: String,
    /// What it says, in words.
    message: String,
    /// Its own fields, as the run file keeps them.
    details: serde_json::Map<String, serde_json::Value>,
}

pub(super) fn conclusion(one: &Conclusion, input: &ReportInput<'_>) -> ConclusionDocument {
    let (kind, mut details) = tagged(one);
    details.remove("scope");
    let (scope, message) = (scope(one.scope(), input), answer::sentence(one, input));
    ConclusionDocument { scope, kind, message, details }
}

/// A value of an enum as the run file keeps it: its kind is the tag, the rest its fields.
fn tagged(value: &impl Serialize) -> (String, serde_json::Map<String, serde_json::Value>) {
    let mut fields = match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let kind = fields.remove("kind");
    (kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default().to_owned(), fields)
}

fn scope(scope: Scope, input: &ReportInput<'_>) -> ScopeDocument {
    let ScopeParts { kind, trial, case, side, pair, published_row } = ScopeParts::of(scope, input);
    ScopeDocument { kind, trial: trial.map(|id| id.0), case, side, pair, published_row }
}

fn number(value: Value) -> NumberDocument {
    let (value, at_least) = bounded(value);
    NumberDocument { value, at_least }
}
