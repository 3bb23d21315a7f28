//! What the verdicts of a comparison come to together, as reports phrase it: the largest difference, and within what the rest lies.
//! A difference is named only where its verdict is worse or better; of the rest it is said how far the intervals reach.

use super::form::Sentence;
use super::words;
use crate::digits;
use crate::grid::Tone;
use kdyno_model::conclusion::{MetricRole, Ratio, Says, Verdict};
use kdyno_model::plan::Depth;

/// A verdict, the ratio that it rests on, and the ends of its interval.
type VerdictRatio<'a> = (&'a Verdict, Ratio, (f64, f64));

/// The sentence; `None` of fewer than two metrics that have an interval. What was imported has no better side and is left out.
pub(super) fn sentence(verdicts: &[&Verdict]) -> Option<Sentence> {
    let own = verdicts.iter().filter(|one| one.role != MetricRole::Imported);
    let reported: Vec<VerdictRatio<'_>> = own.filter_map(|one| reported(one)).collect();
    let depth = reported.first().filter(|_| reported.len() > 1)?.0.depth;
    let (different, rest): (Vec<VerdictRatio<'_>>, Vec<VerdictRatio<'_>>) =
        reported.into_iter().partition(is_different);
    let largest = different.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    let named = match largest {
        Some(one) => format!(
            "the largest difference that can be called worse or better is {}{}",
            largest_text(one),
            more(different.len() - 1)
        ),
        None => "no difference can be called worse or better".to_owned(),
    };
    let within = reach(&rest).map_or_else(String::new, |reach| match (largest, rest.len()) {
        (Some(_), 1) => format!("; the other one cannot: its interval lies within ±{reach} %"),
        (Some(_), many) => format!("; the other {many} cannot: their intervals lie within ±{reach} %"),
        (None, 2) => format!(": the intervals of both metrics lie within ±{reach} %"),
        (None, many) => format!(": the intervals of all {many} metrics lie within ±{reach} %"),
    });
    let quick = if depth == Depth::Quick { "quick look, these starts only: " } else { "in short: " };
    Some(Sentence::new(Tone::Plain, format!("{quick}{named}{within}.")))
}

fn reported(one: &Verdict) -> Option<VerdictRatio<'_>> {
    let ratio = one.judged_by().filter(|ratio| ratio.estimate.is_finite() && ratio.estimate > 0.0)?;
    let (low, high, _) = words::bounds(&ratio)?;
    Some((one, ratio, (low, high)))
}

fn size((_, ratio, _): &VerdictRatio<'_>) -> f64 {
    ratio.estimate.ln().abs()
}

fn is_different((one, ..): &VerdictRatio<'_>) -> bool {
    matches!(one.says, Says::Different { material: true, .. })
}

fn largest_text((one, ratio, _): &VerdictRatio<'_>) -> String {
    let aside = if one.role == MetricRole::Judged { "" } else { ", which is exploratory" };
    let between = words::between(ratio, one.margin);
    format!("that of {}{aside}: {} ({between})", words::metric(&one.of), words::change(ratio))
}

fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => ", and one more can be called so".to_owned(),
        many => format!(", and {many} more can be called so"),
    }
}

/// How far the intervals reach from ×1, in percent, rounded up.
fn reach(rest: &[VerdictRatio<'_>]) -> Option<String> {
    let ends = rest.iter().flat_map(|(.., (low, high))| [low, high]);
    let percent = ends.map(|end| 100.0 * (end - 1.0).abs()).reduce(f64::max)?;
    let step = if percent >= 1.0 { 1.0 } else { 0.1 };
    // What is whole but for a hair is not rounded up.
    Some(digits::named((percent / step - 1e-6).ceil() * step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::finding::{Interval, IntervalMethod, Scope, Value};
    use kdyno_model::metric::{Address, Unit};
    use kdyno_model::plan::{Better, EvidenceUnit};

    fn verdict(of: &str, says: Says, (estimate, low, high): (f64, f64, f64)) -> Verdict {
        let interval = Interval::Bounds { low, high, level: 0.99, method: IntervalMethod::SignedRank };
        Verdict {
            scope: Scope::Comparison { case: 0 },
            of: Address::parse(of).expect("an address"),
            unit: Unit::Ns,
            better: Better::Lower,
            margin: 0.1,
            depth: Depth::Verdict,
            role: MetricRole::Judged,
            ratio: Some(Ratio { estimate, interval }),
            equivalence_interval: Some(interval),
            a: Value::None,
            b: Value::None,
            marks: Default::default(),
            n: 8,
            unit_of_evidence: EvidenceUnit::Start,
            unit_ns: None,
            p: None,
            says,
        }
    }

    fn said(verdicts: &[Verdict]) -> Option<String> {
        sentence(&verdicts.iter().collect::<Vec<_>>()).map(|sentence| sentence.text)
    }

    const WORSE: Says = Says::Different { material: true, worse: true };
    const BETTER: Says = Says::Different { material: true, worse: false };
    const LITTLE: Says = Says::Different { material: false, worse: true };

    #[test]
    fn only_what_is_worse_or_better_is_named_as_a_difference() {
        let p99 = verdict("writers.response.p99", WORSE, (1.14, 1.1, 1.19));
        let p50 = verdict("writers.response.p50", BETTER, (0.8, 0.75, 0.85));
        let little = verdict("writers.response.p90", LITTLE, (1.05, 1.02, 1.064));
        let open =
            verdict("writers.response.max", Says::Inconclusive { more_needed: None }, (1.3, 0.9, 1.05));
        let two = said(&[p99.clone(), little.clone(), open.clone()]).expect("a sentence");
        let expected = "In short: the largest difference that can be called worse or better is that of response time of writers at \
                        p99: 14 % higher (between +10 % and +19 %, 99.0 % confidence); the other 2 cannot: their intervals lie \
                        within ±10 %.";
        assert_eq!(two, expected);
        let three = said(&[p99.clone(), p50, little.clone()]).expect("a sentence");
        assert!(
            three.contains("writers at p50: 20 % lower"),
            "by its logarithm it is the larger one: {three}"
        );
        let rest = ", and one more can be called so; the other one cannot: its interval lies within ±7 %.";
        assert!(three.ends_with(rest), "{three}");
        let none = said(&[little.clone(), open]).expect("a sentence");
        let expected = "In short: no difference can be called worse or better: the intervals of both metrics lie within ±10 %.";
        assert_eq!(none, expected);
        assert_eq!(said(&[p99]), None, "its own sentence says all");
        let small = verdict("writers.response.max", Says::Equivalent, (1.0, 0.9961, 1.002));
        assert!(said(&[small.clone(), small]).is_some_and(|text| text.ends_with("within ±0.4 %.")));
    }
}
