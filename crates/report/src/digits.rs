//! How many digits a figure is printed with: as many as its spread lets mean something.
//!
//! The rule, in one place: one digit more than the interval's half-width fixes. A figure of ± 20 % has two digits, one
//! of ± 1 % three. Where there is no interval the range over the repeats takes its place; a single figure is printed as
//! its unit is. Never fewer than two digits, never more than the unit has.

use kdyno_model::finding::{Finding, Interval, Value};
use kdyno_model::inside::{STAGE_RESOLUTION_NS, stage_of};
use kdyno_model::metric::Unit;
use kdyno_model::units;

/// Fewest digits: with one, neighbours differ by up to a factor of two.
const DIGITS_MIN: i32 = 2;
/// From here on the digits are the unit's own.
const DIGITS_MAX: i32 = 7;
/// Most decimals that a spread fixes.
const DECIMALS_MAX: i32 = 6;
/// What binary fractions add to a decimal number that somebody named lies far below this share of it.
const NAMED_HAIR: f64 = 1e-9;
/// CPU time below this, percent of one core, is not resolved: the kernel counts that of a process in ticks of 10 ms, and one
/// of them in a window of 10 s is as much.
const CPU_PERCENT_MIN: f64 = 0.1;

/// A finding as printed, without its marks.
pub fn text(finding: &Finding) -> String {
    of_metric(&finding.of.metric, finding.estimate, finding.unit, half_width(finding))
}

/// A value of a metric as printed, with no more digits than its source has: brokers count the stages of requests in whole
/// milliseconds.
pub fn of_metric(metric: &str, value: Value, unit: Unit, half_width: Option<f64>) -> String {
    match value {
        Value::Is(ns) if stage_of(metric).is_some() => stage_time(ns),
        _ => self::value(value, unit, half_width),
    }
}

/// A mean of times that were each rounded to whole milliseconds: `< 0.5 ms`, `12 ms`.
fn stage_time(ns: f64) -> String {
    let resolved = (ns / STAGE_RESOLUTION_NS).round();
    match resolved < 1.0 {
        true => format!("< {} ms", named(STAGE_RESOLUTION_NS / 2e6)),
        false => format!("{} ms", units::count(resolved * STAGE_RESOLUTION_NS / 1e6)),
    }
}

/// Half of the interval, or of the range where there is no interval, in the finding's unit.
pub fn half_width(finding: &Finding) -> Option<f64> {
    match (finding.interval, finding.range) {
        (Interval::Bounds { low, high, .. }, _) => Some((high - low) / 2.0),
        (_, Some((Value::Is(min), Value::Is(max)))) => Some((max - min) / 2.0),
        _ => None,
    }
}

/// A value as printed when its true one lies within about ± `half_width`.
pub fn value(value: Value, unit: Unit, half_width: Option<f64>) -> String {
    match value {
        Value::Is(percent) if unit == Unit::PercentOfCore && is_below_ticks(percent) => {
            format!("{} % of one core", cpu_percent(percent))
        }
        Value::Is(number) => self::number(number, unit, half_width),
        Value::AtLeast(number) if number.is_finite() => {
            format!("≥ {}", self::number(number, unit, half_width))
        }
        Value::AtLeast(_) | Value::None => units::NOTHING.to_owned(),
    }
}

/// CPU time in percent of one core, without the unit; what the kernel's ticks do not resolve is shown as that.
pub fn cpu_percent(percent: f64) -> String {
    if is_below_ticks(percent) { format!("< {CPU_PERCENT_MIN}") } else { units::significant(percent) }
}

fn is_below_ticks(percent: f64) -> bool {
    percent > 0.0 && percent < CPU_PERCENT_MIN
}

/// A number as printed when its true value lies within about ± `half_width`.
pub fn number(number: f64, unit: Unit, half_width: Option<f64>) -> String {
    let Some(digits) = half_width.and_then(|half_width| digits(number, half_width)) else {
        return units::number(number, unit);
    };
    // For bytes the binary unit that is printed decides, and it has three digits at most.
    if unit == Unit::Bytes || unit == Unit::YesNo {
        return units::number(number, unit);
    }
    shortened(&units::number(rounded(number, digits), unit), digits)
}

/// A number of an interval, with as many decimals as its half-width lets mean something: unlike [`number`] it gives both
/// ends of an interval the same ones.
pub fn decimals(number: f64, half_width: Option<f64>) -> String {
    decimals_with(number, half_width, 0)
}

/// The number with at least as many decimals as the limit that it is shown with, since a number that is rounded to
/// fewer of them may seem to lie beyond a limit that it keeps.
pub fn decimals_with(number: f64, half_width: Option<f64>, of_limit: usize) -> String {
    match half_width.filter(|width| width.is_finite() && *width > 0.0) {
        Some(width) if number.is_finite() => {
            let decimals = (-width.log10().floor() as i32).clamp(0, DECIMALS_MAX) as usize;
            format!("{number:.decimals$}", decimals = decimals.max(of_limit))
        }
        // Without a spread it has two decimals at most, when it is not small.
        _ if of_limit > 0 && number.is_finite() => format!("{number:.decimals$}", decimals = of_limit.max(2)),
        _ => units::significant(number),
    }
}

/// An end of an interval that excludes, or holds, values such as 1 or a margin: where that many decimals would print
/// one of these itself, the first one that separates the number from them is printed.
pub fn decimals_apart_from(values: &[f64], number: f64, half_width: Option<f64>, of_limit: usize) -> String {
    let is_near = |value: f64| (number - value).abs() <= value.abs() * NAMED_HAIR;
    let is_other = |text: &str| {
        let reported = text.parse::<f64>();
        values.iter().any(|value| {
            !is_near(*value)
                && reported
                    .as_ref()
                    .is_ok_and(|reported| (reported - value).abs() <= value.abs() * NAMED_HAIR)
        })
    };
    let text = decimals_with(number, half_width, of_limit);
    if !is_other(&text) {
        return text;
    }
    let mut longer =
        (decimals_in(&text) + 1..=DECIMALS_MAX as usize).map(|decimals| format!("{number:.decimals$}"));
    longer.find(|text| !is_other(text)).unwrap_or(text)
}

/// Both ends of an interval as [`decimals_apart_from`] prints each, with the decimals of the one that needs more.
pub fn ends_apart_from(
    values: &[f64],
    ends: [f64; 2],
    half_width: Option<f64>,
    of_limit: usize,
) -> [String; 2] {
    let with = |least| ends.map(|end| decimals_apart_from(values, end, half_width, least));
    let texts = with(of_limit);
    match texts.each_ref().map(|text| decimals_in(text)) {
        [low, high] if low == high => texts,
        [low, high] => with(low.max(high)),
    }
}

/// Decimals of a number as printed.
fn decimals_in(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// A number that somebody named, as exact as it was named: `10`, `2.75`.
pub fn named(number: f64) -> String {
    // What binary fractions add to a decimal one lies far behind.
    let text = format!("{number:.8}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Decimals of a number that somebody named.
pub fn decimals_of(number: f64) -> usize {
    decimals_in(&named(number))
}

/// A ratio of two figures with its interval, where it has one with a width: `×1.04 (0.97–1.11)`. An end that excludes 1 is not
/// rounded onto it. `–` where there is none.
pub fn ratio(finding: &Finding) -> String {
    let Value::Is(number) = finding.estimate else { return units::NOTHING.to_owned() };
    match finding.interval {
        Interval::Bounds { low, high, .. } if high > low => {
            let width = Some((high - low) / 2.0);
            let least = ratio_decimals(number, low);
            let [low, high] = ends_apart_from(&[1.0], [low, high], width, least);
            format!("×{} ({low}–{high})", decimals_with(number, width, least))
        }
        _ => format!("×{}", units::significant(number)),
    }
}

/// Fewest decimals of a ratio and of the ends of its interval: a wide interval would take those away by which it excludes 1, or
/// by which its lower end is more than nothing.
pub fn ratio_decimals(number: f64, low: f64) -> usize {
    match number.abs() {
        // Two digits of the smallest that is more than nothing.
        size if size < 1.0 => {
            let smallest = if low > 0.0 { low } else { number };
            (1.0 - smallest.abs().log10().floor()).clamp(2.0, f64::from(DECIMALS_MAX)) as usize
        }
        size if size < 10.0 => 2,
        size => usize::from(size < 100.0),
    }
}

/// The interval of a finding, `low – high`; `None` where there is none.
pub fn interval(finding: &Finding) -> Option<String> {
    let Interval::Bounds { low, high, .. } = finding.interval else { return None };
    let bound = |number| of_metric(&finding.of.metric, Value::Is(number), finding.unit, half_width(finding));
    Some(format!("{} – {}", bound(low), bound(high)))
}

/// A finding with its interval, else its range over the repeats, in brackets before the unit: `2.14 (2.13–2.16) ms`. Its marks
/// are left out; what has no spread, or none that its digits show, is printed alone.
pub fn with_spread(finding: &Finding) -> String {
    if finding.unit == Unit::YesNo {
        return yes_or_no(finding);
    }
    let text = text(finding);
    let (low, high) = match (finding.interval, finding.range) {
        (Interval::Bounds { low, high, .. }, _) => (Value::Is(low), Value::Is(high)),
        (_, Some(range)) => range,
        _ => return text,
    };
    if stage_of(&finding.of.metric).is_some() {
        let [low, high] = [low, high].map(|end| of_metric(&finding.of.metric, end, finding.unit, None));
        return if low == high { text } else { format!("{text} ({low} – {high})") };
    }
    let (Value::Is(estimate), Value::Is(low), Value::Is(high)) = (finding.estimate, low, high) else {
        let [low, high] = [low, high].map(|end| value(end, finding.unit, None));
        return if low == high { text } else { format!("{text} ({low} – {high})") };
    };
    let end = text.find(|c: char| !(c.is_ascii_digit() || "-.,".contains(c))).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let digits = digits(estimate, (high - low) / 2.0);
    let Some(digits) = digits.filter(|_| estimate != 0.0 && !number.is_empty()) else {
        // Its own digits say nothing of its ends.
        let [low, high] = [low, high].map(|end| value(Value::Is(end), finding.unit, None));
        return if low == high { text } else { format!("{text} ({low} – {high})") };
    };
    // Rounded it may be printed in the next unit.
    let divisor = units::divisor(rounded(estimate, digits), finding.unit);
    let decimals = decimals_in(number);
    // What the last digit of the estimate counts; in a whole number zeros may follow it.
    let place = match decimals {
        0 => place_of(estimate / divisor, digits).max(1.0),
        _ => 0.1f64.powi(decimals as i32),
    };
    let [first, last] =
        [low, high].map(|end| units::separated((end / divisor / place).round() * place, decimals));
    match first == last {
        true => text,
        false if low < 0.0 => format!("{number} ({first} to {last}){unit}"),
        false => format!("{number} ({first}–{last}){unit}"),
    }
}

/// A yes or no of several repeats: `mixed` where they differ.
fn yes_or_no(finding: &Finding) -> String {
    match finding.range {
        Some((Value::Is(low), Value::Is(high))) if low != high => "mixed (no – yes)".to_owned(),
        _ => text(finding),
    }
}

/// Significant digits of a number that is known to ± `half_width`; `None`: as many as its unit has.
fn digits(number: f64, half_width: f64) -> Option<i32> {
    let share = half_width / number.abs();
    if !share.is_finite() || share <= 0.0 {
        return None;
    }
    // A hair's breadth keeps 1 % at three digits in spite of the logarithm's rounding.
    let fixed = (-share.log10() - 1e-9).ceil() as i32;
    let digits = (fixed + 1).max(DIGITS_MIN);
    (digits < DIGITS_MAX).then_some(digits)
}

fn rounded(number: f64, digits: i32) -> f64 {
    let scale = 1.0 / place_of(number, digits);
    (number * scale).round() / scale
}

/// What the last of so many significant digits of a number counts: 100 of the three of 59,900.
fn place_of(number: f64, digits: i32) -> f64 {
    let magnitude = number.abs().log10().floor() as i32;
    1.0 / 10f64.powi(digits - 1 - magnitude)
}

/// Takes zeros after the point away that claim more digits than there are.
fn shortened(text: &str, digits: i32) -> String {
    let end = text.find(|c: char| !(c.is_ascii_digit() || "-.,".contains(c))).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if !number.contains('.') {
        return text.to_owned();
    }
    let significant = |number: &str| {
        let figures = number.chars().filter(char::is_ascii_digit);
        figures.skip_while(|digit| *digit == '0').count() as i32
    };
    let mut number = number.to_owned();
    while number.ends_with('0') && significant(&number) > digits {
        number.pop();
    }
    format!("{}{unit}", number.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::finding::{IntervalMethod, NotResolvable, Quantity, Scope};
    use kdyno_model::metric::Address;

    #[test]
    fn digits_follow_the_half_width() {
        let of = |half_width| number(59_887.0, Unit::RecordsPerS, Some(half_width));
        assert_eq!(of(12_000.0), "60,000/s", "± 20 %: two digits");
        assert_eq!(of(598.87), "59,900/s", "± 1 %: three digits");
        assert_eq!(of(59.887), "59,890/s", "± 0.1 %: four digits");
        assert_eq!(of(0.001), "59,887/s");
        assert_eq!(of(600_000.0), "60,000/s", "never fewer than two");
        assert_eq!(number(59_887.0, Unit::RecordsPerS, None), "59,887/s");
    }

    #[test]
    fn decimals_that_mean_nothing_are_left_out() {
        assert_eq!(number(48.73e6, Unit::Ns, Some(9e6)), "49 ms");
        assert_eq!(number(1.2e6, Unit::Ns, Some(0.3e6)), "1.2 ms");
        assert_eq!(number(6.423, Unit::CpuUsPerRecord, Some(1.3)), "6.4 µs");
        assert_eq!(number(0.9218, Unit::Ratio, Some(0.2)), "0.92");
        assert_eq!(number(0.9218, Unit::Ratio, Some(0.05)), "0.922");
        assert_eq!(number(-0.05, Unit::Ratio, Some(0.02)), "-0.050");
    }

    fn found(estimate: f64, unit: Unit, low: f64, high: f64) -> Finding {
        let of = Address { subject: "writers".to_owned(), metric: "x".to_owned() };
        Finding {
            scope: Scope::Case(0),
            of,
            unit,
            quantity: Quantity::Value,
            estimate: Value::Is(estimate),
            range: None,
            interval: Interval::Bounds { low, high, level: 0.95, method: IntervalMethod::StudentT },
            n: 5,
            marks: Default::default(),
        }
    }

    #[test]
    fn a_spread_is_in_brackets_before_the_unit() {
        let reported = |estimate, unit, low, high| with_spread(&found(estimate, unit, low, high));
        assert_eq!(reported(1.672e6, Unit::Ns, 1.667e6, 1.694e6), "1.67 (1.67–1.69) ms");
        assert_eq!(reported(33e6, Unit::Ns, 17e6, 38.2e6), "33 (17–38) ms");
        assert_eq!(
            reported(1.2e6, Unit::Ns, 0.81e6, 1.6e6),
            "1.2 (0.8–1.6) ms",
            "in the unit of the estimate"
        );
        assert_eq!(reported(59_887.0, Unit::RecordsPerS, 59_312.0, 60_510.0), "59,900 (59,300–60,500)/s");
        assert_eq!(reported(22.5, Unit::PercentOfCore, 20.5, 23.4), "22.5 (20.5–23.4) % of one core");
        assert_eq!(reported(-0.2, Unit::MibPerMin, -0.9, 0.5), "-0.20 (-0.90 to 0.50) MiB/min");
        assert_eq!(reported(199_990.0, Unit::RecordsPerS, 199_990.0, 199_990.0), "199,990/s");
        let mut ranged = found(2e9, Unit::Ns, 0.0, 0.0);
        ranged.interval = Interval::NotResolvable(NotResolvable::OneTrial);
        ranged.range = Some((Value::Is(1.5e9), Value::AtLeast(2.5e9)));
        assert_eq!(with_spread(&ranged), "2.00 s (1.50 s – ≥ 2.50 s)");
        ranged.range = None;
        assert_eq!(with_spread(&ranged), "2.00 s");
        // From one unit to the next, and around nothing.
        assert_eq!(reported(996e6, Unit::Ns, 880e6, 1_120e6), "1.0 (0.9–1.1) s");
        assert_eq!(reported(0.0, Unit::Ratio, 0.0, 0.4), "0 (0 – 0.400)");
        let (yes, mixed) = (found(1.0, Unit::YesNo, 1.0, 1.0), (Value::Is(0.0), Value::Is(1.0)));
        assert_eq!(with_spread(&yes), "yes");
        assert_eq!(with_spread(&Finding { range: Some(mixed), ..yes }), "mixed (no – yes)");
    }

    #[test]
    fn cpu_time_below_a_tick_is_shown_as_that() {
        let of = |percent: f64| value(Value::Is(percent), Unit::PercentOfCore, None);
        assert_eq!(
            [0.0, 0.033, 0.1].map(of),
            ["0 % of one core", "< 0.1 % of one core", "0.100 % of one core"]
        );
        let reported = |low, high| with_spread(&found(0.05, Unit::PercentOfCore, low, high));
        assert_eq!(reported(0.02, 0.08), "< 0.1 % of one core", "its ends read alike");
        assert_eq!(reported(0.0, 0.4), "< 0.1 % of one core (0 % of one core – 0.400 % of one core)");
        assert_eq!([0.033, 2.5].map(cpu_percent), ["< 0.1", "2.50"]);
    }

    #[test]
    fn a_ratio_has_the_decimals_of_its_interval() {
        let reported = |estimate, low, high| ratio(&found(estimate, Unit::Ratio, low, high));
        assert_eq!(reported(1.0, 0.982, 1.02), "×1.00 (0.98–1.02)");
        assert_eq!(reported(1.1, 0.32, 3.8), "×1.10 (0.32–3.80)");
        assert_eq!(reported(44.1, 30.2, 60.0), "×44.1 (30.2–60.0)");
        assert_eq!(reported(1.34, 1.004, 1.61), "×1.34 (1.004–1.610)", "it excludes 1");
        assert_eq!(reported(1.0, 1.0, 1.0), "×1.00");
        assert_eq!(reported(0.002, 0.000_5, 0.03), "×0.00200 (0.00050–0.03000)");
    }

    #[test]
    fn both_ends_of_an_interval_have_the_same_decimals() {
        assert_eq!([0.96, 1.06].map(|end| decimals(end, Some(0.05))), ["0.96", "1.06"]);
        assert_eq!([8.3, 16.1].map(|end| decimals(end, Some(3.9))), ["8", "16"]);
        assert_eq!([-0.82, 1.74].map(|end| decimals(end, Some(0.9))), ["-0.8", "1.7"]);
        assert_eq!(decimals(2.5, None), "2.50");
    }

    #[test]
    fn what_keeps_a_limit_is_not_rounded_beyond_it() {
        assert_eq!([2.7, 0.4].map(|end| decimals_with(end, Some(1.2), 2)), ["2.70", "0.40"]);
        assert_eq!(decimals_with(2.746, Some(0.001), 2), "2.746");
        assert_eq!(decimals_with(12.966, None, 3), "12.966");
        assert_eq!(decimals_with(2.7, None, 0), "2.70");
        let percent = |share: f64| named(share * 100.0);
        assert_eq!([0.1, 0.0275, 0.07, 0.025, 0.0].map(percent), ["10", "2.75", "7", "2.5", "0"]);
        assert_eq!([10.0, 2.75, 0.1, 0.07].map(decimals_of), [0, 2, 1, 2]);
    }

    #[test]
    fn an_end_of_an_interval_is_not_rounded_onto_what_it_excludes() {
        let of_change = |end| decimals_apart_from(&[0.0], end, Some(10.0), 0);
        assert_eq!([0.3, -0.04, 20.4].map(of_change), ["0.3", "-0.04", "20"]);
        let of_ratio = |end| decimals_apart_from(&[0.9, 1.0, 1.1], end, Some(0.1), 2);
        assert_eq!([1.003, 0.9996, 1.2].map(of_ratio), ["1.003", "0.9996", "1.20"]);
        assert_eq!([0.8996, 1.1002, 1.1].map(of_ratio), ["0.8996", "1.1002", "1.10"], "nor onto a margin");
        assert_eq!(of_change(0.0), "0", "it is the value");
        assert_eq!(of_change(1e-9), "0", "nobody reads so many decimals");
    }

    #[test]
    fn what_has_no_spread_is_printed_as_its_unit_is() {
        assert_eq!(number(48.73e6, Unit::Ns, Some(0.0)), "48.7 ms");
        assert_eq!(number(0.0, Unit::Count, Some(1.0)), "0");
        assert_eq!(number(f64::NAN, Unit::Ns, Some(1.0)), "–");
        assert_eq!(value(Value::AtLeast(2.04e9), Unit::Ns, Some(0.5e9)), "≥ 2.0 s");
    }
}
