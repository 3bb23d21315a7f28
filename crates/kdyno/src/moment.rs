//! Points in time as words, in UTC.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// `2026-11-21 09:30:05Z`.
pub(crate) fn readable(unix_ns: u64) -> String {
    format(unix_ns, "%Y-%m-%d %H:%M:%SZ")
}

/// `20261121-093005`: sorts by time and is a plain file name.
pub(crate) fn file_name(unix_ns: u64) -> String {
    format(unix_ns, "%Y%m%d-%H%M%S")
}

/// A moment as clocks here show it, in this host's time zone; ms since 1970.
pub(crate) fn local(unix_ms: i64) -> DateTime {
    let timestamp = Timestamp::from_millisecond(unix_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    timestamp.to_zoned(TimeZone::system()).datetime()
}

/// Now, ns since 1970.
pub(crate) fn now_unix_ns() -> u64 {
    u64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(0)
}

fn format(unix_ns: u64, form: &str) -> String {
    let timestamp = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    timestamp.strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_utc() {
        let moment = 1_795_253_405_000_000_000;
        assert_eq!(readable(moment), "2026-11-21 09:30:05Z");
        assert_eq!(file_name(moment), "20261121-093005");
    }
}
