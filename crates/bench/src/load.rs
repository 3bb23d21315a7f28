//! `bench-load`: one stream in a worker process, by the lab's means, without a cluster and a store.
//!
//! For `make bench` and `make accuracy`: the worker is the one every run of a program uses, spawned in the same way, so
//! that what is measured is what a run costs.

use crate::args::ProduceArgs;
use anyhow::{Context, bail};
use clap::Args;
use hdrhistogram::Histogram;
use kdyno_lab::clock::{monotonic_ns, wall_offset_ns};
use kdyno_lab::generator::ChildPlace;
use kdyno_lab::inbox::{Heard, Inbox, WorkerNews};
use kdyno_lab::worker::Worker;
use kdyno_model::histogram;
use kdyno_model::plan::{
    Arrivals, Compression, Fill, LoadSpan, Partitioner, Payload, PhasesPlan, ProducePlan, ProducerSettings,
    Protocol, Rate, RatePiece, RecordPlan, Security, StoreContent, Tls, TlsVersion,
};
use kdyno_model::sample::{Grain, Phase, Sample, StreamTotals, Timing};
use kdyno_model::worker::{FromWorker, StreamRole, StreamTask, ToWorker, WorkerTask};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const NS_PER_S: u64 = 1_000_000_000;
/// Distance of the releases of due records.
const TICK_NS: u64 = 200_000;
/// From the last client's being ready to T0.
const LEAD_NS: u64 = 200_000_000;
/// Longest drain.
const DRAIN_NS: u64 = 30 * NS_PER_S;
/// Longest silence of a worker: it sends samples every second.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// What `make bench` and `make accuracy` ask of a worker.
#[derive(Debug, Args)]
pub struct BenchLoadArgs {
    #[command(flatten)]
    produce: ProduceArgs,
    /// The program whose worker it is
    #[arg(long, value_name = "PATH")]
    kdyno: PathBuf,
    /// Records per second, or `max` (closed loop, buffer full)
    #[arg(long, default_value = "max")]
    rate: String,
    /// Law of the scheduled send times
    #[arg(long, default_value = "constant", value_parser = ["constant", "poisson"])]
    arrivals: String,
    /// How values are made
    #[arg(long, default_value = "unique", value_parser = ["unique", "pooled"])]
    payload: String,
    /// `linger.ms`
    #[arg(long, default_value_t = 5)]
    linger_ms: u64,
    /// Length of the measured window
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// Length of the warm-up
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=3_600))]
    warmup_seconds: u64,
    /// Most records of the measured window
    #[arg(long)]
    records: Option<u64>,
    /// Seed of Poisson arrivals and of payloads
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// `request.timeout.ms`
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    request_timeout_ms: u64,
    /// `delivery.timeout.ms`
    #[arg(long, default_value_t = 120_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    delivery_timeout_ms: u64,
    /// Speak TLS, and trust the certificates of this PEM file
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
}

/// Runs one worker; what it did and cost.
pub fn run(args: &BenchLoadArgs) -> anyhow::Result<Value> {
    let log_dir = tempfile::tempdir()?;
    let inbox = Inbox::default();
    let here = ChildPlace { self_exe: &args.kdyno, work_dir: log_dir.path(), hidden: &[] };
    let mut worker = Worker::spawn(&here, 0, inbox.sender())?;
    let (totals, seen) = drive(&mut worker, &inbox, args)?;
    let end = worker.finish(false);
    let cpu_s = end.cpu_s.context("the worker's CPU time is not known")?;
    Ok(report(&totals, &seen, cpu_s))
}

/// Talks to the worker from its task to its last word.
fn drive(
    worker: &mut Worker,
    inbox: &Inbox,
    args: &BenchLoadArgs,
) -> anyhow::Result<(StreamTotals, LoadEvidence)> {
    let mut seen = LoadEvidence::default();
    worker.send(&ToWorker::Prepare(Box::new(task(args, rate(args)?))))?;
    loop {
        let Some(Heard::Worker(_, news)) = inbox.hear(SILENCE_MAX) else {
            bail!("the worker said nothing for {} s", SILENCE_MAX.as_secs());
        };
        match news {
            WorkerNews::Message(FromWorker::Prepared) => {
                worker.send(&ToWorker::Measure { start_ns: args.warmup_seconds * NS_PER_S })?;
                let t0_monotonic_ns = monotonic_ns() + LEAD_NS;
                // For a program that disturbs the broker at an instant of this load.
                eprintln!("t0_monotonic_ns: {t0_monotonic_ns}");
                worker.send(&ToWorker::Start { t0_monotonic_ns })?;
            }
            WorkerNews::Message(FromWorker::Sample(sample)) => {
                seen.take(&sample);
            }
            WorkerNews::Message(FromWorker::Event(event)) => {
                eprintln!("{}: {}", event.kind, event.detail);
            }
            WorkerNews::Message(FromWorker::Done(totals)) => {
                return Ok((totals.into_iter().next().unwrap_or_default(), seen));
            }
            other => return Err(worker.gone(other).into()),
        }
    }
}

/// What the samples said.
#[derive(Debug, Default)]
struct LoadEvidence {
    /// Records of each second from T0, in all phases: intended in it, accepted by the client in it, acknowledged in it.
    seconds: BTreeMap<u32, [u64; 3]>,
    histograms: BTreeMap<Timing, Histogram<u64>>,
}

impl LoadEvidence {
    fn take(&mut self, sample: &Sample) {
        if sample.grain == Grain::Second {
            let counts = &sample.counts;
            self.seconds.entry(sample.t0_second).or_default()[0] += counts.offered;
            let written = self.seconds.entry(sample.written_second).or_default();
            written[1] += counts.achieved;
            written[2] += counts.acknowledged;
        }
        if sample.phase == Phase::Measure && sample.grain == Grain::Phase {
            for (timing, bytes) in &sample.histograms {
                if let Ok(histogram) = histogram::decode(bytes) {
                    self.histograms.insert(*timing, histogram);
                }
            }
        }
    }

    /// Second by second, as counted from T0: `offered` by t0, `achieved` by t2, `acknowledged` by t6.
    fn per_second(&self) -> Value {
        let row = |(second, counts): (&u32, &[u64; 3])| {
            let [offered, achieved, acknowledged] = counts;
            json!({"second": second, "offered": offered, "achieved": achieved, "acknowledged": acknowledged})
        };
        self.seconds.iter().map(row).collect()
    }

    fn quantiles(&self, timing: Timing) -> Value {
        let Some(histogram) = self.histograms.get(&timing) else { return Value::Null };
        let at = |q| histogram.value_at_quantile(q);
        json!({"p50": at(0.5), "p95": at(0.95), "p99": at(0.99)})
    }
}

fn report(totals: &StreamTotals, seen: &LoadEvidence, cpu_s: (f64, f64)) -> Value {
    let counts = &totals.counts;
    let client_seconds = totals.clients.iter().map(|client| client.span_ns).max().unwrap_or(0) as f64 / 1e9;
    let per = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
    let failed: u64 = counts.failed.values().sum();
    json!({
        "offered": counts.offered,
        "acknowledged": counts.acknowledged,
        "failed": failed,
        "failed_by_reason": counts.failed,
        "unresolved": counts.unresolved,
        "seconds": client_seconds,
        "acked_per_s": counts.acknowledged as f64 / client_seconds.max(1e-9),
        "worker_cpu_s": cpu_s.0 + cpu_s.1,
        "records_per_batch": per(counts.acknowledged, counts.batches),
        "bytes_per_request": per(counts.request_bytes, counts.requests),
        "request_bytes": counts.request_bytes,
        "response_ns": seen.quantiles(Timing::Response),
        "service_ns": seen.quantiles(Timing::Service),
        "schedule_delay_ns": seen.quantiles(Timing::ScheduleDelay),
        "per_second": seen.per_second(),
    })
}

fn task(args: &BenchLoadArgs, rate: Rate) -> WorkerTask {
    WorkerTask {
        worker: 0,
        run_id: 0xbe9c,
        wall_offset_ns: wall_offset_ns(),
        bootstrap: args.produce.bootstrap.clone(),
        security: security(args),
        client_id_prefix: "kdyno-bench-".to_owned(),
        phases: PhasesPlan {
            warmup_ns: args.warmup_seconds * NS_PER_S,
            warmup_auto: None,
            measure_ns: args.seconds * NS_PER_S,
            drain_ns: DRAIN_NS,
        },
        has_producers: true,
        tick_ns: TICK_NS,
        streams: vec![StreamTask {
            stream: 0,
            name: "writers".to_owned(),
            seed: kdyno_model::seed::mix(args.seed, 0),
            topic: args.produce.topic.clone(),
            client_first: 0,
            client_count: 1,
            clients_total: 1,
            more_topics: Vec::new(),
            topic_clients: None,
            bytes_per_s_max: None,
            group_id: None,
            bootstrap: Vec::new(),
            java: None,
            span: LoadSpan { at_ns: None, until_ns: None },
            role: StreamRole::Produce(produce(args, rate)),
        }],
    }
}

/// TLS where somebody is trusted.
fn security(args: &BenchLoadArgs) -> Security {
    let Some(trusted) = &args.trust else { return Security::default() };
    let versions = TlsVersion::ALL.to_vec();
    let tls = Tls::trusting(StoreContent::PemFile(trusted.clone()), versions);
    Security { protocol: Protocol::Ssl, tls: Some(tls), sasl: None }
}

/// `max` or a number.
fn rate(args: &BenchLoadArgs) -> anyhow::Result<Rate> {
    if args.rate == "max" {
        return Ok(Rate::Max { fill: Fill::Buffer });
    }
    let per_s = args.rate.parse().ok().filter(|per_s: &f64| per_s.is_finite() && *per_s > 0.0);
    let per_s = per_s.with_context(|| format!("--rate {}: expected max or records per second", args.rate))?;
    let arrivals = if args.arrivals == "constant" { Arrivals::Constant } else { Arrivals::Poisson };
    let pieces = vec![RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: 0 }];
    Ok(Rate::Open { pieces, arrivals })
}

fn produce(args: &BenchLoadArgs, rate: Rate) -> ProducePlan {
    let payload =
        if args.payload == "pooled" { Payload::Pooled { pool_bytes: 8 << 20 } } else { Payload::Unique };
    ProducePlan {
        rate,
        value_bytes: args.produce.value,
        payload,
        records: RecordPlan::default(),
        records_max: args.records,
        synchronous: false,
        transactions: None,
        tool_lines: None,
        client: ProducerSettings {
            defaults: "4.1".to_owned(),
            acks: args.produce.acks,
            batch_bytes: args.produce.batch,
            linger_ns: args.linger_ms * 1_000_000,
            buffer_bytes: 32 << 20,
            request_bytes_max: 1 << 20,
            in_flight_max: args.produce.in_flight,
            compression: Compression::None,
            compression_level: None,
            max_block_ns: 60 * NS_PER_S,
            request_timeout_ns: args.request_timeout_ms * 1_000_000,
            delivery_timeout_ns: args.delivery_timeout_ms * 1_000_000,
            retry_backoff_ns: 100_000_000,
            retry_backoff_max_ns: 1_000_000_000,
            transaction_timeout_ns: 60_000_000_000,
            metadata_max_age_ns: 300 * NS_PER_S,
            enable_idempotence: false,
            partitioner: Partitioner::Sticky,
            ignore_keys: false,
            adaptive_partitioning: true,
            availability_timeout_ns: 0,
        },
    }
}
