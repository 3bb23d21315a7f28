//! What is written to run files and read from them.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

#[path = "../common/mod.rs"]
mod common;
mod courses;
mod format;
mod hostile;
mod resume;
mod round_trip;
mod size;
mod stacks;
