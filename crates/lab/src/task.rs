//! From a trial to its workers' tasks: the streams, the instants of its phases. Pure.

use kdyno_model::plan::{ConsumePlan, LoadPlan, Role, WorkerPlan, WorkerShare};
use kdyno_model::run::StreamInfo;
use kdyno_model::sample::{Phase, StreamId};
use kdyno_model::seed::mix;
use kdyno_model::trial::Trial;
use kdyno_model::worker::{ClientSettings, FromWorker, PhaseSpan, StreamRole, StreamTask};
use std::collections::{BTreeMap, BTreeSet};

/// Distance of the worker's releases of due records, ns (docs/METHOD.md, tick); that of a Java client's too, whose sources
/// have the number once more.
pub(crate) const TICK_NS: u64 = 200_000;

/// From the moment every client is ready to T0: long enough for the message to reach the workers and for
/// their threads to wake up.
pub(crate) const T0_AHEAD_NS: u64 = 200_000_000;

/// The phase that `at_ns` after T0 lies in; before it, start-up, and behind the last one, the drain.
pub(crate) fn phase_at(spans: &[PhaseSpan], at_ns: i64) -> Phase {
    let Ok(at_ns) = u64::try_from(at_ns) else {
        return Phase::Startup;
    };
    spans.iter().find(|span| at_ns < span.end_ns).map_or(Phase::Drain, |span| span.phase)
}

/// What is left of a trial `elapsed_ns` after T0: the load, or once that is over the drain, ns.
pub(crate) fn left_ns(spans: &[PhaseSpan], elapsed_ns: u64) -> u64 {
    let end_of = |phase| spans.iter().find(|span| span.phase == phase).map_or(0, |span| span.end_ns);
    let load_left_ns = end_of(Phase::Measure).saturating_sub(elapsed_ns);
    if load_left_ns > 0 { load_left_ns } else { end_of(Phase::Drain).saturating_sub(elapsed_ns) }
}

/// A worker's shares of the load as its streams. `topics` maps a topic's address in the scenario to its real name;
/// the producing items share what the target allows to be produced as their schedules need it.
pub(crate) fn streams(
    trial: &Trial,
    worker: &WorkerPlan,
    topics: &BTreeMap<String, String>,
) -> Vec<StreamTask> {
    let case = &trial.effective;
    let cap_bytes_per_s = case.system.caps().and_then(|caps| caps.produce_bytes_per_s);
    let peaks_per_s: f64 = case.load.values().map(|item| peak_bytes_per_s(&item.role)).sum();
    let shares = worker.shares.iter().flat_map(|share| {
        let roles = roles_of_item(&case.load, &share.item);
        let of_part = |part| roles.iter().cloned().map(move |role| (share, part, role)).collect::<Vec<_>>();
        parts_of(&case.load, share).into_iter().flat_map(of_part).collect::<Vec<_>>()
    });
    let real_name = |topic: &str| topics.get(topic).cloned().unwrap_or_else(|| topic.to_owned());
    let stream = |(stream, (share, part, role)): (u16, (&WorkerShare, TopicPart<'_>, StreamRole))| {
        let (place, item) = (0u64..).zip(&case.load).find(|(_, (name, _))| **name == share.item)?;
        let item = item.1;
        let of_item = f64::from(part.client_count) / f64::from(item.clients.max(1));
        let needed = peak_bytes_per_s(&item.role) * of_item / peaks_per_s.max(1.0);
        let more_topics = item.more_topics.iter().filter(|_| item.shared_topics);
        Some(StreamTask {
            stream,
            name: share.item.clone(),
            seed: mix(trial.seed, place),
            topic: real_name(part.topic),
            more_topics: more_topics.map(|topic| real_name(topic)).collect(),
            client_first: part.client_first,
            client_count: part.client_count,
            clients_total: item.clients,
            topic_clients: (item.stream_count() > 1).then(|| item.clients_of_topic()),
            bytes_per_s_max: cap_bytes_per_s.map(|cap| cap_share(cap, needed)),
            group_id: None,
            bootstrap: Vec::new(),
            java: None,
            span: item.span,
            role,
        })
    };
    (0u16..).zip(shares).filter_map(stream).collect()
}

/// The clients of one topic in a worker's share of a load item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TopicPart<'a> {
    topic: &'a str,
    client_first: u32,
    client_count: u32,
}

/// A worker's share of a load item by its topics: the first clients are those of the first topic. A stream has one topic, or all
/// where each client has all; the first one stands for them then.
fn parts_of<'a>(load: &'a BTreeMap<String, LoadPlan>, share: &WorkerShare) -> Vec<TopicPart<'a>> {
    let Some(item) = load.get(&share.item) else { return Vec::new() };
    let (each, end) = (item.clients_of_topic(), share.client_first.saturating_add(share.client_count));
    let of_topic = |(number, topic): (u32, &'a str)| {
        let first = number.saturating_mul(each);
        let (client_first, last) = (first.max(share.client_first), first.saturating_add(each).min(end));
        let client_count = last.checked_sub(client_first).filter(|count| *count > 0)?;
        Some(TopicPart { topic, client_first, client_count })
    };
    (0..item.stream_count()).zip(item.topics()).filter_map(of_topic).collect()
}

/// What the streams do that a worker has of a load item: of a probe there are two.
fn roles_of_item(load: &BTreeMap<String, LoadPlan>, item: &str) -> Vec<StreamRole> {
    let Some(role) = load.get(item).map(|item| &item.role) else { return Vec::new() };
    let produce = role.as_produce().map(|plan| StreamRole::Produce(plan.clone()));
    let consume = role.as_consume().map(|plan| StreamRole::Consume(plan.clone()));
    produce.into_iter().chain(consume).collect()
}

/// The load item of each stream that the plan gives to a worker, by the stream's number.
fn items_of<'w>(
    (workers, load): (&'w [WorkerPlan], &'w BTreeMap<String, LoadPlan>),
    worker: u16,
) -> impl Iterator<Item = &'w str> {
    let shares = workers.iter().filter(move |one| one.worker == worker).flat_map(|one| &one.shares);
    shares.flat_map(|share| {
        let streams = (roles_of_item(load, &share.item).len() * parts_of(load, share).len()).max(1);
        std::iter::repeat_n(share.item.as_str(), streams)
    })
}

/// The load item of a worker's stream.
pub(crate) fn item_of(trial: &Trial, worker: u16, stream: u16) -> Option<&str> {
    let case = &trial.effective;
    items_of((&case.workers, &case.load), worker).nth(usize::from(stream))
}

/// The streams with the ids of the groups that their clients are members of; `id` makes one of a group's name. Of an item with
/// several topics each has a group.
pub(crate) fn in_groups(mut streams: Vec<StreamTask>, id: impl Fn(&str) -> String) -> Vec<StreamTask> {
    for stream in &mut streams {
        if let StreamRole::Consume(ConsumePlan { group: Some(group), .. }) = &stream.role {
            let name = match stream.topic_clients {
                Some(clients) => {
                    format!("{}.topic-{:03}", group.name, stream.client_first / clients.max(1) + 1)
                }
                None => group.name.clone(),
            };
            stream.group_id = Some(group.id.clone().unwrap_or_else(|| id(&name)));
        }
    }
    streams
}

/// The workers on which a load item of the trial produces.
pub(crate) fn producing(trial: &Trial) -> BTreeSet<u16> {
    let load = &trial.effective.load;
    let produces = |item: &str| load.get(item).is_some_and(|item| item.role.as_produce().is_some());
    workers_with(&trial.effective.workers, produces)
}

/// The workers that have a share of an item that `is_meant` names.
fn workers_with(workers: &[WorkerPlan], is_meant: impl Fn(&str) -> bool) -> BTreeSet<u16> {
    let found = workers.iter().filter(|worker| worker.shares.iter().any(|share| is_meant(&share.item)));
    found.map(|worker| worker.worker).collect()
}

/// A stream's part of a cap, bytes/s: never 0, with which a stream could send nothing at all.
fn cap_share(cap_bytes_per_s: u64, share: f64) -> u64 {
    ((cap_bytes_per_s as f64 * share).ceil() as u64).max(1)
}

/// How many streams the plan gives to each worker.
pub(crate) fn stream_counts(
    workers: &[WorkerPlan],
    load: &BTreeMap<String, LoadPlan>,
) -> BTreeMap<u16, usize> {
    workers.iter().map(|of| (of.worker, items_of((workers, load), of.worker).count())).collect()
}

/// Whether rows and totals in a message of worker `sender`, which has so many streams, are all of its own.
pub(crate) fn has_own_rows(streams: usize, sender: u16, message: &FromWorker) -> bool {
    let is_own = |id: StreamId| id.worker == sender && usize::from(id.stream) < streams;
    match message {
        FromWorker::Sample(sample) => is_own(sample.id),
        FromWorker::Done(totals) => totals.iter().all(|totals| is_own(totals.id)),
        FromWorker::Readings(readings) => {
            readings.iter().all(|reading| usize::from(reading.stream) < streams)
        }
        FromWorker::ClientMetrics { stream, .. }
        | FromWorker::ClientSettings(ClientSettings { stream, .. }) => usize::from(*stream) < streams,
        _ => true,
    }
}

/// All streams of a trial as the run file keeps them: topics that a target has are called as in the scenario, since their
/// own names are private.
pub(crate) fn stream_infos(trial: &Trial, topics: &BTreeMap<String, String>) -> Vec<StreamInfo> {
    let mut reported = topics.clone();
    reported.retain(|address, _| trial.effective.system.existing_topic(address).is_none());
    let of_worker = |worker: &WorkerPlan| {
        let number = worker.worker;
        streams(trial, worker, &reported).into_iter().map(move |stream| StreamInfo {
            id: StreamId { worker: number, stream: stream.stream },
            role: stream.role.kind(),
            value_bytes: stream.role.value_bytes(),
            name: stream.name,
            topic: stream.topic,
            clients: stream.client_count,
        })
    };
    trial.effective.workers.iter().flat_map(of_worker).collect()
}

/// The most bytes of keys, values and headers per second that a load item's schedule asks for.
fn peak_bytes_per_s(role: &Role) -> f64 {
    role.as_produce()
        .map_or(0.0, |produce| produce.rate.peak_per_s().unwrap_or(0.0) * produce.record_bytes() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::PhasesPlan;
    use kdyno_model::sample::{Counts, Grain, Sample, StreamTotals};
    use kdyno_model::worker::{ClientReading, phase_spans};

    const SECOND: u64 = 1_000_000_000;

    fn phases(warmup_s: u64, measure_s: u64, drain_s: u64) -> PhasesPlan {
        PhasesPlan {
            warmup_ns: warmup_s * SECOND,
            warmup_auto: None,
            measure_ns: measure_s * SECOND,
            drain_ns: drain_s * SECOND,
        }
    }

    fn spans(warmup_s: u64, measure_s: u64, drain_s: u64) -> Vec<PhaseSpan> {
        let phases = phases(warmup_s, measure_s, drain_s);
        phase_spans(&phases, Some(phases.measure_start_ns()))
    }

    #[test]
    fn phases_are_gapless_and_end_with_the_drain() {
        let spans = spans(2, 5, 30);
        assert_eq!(spans.len(), 3);
        assert_eq!(spans[0].start_ns, 0);
        assert!(spans.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
        assert_eq!((spans[2].phase, spans[2].end_ns), (Phase::Drain, 37 * SECOND));
    }

    #[test]
    fn a_phase_without_length_is_left_out_but_not_the_drain() {
        let spans = spans(0, 5, 0);
        let names: Vec<_> = spans.iter().map(|span| span.phase).collect();
        assert_eq!(names, [Phase::Measure, Phase::Drain]);
        assert_eq!(spans[0].start_ns, 0);
    }

    #[test]
    fn an_instant_belongs_to_the_phase_that_begins_there() {
        let spans = spans(2, 5, 30);
        let second = SECOND as i64;
        assert_eq!(phase_at(&spans, -1), Phase::Startup);
        assert_eq!(phase_at(&spans, 0), Phase::Warmup);
        assert_eq!(phase_at(&spans, 2 * second), Phase::Measure);
        assert_eq!(phase_at(&spans, 7 * second), Phase::Drain);
        assert_eq!(phase_at(&spans, 999 * second), Phase::Drain);
    }

    /// No source can refer to the other.
    #[test]
    fn a_java_client_has_the_same_tick() {
        let source = kdyno_java_driver::SOURCES.iter().find(|(path, _)| path.ends_with("/Sender.java"));
        let (_, text) = source.expect("its sources");
        let value =
            text.lines().find_map(|line| line.trim().strip_prefix("private static final long TICK_NS = "));
        let number = value.and_then(|value| value.strip_suffix(';')).expect("a constant").replace('_', "");
        assert_eq!(number.parse::<u64>(), Ok(TICK_NS));
    }

    #[test]
    fn what_is_left_is_the_load_and_then_the_drain() {
        let left = |seconds: u64| left_ns(&spans(2, 5, 30), seconds * SECOND) / SECOND;
        assert_eq!(left(1), 6);
        assert_eq!(left(6), 1);
        assert_eq!(left(7), 30);
        assert_eq!(left(36), 1);
        assert_eq!(left(99), 0);
    }

    #[test]
    fn a_share_of_a_cap_rounds_up_and_is_never_0() {
        assert_eq!(cap_share(1000, 1.0), 1000);
        assert_eq!(cap_share(1000, 0.25), 250);
        assert_eq!(cap_share(10, 1.0 / 3.0), 4);
        assert_eq!(cap_share(10, 0.001), 1);
        assert_eq!(cap_share(10, 0.0), 1);
    }

    #[test]
    fn a_worker_speaks_for_its_own_streams_alone() {
        let share = |item: &str| WorkerShare { item: item.to_owned(), client_first: 0, client_count: 1 };
        let workers = [
            WorkerPlan { worker: 0, shares: vec![share("a"), share("b")] },
            WorkerPlan { worker: 1, shares: vec![share("a")] },
        ];
        let sample = |id| {
            FromWorker::Sample(Box::new(Sample {
                id,
                sequence: 0,
                grain: Grain::Second,
                phase: Phase::Measure,
                t0_second: 0,
                written_second: 0,
                counts: Counts::default(),
                histograms: BTreeMap::new(),
                sums_ns: BTreeMap::new(),
            }))
        };
        let totals = |id| StreamTotals { id, ..StreamTotals::default() };
        let counts = stream_counts(&workers, &BTreeMap::new());
        assert_eq!(counts, BTreeMap::from([(0, 2), (1, 1)]));
        let is_sent_by = |sender: u16, message: &FromWorker| {
            has_own_rows(counts.get(&sender).copied().unwrap_or_default(), sender, message)
        };
        let own = StreamId { worker: 1, stream: 0 };
        assert!(is_sent_by(1, &sample(own)));
        assert!(is_sent_by(1, &FromWorker::Done(vec![totals(own)])));
        assert!(is_sent_by(1, &FromWorker::Prepared));
        let reading = |stream| {
            let series = "jvm_gc_total".to_owned();
            FromWorker::Readings(vec![ClientReading { stream, at_ns: 0, series, value: 1.0 }])
        };
        let metrics = |stream| FromWorker::ClientMetrics { stream, client: 0, text: String::new() };
        for (message, is_own) in
            [(reading(0), true), (reading(1), false), (metrics(0), true), (metrics(1), false)]
        {
            assert_eq!(is_sent_by(1, &message), is_own, "{message:?}");
        }
        for (sender, foreign) in [(0, own), (1, StreamId { worker: 1, stream: 1 }), (2, own)] {
            assert!(!is_sent_by(sender, &sample(foreign)), "{sender} {foreign:?}");
            let done =
                FromWorker::Done(vec![totals(StreamId { worker: sender, stream: 0 }), totals(foreign)]);
            assert!(!is_sent_by(sender, &done), "{sender} {foreign:?}");
        }
    }

    /// Each client has one topic, also where a worker's share begins in the middle of one.
    #[test]
    fn clients_are_dealt_out_to_topics_in_their_order() {
        let text = "kdyno: 1\nid: many\nquestion: How?\ntopics: {t: {count: 3, partitions: 1}, one: {partitions: 1}}\n\
                    load: {w: {produce: t, clients: 2, rate: 10/s, value: 100B}, r: {consume: one, clients: 4}}\n\
                    phases: {warmup: 1s, measure: 5s}\n";
        let scenario = kdyno_scenario::Scenario::parse(text, "s.yaml").expect("a scenario");
        let plan = kdyno_plan::plan(&scenario, &kdyno_plan::Choices::default()).expect("a plan");
        let load = &plan.cases[0].load;
        let parts = |item: &str, client_first, client_count| {
            let share = WorkerShare { item: item.to_owned(), client_first, client_count };
            let parts = parts_of(load, &share);
            parts.iter().map(|part| (part.topic, part.client_first, part.client_count)).collect::<Vec<_>>()
        };
        assert_eq!(parts("w", 0, 6), [("t-001", 0, 2), ("t-002", 2, 2), ("t-003", 4, 2)]);
        assert_eq!(parts("w", 3, 2), [("t-002", 3, 1), ("t-003", 4, 1)]);
        assert_eq!(parts("r", 1, 3), [("one", 1, 3)]);
        let workers = &plan.cases[0].workers;
        let streams: Vec<&str> = items_of((workers, load), 0).collect();
        assert_eq!(streams, ["r", "w", "w", "w"]);
    }

    /// A group of one topic among several has no name that a scenario's own group is likely to have.
    #[test]
    fn each_of_several_topics_has_a_group() {
        let text = "kdyno: 1\nid: many\nquestion: How?\ntopics: {t: {partitions: 1}}\n\
                    load: {w: {produce: t, rate: 10/s, value: 100B}, r: {consume: t, group: g}}\n\
                    phases: {warmup: 1s, measure: 5s}\n";
        let scenario = kdyno_scenario::Scenario::parse(text, "s.yaml").expect("a scenario");
        let plan = kdyno_plan::plan(&scenario, &kdyno_plan::Choices::default()).expect("a plan");
        let role = roles_of_item(&plan.cases[0].load, "r").pop().expect("it consumes");
        let stream = |client_first, topic_clients| StreamTask {
            stream: 0,
            name: "r".to_owned(),
            seed: 0,
            topic: "t".to_owned(),
            client_first,
            client_count: 1,
            clients_total: 4,
            more_topics: Vec::new(),
            topic_clients,
            bytes_per_s_max: None,
            group_id: None,
            bootstrap: Vec::new(),
            java: None,
            span: kdyno_model::plan::LoadSpan::default(),
            role: role.clone(),
        };
        let streams = in_groups(vec![stream(0, None), stream(0, Some(2)), stream(3, Some(2))], str::to_owned);
        let ids: Vec<Option<&str>> = streams.iter().map(|stream| stream.group_id.as_deref()).collect();
        assert_eq!(ids, [Some("g"), Some("g.topic-001"), Some("g.topic-002")]);
    }

    /// Consumers wait for each worker that produces, and for no other.
    #[test]
    fn workers_are_found_by_what_they_have_a_share_of() {
        let share = |item: &str| WorkerShare { item: item.to_owned(), client_first: 0, client_count: 1 };
        let workers = [
            WorkerPlan { worker: 0, shares: vec![share("readers"), share("writers")] },
            WorkerPlan { worker: 4, shares: vec![share("readers")] },
            WorkerPlan { worker: 7, shares: vec![share("writers")] },
        ];
        assert_eq!(workers_with(&workers, |item| item == "writers"), BTreeSet::from([0, 7]));
        assert_eq!(workers_with(&workers, |_| false), BTreeSet::new());
    }

    #[test]
    fn the_measure_phase_begins_on_a_whole_second() {
        let fraction = PhasesPlan { warmup_ns: SECOND + 1, warmup_auto: None, ..phases(0, 5, 5) };
        assert_eq!(fraction.measure_start_ns(), 2 * SECOND);
        for warmup_s in [0, 1, 2, 30] {
            assert_eq!(phases(warmup_s, 5, 5).measure_start_ns(), warmup_s * SECOND);
        }
    }
}
