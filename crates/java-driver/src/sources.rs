//! The driver's Java sources, as the program carries them.

/// A source file: its path below the root of packages, and its text.
pub type JavaSource = (&'static str, &'static str);

/// All of them: every `.java` file below this crate's `java/`, by path.
pub const SOURCES: &[JavaSource] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));
