//! What is printed and written for a run made by hand.

mod exports;
mod fixture;
mod hlog;
mod html;
mod terminal;
