//! `bench-evidence`: a run file of a long trial with many streams, its rows made up.
//!
//! For `make bench`: how soon such a file is shown. Nothing that was made here is a measurement.

use anyhow::bail;
use clap::Args;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use kdyno_model::plan::{Plan, WorkerPlan, WorkerShare};
use kdyno_model::run::{RunHeader, RunStatus, Session, SessionEnd, StreamInfo, TrialStart};
use kdyno_model::sample::{
    Counts, Grain, LATENCY_NS_MAX, LATENCY_NS_MIN, Phase, Sample, StreamId, StreamTotals, Timing,
};
use kdyno_model::trial::{Trial, TrialId};
use kdyno_model::worker::phase_spans;
use kdyno_plan::{Choices, Next};
use kdyno_scenario::Scenario;
use kdyno_store::RunWriter;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The first bundled scenario, whose plan it is made from.
const NAME: &str = "first-light";
const SCENARIO: &str = include_str!("../../../scenarios/first-light.yaml");
/// Workers that share each load item.
const WORKERS: u16 = 10;
/// Load items, each a stream in every worker.
const ITEMS: u16 = 6;
const RECORDS_PER_S: u64 = 20_000;
/// Different histograms; they come again and again.
const HISTOGRAMS: u64 = 16;
const NS_PER_S: u64 = 1_000_000_000;

/// How large a run file `make bench` reads.
#[derive(Debug, Args)]
pub struct BenchEvidenceArgs {
    /// Where to write it
    #[arg(long)]
    out: PathBuf,
    /// Length of its one trial
    #[arg(long, default_value_t = 3_600, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seconds: u32,
    /// As a run that was cut off: nothing is drawn from its rows yet
    #[arg(long)]
    anew: bool,
}

/// Writes the file; with `--anew` without what would have been drawn from it, as if the run had been cut off.
pub fn run(args: &BenchEvidenceArgs) -> anyhow::Result<()> {
    let plan = plan(args)?;
    let Next::Trial(trial) = kdyno_plan::next(&plan, &[], 1) else { bail!("the plan has no trial") };
    let header = RunHeader {
        run_id: 1,
        scenario_text: SCENARIO.to_owned(),
        scenario_path: NAME.to_owned(),
        plan: plan.clone(),
    };
    let writer = RunWriter::create(&args.out, &header, &session())?;
    writer.trial_started(&start(&trial))?;
    writer.phases(trial.id, &phase_spans(&trial.effective.phases, Some(0)))?;
    write_rows(&writer, trial.id, args)?;
    if !args.anew {
        let evidence = writer.evidence(trial.id)?;
        let judgement = kdyno_analysis::trial::judge(&evidence)?;
        writer.judgement(&judgement)?;
        writer.course(kdyno_analysis::series::trial(&evidence)?)?;
        let outcome = kdyno_model::outcome::TrialOutcome::new(*trial, judgement);
        let trials = [kdyno_analysis::run::AnalysedTrial::of(&outcome)];
        writer.judgement(&kdyno_analysis::run::judge(&plan, &trials, &[], &[], false))?;
    }
    writer.finish(SessionEnd { status: RunStatus::Completed, detail: String::new(), ended_unix_ns: 2 })?;
    Ok(())
}

/// One case of the scenario, its load item as often as it takes, each on so many workers.
fn plan(args: &BenchEvidenceArgs) -> anyhow::Result<Plan> {
    let scenario = Scenario::parse_bytes(SCENARIO.as_bytes(), NAME)?;
    let mut plan = kdyno_plan::plan(&scenario, &Choices { seed: Some(1), ..Choices::default() })?;
    plan.conditioning = None;
    plan.cases.truncate(1);
    for case in &mut plan.cases {
        let Some(item) = case.load.values().next().cloned() else { continue };
        case.load = (0..ITEMS).map(|item_no| (name(item_no), item.clone())).collect();
        case.phases.warmup_ns = 0;
        case.phases.warmup_auto = None;
        case.phases.measure_ns = u64::from(args.seconds) * NS_PER_S;
        let shares: Vec<_> = case
            .load
            .keys()
            .map(|item| WorkerShare { item: item.clone(), client_first: 0, client_count: 1 })
            .collect();
        case.workers = (0..WORKERS).map(|worker| WorkerPlan { worker, shares: shares.clone() }).collect();
    }
    Ok(plan)
}

fn name(item: u16) -> String {
    format!("writers-{item}")
}

fn session() -> Session {
    Session {
        number: 1,
        started_unix_ns: 1,
        kdyno_version: env!("CARGO_PKG_VERSION").to_owned(),
        git_head: None,
        command_line: vec!["kdyno-bench".to_owned(), "bench-evidence".to_owned()],
        boot_id: String::new(),
        processors: 2,
        host_facts: BTreeMap::new(),
    }
}

fn streams() -> impl Iterator<Item = StreamId> {
    (0..WORKERS).flat_map(|worker| (0..ITEMS).map(move |stream| StreamId { worker, stream }))
}

fn start(trial: &Trial) -> TrialStart {
    let stream = |id: StreamId| StreamInfo {
        id,
        name: name(id.stream),
        topic: "events".to_owned(),
        role: kdyno_model::plan::RoleKind::Produce,
        clients: 1,
        value_bytes: 128,
    };
    TrialStart {
        trial: trial.clone(),
        session: 1,
        t0_unix_ns: 1,
        t0_monotonic_ns: 1,
        streams: streams().map(stream).collect(),
        cluster: BTreeMap::new(),
        command_lines: BTreeMap::new(),
        settings: BTreeMap::new(),
    }
}

fn write_rows(writer: &RunWriter, trial: TrialId, args: &BenchEvidenceArgs) -> anyhow::Result<()> {
    let second = histograms(2)?;
    let fine = histograms(3)?;
    for id in streams() {
        let mut rows = SampleWriter { writer, trial, id, sequence: 0 };
        for at in 0..args.seconds {
            rows.write(
                Grain::Second,
                at,
                &[(Timing::Response, &second[(u64::from(at) % HISTOGRAMS) as usize])],
            )?;
            if at % 5 == 4 {
                let each =
                    Timing::OF_PRODUCERS.map(|timing| (timing, &fine[(u64::from(at) % HISTOGRAMS) as usize]));
                rows.write(Grain::FiveSeconds, at - 4, &each)?;
            }
        }
        rows.write(Grain::Phase, args.seconds, &Timing::OF_PRODUCERS.map(|timing| (timing, &fine[0])))?;
        let counts = counts(u64::from(args.seconds));
        writer.totals(trial, vec![StreamTotals { id, counts, ..StreamTotals::default() }])?;
    }
    Ok(())
}

/// The rows of a stream in so many seconds. Its totals are the sum of its rows: a trial whose rows lack some is
/// invalid.
fn counts(seconds: u64) -> Counts {
    let records = RECORDS_PER_S * seconds;
    Counts {
        offered: records,
        achieved: records,
        acknowledged: records,
        acknowledged_bytes: records * 128,
        requests: 1234 * seconds,
        request_bytes: records * 140,
        batches: 1300 * seconds,
        ..Counts::default()
    }
}

struct SampleWriter<'a> {
    writer: &'a RunWriter,
    trial: TrialId,
    id: StreamId,
    sequence: u64,
}

impl SampleWriter<'_> {
    fn write(&mut self, grain: Grain, second: u32, timings: &[(Timing, &Vec<u8>)]) -> anyhow::Result<()> {
        let is_second = grain == Grain::Second;
        let sample = Sample {
            id: self.id,
            sequence: self.sequence,
            grain,
            phase: Phase::Measure,
            t0_second: second,
            written_second: second,
            counts: if is_second { counts(1) } else { Counts::default() },
            histograms: timings.iter().map(|(timing, bytes)| (*timing, (*bytes).clone())).collect(),
            sums_ns: timings
                .iter()
                .map(|(timing, _)| (*timing, u128::from(3_000_000 * RECORDS_PER_S)))
                .collect(),
        };
        self.sequence += 1;
        Ok(self.writer.sample(self.trial, sample)?)
    }
}

/// Latencies around 3 ms that spread as a steady cluster's do: log-normal, p99 twice the median.
fn histograms(digits: u8) -> anyhow::Result<Vec<Vec<u8>>> {
    const SIGMA: f64 = 0.3;
    let uniform = |seed: u64| (kdyno_model::seed::mix(seed, 1) >> 11) as f64 / (1u64 << 53) as f64;
    (0..HISTOGRAMS)
        .map(|number| {
            let mut histogram = Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, digits)?;
            for record in 0..RECORDS_PER_S {
                let seed = (number * RECORDS_PER_S + record) * 2;
                let radius = (-2.0 * (1.0 - uniform(seed)).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * uniform(seed + 1)).cos();
                histogram.saturating_record((3e6 * (SIGMA * normal).exp()) as u64);
            }
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&histogram, &mut bytes)?;
            Ok(bytes)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_run_has_its_findings_unless_it_was_cut_off() {
        let folder = tempfile::tempdir().expect("a folder");
        for is_cut_off in [false, true] {
            let out = folder.path().join(format!("{is_cut_off}.kdyno"));
            run(&BenchEvidenceArgs { out: out.clone(), seconds: 10, anew: is_cut_off })
                .expect("it is written");
            let file = kdyno_store::RunFile::open(&out).expect("a run file");
            assert_eq!(file.trials().expect("trials").len(), 1);
            assert_eq!(file.judgement().expect("findings").findings.is_empty(), is_cut_off);
        }
    }
}
