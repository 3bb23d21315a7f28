//! What the program asks of the system that it runs on, read from the program itself.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::command::said;

/// What is loaded when the program starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Linked {
    /// The oldest C library that has every function that is used, in the versions that are used: `2.34`.
    pub glibc: String,
    /// Files of shared libraries, in the program's order.
    pub libraries: Vec<String>,
}

impl Linked {
    /// Asks readelf.
    pub fn read(program: &Path) -> anyhow::Result<Linked> {
        let mut readelf = Command::new("readelf");
        readelf.args(["--wide", "--dynamic", "--version-info"]).arg(program).env("LC_ALL", "C");
        Linked::parse(&said(&mut readelf)?)
            .with_context(|| format!("readelf names no version of glibc for {}", program.display()))
    }

    /// From what readelf says.
    fn parse(text: &str) -> Option<Linked> {
        // A symbol of this name means a way of relocating that 2.36 brought.
        let version_of = |name: &str| match name.strip_prefix("GLIBC_")? {
            "ABI_DT_RELR" => Some(vec![2, 36]),
            numbers => numbers.split('.').map(|number| number.parse().ok()).collect::<Option<Vec<u32>>>(),
        };
        let newest = text.split_whitespace().filter_map(version_of).max()?;
        let library = |line: &str| {
            let (_, name) = line.split_once("Shared library: [")?;
            Some(name.trim_end().trim_end_matches(']').to_owned())
        };
        Some(Linked {
            glibc: newest.iter().map(u32::to_string).collect::<Vec<_>>().join("."),
            libraries: text.lines().filter_map(library).collect(),
        })
    }
}

impl fmt::Display for Linked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "glibc {} or newer ({})", self.glibc, self.libraries.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
 0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000c (INIT)               0x1f4000

Version symbols section '.gnu.version' contains 212 entries:
  004:   3 (GLIBC_2.2.5)   5 (GLIBC_2.28)    2 (GCC_3.0)       9 (GLIBC_2.4)
Version needs section '.gnu.version_r' contains 2 entries:
  000000: Version: 1  File: libgcc_s.so.1  Cnt: 1
  0x0010:   Name: GCC_4.2.0  Flags: none  Version: 10
  0x0020: Version: 1  File: libc.so.6  Cnt: 3
  0x0030:   Name: GLIBC_2.9  Flags: none  Version: 7
  0x0040:   Name: GLIBC_2.28  Flags: none  Version: 5
  0x0050:   Name: GLIBC_2.2.5  Flags: none  Version: 3
";

    #[test]
    fn the_newest_required_version_is_the_oldest_that_it_runs_with() {
        let linked = Linked::parse(SAID).expect("it is a program of glibc");
        assert_eq!(linked.to_string(), "glibc 2.28 or newer (libgcc_s.so.1, libc.so.6)");
        let packed = format!("{SAID}  0x0060:   Name: GLIBC_ABI_DT_RELR  Flags: none  Version: 11\n");
        assert_eq!(Linked::parse(&packed).expect("a version").glibc, "2.36");
        assert_eq!(Linked::parse("There is no dynamic section in this file.\n"), None);
    }

    #[test]
    fn this_program_has_a_version_and_libraries() {
        let linked = Linked::read(&std::env::current_exe().expect("this program")).expect("readelf");
        assert!(linked.glibc.starts_with("2.") && linked.libraries.iter().any(|name| name == "libc.so.6"));
    }
}
