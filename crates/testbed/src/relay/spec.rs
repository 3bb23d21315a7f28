//! The task of a relay process: the links that it is, and where connections come in.

use kdyno_model::plan::LinkPlan;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a relay does; the content of the file that it is started with, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelaySpec {
    /// The links. Each has two directions, and its connections share them.
    pub links: Vec<LinkSpec>,
    /// Where it writes each second what it did (see [`super::RelayTally`]).
    pub tally: PathBuf,
    /// What its jitter is drawn from.
    pub seed: u64,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// What lies between its ends.
    pub link: LinkPlan,
    /// Where connections come in, and where they lead.
    pub entries: Vec<RelayPort>,
}

/// A port on the loopback address that leads over a link to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelayPort {
    /// Where it listens.
    pub listen: u16,
    /// Where it connects to.
    pub to: u16,
    /// The end of the link at which the connecting side is, 0 or 1: what it sends goes in the direction of that number.
    pub from: u8,
}
