//! Words that several answers share.

use crate::digits;
use crate::headings::heading;
use crate::units;
use kdyno_model::conclusion::{LimitKind, Ratio};
use kdyno_model::finding::{Interval, Value};
use kdyno_model::metric::{self, Address, Unit};
use kdyno_model::plan::EvidenceUnit;

/// Half-width, as a share, with which a figure has three digits.
const SIDE_SHARE_MAX: f64 = 0.05;

/// A text with its first letter as a capital, unless it begins with a name such as `kafka=3.7.2` or `writers.rate`.
pub(crate) fn capital(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default().trim_end_matches([':', ',', ';']);
    if !first.chars().all(|c| c.is_alphabetic() || c == '-' || c == '\'') {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A metric as one says it; its address where there is no better word.
pub(super) fn metric(of: &Address) -> String {
    let Address { subject, metric } = of;
    let whose = match subject.as_str() {
        "brokers" => "the brokers".to_owned(),
        "system" => "the whole system".to_owned(),
        "workers" => "the load generator".to_owned(),
        metric::SUM => "all load items together".to_owned(),
        other => other.to_owned(),
    };
    match (metric.as_str(), metric.split_once('.')) {
        ("cpu_us_per_record", _) => format!("CPU per record of {whose}"),
        ("records_per_s_per_core", _) => format!("records per core and second of {whose}"),
        ("cpu_percent", _) => format!("CPU of {whose}"),
        ("duration", _) => format!("duration of {whose}"),
        ("acked_per_s", _) => format!("acknowledged rate of {whose}"),
        ("acked_per_s_sum_of_clients", _) => format!("acknowledged rate of {whose}, summed over its clients"),
        ("acked_mib_per_s", _) => format!("acknowledged bytes per second of {whose}"),
        ("fetched_per_s", _) => format!("consumed rate of {whose}"),
        ("caught_up_per_s", _) => format!("consumed rate of {whose} until it had caught up"),
        (_, Some((timing, statistic))) => {
            let timing = timing.replace('_', " ");
            match statistic {
                "mean" => format!("mean {timing} time of {whose}"),
                "max" => format!("longest {timing} time of {whose}"),
                quantile => format!("{timing} time of {whose} at {quantile}"),
            }
        }
        _ => format!("{} of {whose}", heading(metric)),
    }
}

/// Bounds and level of a ratio's interval.
pub(super) fn bounds(ratio: &Ratio) -> Option<(f64, f64, f64)> {
    match ratio.interval {
        Interval::Bounds { low, high, level, .. } => Some((low, high, level)),
        Interval::NotResolvable(_) => None,
    }
}

/// A share of 1 in percent with digits that its half-width carries: `12 %`.
pub(super) fn percent(share: f64, half_width: Option<f64>) -> String {
    format!("{} %", percent_number(share, half_width))
}

fn percent_number(share: f64, half_width: Option<f64>) -> String {
    digits::decimals(share * 100.0, half_width.map(|width| width * 100.0)).replace('-', "−")
}

/// How far a ratio lies from 1: `12 % higher`, `3.1 % lower`, `2.4 × as high`.
pub(super) fn change(ratio: &Ratio) -> String {
    let width = bounds(ratio).map(|(low, high, _)| (high - low) / 2.0);
    let change = ratio.estimate - 1.0;
    if change > 1.0 {
        return format!("{} × as high", digits::decimals(ratio.estimate, width));
    }
    let direction = if change < 0.0 { "lower" } else { "higher" };
    format!("{} {direction}", percent(change.abs(), width))
}

/// A margin as it was named: `10 %`.
pub(super) fn margin(share: f64) -> String {
    format!("{} %", digits::named(share * 100.0))
}

/// The interval of a change that is compared with a margin: `between +8 % and +16 %, 96.1 % confidence`; empty without
/// one.
pub(super) fn between(ratio: &Ratio, margin: f64) -> String {
    let Some((low, high, level)) = bounds(ratio) else { return String::new() };
    let width = Some((high - low) / 2.0 * 100.0);
    let percent_of_margin = margin * 100.0;
    let of_margin = digits::decimals_of(percent_of_margin);
    let apart_from = [-percent_of_margin, 0.0, percent_of_margin];
    let changes = [low, high].map(|bound| (bound - 1.0) * 100.0);
    let signed = digits::ends_apart_from(&apart_from, changes, width, of_margin).map(|number| {
        let sign = if number.starts_with('-') { "" } else { "+" };
        format!("{sign}{} %", number.replace('-', "−"))
    });
    format!("between {}, {} confidence", signed.join(" and "), percent(level, Some(0.001)))
}

/// `8 starts`, `1 pair`.
pub(super) fn units_of_evidence(n: u32, unit: EvidenceUnit) -> String {
    format!("{n} {unit}{}", if n == 1 { "" } else { "s" })
}

/// A rate of records.
pub(super) fn rate(per_s: f64, half_width: Option<f64>) -> String {
    digits::number(per_s, Unit::RecordsPerS, half_width)
}

/// What a limit is called.
pub(super) fn limit(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Schedule => "the offered load",
        LimitKind::Generator => "the load generator",
        LimitKind::BrokerProcessors => "broker CPU",
        LimitKind::Disk => "broker disks",
        LimitKind::Network => "the network",
        LimitKind::Link => "the link between zones",
        LimitKind::Replication => "replication",
        LimitKind::RequestsInFlight => "requests in flight × round-trip time",
        LimitKind::Linger => "`linger.ms`, for which each record waits",
        LimitKind::ClientBuffer => "the client's buffer",
        LimitKind::Quota => "a quota of the cluster",
        LimitKind::Unknown => "unknown",
    }
}

/// Smallest to largest of some numbers as printed: `94 %`, `90 % to 94 %`; `None` without a number.
pub(super) fn range(numbers: impl Iterator<Item = f64>, print: impl Fn(f64) -> String) -> Option<String> {
    let ends = numbers.fold(None, |ends: Option<(f64, f64)>, one| match ends {
        Some((low, high)) => Some((low.min(one), high.max(one))),
        None => Some((one, one)),
    });
    let (low, high) = ends.map(|(low, high)| (print(low), print(high)))?;
    Some(if low == high { low } else { format!("{low} to {high}") })
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A figure of a side shown with the ratio of both, whose half-width this is, if it has one: with three digits or more,
/// so that dividing one by the other comes near the ratio.
pub(super) fn side(metric: &str, value: Value, unit: Unit, half_width: Option<f64>) -> String {
    let width = match value {
        Value::Is(number) => half_width.map(|share| share.min(SIDE_SHARE_MAX) * number.abs()),
        Value::AtLeast(_) | Value::None => None,
    };
    digits::of_metric(metric, value, unit, width)
}

/// A ratio as printed with its interval's digits, e.g. `1.12`.
pub(super) fn ratio(ratio: &Ratio) -> String {
    match bounds(ratio) {
        Some((low, high, _)) if high > low => {
            let least = digits::ratio_decimals(ratio.estimate, low);
            digits::decimals_with(ratio.estimate, Some((high - low) / 2.0), least)
        }
        _ => units::significant(ratio.estimate),
    }
}

/// The interval of a ratio shown with a margin, which lies as far from 1 as this share.
pub(super) fn interval_with_margin(ratio: &Ratio, margin: f64) -> String {
    interval_apart_from(ratio, &[1.0 - margin, 1.0, 1.0 + margin], digits::decimals_of(margin))
}

/// The interval of a ratio, `1.08 – 1.16`, whose ends are not rounded onto any of these values that they are not, with so many
/// decimals at least; nothing where there is none.
pub(super) fn interval_apart_from(ratio: &Ratio, values: &[f64], of_limit: usize) -> String {
    match bounds(ratio) {
        Some((low, high, _)) => {
            let width = Some((high - low) / 2.0);
            let least = digits::ratio_decimals(ratio.estimate, low).max(of_limit);
            digits::ends_apart_from(values, [low, high], width, least).join(" – ")
        }
        None => units::NOTHING.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::finding::{IntervalMethod, NotResolvable};

    fn with(estimate: f64, low: f64, high: f64) -> Ratio {
        let interval = Interval::Bounds { low, high, level: 0.961, method: IntervalMethod::SignedRank };
        Ratio { estimate, interval }
    }

    #[test]
    fn changes_have_the_digits_of_their_interval() {
        let worse = with(1.1234, 1.08, 1.16);
        assert_eq!(change(&worse), "12 % higher");
        assert_eq!(between(&worse, 0.1), "between +8 % and +16 %, 96.1 % confidence");
        assert_eq!(change(&with(0.968, 0.962, 0.974)), "3.2 % lower");
        assert_eq!(capital("kafka=4 is"), "kafka=4 is");
        assert_eq!(capital("by far"), "By far");
        let alike = with(0.99, 0.9526, 1.0174);
        assert_eq!(between(&alike, 0.05), "between −4.7 % and +1.7 %, 96.1 % confidence");
        assert_eq!(between(&alike, 0.0475), "between −4.74 % and +1.74 %, 96.1 % confidence");
        let interval = |ratio: &Ratio| interval_apart_from(ratio, &[1.0], 0);
        assert_eq!(interval(&alike), "0.95 – 1.02");
        assert_eq!(interval_with_margin(&alike, 0.05), "0.953 – 1.017", "it lies within 0.95");
        assert_eq!(interval_with_margin(&alike, 0.0475), "0.9526 – 1.0174");
        let hardly = with(1.09, 1.0031, 1.2);
        assert_eq!(between(&hardly, 0.1), "between +0.3 % and +20.0 %, 96.1 % confidence");
        assert_eq!(interval_with_margin(&hardly, 0.1), "1.003 – 1.200", "it excludes 1");
        assert_eq!(change(&with(2.41, 2.3, 2.5)), "2.4 × as high");
        let wide = with(0.99, 0.8684, 1.1494);
        assert_eq!((ratio(&wide), interval_with_margin(&wide, 0.1)), ("0.99".into(), "0.87 – 1.15".into()));
        assert_eq!(interval(&with(0.142, 0.047, 0.428)), "0.047 – 0.428", "more than nothing");
        let alone = Ratio { estimate: 1.5, interval: Interval::NotResolvable(NotResolvable::OneTrial) };
        assert_eq!((change(&alone), between(&alone, 0.1)), ("50.0 % higher".to_owned(), String::new()));
    }

    #[test]
    fn metrics_are_said_as_one_says_them() {
        let said = |address| metric(&Address::parse(address).expect("an address"));
        assert_eq!(said("brokers.cpu_us_per_record"), "CPU per record of the brokers");
        assert_eq!(said("writers.response.p99.9"), "response time of writers at p99.9");
        assert_eq!(said("writers.compression_ratio"), "compression ratio of writers");
    }
}
