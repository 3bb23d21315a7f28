//! Arguments of internal commands: benchmarks and kdyno itself use them.

use clap::Args;

/// What `make bench` and `make accuracy` ask of a worker.
#[derive(Debug, Args)]
pub(crate) struct BenchLoadArgs {
    /// Brokers to ask first, HOST:PORT,…
    #[arg(long, value_delimiter = ',', required = true)]
    pub(crate) bootstrap: Vec<String>,
    /// Topic, which must exist
    #[arg(long)]
    pub(crate) topic: String,
    /// Records per second, `max` (closed loop, buffer full) or `in-flight` (closed loop, requests in flight alone)
    #[arg(long, default_value = "max")]
    pub(crate) rate: String,
    /// Law of the intended instants
    #[arg(long, default_value = "constant", value_parser = ["constant", "poisson"])]
    pub(crate) arrivals: String,
    /// Bytes of a value
    #[arg(long, default_value_t = 128)]
    pub(crate) value: u32,
    /// How values are made
    #[arg(long, default_value = "unique", value_parser = ["unique", "pooled"])]
    pub(crate) payload: String,
    /// `batch.size`, bytes
    #[arg(long, default_value_t = 16_384)]
    pub(crate) batch: u32,
    /// `linger.ms`
    #[arg(long, default_value_t = 5)]
    pub(crate) linger_ms: u64,
    /// `acks`: 0, 1 or -1
    #[arg(long, default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) acks: i16,
    /// Length of the measured window
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) seconds: u64,
    /// Length of the warm-up
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=3_600))]
    pub(crate) warmup_seconds: u64,
    /// Most records of the measured window
    #[arg(long)]
    pub(crate) records: Option<u64>,
    /// Distance of the releases of due records
    #[arg(long, default_value_t = 200)]
    pub(crate) tick_us: u64,
    /// Seed of Poisson arrivals and of payloads
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// `max.in.flight.requests.per.connection`
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) in_flight: u32,
    /// `request.timeout.ms`
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub(crate) request_timeout_ms: u64,
    /// `delivery.timeout.ms`
    #[arg(long, default_value_t = 120_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub(crate) delivery_timeout_ms: u64,
    /// Speak TLS, and trust the certificates of this PEM file
    #[arg(long, value_name = "FILE")]
    pub(crate) trust: Option<std::path::PathBuf>,
}

/// What `make bench` asks of a replay of requests.
#[derive(Debug, Args)]
pub(crate) struct BenchReplayArgs {
    /// Brokers to ask first, HOST:PORT,…
    #[arg(long, value_delimiter = ',', required = true)]
    pub(crate) bootstrap: Vec<String>,
    /// Topic, which must exist
    #[arg(long)]
    pub(crate) topic: String,
    /// Bytes of a value
    #[arg(long, default_value_t = 128)]
    pub(crate) value: u32,
    /// `batch.size`, bytes
    #[arg(long, default_value_t = 16_384)]
    pub(crate) batch: u32,
    /// Record batches of one request
    #[arg(long, default_value_t = 1)]
    pub(crate) batches_per_request: u32,
    /// `acks`: 1 or -1
    #[arg(long, default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) acks: i16,
    /// Requests in flight on each connection
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) in_flight: u32,
    /// Records in all, rounded up to whole batches
    #[arg(long)]
    pub(crate) records: u64,
}

/// How large a run file `make bench` reads.
#[derive(Debug, Args)]
pub(crate) struct BenchEvidenceArgs {
    /// Where to write it
    #[arg(long)]
    pub(crate) out: std::path::PathBuf,
    /// Length of its one trial
    #[arg(long, default_value_t = 3_600, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seconds: u32,
    /// As a run that was cut off: nothing is drawn from its rows yet
    #[arg(long)]
    pub(crate) anew: bool,
}

/// What `make bench` draws of stacks that it has sampled.
#[derive(Debug, Args)]
pub(crate) struct BenchFlameArgs {
    /// The stacks, collapsed: one a line, its frames with `;` between them and its count
    pub(crate) stacks: std::path::PathBuf,
    /// Above the graph
    #[arg(long)]
    pub(crate) title: String,
    /// Where to write the SVG
    #[arg(long)]
    pub(crate) out: std::path::PathBuf,
}

/// What `make accuracy` has read.
#[derive(Debug, Args)]
pub(crate) struct BenchProbesArgs {
    /// The process
    #[arg(long)]
    pub(crate) pid: u32,
    /// For how long
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) seconds: u64,
}

/// What the fake cluster is.
#[derive(Debug, Args)]
pub(crate) struct FakeBrokerArgs {
    /// Its only topic
    #[arg(long, default_value = "bench")]
    pub(crate) topic: String,
    /// Partitions of the topic
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) partitions: u32,
    /// Brokers, each on a free port of 127.0.0.1
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) brokers: u32,
    /// From a produce request's arrival to its answer, microseconds
    #[arg(long, default_value_t = 0)]
    pub(crate) delay_us: u64,
    /// Of the produce requests drop 1 %, fail 1 % for good, never answer 0.1 % that were stored, answer 0.1 %
    /// that were stored with an error, and close the connection of 0.4 %
    #[arg(long)]
    pub(crate) faulty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WatchKeeperArgs {
    /// This program
    pub(crate) exe: std::path::PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct GuardExecArgs {
    /// What to become, as the guard writes it
    #[arg(allow_hyphen_values = true)]
    pub(crate) spec: String,
}

#[derive(Debug, Args)]
pub(crate) struct BenchTallyArgs {
    /// What the relay wrote
    pub(crate) file: std::path::PathBuf,
}

/// The task of `http-load`.
#[derive(Debug, Args)]
pub(crate) struct HttpLoadArgs {
    /// File with what is sent, as the lab writes it
    pub(crate) plan: std::path::PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RelayArgs {
    /// File with the links that it is, as the testbed writes it
    pub(crate) spec: std::path::PathBuf,
}
