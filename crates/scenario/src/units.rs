//! Quantities as people write them: `16KiB`, `5ms`, `20k/s`, `20M`.
//!
//! KB, MB, GB are powers of ten and KiB, MiB, GiB powers of two. A quantity is held as a number in its
//! base unit (bytes, nanoseconds, per second), exact up to 2^53.

use kdyno_model::units::{exact_bytes, exact_duration};
use std::fmt;

/// Largest whole number that an `f64` holds exactly.
pub const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Longest text that can be a quantity.
const TEXT_BYTES_MAX: usize = 64;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// A plain number.
    Plain,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Ns,
    /// Per second.
    PerS,
}

impl Dimension {
    /// Its name with examples, for messages.
    pub fn described(self) -> &'static str {
        match self {
            Self::Plain => "a number, e.g. `3` or `20M`",
            Self::Bytes => "a size with its unit, e.g. `128B`, `16KiB`, `1MB`",
            Self::Ns => "a duration with its unit, e.g. `200us`, `5ms`, `30s`, `5m`",
            Self::PerS => "a rate with its unit, e.g. `500/s`, `20k/s`, `600/min`",
        }
    }

    /// Its name alone.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "a number",
            Self::Bytes => "a size",
            Self::Ns => "a duration",
            Self::PerS => "a rate",
        }
    }
}

/// A number and what it counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitValue {
    /// In the base unit of [`UnitValue::dimension`]; finite.
    pub value: f64,
    /// What it counts.
    pub dimension: Dimension,
}

/// Prints so that [`parse`] reads the same quantity again.
impl fmt::Display for UnitValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dimension {
            Dimension::Plain => write!(f, "{}", self.value),
            Dimension::Bytes => f.write_str(&exact_bytes(self.value)),
            Dimension::Ns => f.write_str(&exact_duration(self.value)),
            Dimension::PerS => write!(f, "{}/s", self.value),
        }
    }
}

/// Units by spelling: what they count and how many base units one is.
const UNITS: &[(&str, Dimension, f64)] = &[
    ("", Dimension::Plain, 1.0),
    ("k", Dimension::Plain, 1e3),
    ("M", Dimension::Plain, 1e6),
    ("G", Dimension::Plain, 1e9),
    ("B", Dimension::Bytes, 1.0),
    ("KB", Dimension::Bytes, 1e3),
    ("kB", Dimension::Bytes, 1e3),
    ("MB", Dimension::Bytes, 1e6),
    ("GB", Dimension::Bytes, 1e9),
    ("TB", Dimension::Bytes, 1e12),
    ("KiB", Dimension::Bytes, 1024.0),
    ("MiB", Dimension::Bytes, 1_048_576.0),
    ("GiB", Dimension::Bytes, 1_073_741_824.0),
    ("TiB", Dimension::Bytes, 1_099_511_627_776.0),
    ("ns", Dimension::Ns, 1.0),
    ("us", Dimension::Ns, 1e3),
    ("µs", Dimension::Ns, 1e3),
    ("ms", Dimension::Ns, 1e6),
    ("s", Dimension::Ns, 1e9),
    ("m", Dimension::Ns, 60e9),
    ("min", Dimension::Ns, 60e9),
    ("h", Dimension::Ns, 3600e9),
    ("d", Dimension::Ns, 86_400e9),
];

/// How units of a dimension are spelt, without the time of a rate.
pub(crate) fn spellings(of: Dimension) -> impl Iterator<Item = &'static str> {
    UNITS.iter().filter(move |(_, dimension, _)| *dimension == of).map(|(name, ..)| *name)
}

/// Any quantity; `None` when the text is none.
pub fn parse(text: &str) -> Option<UnitValue> {
    let text = text.trim();
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let (text, per_s) = match text.split_once('/') {
        Some((amount, "s")) => (amount, Some(1.0)),
        Some((amount, "min" | "m")) => (amount, Some(60.0)),
        Some((amount, "h")) => (amount, Some(3600.0)),
        Some(_) => return None,
        None => (text, None),
    };
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let sign = if digits.len() == text.len() { 1.0 } else { -1.0 };
    let end = digits.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(digits.len());
    let number = number(&digits[..end])?;
    let unit = digits[end..].trim();
    let (_, dimension, scale) = UNITS.iter().find(|(name, ..)| *name == unit)?;
    let value = sign * product(number, *scale);
    let dimension = match (per_s, dimension) {
        (None, dimension) => *dimension,
        (Some(_), Dimension::Plain) => Dimension::PerS,
        (Some(_), _) => return None,
    };
    let value = value / per_s.unwrap_or(1.0);
    value.is_finite().then_some(UnitValue { value, dimension })
}

/// `value × scale`, rounded to a whole number where the product is one but for the last bit (`1.1k`).
fn product(value: f64, scale: f64) -> f64 {
    let exact = value * scale;
    let whole = exact.round();
    if scale > 1.0 && (exact - whole).abs() < 1e-6 && whole.abs() < EXACT_MAX { whole } else { exact }
}

/// Digits with at most one point; `_` between digits is ignored.
fn number(digits: &str) -> Option<f64> {
    let framed =
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.ends_with(|c: char| c.is_ascii_digit());
    if !framed || digits.matches('.').count() > 1 {
        return None;
    }
    digits.replace('_', "").parse().ok()
}

/// A quantity of the given dimension.
///
/// # Errors
/// One sentence that says what the text is and what is allowed.
pub fn parse_as(text: &str, dimension: Dimension) -> Result<f64, String> {
    let allowed = dimension.described();
    let shown = crate::input::quoted(text);
    let quantity = parse(text).ok_or_else(|| {
        let meant = meant(text, dimension).map(|meant| format!("; write {}", crate::input::quoted(&meant)));
        format!("{shown} is not {allowed}{}", meant.unwrap_or_default())
    })?;
    if quantity.dimension == dimension {
        return Ok(quantity.value);
    }
    Err(format!("{shown} is {}, not {allowed}", quantity.dimension.name()))
}

/// The quantity that is meant by digits in groups (`3,000/s`) or by a duration in several units (`1h30m`).
fn meant(text: &str, dimension: Dimension) -> Option<String> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    // A comma before other than three digits may be a decimal point.
    let digits = |part: &str| part.bytes().take_while(u8::is_ascii_digit).count();
    // So may one behind a zero.
    let is_grouped = text.trim_start().starts_with(|c: char| matches!(c, '1'..='9'));
    if is_grouped && text.contains(',') && text.split(',').skip(1).all(|group| digits(group) == 3) {
        let joined = text.replace(',', "");
        let is_one = parse(&joined).is_some_and(|quantity| quantity.dimension == dimension);
        return is_one.then_some(joined);
    }
    let ns = in_one_unit(text).filter(|_| dimension == Dimension::Ns)?;
    let minutes = ns / 60e9;
    Some(if minutes.fract() == 0.0 { format!("{minutes}m") } else { exact_duration(ns) })
}

/// The sum of several durations that are written one after the other, ns.
fn in_one_unit(text: &str) -> Option<f64> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let (mut rest, mut sum, mut parts) = (text.trim(), 0.0, 0);
    while !rest.is_empty() {
        let unit = rest.find(|c: char| !is_digit(c))?;
        let end = rest[unit..].find(is_digit).map_or(rest.len(), |length| unit + length);
        let (part, after) = rest.split_at(end);
        sum += parse(part).filter(|quantity| quantity.dimension == Dimension::Ns)?.value;
        (rest, parts) = (after, parts + 1);
    }
    (parts > 1).then_some(sum)
}

/// A number without a unit in the one that is meant by it: records per second, seconds, bytes. Any other text stays as it is.
pub fn with_unit(text: &str, dimension: Dimension) -> String {
    let is_bare = parse(text).is_some_and(|quantity| quantity.dimension == Dimension::Plain);
    let ends_in_digit = text.trim_end().ends_with(|c: char| c.is_ascii_digit());
    match dimension {
        Dimension::PerS if is_bare => format!("{}/s", text.trim()),
        // `5k` is neither five thousand seconds nor bytes.
        Dimension::Ns if is_bare && ends_in_digit => format!("{}s", text.trim()),
        Dimension::Bytes if is_bare && ends_in_digit => format!("{}B", text.trim()),
        _ => text.to_owned(),
    }
}

/// The same, as a value that replaces another one: of a duration it has the unit of that one.
pub fn with_unit_of(text: &str, other: &str) -> String {
    let Some(usual) = parse(other) else { return text.to_owned() };
    let is_bare = parse(text).is_some_and(|quantity| quantity.dimension == Dimension::Plain);
    let unit = other.trim().trim_start_matches(|c: char| !c.is_alphabetic());
    match usual.dimension {
        // `5` in place of `20ms` is not five seconds.
        Dimension::Ns if is_bare && !text.trim().ends_with(char::is_alphabetic) => {
            format!("{}{unit}", text.trim())
        }
        Dimension::Ns => text.to_owned(),
        dimension => with_unit(text, dimension),
    }
}

/// A whole number of base units (records, bytes, nanoseconds).
///
/// # Errors
/// One sentence that says what the text is and what is allowed.
pub fn whole(text: &str, dimension: Dimension) -> Result<u64, String> {
    let value = parse_as(text, dimension)?;
    let shown = crate::input::quoted(text);
    if value < 0.0 {
        return Err(format!("{shown} is negative"));
    }
    if value.fract() != 0.0 || value >= EXACT_MAX {
        return Err(format!("{shown} is not a whole number that fits"));
    }
    Ok(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        let cases = [
            ("128B", Dimension::Bytes, 128.0),
            ("16KiB", Dimension::Bytes, 16384.0),
            ("1KB", Dimension::Bytes, 1000.0),
            ("1.5MiB", Dimension::Bytes, 1_572_864.0),
            ("200us", Dimension::Ns, 200e3),
            ("5m", Dimension::Ns, 300e9),
            ("1h", Dimension::Ns, 3600e9),
            ("20k/s", Dimension::PerS, 20_000.0),
            ("1.5M/s", Dimension::PerS, 1_500_000.0),
            ("600/min", Dimension::PerS, 10.0),
            ("20M", Dimension::Plain, 20e6),
            ("1_000", Dimension::Plain, 1000.0),
            ("1.1k", Dimension::Plain, 1100.0),
            ("-1", Dimension::Plain, -1.0),
        ];
        for (text, dimension, value) in cases {
            assert_eq!(parse(text), Some(UnitValue { value, dimension }), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_quantity() {
        for text in
            ["", "B", "1.", ".5", "1..2", "1kb", "5 apples", "1/s/s", "5ms/s", "_1", "1e9", "NaN", "inf"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_in_the_unit_of_what_it_replaces() {
        for (text, other, made) in [
            ("1000", "10k/s", "1000/s"),
            (" 20k ", "5/s", "20k/s"),
            ("5", "30s", "5s"),
            ("0.5", "200ms", "0.5ms"),
            ("5", "0ms", "5ms"),
            ("5", "1.5m", "5m"),
            ("512", "1KiB", "512B"),
            ("5k", "30s", "5k"),
            ("5k", "1KiB", "5k"),
            ("5", "3", "5"),
            ("5", "auto", "5"),
            ("max", "10k/s", "max"),
            ("5ms", "10k/s", "5ms"),
            ("= 2*brokers", "10k/s", "= 2*brokers"),
        ] {
            assert_eq!(with_unit_of(text, other), made, "{text} for {other}");
        }
    }

    #[test]
    fn a_wrong_unit_is_named() {
        let error = whole("5ms", Dimension::Bytes).unwrap_err();
        assert!(error.contains("is a duration, not a size"), "{error}");
        assert!(whole("1.5B", Dimension::Bytes).is_err());
        assert!(whole("-1B", Dimension::Bytes).is_err());
        assert!(whole("99999999999999999", Dimension::Plain).is_err());
    }

    #[test]
    fn what_is_meant_by_groups_of_digits_and_several_units_is_said() {
        let reported = |text: &str, dimension: Dimension| whole(text, dimension).unwrap_err();
        for (text, dimension, meant) in [
            ("3,000/s", Dimension::PerS, "3000/s"),
            ("1,000,000", Dimension::Plain, "1000000"),
            ("1h30m", Dimension::Ns, "90m"),
            ("1m 30s", Dimension::Ns, "90s"),
            ("1s500ms", Dimension::Ns, "1500ms"),
        ] {
            let error = reported(text, dimension);
            assert!(error.ends_with(&format!("; write `{meant}`")), "{text}: {error}");
        }
        for (text, dimension) in [
            ("1,5ms", Dimension::Ns),
            ("3,000ms", Dimension::PerS),
            ("1h30", Dimension::Ns),
            ("h30m", Dimension::Ns),
            ("1h30m", Dimension::PerS),
            ("soon", Dimension::Ns),
            ("", Dimension::Ns),
        ] {
            assert!(!reported(text, dimension).contains("write"), "{text}: {}", reported(text, dimension));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = parse(&text);
            let _ = whole(&text, Dimension::Ns);
        }

        #[test]
        fn near_quantities_do_not_panic(text in "-?[0-9._]{0,12}[kKMGiBnumshd µ/]{0,5}") {
            if let Some(quantity) = parse(&text) {
                prop_assert!(quantity.value.is_finite());
            }
        }

        #[test]
        fn printed_quantities_read_back(value in 0_u64..1 << 50, unit in 0_usize..4) {
            let dimension = [Dimension::Plain, Dimension::Bytes, Dimension::Ns, Dimension::PerS][unit];
            let quantity = UnitValue { value: value as f64, dimension };
            prop_assert_eq!(parse(&quantity.to_string()), Some(quantity));
        }
    }
}
