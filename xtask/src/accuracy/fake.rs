//! A fake cluster behind real sockets, on a thread of this program: how late it answers, or what goes wrong, is the truth that
//! printed figures are compared with.

use anyhow::Context;
use kdyno_kafka_server::fake_broker::tcp::{self, FakeServer};
use kdyno_kafka_server::fake_broker::{FakeCluster, FakeConfig, Service, StoredAnyway};

use crate::bench::load::BenchTarget;

/// What such a cluster answers by.
const CLUSTER_ID: &str = "kdyno-fake-cluster";
/// `MESSAGE_TOO_LARGE`, which clients do not retry.
const MESSAGE_TOO_LARGE: i16 = 10;
/// `REQUEST_TIMED_OUT`, which clients do retry.
const REQUEST_TIMED_OUT: i16 = 7;

/// It ends with this value.
pub struct Fake {
    pub target: BenchTarget,
    _server: FakeServer,
}

impl Fake {
    /// One broker that answers each produce request after so long.
    pub fn late(delay_us: u64) -> anyhow::Result<Fake> {
        let service = Service::Fixed { delay_ns: delay_us * 1_000 };
        Fake::serve(FakeCluster::new(FakeConfig::new(1).service(service).keep_batches()))
    }

    /// Three brokers that drop 1 % of the produce requests, fail 1 % for good, never answer 0.1 % that were stored, answer 0.1 %
    /// that were stored with an error, and close the connection of 0.4 %.
    pub fn faulty() -> anyhow::Result<Fake> {
        let mut cluster = FakeCluster::new(FakeConfig::new(3).keep_batches());
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
        Fake::serve(cluster)
    }

    fn serve(cluster: FakeCluster) -> anyhow::Result<Fake> {
        let server = tcp::spawn(cluster).context("could not serve a fake cluster on 127.0.0.1")?;
        let target = BenchTarget::new(server.bootstrap().first().context("no broker")?, CLUSTER_ID, "")?;
        Ok(Fake { target, _server: server })
    }
}
