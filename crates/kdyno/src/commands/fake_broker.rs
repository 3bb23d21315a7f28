//! `kdyno fake-broker` (hidden): the fake cluster of the tests behind real sockets, in a process of its own.
//!
//! For `make accuracy`: a truth that is known, here the delay of every answer or the share of requests that
//! go wrong, is what the printed figures are compared with.

use super::descriptors;
use crate::cli::FakeBrokerArgs;
use crate::failure::{CommandResult, Exit, Failure};
use crate::{out, signals};
use kdyno_kafka_server::fake_broker::{FakeCluster, FakeConfig, Service, StoredAnyway, tcp};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(100);
/// `MESSAGE_TOO_LARGE`, which clients do not retry.
const MESSAGE_TOO_LARGE: i16 = 10;
/// `REQUEST_TIMED_OUT`, which clients do retry.
const REQUEST_TIMED_OUT: i16 = 7;

/// Serves until it is interrupted. Prints the address of its first broker first.
pub(crate) fn fake_broker(args: &FakeBrokerArgs) -> CommandResult {
    descriptors::allow_all();
    let stop = signals::stop_flag()?;
    let service = Service::Fixed { delay_ns: args.delay_us.saturating_mul(1_000) };
    let config = FakeConfig::new(args.brokers).topic(&args.topic, args.partitions).service(service);
    let mut cluster = FakeCluster::new(config);
    if args.faulty {
        make_faulty(&mut cluster);
    }
    let server = tcp::spawn(cluster)
        .map_err(|e| Failure::tool(format!("could not serve a fake cluster on 127.0.0.1: {e}")))?;
    let bootstrap = server.bootstrap();
    out::text(format!("{}\n", bootstrap.first().map_or("", String::as_str)))?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
    Ok(Exit::Done)
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
