//! What a run's preflight would find on this host, reported without starting, fetching or making anything.

use crate::connections;
use crate::drivers;
use crate::error::LabError;
use crate::heaps::heaps;
use crate::preflight::{commands, folder_names, jvms, local, room};
use crate::proxy;
use kdyno_model::grouped::distinct;
use kdyno_model::plan::{CasePlan, ClusterPlan, KafkaSource, Plan, Strategy};
use kdyno_model::words::listed;
use kdyno_plan::Remark;
use kdyno_testbed::capacity::Capacity;
use kdyno_testbed::{Environment, TestbedError, cpu_limit, distribution, kroxylicious, preflight};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most settings that are named as not checked yet.
const SETTINGS_SHOWN_MAX: usize = 12;

/// Looks at the host as a run of the plan would: Kafka's folder or download, disk, memory, processors, the folder of the run
/// file. `work_dir` is where the clusters' data will lie; neither folder need exist.
///
/// # Errors
/// A folder that Kafka or a client is to come from is not there or holds none: no run can be meant.
pub fn dry_run_checks(
    plan: &Plan,
    run_folder: &Path,
    work_dir: &Path,
    environment: &Environment,
) -> Result<Vec<Remark>, LabError> {
    for (_, cluster) in local(plan) {
        distribution::check_folder(&cluster.kafka)?;
    }
    folder_names(plan, work_dir, environment)?;
    let mut remarks = Vec::new();
    let mut add = |remark: Remark| {
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    };
    for (_, cluster) in local(plan) {
        if let KafkaSource::Release(version) = &cluster.kafka
            && distribution::is_fetched_first(environment, &cluster.kafka)
        {
            add(Remark::Fact(format!("Kafka {version} is not in the cache and is downloaded first")));
        }
    }
    if let Err(error) = commands(plan, environment) {
        add(Remark::Warning(error.to_string()));
    }
    drivers::check(plan, environment)?.into_iter().for_each(|fact| add(Remark::Fact(fact)));
    for version in proxy::releases(plan) {
        if kroxylicious::is_fetched_first(environment, version) {
            add(Remark::Fact(format!("Kroxylicious {version} is not in the cache and is downloaded first")));
        }
    }
    for folders in all_folders(plan, work_dir, environment) {
        add(Remark::Fact(disk(plan, &folders, work_dir, environment)));
    }
    for (case, cluster) in local(plan) {
        if let Err(error) = room(plan, case, cluster, work_dir, environment) {
            add(warning(&error));
        }
        if let Some(Err(error)) = cluster.cpu_limit.map(cpu_limit::check) {
            add(warning(&error));
        }
    }
    if plan.every_case().any(|case| case.system.target().is_some()) {
        add(Remark::Fact(attached(plan)));
    }
    if let Some((heaps, free)) = heaps(plan) {
        let fact = format!("memory: heaps of {heaps}, {} free", shown(free));
        add(heaps.warning(free).map_or(Remark::Fact(fact), Remark::Warning));
    }
    if let Some(jvms) = jvms(plan) {
        add(processors(plan, jvms, kdyno_testbed::host::processors()));
    }
    let capacity = Capacity::read();
    for case in plan.every_case() {
        match connections::check(plan, case, &capacity) {
            Ok(()) => connections::describe(plan, case, &capacity)
                .into_iter()
                .for_each(|fact| add(Remark::Fact(fact))),
            Err(error) => add(warning(&error)),
        }
    }
    if let Some(fact) = not_checked(plan) {
        add(Remark::Fact(fact));
    }
    add(match preflight::check_writable(run_folder) {
        Ok(()) if run_folder.is_dir() => {
            Remark::Fact(format!("the run file goes to {}", run_folder.display()))
        }
        Ok(()) => Remark::Fact(format!("the run file goes to {}, which is made", run_folder.display())),
        Err(error) => warning(&error),
    });
    Ok(remarks)
}

/// Whether the JVMs that run at once have a CPU each. The detectable change of a comparison is stated for a host on
/// which they have.
fn processors(plan: &Plan, jvms: u64, processors: u32) -> Remark {
    let plural = if jvms == 1 { "" } else { "s" };
    let what = format!("CPUs: {processors} for {jvms} JVM{plural} at once and the load generator");
    if jvms <= u64::from(processors) {
        return Remark::Fact(what);
    }
    let seen = match &plan.strategy {
        Strategy::Compare(_) => {
            ", and the smallest differences that are shown are typical of a host with a CPU for each"
        }
        Strategy::List(_) | Strategy::Find(_) => "",
    };
    Remark::Warning(format!(
        "{what}: they wait for each other{seen}; use fewer brokers, or a host with more CPUs"
    ))
}

/// The settings of brokers and topics whose names no list of ours judges.
fn not_checked(plan: &Plan) -> Option<String> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for case in plan.every_case() {
        let of_brokers = case.system.broker_config().into_iter().flat_map(|config| config.keys());
        names.extend(of_brokers.map(String::as_str));
        names.extend(case.topics.values().flat_map(|topic| topic.config.keys()).map(String::as_str));
    }
    let shown = listed(names.iter().take(SETTINGS_SHOWN_MAX).copied());
    let more = match names.len().saturating_sub(SETTINGS_SHOWN_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| {
        format!("not checked yet: whether brokers know {shown}{more}; this is checked when they are up")
    })
}

fn warning(error: &TestbedError) -> Remark {
    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    Remark::Warning(format!("{error}{hint}"))
}

/// Each set of folders in which the logs of a case's cluster will lie.
fn all_folders(plan: &Plan, work_dir: &Path, environment: &Environment) -> Vec<Vec<PathBuf>> {
    distinct(local(plan).map(|(_, cluster)| preflight::log_folders(&cluster.storage, work_dir, environment)))
}

/// What the cases with these folders write there at most, and what is free.
fn disk(plan: &Plan, folders: &[PathBuf], work_dir: &Path, environment: &Environment) -> String {
    let here = |cluster: &ClusterPlan| {
        preflight::log_folders(&cluster.storage, work_dir, environment).as_slice() == folders
    };
    let cases = || local(plan).filter(|(_, cluster)| here(cluster));
    let of_broker = |(case, cluster): (&CasePlan, &ClusterPlan)| {
        kdyno_plan::bytes_to_write_of_case(plan, case).map(|bytes| bytes / u64::from(cluster.brokers.max(1)))
    };
    let written = volume(cases().map(of_broker), " on average");
    let sets_retention = |(case, cluster): (&CasePlan, &ClusterPlan)| {
        let mut topics = case.topics.values();
        cluster.config.contains_key("log.retention.bytes")
            || topics.any(|topic| topic.config.contains_key("retention.bytes"))
    };
    let kept = match cases().any(sets_retention) {
        true => "",
        false => "; each cluster's retention is set to keep its logs within half of that",
    };
    let free = folders.iter().map(|folder| match kdyno_testbed::host::free_bytes(folder) {
        Ok(free) => format!("{} free in {}", shown(free), folder.display()),
        Err(error) => error.to_string(),
    });
    let free: Vec<String> = free.collect();
    let before = conditioning(plan);
    let (trial, free) = (of_trial(plan), free.join(", "));
    format!("disk: {trial} each broker writes {written}, replicas included{before}; {free}{kept}")
}

/// That a fresh cluster is conditioned as fast as it goes, which is in no figure.
fn conditioning(plan: &Plan) -> String {
    plan.unpaced_conditioning().map_or_else(String::new, |how| {
        let most = kdyno_model::units::duration(how.most_ns);
        format!("; before the first one, conditioning writes what it can in {most} at most")
    })
}

fn attached(plan: &Plan) -> String {
    let written = volume(plan.every_case().map(kdyno_plan::bytes_to_write_of_trial), "");
    let trial = of_trial(plan);
    format!("disk: {trial} the target's brokers together write {written}, replicas included")
}

/// Which trial a volume is of: those of a search are not known but for the first load.
fn of_trial(plan: &Plan) -> String {
    match &plan.strategy {
        Strategy::Find(find) => {
            let first = kdyno_model::units::count(find.from_per_s);
            format!("per trial at the search's first load, {first}/s, and in proportion at others,")
        }
        Strategy::List(_) | Strategy::Compare(_) => "per trial".to_owned(),
    }
}

/// A size in words.
fn shown(bytes: u64) -> String {
    kdyno_model::units::bytes(bytes as f64)
}

/// The largest of some volumes in words, with `how` it is meant; one that is `None` is open.
fn volume(volumes: impl Iterator<Item = Option<u64>>, how: &str) -> String {
    let volumes: Vec<Option<u64>> = volumes.collect();
    let open = volumes.contains(&None);
    match volumes.into_iter().flatten().max() {
        Some(most) if open => {
            format!("at most about {}{how} (unknown in cases with `rate: max`)", shown(most))
        }
        Some(most) => format!("at most about {}{how}", shown(most)),
        None => "an unknown volume (`rate: max` writes what it can)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::room_for_trial;
    use kdyno_model::plan::{Arrivals, Rate, RatePiece, Role};
    use kdyno_model::trial::{Trial, TrialReason};
    use kdyno_plan::Choices;
    use kdyno_scenario::Scenario;

    /// Facts and warnings for a scenario of 3 brokers with this load, below an empty folder.
    fn reported(rate: &str, system: &str, out: &str) -> (Vec<String>, Vec<String>) {
        notes_with_partitions(rate, system, out, 3)
    }

    /// Facts and warnings with so many partitions.
    fn notes_with_partitions(
        rate: &str,
        system: &str,
        out: &str,
        partitions: u32,
    ) -> (Vec<String>, Vec<String>) {
        let text = format!(
            "kdyno: 1\nid: small\nquestion: Is there room?\nsystem: {{kafka: 4.1.1, brokers: 3{system}}}\n\
             topics: {{perf: {{partitions: {partitions}, replicas: 2}}}}\n\
             load: {{writers: {{produce: perf, rate: {rate}, value: 988B}}}}\nphases: {{warmup: 0s, measure: 30s}}\n"
        );
        let scenario = Scenario::parse(&text, "test").expect("a scenario");
        let plan = kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan");
        let temp = tempfile::tempdir().expect("temp");
        std::fs::write(temp.path().join("file"), "").expect("write");
        let environment = Environment::in_folder(temp.path());
        let (mut facts, mut warnings) = (Vec::new(), Vec::new());
        let reported = dry_run_checks(&plan, &temp.path().join(out), &temp.path().join("work"), &environment);
        for remark in reported.expect("Kafka comes from no folder") {
            match remark {
                // Which of the two it is depends on the host.
                Remark::Fact(text) | Remark::Warning(text) if text.starts_with("CPUs: ") => {}
                Remark::Fact(text) => facts.push(text),
                Remark::Warning(text) => warnings.push(text),
            }
        }
        assert_eq!(std::fs::read_dir(temp.path()).expect("temp").count(), 1, "a look makes nothing");
        (facts, warnings)
    }

    #[test]
    fn a_rate_says_what_each_broker_writes() {
        // 100/s × 30 s × 1000 bytes × 2 replicas ÷ 3 brokers.
        let (facts, warnings) = reported("100/s", ", limits: {heap: 64MiB}", "runs");
        assert!(warnings.is_empty(), "{warnings:?}");
        assert!(facts[0].contains("Kafka 4.1.1 is not in the cache and is downloaded first"), "{facts:?}");
        let disk =
            "disk: per trial each broker writes at most about 1.91 MiB on average, replicas included; ";
        assert!(facts[1].starts_with(disk), "{facts:?}");
        let before = "; before the first one, conditioning writes what it can in 1 min at most; ";
        assert!(facts[1].contains(before) && facts[1].contains(" free in "), "{facts:?}");
        assert!(facts[1].ends_with("; each cluster's retention is set to keep its logs within half of that"));
        assert!(facts[2].starts_with("memory: heaps of 192 MiB, "), "{facts:?}");
        assert!(facts[3].ends_with("runs, which is made"), "{facts:?}");
    }

    /// A plan of a system that is compared with side B, unless that is empty.
    fn plan_of(system: &str, b: &str) -> Plan {
        let text = format!(
            "kdyno: 1\nid: small\nquestion: Is it enough?\nsystem: {{{system}}}\n\
             topics: {{perf: {{partitions: 3, config: {{min.insync.replica: 1, retention.bytes: 1GiB}}}}}}\n\
             load: {{writers: {{produce: perf, rate: 100/s, value: 1KiB}}}}\nphases: {{measure: 30s}}\n{}",
            if b.is_empty() { String::new() } else { format!("compare: {{A: {{}}, B: {b}}}\n") }
        );
        let scenario = Scenario::parse(&text, "test").expect("a scenario");
        kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan")
    }

    #[test]
    fn jvms_that_have_to_share_processors_are_a_warning() {
        let newer = "{system: {kafka: 4.3.1}}";
        let of = |system: &str, b: &str| jvms(&plan_of(system, b)).expect("a cluster");
        assert_eq!(of("kafka: 3.7.2, brokers: 3", ""), 3);
        assert_eq!(of("kafka: 3.7.2, brokers: 3", newer), 6, "both sides stand at once");
        let of_clients = "{load: {writers: {client: {linger.ms: 1}}}}";
        assert_eq!(of("kafka: 3.7.2, brokers: 3", of_clients), 3, "they share one system");
        assert_eq!(of("kafka: 3.7.2, brokers: 2, mode: {controllers: 3}", ""), 5);
        assert_eq!(of("kafka: 3.7.2, mode: {zookeeper: 1}", ""), 2);

        let reported = |b: &str, processors_here: u32| {
            let plan = plan_of("kafka: 3.7.2, brokers: 3", b);
            processors(&plan, jvms(&plan).expect("a cluster"), processors_here)
        };
        let enough = "CPUs: 3 for 3 JVMs at once and the load generator";
        assert_eq!(reported("", 3), Remark::Fact(enough.to_owned()));
        let Remark::Warning(few) = reported(newer, 5) else { panic!("6 JVMs on 5 CPUs") };
        assert!(few.starts_with("CPUs: 5 for 6 JVMs at once and the load generator: they wait"), "{few}");
        assert!(few.contains("typical of a host with a CPU for each"), "{few}");
        let Remark::Warning(few) = reported("", 2) else { panic!("3 JVMs on 2 CPUs") };
        assert!(!few.contains("differences"), "nothing is compared: {few}");
    }

    #[test]
    fn broker_checked_settings_are_named_and_retention_stays_theirs() {
        let plan = plan_of("kafka: 4.3.1, config: {num.io.treads: 4}", "");
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        let reported = dry_run_checks(&plan, temp.path(), temp.path(), &environment).expect("a release");
        let facts: Vec<&str> = reported
            .iter()
            .filter_map(|note| match note {
                Remark::Fact(text) => Some(text.as_str()),
                Remark::Warning(_) => None,
            })
            .collect();
        let words = "not checked yet: whether brokers know `min.insync.replica`, `num.io.treads`, `retention.bytes`; this \
                     is checked when they are up";
        assert!(facts.contains(&words), "{facts:?}");
        assert!(facts.iter().all(|fact| !fact.contains("retention is set")), "{facts:?}");
        let many: Vec<String> = (0..20).map(|n| format!("a.{n}: 1")).collect();
        let plan = plan_of(&format!("kafka: 4.3.1, config: {{{}}}", many.join(", ")), "");
        assert!(not_checked(&plan).is_some_and(|reported| reported.contains(" and 10 more; ")));
    }

    #[test]
    fn a_folder_without_kafka_is_an_error_and_no_remark() {
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        for (of, words) in [("home", "is no unpacked Kafka"), ("source", "is no built Kafka checkout")] {
            let reported = |folder: &Path| {
                let plan = plan_of(&format!("kafka: {{{of}: {}}}", folder.display()), "");
                dry_run_checks(&plan, temp.path(), temp.path(), &environment)
                    .expect_err("no Kafka")
                    .to_string()
            };
            assert!(reported(temp.path()).contains(words), "{}", reported(temp.path()));
            let missing = temp.path().join("no");
            assert!(reported(&missing).contains("cannot find folder"), "{}", reported(&missing));
        }
    }

    #[test]
    fn a_searchs_writes_are_estimated_first_and_rechecked_per_trial() {
        let text = "kdyno: 1\nid: small\nquestion: How much?\nsystem: {kafka: 4.1.1}\n\
             topics: {perf: {partitions: 3}}\nload: {writers: {produce: perf, rate: 1k/s, value: 988B}}\n\
             phases: {warmup: 0s, condition: none, measure: 3s}\n\
             find: {highest: writers.rate, to: 1G/s, while: [writers.response.p99 <= 20ms]}\n";
        let scenario = Scenario::parse(text, "test").expect("a scenario");
        let plan = kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan");
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        let reported = dry_run_checks(&plan, temp.path(), temp.path(), &environment).expect("a release");
        let words = "disk: per trial at the search's first load, 1,000/s, and in proportion at others, each broker writes";
        assert!(
            reported.iter().any(|note| matches!(note, Remark::Fact(fact) if fact.starts_with(words))),
            "{reported:?}"
        );
        let kdyno_plan::Next::Trial(mut trial) = kdyno_plan::next(&plan, &[], 1) else { panic!("a trial") };
        let room = |trial: &Trial| room_for_trial(&plan, trial, temp.path(), &environment);
        assert!(room(&trial).is_ok());
        // An hour at 1,000,000,000/s are 3.3 PB.
        let item = trial.effective.load.get_mut("writers").expect("it produces");
        let Role::Produce(produce) = &mut item.role else { panic!("it produces") };
        let piece = RatePiece { from_per_s: 1e9, to_per_s: 1e9, length_ns: 1 };
        produce.rate = Rate::Open { pieces: vec![piece], arrivals: Arrivals::Constant };
        trial.effective.phases.measure_ns = 3_600_000_000_000;
        assert!(room(&trial).expect_err("too much").to_string().contains("the run would write"));
        trial.reason = TrialReason::Conditioning;
        assert!(room(&trial).is_ok(), "a trial of the search only");
    }

    #[test]
    fn what_a_maximum_rate_writes_is_unknown() {
        let (facts, _) = reported("max", "", "runs");
        assert!(facts[1].starts_with("disk: per trial each broker writes an unknown volume"), "{facts:?}");
    }

    #[test]
    fn a_maximum_rate_needs_room_for_what_the_brokers_keep_at_least() {
        // 10 000 partitions × 2 replicas × 80 MiB are 1.7 TB.
        let many = ", limits: {heap: 64MiB}";
        let (_, warnings) = notes_with_partitions("max", many, "runs", 10_000);
        assert!(
            warnings[0]
                .contains("20000 replicas of partitions take up to 80.0 MiB each, so 1.53 TiB may be stored"),
            "{warnings:?}"
        );
        let (_, mut warnings) = notes_with_partitions("100/s", many, "runs", 10_000);
        // How many files a process may open is this host's.
        warnings.retain(|warning| !warning.contains("open files"));
        assert!(warnings.is_empty(), "what is written is known and little: {warnings:?}");
        let (_, warnings) = notes_with_partitions("max", ", limits: {heap: 64MiB}", "runs", 3);
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn what_would_stop_or_spoil_the_run_is_a_warning() {
        let (_, warnings) = reported("1000M/s", ", limits: {heap: 1024GiB}", "file/runs");
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert!(
            warnings[0].contains("the run would write") && warnings[0].contains("; shorten"),
            "{warnings:?}"
        );
        assert!(warnings[1].contains("the heaps of all brokers are 3.00 TiB"), "{warnings:?}");
        assert!(warnings[2].contains("Not a directory") && warnings[2].contains("--out"), "{warnings:?}");
    }
}
