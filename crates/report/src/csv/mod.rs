//! Findings and series as comma-separated values (RFC 4180), one fact per row, units in the names.

mod fields;
mod reference;

use crate::answer::verdict;
use crate::course::{place, trials_of};
use crate::input::{ReportInput, is_cut_short};
use crate::names::{ScopeParts, bounded, name_of};
use fields::row;
use kdyno_model::conclusion::Verdict;
use kdyno_model::finding::{Finding, Interval, Quantity, Scope, Value};
use kdyno_model::plan::{CasePlan, ParamValue, Plan, Strategy};
use kdyno_model::series::{Resource, SecondPoint, TrialSeries};
use kdyno_model::trial::{Trial, TrialId};
pub use reference::reference;
use std::collections::{BTreeMap, BTreeSet};

/// A column: its name and what it holds.
type CsvColumn = (&'static str, &'static str);

const RUN_ID: CsvColumn = ("run_id", "the run, 16 hexadecimal digits");
const TRIAL: CsvColumn = ("trial", "number of the trial, from 1 in the order in which the trials ran");
const CASE: CsvColumn = ("case", "place of the case in the plan, from 0");
const SIDE: CsvColumn = (
    "side",
    "of a comparison which side: `A` or `B`; empty where the row speaks of both, and outside of comparisons",
);
const REPEAT: CsvColumn = ("repeat", "which repeat of the case, from 1");
const LABEL: CsvColumn = (
    "label",
    "in words, as in tables: the case's label, of a comparison what the side is called, and of a trial of several repeats \
     `#` and which; empty when the plan has one trial",
);
/// Means one column per parameter of the plan.
const PARAMS: CsvColumn =
    ("param.NAME", "one column for each parameter of the plan: its value in the trial or case");
const VALUE: CsvColumn =
    ("value", "the figure, a decimal number with a point and no unit; empty where there is none");
const AT_LEAST: CsvColumn = (
    "at_least",
    "`true`: the true figure is the value or more, because a quantile fell among records that were never acknowledged, or \
     the load queued; else `false`",
);

const FINDINGS_BEFORE: [CsvColumn; 8] = [
    RUN_ID,
    (
        "scope",
        "what the row speaks of: `trial` (its measure phase), `case` (the median over its trials, of two their mean; in a \
         comparison over those of one side), `published_row` (what a source says of itself), or `pair`, `comparison`, \
         `search`, `run`",
    ),
    TRIAL,
    CASE,
    SIDE,
    REPEAT,
    ("published_row", "place of the published row in the plan, from 0"),
    LABEL,
];

const FINDINGS_AFTER: [CsvColumn; 22] = [
    (
        "subject",
        "whose figure: a load item by its name, `brokers` (all together), `broker-0` …, `system`, `workers`, \
         `process-NAME` of what `--probe` named, `group:NAME` of a consumer group, or `host`",
    ),
    ("metric", "which figure, see [Metrics](scenario.md#metrics)"),
    (
        "quantity",
        "`value`; `ratio_to_first_row`: the value divided by that of the table's first row, next to published figures of \
         the first that has both; `ratio_b_to_a` of a comparison; `ratio_of_contrast`: of the case to the one it is set \
         against",
    ),
    ("unit", "the value's unit, see below"),
    VALUE,
    AT_LEAST,
    ("n", "how many values it rests on"),
    ("min", "the smallest of them; empty where there is one"),
    ("min_at_least", "as `at_least`, of `min`"),
    ("max", "the largest of them; empty where there is one"),
    ("max_at_least", "as `at_least`, of `max`"),
    (
        "interval_low",
        "lower bound of an interval that holds the true value; empty where the evidence has none. Of `ratio_b_to_a` it is at the \
         error of the look, which a difference is judged by",
    ),
    ("interval_high", "upper bound of the same"),
    ("interval_level", "probability that intervals made so hold the true value, 0 to 1"),
    (
        "interval_method",
        "how it was made: `order_statistics`, `student_t`, `signed_rank`, `bootstrap` or `sen`",
    ),
    (
        "not_resolvable",
        "why there is no interval: `one_trial`, `too_few_trials`, `censored`, `no_value`, `too_short`, `no_method`",
    ),
    (
        "marks",
        "known problems of the value, separated by spaces: `invalid`, `drifting`, \
         `several_levels`, `too_short_to_tell`, `short_term`, `few_records`, `backlog`",
    ),
    (
        "driver",
        "of a load item which client ran it: `native`, or `java` with its version and the options of its Java process; \
         empty for other subjects, and where two sides have different ones",
    ),
    (
        "verdict",
        "of `ratio_b_to_a` in `comparison`: `better`, `worse`, `differs`, `maybe better`, `maybe worse`, `maybe differs`, `differs alone`, `this start`, `equivalent`, `cannot tell` \
         or `invalid`; empty elsewhere",
    ),
    (
        "equivalence_low",
        "of the same the lower bound at twice that error, which `equivalent` is judged by and which pages print next to it; empty \
         where there is none",
    ),
    ("equivalence_high", "upper bound of the same"),
    (
        "cut_short",
        "of a `value` of a trial, case or side: `true` where a trial behind it ended before its plan did, so that it covers less than was \
         planned, else `false`; empty elsewhere",
    ),
];

const SERIES_BEFORE: [CsvColumn; 6] = [RUN_ID, TRIAL, CASE, SIDE, REPEAT, LABEL];

const SERIES_AFTER: [CsvColumn; 6] = [
    (
        "subject",
        "whose figure: a load item by its name, a process (`broker-0`, `controller-3000`, `zookeeper-0`, `worker-0`, \
         `kdyno`, `process-NAME` of what `--probe` named), `host`, `group:NAME` of a group that the target names, or `imported-NAME` of what somebody else measured",
    ),
    ("series", "which figure and its unit, see below"),
    (
        "phase",
        "`startup`, `warmup`, `measure` or `drain`; empty for CPU time and imported series, which belong to no record",
    ),
    (
        "at_s",
        "seconds from the start of the load, T0: of a load item the whole second that begins there, of CPU \
         time and other resources the end of its stretch of about a second, negative before T0, of an imported series the instant \
         of its reading",
    ),
    VALUE,
    AT_LEAST,
];

/// What is counted in a second of a load item: name, meaning, place.
type Count = (&'static str, &'static str, fn(&SecondPoint) -> u64);

const COUNTS: [Count; 5] = [
    ("offered_per_s", "records whose scheduled send time lies in the second", |point| point.offered),
    ("achieved_per_s", "records the client accepted in the second", |point| point.achieved),
    ("acked_per_s", "records acknowledged in the second", |point| point.acknowledged),
    ("fetched_per_s", "records consumed in the second", |point| point.fetched),
    ("failed_per_s", "records that failed in the second", |point| point.failed),
];

/// What else is shown of a second of a load item, if it has it.
type SecondFigure = (&'static str, &'static str, fn(&SecondPoint) -> Value);

const FIGURES: [SecondFigure; 9] = [
    (
        "open_records",
        "records that were due and had no outcome at the second's end; of an item that produces",
        |point| point.open_records.map(|open| open as f64).into(),
    ),
    ("lag_records", "records between the consumers and the end of the log at the second's end", |point| {
        point.lag_records
    }),
    (
        "lag_ns",
        "the same in time, ns: how long before that the next record to be fetched was acknowledged",
        |point| point.lag_ns,
    ),
    ("response_ns_p50", "median response time of the records due in the second, ns", |point| {
        point.response_ns_p50
    }),
    ("response_ns_p99", "99th percentile of the same, ns", |point| point.response_ns_p99),
    ("response_ns_max", "largest of the same, ns", |point| point.response_ns_max),
    ("end_to_end_ns_p50", "median end-to-end latency of the records due in the second, ns", |point| {
        point.end_to_end_ns_p50
    }),
    ("end_to_end_ns_p99", "99th percentile of the same, ns", |point| point.end_to_end_ns_p99),
    ("end_to_end_ns_max", "largest of the same, ns", |point| point.end_to_end_ns_max),
];

const CPU: CsvColumn = (
    "cpu_percent_of_core",
    "CPU time of a process, user and system; of the host everything but idle and iowait; percent of one core",
);

/// The name of a resource's series, with its unit.
fn name_of_resource(resource: Resource) -> String {
    format!("{resource} ({})", name_of(&resource.unit()))
}

/// Every finding, one per row. What a row has no value for is empty.
pub fn findings(input: &ReportInput<'_>) -> String {
    let params = params(input);
    let mut out = head(&FINDINGS_BEFORE, &params, &FINDINGS_AFTER);
    for finding in input.findings {
        let whose = RowSubject::of(finding.scope, input);
        let scope = ScopeParts::of(finding.scope, input);
        let before = [run_id(input), scope.kind].into_iter().chain(whose.place());
        let before = before.chain([text(scope.published_row)]);
        let driver = whose.driver(&finding.of.subject);
        let after = figures(finding)
            .into_iter()
            .chain([driver])
            .chain(judged(finding, input))
            .chain([cut_short(finding, input)]);
        out.push_str(&row(before.chain(whose.labelled(&params)).chain(after)));
    }
    out
}

/// Every second of every stream, then every reading of CPU time, in one long table.
pub fn series(input: &ReportInput<'_>) -> String {
    let params = params(input);
    let mut out = head(&SERIES_BEFORE, &params, &SERIES_AFTER);
    for series in input.series {
        let whose = RowSubject::of(Scope::Trial(series.trial), input);
        let before = std::iter::once(run_id(input)).chain(whose.place());
        let before: Vec<String> = before.chain(whose.labelled(&params)).collect();
        points(series, &mut |point| {
            let CsvPoint { subject, series, phase, at_s, value, at_least } = point;
            let [at_s, value, at_least] = [at_s.to_string(), text(value), at_least.to_string()];
            let after = [subject, series, phase, &at_s, &value, &at_least].map(str::to_owned);
            out.push_str(&row(before.iter().cloned().chain(after)));
        });
    }
    out
}

/// One value of one series.
#[derive(Debug)]
pub struct CsvPoint<'a> {
    /// Whose figure.
    pub subject: &'a str,
    /// Which figure, with its unit.
    pub series: &'a str,
    /// Empty where the value belongs to no record.
    pub phase: &'a str,
    /// Seconds from T0.
    pub at_s: f64,
    /// What it was; `None`: there is no figure.
    pub value: Option<f64>,
    /// Whether it is that or more.
    pub at_least: bool,
}

/// What the rows of all points of a trial begin with.
#[derive(Debug)]
pub struct TrialCells {
    /// The run, 16 hexadecimal digits.
    pub run_id: String,
    /// Its number.
    pub trial: Option<u32>,
    /// Its case.
    pub case: Option<u32>,
    /// Its side in a comparison.
    pub side: Option<String>,
    /// Which repeat it is.
    pub repeat: Option<u32>,
    /// Its label and the value of each of [`params`]; what there is not is empty.
    pub labelled: Vec<String>,
}

impl TrialCells {
    /// Values of a trial, with the [`params`] of the plan.
    pub fn new(id: TrialId, input: &ReportInput<'_>, params: &[String]) -> Self {
        let whose = RowSubject::of(Scope::Trial(id), input);
        let labelled = whose.labelled(params);
        let RowSubject { trial, case, side, repeat, .. } = whose;
        Self { run_id: run_id(input), trial: trial.map(|id| id.0), case, side, repeat, labelled }
    }
}

/// Hands every point of a trial to `each`, streams first.
pub fn points(series: &TrialSeries, each: &mut dyn FnMut(CsvPoint<'_>)) {
    let mut push = |subject: &str, series: &str, phase: &str, at_s: f64, value: Value| {
        let (value, at_least) = bounded(value);
        each(CsvPoint { subject, series, phase, at_s, value, at_least });
    };
    for stream in &series.streams {
        for point in &stream.seconds {
            let at_s = f64::from(point.second);
            for (name, _, count) in COUNTS {
                push(&stream.name, name, point.phase.into(), at_s, Value::Is(count(point) as f64));
            }
            for (name, _, figure) in FIGURES {
                push(&stream.name, name, point.phase.into(), at_s, figure(point));
            }
        }
    }
    for cpu in &series.cpu {
        for point in &cpu.points {
            push(&cpu.subject.to_string(), CPU.0, "", point.at_s, Value::Is(point.percent));
        }
    }
    for of in &series.resources {
        let name = name_of_resource(of.resource);
        for point in &of.points {
            push(&of.subject.to_string(), &name, "", point.at_s, Value::Is(point.value));
        }
    }
    for series in &series.imported {
        let name = format!("{} ({})", series.name, name_of(&series.unit));
        for point in &series.points {
            push(&series.subject.to_string(), &name, "", point.at_s, Value::Is(point.value));
        }
    }
}

/// The trial, case or published row that a row of the file speaks of.
#[derive(Default)]
struct RowSubject<'a> {
    trial: Option<TrialId>,
    case: Option<u32>,
    side: Option<String>,
    repeat: Option<u32>,
    label: String,
    params: Option<&'a BTreeMap<String, ParamValue>>,
    /// The cases whose load items a subject may be; of a comparison those of both sides.
    cases: Vec<&'a CasePlan>,
}

impl<'a> RowSubject<'a> {
    fn of(scope: Scope, input: &ReportInput<'a>) -> Self {
        let ScopeParts { trial, case, side, published_row, .. } = ScopeParts::of(scope, input);
        let plan: &'a Plan = input.plan();
        if let Some(Trial { id, case, repeat, label, effective, .. }) = trial.and_then(|id| input.trial(id)) {
            let (case, repeat, label) = (Some(*case), Some(*repeat), label.clone());
            let params = Some(&effective.params);
            return Self { trial: Some(*id), case, side, repeat, label, params, cases: vec![effective] };
        }
        if let Some(number) = case {
            let (cases, label) = match (scope, &plan.strategy) {
                (Scope::SideB { .. }, Strategy::Compare(compare)) => {
                    (&compare.b, input.side_label(number, 1))
                }
                (Scope::Case(_), _) => (&plan.cases, input.side_label(number, 0)),
                _ => (&plan.cases, input.case_label(number).to_owned()),
            };
            let own = cases.get(number as usize);
            let other = match (scope, &plan.strategy) {
                (Scope::Comparison { .. } | Scope::Pair { .. }, Strategy::Compare(compare)) => {
                    compare.b.get(number as usize)
                }
                _ => None,
            };
            let (params, cases) = (own.map(|of| &of.params), own.into_iter().chain(other).collect());
            return Self { case, side, label, params, cases, ..Self::default() };
        }
        let published = published_row.zip(plan.published.as_ref());
        let theirs = published.and_then(|(number, published)| published.rows.get(number as usize));
        Self { trial, params: theirs.map(|row| &row.params), ..Self::default() }
    }

    /// Which client carries a load item; empty of other subjects, and of items that several carry.
    fn driver(&self, subject: &str) -> String {
        let drivers = self.cases.iter().filter_map(|case| Some(&case.load.get(subject)?.driver));
        let drivers: Vec<_> = drivers.collect();
        match drivers.split_first() {
            Some((first, rest)) if rest.iter().all(|other| other == first) => first.label(),
            _ => String::new(),
        }
    }

    /// Trial, case, side and repeat.
    fn place(&self) -> [String; 4] {
        [text(self.trial), text(self.case), text(self.side.as_ref()), text(self.repeat)]
    }

    /// Its label and the value of each parameter.
    fn labelled(&self, names: &[String]) -> Vec<String> {
        let value = |name| self.params.and_then(|params| params.get(name)).map(ToString::to_string);
        let values = names.iter().map(|name| value(name).unwrap_or_default());
        std::iter::once(self.label.clone()).chain(values).collect()
    }
}

fn figures(finding: &Finding) -> [String; 17] {
    let (value, at_least) = number(finding.estimate);
    let bound = |end: Option<Value>| end.map_or_else(|| (String::new(), String::new()), number);
    let (min, min_at_least) = bound(finding.range.map(|(min, _)| min));
    let (max, max_at_least) = bound(finding.range.map(|(_, max)| max));
    let (interval, reason) = match finding.interval {
        Interval::Bounds { low, high, level, method } => {
            let [low, high, level] = [low, high, level].map(|one| number(Value::Is(one)).0);
            ([low, high, level, method.to_string()], String::new())
        }
        Interval::NotResolvable(reason) => (Default::default(), name_of(&reason)),
    };
    let [low, high, level, method] = interval;
    [
        finding.of.subject.clone(),
        finding.of.metric.clone(),
        finding.quantity.to_string(),
        name_of(&finding.unit),
        value,
        at_least,
        finding.n.to_string(),
        min,
        min_at_least,
        max,
        max_at_least,
        low,
        high,
        level,
        method,
        reason,
        finding.marks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    ]
}

/// Whether a trial that a row rests on ended before its plan did.
fn cut_short(finding: &Finding, input: &ReportInput<'_>) -> String {
    if finding.quantity != Quantity::Value {
        return String::new();
    }
    let is_cut = |trial: &Trial| is_cut_short(trial, input.caveats);
    let reported = match finding.scope {
        Scope::Trial(id) => input.trial(id).map(is_cut),
        scope => place(scope).map(|place| trials_of(input, place).any(is_cut)),
    };
    reported.map_or_else(String::new, |reported| reported.to_string())
}

/// The verdict on a ratio of two sides, and the bounds by which it is judged that they are alike.
fn judged(finding: &Finding, input: &ReportInput<'_>) -> [String; 3] {
    let is_it = |one: &&Verdict| one.scope == finding.scope && one.of == finding.of;
    if finding.quantity != Quantity::RatioBToA {
        return Default::default();
    }
    let Some(verdict) = verdict::verdicts(input.conclusions).find(is_it) else { return Default::default() };
    let [low, high] = match verdict.equivalence_interval {
        Some(Interval::Bounds { low, high, .. }) => [low, high].map(|bound| number(Value::Is(bound)).0),
        _ => Default::default(),
    };
    [verdict::word(verdict).to_owned(), low, high]
}

fn run_id(input: &ReportInput<'_>) -> String {
    format!("{:016x}", input.header.run_id)
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The names of all parameters of the plan.
pub fn params(input: &ReportInput<'_>) -> Vec<String> {
    let names: BTreeSet<&String> = input.plan().cases.iter().flat_map(|case| case.params.keys()).collect();
    names.into_iter().cloned().collect()
}

fn head(before: &[CsvColumn], params: &[String], after: &[CsvColumn]) -> String {
    let names =
        |columns: &[CsvColumn]| columns.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    let params = params.iter().map(|name| format!("param.{name}"));
    row(names(before).into_iter().chain(params).chain(names(after)))
}

fn number(value: Value) -> (String, String) {
    let (number, at_least) = bounded(value);
    (text(number), at_least.to_string())
}
