//! Instants as files of other tools have them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Numbers below this are seconds since 1970, others milliseconds: seconds reach it in the year 5138, milliseconds in
/// 1973.
const MS_FROM: f64 = 1e11;
/// Largest number of milliseconds: the year 5138.
const MS_MAX: f64 = 1e14;

/// Why a text is no instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoInstant {
    /// It is no time at all.
    NoTime,
    /// It is a time of day without an offset, and no zone is given.
    NoZone,
    /// There was no such time in the zone, or twice, when its clocks were put forward or back.
    NotOne,
}

/// `2026-03-07`.
const DATE_CHARACTERS: usize = 10;

/// ns since 1970 of an ISO 8601 time with an offset (`2026-03-07T09:05:04Z`), of one without in `zone`, or of a number of
/// seconds or milliseconds since 1970. A blank may replace the `T`, and slashes the dashes of a date.
pub(crate) fn unix_ns(text: &str, zone: Option<&TimeZone>) -> Result<i64, NoInstant> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        let ms = if number.abs() < MS_FROM { number * 1e3 } else { number };
        return if ms.is_finite() && ms.abs() <= MS_MAX {
            Ok((ms * 1e6) as i64)
        } else {
            Err(NoInstant::NoTime)
        };
    }
    // The date alone: the name of a zone, which may follow, has slashes of its own.
    let text =
        text.replacen('/', "-", if text.find('/').is_some_and(|at| at < DATE_CHARACTERS) { 2 } else { 0 });
    let timestamp = match text.parse::<Timestamp>() {
        Ok(timestamp) => timestamp,
        Err(_) => {
            let civil: DateTime = text.parse().map_err(|_| NoInstant::NoTime)?;
            let zone = zone.ok_or(NoInstant::NoZone)?;
            zone.to_ambiguous_timestamp(civil).unambiguous().map_err(|_| NoInstant::NotOne)?
        }
    };
    i64::try_from(timestamp.as_nanosecond()).map_err(|_| NoInstant::NoTime)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;
    /// 2026-03-07T09:05:04Z.
    const AT: i64 = 1_772_874_304 * S;

    #[test]
    fn instants_are_read_with_an_offset_as_numbers_or_in_a_zone() {
        for text in [
            "2026-03-07T09:05:04Z",
            "2026-03-07T10:05:04+01:00",
            "2026-03-07T04:05:04-05:00[America/New_York]",
            "2026-03-07 09:05:04+00:00",
            "1772874304",
            "1772874304000",
            " 1772874304.0 ",
        ] {
            assert_eq!(unix_ns(text, None), Ok(AT), "{text}");
        }
        assert_eq!(unix_ns("1772874304.5", None), Ok(AT + S / 2));
        let new_york = TimeZone::fixed(jiff::tz::offset(-5));
        for text in ["2026-03-07T04:05:04", "2026-03-07 04:05:04", "2026/03/07 04:05:04"] {
            assert_eq!(unix_ns(text, Some(&new_york)), Ok(AT), "{text}");
            assert_eq!(unix_ns(text, None), Err(NoInstant::NoZone), "{text}");
        }
        // A given offset counts, whatever the zone.
        assert_eq!(unix_ns("2026-03-07T09:05:04Z", Some(&new_york)), Ok(AT));
        for text in ["", "noon", "2026-13-07T00:00:00Z", "1e300", "inf", "NaN"] {
            assert_eq!(unix_ns(text, Some(&new_york)), Err(NoInstant::NoTime), "{text}");
        }
    }

    #[test]
    fn an_hour_that_was_twice_or_never_is_no_instant() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a rule");
        assert_eq!(unix_ns("2026-10-25T02:30:00", Some(&berlin)), Err(NoInstant::NotOne), "twice");
        assert_eq!(unix_ns("2026-03-29T02:30:00", Some(&berlin)), Err(NoInstant::NotOne), "never");
        assert!(unix_ns("2026-10-25T03:30:00", Some(&berlin)).is_ok());
    }
}
