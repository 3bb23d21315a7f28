//! From findings to words, tables and pictures.
//!
//! Invariants: pure (no socket, file, clock, environment or unseeded randomness); every number stated comes
//! from a finding, a series or the plan that is handed in, but for the shares of flame graphs, which are pictures of
//! counts; caveats come before the tables and pictures they concern; published figures are always labelled as
//! published.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod answer;
mod case_table;
mod caveats;
mod client_properties;
mod command_line;
pub mod course;
pub mod csv;
mod declared;
mod digits;
pub mod document;
mod figures;
pub mod flame;
mod generators;
mod grid;
mod headings;
pub mod hlog;
pub mod html;
mod in_force;
mod input;
pub mod json;
pub mod judged;
pub mod junit;
pub mod kubernetes;
pub mod markdown;
mod marks;
mod names;
pub mod open_metrics;
mod result;
pub mod side_by_side;
pub mod stored;
mod system;
mod systems;
mod table;
pub mod terminal;
mod topology;
mod trial_tables;
mod trials;
pub mod units;
mod without_generator;

pub use answer::claim_sentences;
pub use input::{ReportInput, status_words};
