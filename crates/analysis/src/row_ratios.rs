//! For each column the ratios of its rows to the first one, and which rows differ in it.

use crate::cases::CaseFigures;
use crate::paired::{ALPHA, Paired, REPEATS_MIN};
use crate::statistics::holm;
use kdyno_model::conclusion::{Conclusion, DistinctRows};
use kdyno_model::finding::{Finding, Interval, Mark, NotResolvable, Quantity, Scope, Value};
use kdyno_model::metric::{self, Address, Unit};
use kdyno_model::plan::Plan;
use kdyno_model::table::TableRow;
use std::collections::{BTreeMap, BTreeSet};

/// Ratios of every column of the table and of every published metric, and which rows differ in each column.
pub(crate) fn of(plan: &Plan, cases: &BTreeMap<u32, CaseFigures<'_>>) -> (Vec<Finding>, Vec<Conclusion>) {
    let rows = plan.table_rows();
    let published = plan.published.iter().flat_map(|published| &published.rows);
    let published = published.flat_map(|row| row.values.keys()).filter_map(|name| Address::parse(name));
    let metrics: BTreeSet<Address> = published.chain(plan.show.columns.iter().cloned()).collect();
    let columns = metrics.iter().map(|of| MetricColumn { plan, cases, of });
    let found = columns.flat_map(|column| column.ratios(&rows)).collect();
    let reported =
        plan.show.columns.iter().filter_map(|of| MetricColumn { plan, cases, of }.distinguished(&rows));
    (found, reported.map(Conclusion::ToldApart).collect())
}

/// One metric in all rows.
struct MetricColumn<'a> {
    plan: &'a Plan,
    cases: &'a BTreeMap<u32, CaseFigures<'a>>,
    of: &'a Address,
}

/// Our figure of a row, known exactly and from trials whose figures may be used.
#[derive(Clone, Copy)]
struct KnownFigure<'a> {
    case: u32,
    of: &'a CaseFigures<'a>,
    finding: &'a Finding,
    number: f64,
}

/// The row that others are divided by.
struct Base<'a> {
    ours: KnownFigure<'a>,
    /// The published figure of the same row, where that is what the row was chosen for.
    theirs: Option<f64>,
}

impl<'a> MetricColumn<'a> {
    fn ratios(&self, rows: &[TableRow]) -> Vec<Finding> {
        let Some(base) = self.base(rows) else { return Vec::new() };
        let cases = self.comparable(rows, &base.ours);
        let cases = cases.into_iter().map(|ours| {
            let paired = paired(self.of, &base.ours, &ours, 1).exp();
            let marks: BTreeSet<Mark> = base.ours.finding.marks.union(&ours.finding.marks).copied().collect();
            self.ratio(Scope::Case(ours.case), paired, marks)
        });
        let published: BTreeSet<u32> = rows.iter().filter_map(|row| row.published).collect();
        let published = published.into_iter().filter_map(|row| {
            let interval = Interval::NotResolvable(NotResolvable::NoMethod);
            let estimate = self.theirs(row)? / base.theirs?;
            let published = Paired { estimate, interval, p: None, n: 1 };
            Some(self.ratio(Scope::PublishedRow(row), published, BTreeSet::new()))
        });
        cases.chain(published).collect()
    }

    /// The first row that has both our figure and the published one, if two rows have; else the first with ours. `None`:
    /// a single row is its own base, and that is all it could say.
    fn base(&self, rows: &[TableRow]) -> Option<Base<'a>> {
        let both =
            |row: &TableRow| self.ours(row.case?).zip(self.theirs(row.published?).filter(|of| *of != 0.0));
        if let Some((ours, theirs)) = rows.iter().find_map(both) {
            let alike = |(other, _): &(KnownFigure<'_>, f64)| other.of.session == ours.of.session;
            if rows.iter().filter_map(both).filter(alike).count() >= 2 {
                return Some(Base { ours, theirs: Some(theirs) });
            }
        }
        let is_column = self.plan.show.columns.contains(self.of);
        let ours = rows.iter().find_map(|row| self.ours(row.case?)).filter(|_| is_column)?;
        (self.comparable(rows, &ours).len() >= 2).then_some(Base { ours, theirs: None })
    }

    /// Rows with a figure of the same session, the base among them.
    fn comparable(&self, rows: &[TableRow], base: &KnownFigure<'_>) -> Vec<KnownFigure<'a>> {
        let ours = rows.iter().filter_map(|row| self.ours(row.case?));
        ours.filter(|ours| ours.of.session == base.of.session).collect()
    }

    /// A yes or a no has no ratio, nor has 0.
    fn ours(&self, case: u32) -> Option<KnownFigure<'a>> {
        if !metric::is_outcome(&self.of.metric) {
            return None;
        }
        let of = self.cases.get(&case)?;
        let finding = of.finding(self.of)?;
        match finding.estimate {
            Value::Is(number)
                if number.is_finite()
                    && number != 0.0
                    && of.repeats(self.of).next().is_some()
                    && finding.unit != Unit::YesNo =>
            {
                Some(KnownFigure { case, of, finding, number })
            }
            _ => None,
        }
    }

    fn theirs(&self, row: u32) -> Option<f64> {
        let rows = &self.plan.published.as_ref()?.rows;
        *rows.get(row as usize)?.values.get(&self.of.to_string())?
    }

    fn ratio(&self, scope: Scope, paired: Paired, marks: BTreeSet<Mark>) -> Finding {
        Finding {
            scope,
            of: self.of.clone(),
            quantity: Quantity::RatioToFirstRow,
            unit: Unit::Ratio,
            estimate: Value::Is(paired.estimate),
            n: paired.n,
            range: None,
            interval: paired.interval,
            marks,
        }
    }

    /// From the row that the ratios are to. `None`: fewer than two rows have a figure.
    fn distinguished(&self, rows: &[TableRow]) -> Option<DistinctRows> {
        let base = self.base(rows)?.ours;
        let mut others = self.comparable(rows, &base);
        others.retain(|other| other.case != base.case);
        let together = u32::try_from(others.len()).unwrap_or(u32::MAX);
        let paired: Vec<Paired> =
            others.iter().map(|other| paired(self.of, &base, other, together)).collect();
        let tested: Vec<(u32, f64)> =
            others.iter().zip(&paired).filter_map(|(of, paired)| Some((of.case, paired.p?))).collect();
        let (mut differ, mut same) = (Vec::new(), Vec::new());
        let p = holm(&tested.iter().map(|(_, p)| *p).collect::<Vec<_>>());
        for ((case, _), p) in tested.iter().zip(p) {
            if p <= ALPHA { &mut differ } else { &mut same }.push(*case);
        }
        let why_not = tested.is_empty().then(|| why_not(&paired));
        Some(DistinctRows { of: self.of.clone(), base: base.case, differ, same, why_not })
    }
}

fn why_not(paired: &[Paired]) -> String {
    match paired.iter().map(|paired| paired.n).max().unwrap_or(0) {
        0 | 1 => "one trial per case, so run-to-run variation is unknown (set `repeat: 6`)".to_owned(),
        n if n < REPEATS_MIN => format!("{n} trials each are too few, {REPEATS_MIN} are needed"),
        _ => "of some figures only a lower bound is known (records without an outcome, or a queue), or they are 0".to_owned(),
    }
}

/// ln(other ÷ base), repeat by repeat. Where the repeats do not match, or a figure has no logarithm, the ratio of what
/// the table shows, without an interval.
fn paired(of: &Address, base: &KnownFigure<'_>, other: &KnownFigure<'_>, together: u32) -> Paired {
    let theirs: BTreeMap<u32, Value> = base.of.repeats(of).collect();
    let both = other.of.repeats(of).filter_map(|(repeat, value)| Some((value, *theirs.get(&repeat)?)));
    let logarithm = |value| match value {
        Value::Is(number) if number > 0.0 => Some(f64::ln(number)),
        _ => None,
    };
    let differences = both.map(|(other, base)| Some(logarithm(other)? - logarithm(base)?));
    let differences: Option<Vec<f64>> = differences.collect();
    let found = differences.as_deref().and_then(|differences| Paired::of(differences, together));
    found.unwrap_or_else(|| Paired {
        estimate: (other.number / base.number).ln(),
        interval: Interval::NotResolvable(match differences {
            None => NotResolvable::Censored,
            Some(_) => NotResolvable::NoMethod,
        }),
        p: None,
        n: other.finding.n.min(base.finding.n),
    })
}
