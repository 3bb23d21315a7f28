//! The shared nouns and formats of kdyno, and nothing that acts on them.
//!
//! A reader follows one record through this crate in the order of the modules: a scenario asks a
//! question, a [`plan`] makes every value explicit, a [`worker`] is handed its share, a [`sample`]
//! carries what it saw, a [`metric`] names a number, a [`finding`] states it, a [`caveat`] says whether
//! it may be used, a [`conclusion`] says what several mean, and an [`outcome`] holds all three.
//!
//! Invariant: no socket, file, clock, environment or unseeded randomness here.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod address;
pub mod caveat;
pub mod command_metrics;
pub mod component_metrics;
pub mod concern;
pub mod conclusion;
pub mod declared;
pub mod event;
pub mod evidence;
pub mod finding;
pub mod generator;
pub mod grouped;
pub mod health;
pub mod held_up;
pub mod histogram;
pub mod identity;
pub mod imported;
pub mod inside;
pub mod jaas;
pub mod limit;
pub mod link_words;
pub mod live_metrics;
pub mod logs;
pub mod managed;
pub mod mbean;
pub mod members;
pub mod metric;
mod metric_kind;
pub mod outcome;
pub mod plan;
pub mod probe;
pub mod processes;
pub mod properties;
pub mod run;
pub mod sample;
pub mod secret;
pub mod seed;
pub mod series;
pub mod settings;
mod severity;
pub mod stacks;
pub mod table;
pub mod timing;
pub mod trial;
pub mod units;
pub mod version;
pub mod words;
pub mod worker;
