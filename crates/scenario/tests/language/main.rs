//! The language of files: what client settings are known, what is refused, what properties files say.
#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

mod client_settings;
mod garbage;
mod properties;
