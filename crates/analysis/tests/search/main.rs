//! Searches on curves that are known.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

mod known;
mod simulate;
mod states;
