//! What the program says and refuses where no broker is needed: its help, plans, questions, advice, and what README
//! says to type.

mod broker_file;
#[path = "../common/mod.rs"]
mod common;
mod doctor;
mod init;
mod kubernetes;
mod plans;
mod questions;
mod readme;
mod typed;
mod usage;
