//! Known truth for what is steady and what is not: series made of a shape and seeded noise (test 13). The bands are
//! those of docs/benchmarks.md, "Steady state: what can be seen".

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

mod course;
mod made;
mod parts;
mod stalls;
mod warmup;
