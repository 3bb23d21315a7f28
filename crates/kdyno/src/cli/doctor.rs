//! What can be typed of `kdyno doctor`.

use super::values::{listen_address, name_and_value};
use clap::{Args, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  kdyno doctor                                this host
  kdyno doctor --data /var/lib/kafka          and the disk that this folder lies on
  kdyno doctor --measure --data /var/lib/kafka
                                              and how fast it takes what is written to it
  kdyno doctor --serve-network 10.0.0.5:9099  on one host, and on another one
  kdyno doctor --measure --network 10.0.0.5:9099
                                              how fast the network between both is
  kdyno doctor --target staging.yaml          a running cluster: its brokers and topics too
  kdyno doctor intel-sla                      a scenario: its brokers, topics and clients too
  kdyno doctor --script > changes.sh          then read it, and `sh changes.sh apply` or `undo`; of a cluster that asks
                                              for TLS or a user with CLIENT_PROPERTIES=FILE before it

Severity: high, records may be lost, something fails under load or figures are wrong; medium, throughput or
latency suffer; low, it may help.
Exit codes: 3 advice of high severity is not followed (never with --script) · 0 else";

#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct DoctorArgs {
    /// Scenario whose brokers, topics and clients are looked at too: a bundled one, or a file
    #[arg(value_hint = ValueHint::FilePath, conflicts_with = "target")]
    pub(crate) scenario: Option<String>,
    /// Profile of the scenario [default: laptop]
    #[arg(long, value_name = "NAME", requires = "scenario")]
    pub(crate) profile: Option<String>,
    /// Set a parameter of the scenario; may be repeated
    #[arg(long, value_name = "PARAM=VALUE", value_parser = name_and_value, requires = "scenario")]
    pub(crate) set: Vec<(String, String)>,
    /// Target file of a running cluster whose brokers and topics are looked at too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) target: Option<PathBuf>,
    /// A folder of this host in which brokers keep their logs: its disk is looked at; may be repeated
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data: Vec<PathBuf>,
    /// Measure how fast the disk under each --data (else under the current folder) takes writes: for 10 s, 1 GiB or an eighth
    /// of what is free at most, then writes of 4 KiB that are waited for, for 5 s at most; the file is removed
    #[arg(long, conflicts_with = "script")]
    pub(crate) measure: bool,
    /// Measure the network to another host instead of a disk (or in addition, with --data), where `kdyno doctor --serve-network`
    /// answers: round trips of 64 bytes, then as much as one connection carries there and back, for 9 s and 8 GiB each way at most
    #[arg(long, value_name = "HOST:PORT", requires = "measure")]
    pub(crate) network: Option<String>,
    /// Answer one `--measure --network` after the other, for 10 minutes or until Ctrl-C, and do nothing else; there is no
    /// password. Port 0 takes a free one, HOST is an IP address [HOST: 127.0.0.1]
    #[arg(long, value_name = "[HOST:]PORT", value_parser = listen_address, conflicts_with_all =
        ["scenario", "profile", "set", "target", "data", "measure", "network", "json", "script"])]
    pub(crate) serve_network: Option<SocketAddr>,
    /// Print everything as JSON (fields: `kdyno schema doctor`)
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a shell script that makes the changes and takes them back; kdyno does not run it
    #[arg(long, conflicts_with = "json")]
    pub(crate) script: bool,
}
