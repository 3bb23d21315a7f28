//! Limits that a target or a scenario declares, as people write them.

/// The facts that are limits, per broker, and how one is written.
pub const LIMITS: [(&str, &str); 2] =
    [("disk.limit", "e.g. `250MiB/s`"), ("network.limit", "e.g. `12.5Gbit/s` or `1GB/s`")];

/// Units of a rate, bytes (or an eighth of bits) in one.
const UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("Mbit", 125e3),
    ("Gbit", 125e6),
];

/// Bytes per second of `250MiB/s`, `1000 MB/s`, `12.5Gbit/s`; `None` of anything else, and of what is not above 0.
#[must_use]
pub fn bytes_per_s(text: &str) -> Option<f64> {
    let amount = text.trim().strip_suffix("/s")?.trim_end();
    let unit_at = amount.find(|one: char| one.is_ascii_alphabetic())?;
    let (number, unit) = amount.split_at(unit_at);
    let bytes = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, bytes)| *bytes)?;
    let number: f64 = number.trim_end().parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number * bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("250MiB/s", 262_144_000.0),
            (" 1000 MB/s", 1e9),
            ("12.5Gbit/s", 1_562_500_000.0),
            ("7 B/s", 7.0),
        ] {
            assert_eq!(bytes_per_s(text), Some(bytes), "{text}");
        }
        for text in ["", "250", "250MiB", "MiB/s", "0MB/s", "-1MB/s", "nanMB/s", "5 furlongs/s", "1e400MB/s"]
        {
            assert_eq!(bytes_per_s(text), None, "{text}");
        }
    }
}
