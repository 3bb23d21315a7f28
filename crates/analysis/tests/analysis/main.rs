//! Findings, caveats and series of made-up trials and runs whose truth is known.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

mod attached;
mod caveats;
mod commands;
mod components;
mod end_to_end;
mod five_seconds;
mod fixture;
mod health;
mod imported;
mod inside;
mod java;
mod lag;
mod limit;
mod live;
mod live_metrics;
mod logs;
mod periods;
mod run;
mod series;
mod steadiness;
mod tool_lines;
mod trial;
mod workers;
