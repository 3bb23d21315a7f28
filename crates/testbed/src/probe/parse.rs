//! Reads those text files of `/proc` of which one line is wanted, bounded and lenient.

use std::fs::File;
use std::io::Read;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_number_after_a_label() {
        assert_eq!(field("MemTotal: 5 kB\nMemAvailable:   7 kB\n", "MemAvailable:"), Some(7));
        assert_eq!(field("MemTotal: 5 kB\n", "MemAvailable:"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,300}") {
            let _ = field(&text, "a");
        }
    }
}
