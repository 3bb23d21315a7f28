//! What the trials of a run say together, of made-up figures: which rows differ, claims, comparisons.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

mod between;
mod cases;
mod claims;
mod columns;
mod comparison;
mod demand;
mod drawn;
mod fixture;
mod in_force;
mod judged_by;
mod one_start;
mod order;
mod out_of_time;
mod pace;
mod settings;
mod side_b;
mod stored_runs;
mod ties;
