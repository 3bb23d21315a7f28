//! What is said where the truth is known, because the trials are simulated: a module for each question.
//!
//! `cargo test` runs a part of it, `make accuracy ONLY=verdicts` all of it, and takes its rows into docs/ACCURACY.md
//! (docs/benchmarks.md says what is promised). Print the rows of the part with
//! `cargo test -p kdyno-plan --test verdicts -- --nocapture`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a helper of tests panics and prints as a test does"
)]

mod compare;
mod find;
mod lab;
mod row;
mod steadiness;
mod world;
