//! `kdyno bench-load` (hidden): one stream in a worker process, by the lab's means, without a cluster and a store.
//!
//! For `make bench` and `make accuracy`: the worker is the one every run uses, spawned in the same way, so that what is measured
//! is what a run costs. Prints one JSON document.

use crate::cli::BenchLoadArgs;
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use kdyno_lab::clock::{monotonic_ns, wall_offset_ns};
use kdyno_lab::generator::ChildPlace;
use kdyno_lab::inbox::{Heard, Inbox, WorkerNews};
use kdyno_lab::worker::Worker;
use kdyno_model::plan::{
    Arrivals, Compression, Fill, LoadSpan, Partitioner, Payload, PhasesPlan, ProducePlan, ProducerSettings,
    Protocol, Rate, RatePiece, RecordPlan, Security, StoreContent, Tls, TlsVersion,
};
use kdyno_model::sample::{Counts, Grain, Phase, Sample, StreamTotals, Timing};
use kdyno_model::worker::{FromWorker, StreamRole, StreamTask, ToWorker, WorkerTask};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const NS_PER_S: u64 = 1_000_000_000;
/// From the last client's being ready to T0.
const LEAD_NS: u64 = 200_000_000;
/// Longest drain.
const DRAIN_NS: u64 = 30 * NS_PER_S;
/// Longest silence of a worker: it sends samples every second.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Runs one worker and prints what it did and cost.
pub(crate) fn bench_load(args: &BenchLoadArgs) -> CommandResult {
    let program = std::env::current_exe().map_err(Failure::tool)?;
    let log_dir = tempfile::tempdir().map_err(Failure::tool)?;
    let inbox = Inbox::default();
    let here = ChildPlace { self_exe: &program, work_dir: log_dir.path(), hidden: &[] };
    let mut worker = Worker::spawn(&here, 0, inbox.sender())?;
    let (totals, seen) = drive(&mut worker, &inbox, args)?;
    let end = worker.finish(false);
    let cpu_s = end.cpu_s.ok_or_else(|| Failure::tool("the worker's CPU time is not known"))?;
    out::text(format!("{}\n", report(args, &totals, &seen, cpu_s)))?;
    Ok(Exit::Done)
}

/// Talks to the worker from its task to its last word.
fn drive(
    worker: &mut Worker,
    inbox: &Inbox,
    args: &BenchLoadArgs,
) -> Result<(StreamTotals, LoadEvidence), Failure> {
    let mut seen = LoadEvidence::default();
    worker.send(&ToWorker::Prepare(Box::new(task(args, rate(args)?))))?;
    loop {
        let Some(Heard::Worker(_, news)) = inbox.hear(SILENCE_MAX) else {
            return Err(Failure::tool(format!("the worker said nothing for {} s", SILENCE_MAX.as_secs())));
        };
        match news {
            WorkerNews::Message(FromWorker::Prepared) => {
                worker.send(&ToWorker::Measure { start_ns: args.warmup_seconds * NS_PER_S })?;
                let t0_monotonic_ns = monotonic_ns() + LEAD_NS;
                // For a program that disturbs the broker at an instant of this load.
                out::note(&format!("t0_monotonic_ns: {t0_monotonic_ns}"));
                seen.t0_monotonic_ns = t0_monotonic_ns;
                worker.send(&ToWorker::Start { t0_monotonic_ns })?;
            }
            WorkerNews::Message(FromWorker::Sample(sample)) => {
                seen.take(&sample);
            }
            WorkerNews::Message(FromWorker::Event(event)) => {
                out::note(&format!("{}: {}", event.kind, event.detail));
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
    t0_monotonic_ns: u64,
    measured: Counts,
    seconds: BTreeMap<u32, LoadSecond>,
    histograms: BTreeMap<Timing, Histogram<u64>>,
}

/// What happened in one second from T0, in records of all phases.
#[derive(Debug, Clone, Copy, Default)]
struct LoadSecond {
    /// Intended in it.
    offered: u64,
    /// Accepted by the client in it.
    achieved: u64,
    /// Acknowledged in it.
    acknowledged: u64,
}

impl LoadEvidence {
    fn take(&mut self, sample: &Sample) {
        if sample.grain == Grain::Second {
            let counts = &sample.counts;
            self.seconds.entry(sample.t0_second).or_default().offered += counts.offered;
            let written = self.seconds.entry(sample.written_second).or_default();
            written.achieved += counts.achieved;
            written.acknowledged += counts.acknowledged;
            if sample.phase == Phase::Measure {
                self.measured.add(counts);
            }
        }
        if sample.phase == Phase::Measure && sample.grain == Grain::Phase {
            for (timing, bytes) in &sample.histograms {
                if let Ok(histogram) = Deserializer::new().deserialize(&mut bytes.as_slice()) {
                    self.histograms.insert(*timing, histogram);
                }
            }
        }
    }

    /// Second by second, as counted from T0: `offered` by t0, `achieved` by t2, `acknowledged` by t6.
    fn per_second(&self) -> Value {
        let row = |(second, counts): (&u32, &LoadSecond)| {
            json!({
                "second": second,
                "offered": counts.offered,
                "achieved": counts.achieved,
                "acknowledged": counts.acknowledged,
            })
        };
        self.seconds.iter().map(row).collect()
    }

    fn quantiles(&self, timing: Timing) -> Value {
        let Some(histogram) = self.histograms.get(&timing) else { return Value::Null };
        let at = |q| histogram.value_at_quantile(q);
        json!({"p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "p99.9": at(0.999), "p99.99": at(0.9999), "max": histogram.max()})
    }
}

fn report(args: &BenchLoadArgs, totals: &StreamTotals, seen: &LoadEvidence, cpu_s: (f64, f64)) -> Value {
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
        "measured": {"offered": seen.measured.offered, "acknowledged": seen.measured.acknowledged},
        "worker_cpu_s": cpu_s.0 + cpu_s.1,
        "worker_cpu_user_s": cpu_s.0,
        "worker_cpu_system_s": cpu_s.1,
        "cpu_us_per_record": (cpu_s.0 + cpu_s.1) * 1e6 / (counts.acknowledged.max(1)) as f64,
        "records_per_batch": per(counts.acknowledged, counts.batches),
        "bytes_per_request": per(counts.request_bytes, counts.requests),
        "request_bytes": counts.request_bytes,
        "requests": counts.requests,
        "response_ns": seen.quantiles(Timing::Response),
        "service_ns": seen.quantiles(Timing::Service),
        "schedule_delay_ns": seen.quantiles(Timing::ScheduleDelay),
        "t0_monotonic_ns": seen.t0_monotonic_ns,
        "per_second": seen.per_second(),
        "value_bytes": args.value,
    })
}

fn task(args: &BenchLoadArgs, rate: Rate) -> WorkerTask {
    WorkerTask {
        worker: 0,
        run_id: 0xbe9c,
        wall_offset_ns: wall_offset_ns(),
        bootstrap: args.bootstrap.clone(),
        security: security(args),
        client_id_prefix: "kdyno-bench-".to_owned(),
        phases: PhasesPlan {
            warmup_ns: args.warmup_seconds * NS_PER_S,
            warmup_auto: None,
            measure_ns: args.seconds * NS_PER_S,
            drain_ns: DRAIN_NS,
        },
        has_producers: true,
        tick_ns: args.tick_us * 1000,
        streams: vec![StreamTask {
            stream: 0,
            name: "writers".to_owned(),
            seed: kdyno_model::seed::mix(args.seed, 0),
            topic: args.topic.clone(),
            client_first: 0,
            client_count: 1,
            clients_total: 1,
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

/// `max`, `in-flight` or a number.
fn rate(args: &BenchLoadArgs) -> Result<Rate, Failure> {
    match args.rate.as_str() {
        "max" => Ok(Rate::Max { fill: Fill::Buffer }),
        "in-flight" => Ok(Rate::Max { fill: Fill::InFlight }),
        number => {
            let per_s: f64 = number
                .parse()
                .ok()
                .filter(|per_s: &f64| per_s.is_finite() && *per_s > 0.0)
                .ok_or_else(|| {
                    Failure::usage(format!("--rate {number}: expected max, in-flight or records per second"))
                })?;
            let arrivals = if args.arrivals == "constant" { Arrivals::Constant } else { Arrivals::Poisson };
            let pieces = vec![RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: 0 }];
            Ok(Rate::Open { pieces, arrivals })
        }
    }
}

fn produce(args: &BenchLoadArgs, rate: Rate) -> ProducePlan {
    let payload =
        if args.payload == "pooled" { Payload::Pooled { pool_bytes: 8 << 20 } } else { Payload::Unique };
    ProducePlan {
        rate,
        value_bytes: args.value,
        payload,
        records: RecordPlan::default(),
        records_max: args.records,
        synchronous: false,
        transactions: None,
        tool_lines: None,
        client: ProducerSettings {
            defaults: "4.1".to_owned(),
            acks: args.acks,
            batch_bytes: args.batch,
            linger_ns: args.linger_ms * 1_000_000,
            buffer_bytes: 32 << 20,
            request_bytes_max: 1 << 20,
            in_flight_max: args.in_flight,
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
