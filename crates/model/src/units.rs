//! How numbers are printed for people: one way for each unit, everywhere. Sizes are in KiB, MiB, GiB (powers of
//! two); rounded to three digits where a figure is shown, exact where a setting or a limit is.

use crate::finding::Value;
use crate::metric::Unit;

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
        Unit::RecordsPerS | Unit::RequestsPerS | Unit::TransactionsPerS => format!("{}/s", count(number)),
        Unit::MibPerS => format!("{} MiB/s", significant(number)),
        Unit::MibPerMin => format!("{} MiB/min", significant(number)),
        Unit::Ns => nanoseconds(number),
        Unit::Ratio => ratio(number),
        Unit::Percent => format!("{} %", significant(number)),
        Unit::PercentOfCore => format!("{} % of one core", significant(number)),
        Unit::CpuUsPerRecord => format!("{} µs", significant(number)),
        Unit::Bytes => bytes(number),
        Unit::CostPerGb | Unit::CostPerMillion => significant(number),
        Unit::YesNo => (if number == 0.0 { "no" } else { "yes" }).to_owned(),
    }
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
    if rounded == 0.0 {
        return "0".to_owned();
    }
    separated(number, decimals(rounded).min(first))
}

/// A time in the unit that reads best, three significant digits.
#[must_use]
pub fn nanoseconds(ns: f64) -> String {
    let (divisor, unit) = time_scale(ns);
    match significant(ns / divisor) {
        // No time at all is none in every unit.
        nothing if nothing == "0" => "0 s".to_owned(),
        number => format!("{number} {unit}"),
    }
}

fn time_scale(ns: f64) -> (f64, &'static str) {
    match ns.abs() {
        size if size < 999.5 => (1.0, "ns"),
        size if size < 999.5e3 => (1e3, "µs"),
        size if size < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// What a number is divided by before it is printed in its unit: 10⁶ where ns are printed as ms.
#[must_use]
pub fn divisor(number: f64, unit: Unit) -> f64 {
    match unit {
        Unit::Ns => time_scale(number).0,
        Unit::Bytes => byte_scale(number).0,
        _ => 1.0,
    }
}

/// A length of time as it reads best: with its fraction below a minute.
#[must_use]
pub fn length(ns: u64) -> String {
    const MINUTE_NS: u64 = 60_000_000_000;
    if ns < MINUTE_NS { number(ns as f64, Unit::Ns) } else { duration(ns) }
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
    let (divisor, unit) = byte_scale(bytes);
    let number = if divisor == 1.0 { count(bytes) } else { significant(bytes / divisor) };
    format!("{number} {unit}")
}

fn byte_scale(bytes: f64) -> (f64, &'static str) {
    match bytes.abs() {
        size if size < 1024.0 => (1.0, "B"),
        size if size < MIB => (1024.0, "KiB"),
        size if size < 1024.0 * MIB => (MIB, "MiB"),
        size if size < MIB * MIB => (1024.0 * MIB, "GiB"),
        _ => (MIB * MIB, "TiB"),
    }
}

/// A ratio. Just below 1 a fourth digit is kept, because 99.5 % is a threshold.
#[must_use]
pub fn ratio(number: f64) -> String {
    if (0.9..1.0).contains(&number) { format!("{number:.4}") } else { significant(number) }
}

/// Bytes exactly, for people: `16 KiB`, `2,097,234 B`.
#[must_use]
pub fn size(bytes: u64) -> String {
    let (unit, scale) = largest_whole(bytes as f64, BYTES);
    format!("{} {unit}", count(bytes as f64 / scale))
}

/// Bytes exactly, as a scenario writes them: `16KiB`, `2097234B`.
#[must_use]
pub fn exact_bytes(bytes: f64) -> String {
    let (unit, scale) = largest_whole(bytes, BYTES);
    format!("{}{unit}", bytes / scale)
}

/// A duration exactly, as a scenario writes it: `90s`, `200us`.
#[must_use]
pub fn exact_duration(ns: f64) -> String {
    if ns == 0.0 {
        return "0s".to_owned();
    }
    let (unit, scale) = largest_whole(ns, NANOSECONDS);
    format!("{}{unit}", ns / scale)
}

const BYTES: &[(&str, f64)] = &[("GiB", 1024.0 * MIB), ("MiB", MIB), ("KiB", 1024.0), ("B", 1.0)];
const NANOSECONDS: &[(&str, f64)] = &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];

/// The largest unit in which a value is whole, else the smallest.
fn largest_whole<'u>(value: f64, units: &[(&'u str, f64)]) -> (&'u str, f64) {
    let whole = |scale: f64| value.abs() >= scale && value % scale == 0.0;
    units.iter().find(|(_, scale)| whole(*scale)).or(units.last()).copied().unwrap_or(("", 1.0))
}

/// A number of processors, which need not be whole: `1 processor`, `1.5 processors`.
#[must_use]
pub fn processors(number: f64) -> String {
    format!("{number} CPU{}", if number == 1.0 { "" } else { "s" })
}

/// ns as a number of the milliseconds in which Kafka has settings of time: `5`, `0.5`.
#[must_use]
pub fn milliseconds(ns: u64) -> String {
    format!("{}", ns as f64 / 1e6)
}

/// A setting under Kafka's name: the value of one that is a size has its unit.
#[must_use]
pub fn setting(name: &str, value: &str) -> String {
    let is_size = matches!(name.rsplit('.').next(), Some("bytes" | "size" | "memory"));
    match value.parse::<u32>() {
        Ok(bytes) if is_size && bytes >= 1024 => format!("{name}={}", exact_bytes(f64::from(bytes))),
        _ => format!("{name}={value}"),
    }
}

/// A number with so many decimals and with thousands separators.
#[must_use]
pub fn separated(number: f64, decimals: usize) -> String {
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
            (42.0, Unit::Percent, "42.0 %"),
            (58.1, Unit::PercentOfCore, "58.1 % of one core"),
            (0.024_68, Unit::CostPerGb, "0.0247"),
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
    fn lower_bounds_and_absence_are_printed() {
        assert_eq!(value(Value::AtLeast(2e9), Unit::Ns), "≥ 2.00 s");
        assert_eq!(value(Value::None, Unit::Ns), NOTHING);
        assert_eq!(value(Value::Is(f64::NAN), Unit::RecordsPerS), NOTHING);
        assert_eq!(value(Value::AtLeast(f64::INFINITY), Unit::Ns), NOTHING);
    }

    #[test]
    fn what_is_smaller_than_all_decimals_is_nothing() {
        assert_eq!([1e-9, -1e-9, 0.0].map(significant), ["0"; 3]);
        assert_eq!(nanoseconds(1e-8), "0 s");
        assert_eq!(significant(1e-6), "0.000001");
    }

    #[test]
    fn durations_read_like_a_clock() {
        assert_eq!(duration(45_000_000_000), "45 s");
        assert_eq!(duration(80_000_000_000), "1 min 20 s");
        assert_eq!(duration(7_500_000_000_000), "2 h 05 min");
    }

    #[test]
    fn what_is_exact_stays_exact() {
        for (bytes, text) in [(16_384.0, "16KiB"), (5_242_880.0, "5MiB"), (2_097_234.0, "2097234B")] {
            assert_eq!(exact_bytes(bytes), text);
        }
        assert_eq!((size(5 << 20), size(2_097_234)), ("5 MiB".to_owned(), "2,097,234 B".to_owned()));
        assert_eq!((exact_duration(9e10), exact_duration(2e5)), ("90s".to_owned(), "200us".to_owned()));
        assert_eq!(setting("log.segment.bytes", "16777216"), "log.segment.bytes=16MiB");
        assert_eq!([0.5, 1.0, 2.0].map(processors), ["0.5 CPUs", "1 CPU", "2 CPUs"]);
        assert_eq!(setting("log.retention.bytes", "-1"), "log.retention.bytes=-1");
        assert_eq!(setting("log.retention.ms", "300000"), "log.retention.ms=300000");
    }

    proptest! {
        #[test]
        fn three_digits_stay_within_half_a_percent(number in 0.001f64..1e12) {
            let back: f64 = significant(number).replace(',', "").parse().expect("a plain number");
            prop_assert!((back - number).abs() <= number * 0.005_000_1, "{number} became {back}");
        }
    }
}
