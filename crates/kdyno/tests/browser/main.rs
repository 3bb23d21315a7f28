//! Pages in a real browser, the system's Chromium: those of runs made by hand, of runs that were measured, and those of
//! `kdyno serve`, with and without script. What each has to pass is in `web/tests`; with `KDYNO_PICTURES=yes` pictures for
//! the eye are left in `target/tmp/browser`.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, unused_imports, reason = "the tests of reports use the rest of it")]
#[path = "../../../report/tests/report/fixture/mod.rs"]
mod fixture;
mod made;
mod measured;
mod node;
mod script;
