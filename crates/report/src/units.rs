//! How numbers are printed: one way for each unit, everywhere.

use kdyno_model::finding::Value;
use kdyno_model::metric::{self, Unit};

/// What is printed where there is no number.
pub const NOTHING: &str = "–";

/// Bytes of a MiB.
const MIB: f64 = (1u64 << 20) as f64;

/// A value with its unit, e.g. `612,345/s`, `12.3 ms`, `≥ 2.00 s`, `–`.
#[must_use]
pub fn value(value: Value, unit: Unit) -> String {
    match value {
        Value::Is(number) => self::number(number, unit),
        Value::AtLeast(number) if number.is_finite() => format!("≥ {}", self::number(number, unit)),
        Value::AtLeast(_) | Value::None => NOTHING.to_owned(),
    }
}

/// A number with its unit. A number that is not finite is printed as [`NOTHING`].
#[must_use]
pub fn number(number: f64, unit: Unit) -> String {
    if !number.is_finite() {
        return NOTHING.to_owned();
    }
    match unit {
        Unit::Count => count(number),
        Unit::RecordsPerS => format!("{}/s", count(number)),
        Unit::MibPerS => format!("{} MiB/s", significant(number)),
        Unit::Ns => nanoseconds(number),
        Unit::Ratio => ratio(number),
        Unit::PercentOfCore => format!("{} %", significant(number)),
        Unit::CpuUsPerRecord => format!("{} µs", significant(number)),
        Unit::Bytes => bytes(number),
        Unit::YesNo => (if number == 0.0 { "no" } else { "yes" }).to_owned(),
    }
}

/// The unit as a key of documents, the same as in the run file.
#[must_use]
pub fn key(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "count",
        Unit::RecordsPerS => "records_per_s",
        Unit::MibPerS => "mib_per_s",
        Unit::Ns => "ns",
        Unit::Ratio => "ratio",
        Unit::PercentOfCore => "percent_of_core",
        Unit::CpuUsPerRecord => "cpu_us_per_record",
        Unit::Bytes => "bytes",
        Unit::YesNo => "yes_no",
    }
}

/// The unit of a metric by its name after the subject; a latency is in ns.
#[must_use]
pub fn of_metric(metric: &str) -> Unit {
    let listed = metric::ALL.iter().find(|known| known.name == metric).map(|known| known.unit);
    let timed = || metric::TIMINGS.iter().any(|(name, _)| metric.split('.').next() == Some(name));
    listed.unwrap_or(if timed() { Unit::Ns } else { Unit::Count })
}

/// A whole number with thousands separators; below 100 a fraction keeps three digits.
#[must_use]
pub fn count(number: f64) -> String {
    if number.abs() < 100.0 && number.fract() != 0.0 { significant(number) } else { separated(number, 0) }
}

/// Three significant digits, with thousands separators and without an exponent.
#[must_use]
pub fn significant(number: f64) -> String {
    /// Decimals printed at most; what is smaller still reads as 0.
    const DECIMALS_MAX: i32 = 6;
    if !number.is_finite() {
        return NOTHING.to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let decimals = |magnitude: f64| (2 - magnitude.log10().floor() as i32).clamp(0, DECIMALS_MAX) as usize;
    // 9.996 is printed as 10.0: rounding may add a digit, so the decimals are chosen again.
    let first = decimals(number.abs());
    let scale = 10f64.powi(first as i32);
    let rounded = (number.abs() * scale).round() / scale;
    let again = if rounded > 0.0 { decimals(rounded) } else { first };
    separated(number, again.min(first))
}

/// A time in the unit that reads best, three significant digits.
#[must_use]
pub fn nanoseconds(ns: f64) -> String {
    let (divisor, unit) = match ns.abs() {
        size if size < 999.5 => (1.0, "ns"),
        size if size < 999.5e3 => (1e3, "µs"),
        size if size < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", significant(ns / divisor))
}

/// A length of time for people: `45 s`, `1 min 20 s`, `2 h 05 min`.
#[must_use]
pub fn duration(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

/// Bytes in the binary unit that reads best.
#[must_use]
pub fn bytes(bytes: f64) -> String {
    match bytes.abs() {
        size if size < 1024.0 => format!("{} B", count(bytes)),
        size if size < MIB => format!("{} KiB", significant(bytes / 1024.0)),
        size if size < 1024.0 * MIB => format!("{} MiB", significant(bytes / MIB)),
        _ => format!("{} GiB", significant(bytes / MIB / 1024.0)),
    }
}

/// A ratio. Just below 1 a fourth digit is kept, because 99.5 % is a threshold.
#[must_use]
pub fn ratio(number: f64) -> String {
    if (0.9..1.0).contains(&number) { format!("{number:.4}") } else { significant(number) }
}

/// An instant as RFC 3339 in UTC, to the second.
#[must_use]
pub fn instant(unix_ns: u64) -> String {
    let seconds = i64::try_from(unix_ns / 1_000_000_000).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| NOTHING.to_owned(), |at| at.to_string())
}

fn separated(number: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", number.abs());
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0.0 && digits.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) {
        out.push('-');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_unit_is_printed_for_people() {
        let cases = [
            (612_345.4, Unit::RecordsPerS, "612,345/s"),
            (0.25, Unit::RecordsPerS, "0.250/s"),
            (12_340_000.0, Unit::Ns, "12.3 ms"),
            (999.6, Unit::Ns, "1.00 µs"),
            (850.0, Unit::Ns, "850 ns"),
            (2.0e9, Unit::Ns, "2.00 s"),
            (49.078, Unit::MibPerS, "49.1 MiB/s"),
            (5.5 * MIB, Unit::Bytes, "5.50 MiB"),
            (112_000.0, Unit::Bytes, "109 KiB"),
            (512.0, Unit::Bytes, "512 B"),
            (0.4312, Unit::CpuUsPerRecord, "0.431 µs"),
            (9.996, Unit::Ratio, "10.0"),
            (0.9949, Unit::Ratio, "0.9949"),
            (58.1, Unit::PercentOfCore, "58.1 %"),
            (1.0, Unit::YesNo, "yes"),
            (0.0, Unit::YesNo, "no"),
            (812.0, Unit::Count, "812"),
            (1_234_567.0, Unit::Count, "1,234,567"),
        ];
        for (number, unit, expected) in cases {
            assert_eq!(value(Value::Is(number), unit), expected);
        }
    }

    #[test]
    fn doubt_and_absence_are_printed() {
        assert_eq!(value(Value::AtLeast(2e9), Unit::Ns), "≥ 2.00 s");
        assert_eq!(value(Value::None, Unit::Ns), NOTHING);
        assert_eq!(value(Value::Is(f64::NAN), Unit::RecordsPerS), NOTHING);
        assert_eq!(value(Value::AtLeast(f64::INFINITY), Unit::Ns), NOTHING);
    }

    #[test]
    fn durations_read_like_a_clock() {
        assert_eq!(duration(45_000_000_000), "45 s");
        assert_eq!(duration(80_000_000_000), "1 min 20 s");
        assert_eq!(duration(7_500_000_000_000), "2 h 05 min");
    }

    #[test]
    fn a_latency_is_in_ns_and_a_listed_metric_in_its_own_unit() {
        assert_eq!(of_metric("response.p99.9"), Unit::Ns);
        assert_eq!(of_metric("acked_per_s"), Unit::RecordsPerS);
    }

    proptest! {
        #[test]
        fn three_digits_stay_within_half_a_percent(number in 0.001f64..1e12) {
            let back: f64 = significant(number).replace(',', "").parse().expect("a plain number");
            prop_assert!((back - number).abs() <= number * 0.005_000_1, "{number} became {back}");
        }
    }
}
