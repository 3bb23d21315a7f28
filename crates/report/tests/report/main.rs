//! What is printed and written for a run made by hand.

mod answers;
mod demand;
mod document;
mod duet;
mod elsewhere;
mod exports;
mod fixture;
mod flame;
mod health;
mod hlog;
mod html;
mod in_force;
mod inside;
mod invalid;
mod java;
mod live;
mod logs;
mod marks;
mod members;
mod open_metrics;
mod page;
mod processes;
mod sides;
mod summary;
mod terminal;
mod verdicts;
