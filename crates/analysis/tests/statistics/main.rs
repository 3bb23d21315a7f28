//! The statistics against brute force, and against simulated comparisons whose truth is known (docs/benchmarks.md,
//! "Simulated comparisons"): what they find, what they miss, how often they err. Print the tables with
//! `cargo test -p kdyno-analysis --test statistics -- --nocapture`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a helper of tests panics and prints as a test does"
)]

mod alike;
mod brute_force;
mod different;
mod equivalent;
mod world;
