//! `fake-broker`: the fake cluster of the tests behind real sockets, in a process of its own.
//!
//! For `make accuracy`: a truth that is known, here the delay of every answer or the share of requests that
//! go wrong, is what the printed figures are compared with.

use anyhow::Context;
use clap::Args;
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, StoredAnyway, tcp};
use std::convert::Infallible;

/// Name of its only topic.
const TOPIC: &str = "bench";
/// `MESSAGE_TOO_LARGE`, which clients do not retry.
const MESSAGE_TOO_LARGE: i16 = 10;
/// `REQUEST_TIMED_OUT`, which clients do retry.
const REQUEST_TIMED_OUT: i16 = 7;

/// What the fake cluster is.
#[derive(Debug, Args)]
pub struct FakeBrokerArgs {
    /// Partitions of its only topic
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    partitions: u32,
    /// Brokers, each on a free port of 127.0.0.1
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    brokers: u32,
    /// From a produce request's arrival to its answer, microseconds
    #[arg(long, default_value_t = 0)]
    delay_us: u64,
    /// Drop 1 % of the produce requests, fail 1 % for good, never answer 0.1 % that were stored, answer 0.1 %
    /// that were stored with an error, and close the connection of 0.4 %
    #[arg(long)]
    faulty: bool,
}

/// Serves until it is killed. Prints the address of its first broker first.
pub fn run(args: &FakeBrokerArgs) -> anyhow::Result<Infallible> {
    let service = Service::Fixed { delay_ns: args.delay_us.saturating_mul(1_000) };
    let config = FakeConfig::new(args.brokers).topic(TOPIC, args.partitions).service(service);
    let mut cluster = FakeCluster::new(config);
    if args.faulty {
        make_faulty(&mut cluster);
    }
    let server = tcp::spawn(cluster).context("could not serve a fake cluster on 127.0.0.1")?;
    println!("{}", server.bootstrap().first().map_or("", String::as_str));
    loop {
        std::thread::park();
    }
}

fn make_faulty(cluster: &mut FakeCluster) {
    cluster
        .script()
        .share(0.01)
        .drop_request(StoredAnyway::No)
        .share(0.01)
        .fail(MESSAGE_TOO_LARGE, StoredAnyway::No)
        .share(0.001)
        .drop_request(StoredAnyway::Yes)
        .share(0.001)
        .fail(REQUEST_TIMED_OUT, StoredAnyway::Yes)
        .share(0.002)
        .close(StoredAnyway::Yes)
        .share(0.002)
        .close(StoredAnyway::No);
}
