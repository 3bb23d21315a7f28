//! How fast the network between this host and another is, over one TCP connection: a short look, for the limits that a target
//! or a scenario declares. Both ends run kdyno: [`serve`] on one, [`measure`] on the other.
//!
//! The one that measures sends [`wire::HELLO`], which the other repeats, and then commands of one byte: have 64 bytes sent back,
//! send blocks for a while, take blocks. Neither trusts the other: whatever comes, or does not, takes a bounded time and
//! memory.

mod measure;
mod serve;
mod wire;

pub use measure::{NetworkRound, ROUNDS, TIME_MAX, measure};
pub use serve::{SERVE_TIME_MAX, ServedClients, serve};

#[cfg(test)]
mod tests;
