//! Reads those text files of `/proc` with one line of interest, bounded and lenient.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;

/// A series name and its value: what is made of such files.
pub(super) type SeriesValue = (Cow<'static, str>, f64);

/// The largest files read here (`/proc/cpuinfo` of a machine with hundreds of processors) stay below this.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The text of a file; `None` when it cannot be read.
pub(crate) fn read(path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number after a line's label, e.g. `MemAvailable:` in `MemAvailable:  123 kB`.
pub(crate) fn field(text: &str, label: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(label))?.split_ascii_whitespace().next()?.parse().ok()
}

/// A number of a table of two lines with one label, names in the first and numbers in the second, as in
/// `/proc/net/snmp`.
pub(crate) fn below_its_name(text: &str, label: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(label));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let column = names.split_ascii_whitespace().position(|one| one == name)?;
    numbers.split_ascii_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_number_after_a_label() {
        assert_eq!(field("MemTotal: 5 kB\nMemAvailable:   7 kB\n", "MemAvailable:"), Some(7));
        assert_eq!(field("MemTotal: 5 kB\n", "MemAvailable:"), None);
    }

    #[test]
    fn the_number_below_a_name() {
        let text = "Ip: a b\nIp: 1 2\nTcp: OutSegs RetransSegs\nTcp: 7605593 -1\n";
        assert_eq!(below_its_name(text, "Tcp:", "OutSegs"), Some(7_605_593));
        assert_eq!(below_its_name(text, "Tcp:", "RetransSegs"), None, "no count");
        assert_eq!(below_its_name(text, "Tcp:", "MaxConn"), None);
        assert_eq!(below_its_name("Tcp: OutSegs\n", "Tcp:", "OutSegs"), None);
        assert_eq!(below_its_name("Tcp: a OutSegs\nTcp: 1\n", "Tcp:", "OutSegs"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,300}", table in "(Tcp:[ab0-9 ]{0,9}\n){0,3}") {
            let _ = field(&text, "a");
            let _ = below_its_name(&table, "Tcp:", "a");
        }
    }
}
