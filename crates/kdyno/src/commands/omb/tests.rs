//! Every workload with every driver is translated and planned: those of the tests, and a folder's.

use super::translated::payload;
use super::*;
use crate::cli::{Cli, Command};
use clap::Parser;
use kdyno_analysis::periods::Period;
use kdyno_model::plan::{Rate, Role, Strategy};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/omb")
}

/// The YAML files of a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    files.sort();
    files
}

fn typed(more: &[&str]) -> OmbArgs {
    let words = ["kdyno", "omb", "--drivers", "d.yaml", "w.yaml"].into_iter().chain(more.iter().copied());
    match Cli::try_parse_from(words).expect("arguments").command {
        Command::Omb(args) => *args,
        _ => panic!("omb"),
    }
}

/// What a workload file comes to with a driver file.
fn run(workload_path: &Path, driver_path: &Path) -> Result<OmbRun, String> {
    let read = || -> Result<OmbRun, Failure> {
        let (workload, driver) = (workload(workload_path)?, driver(driver_path)?);
        translated((workload_path, &workload), &(driver_path, driver), &typed(&[]))
    };
    read().map_err(|failure| failure.message)
}

#[test]
fn eleven_workloads_and_two_drivers_are_planned() {
    let (drivers, workloads) = (files(&fixtures()), files(&fixtures().join("workloads")));
    assert_eq!((drivers.len(), workloads.len()), (2, 11));
    for driver in &drivers {
        for workload in &workloads {
            let run = run(workload, driver).unwrap_or_else(|error| panic!("{error}"));
            let planned = plan(&run, None).expect("a plan");
            let case = &planned.plan.cases[0];
            let topics = case.topics.len();
            assert_eq!(topics, run.workload.topics as usize, "{}", run.stem);
            assert_eq!(case.load.len(), 1 + run.workload.subscriptions as usize, "{}", run.stem);
            let own = case.load.values().map(|item| item.topics().count());
            assert!(own.clone().all(|own| own == topics), "{}", run.stem);
            assert_eq!(
                run.workload.is_search(),
                matches!(planned.plan.strategy, Strategy::Find(_)),
                "{}",
                run.stem
            );
            let lines =
                case.load.values().filter_map(|item| item.role.as_produce()).map(|one| one.tool_lines);
            assert!(lines.clone().count() == 1 && lines.flatten().count() == 1, "{}", run.stem);
        }
    }
}

/// OMB counts the bytes of values alone.
#[test]
fn a_line_has_bytes_of_values_without_those_of_keys() {
    let mut period = Period { seconds: 10, ..Period::default() };
    (period.counts.fetched, period.counts.handed_over_bytes) = (10_240, 10_240 * (1024 + 10));
    assert!(lines::line(&period, 10).contains("msg/s /  1.0 MB/s | Backlog"), "{}", lines::line(&period, 10));
    period.counts.handed_over_bytes = 0;
    assert!(lines::line(&period, 10).contains("msg/s /  0.0 MB/s | Backlog"));
    let key_bytes = |name: &str| {
        let workload = workload(&fixtures().join("workloads").join(name)).expect("a workload");
        workload.key_bytes()
    };
    assert_eq!([key_bytes("random-keys.yaml"), key_bytes("small.yaml")], [10, 0]);
}

#[test]
fn rates_of_topics_sum_to_that_of_the_file() {
    let planned = |name: &str| {
        let run =
            run(&fixtures().join("workloads").join(name), &fixtures().join("kafka.yaml")).expect("a run");
        plan(&run, None).expect("a plan").plan
    };
    let rate = |plan: &kdyno_model::plan::Plan| -> f64 {
        let produce = plan.cases[0].load.values().filter_map(|item| item.role.as_produce());
        produce.map(|one| one.rate.peak_per_s().unwrap_or(f64::INFINITY)).sum()
    };
    assert!((rate(&planned("random-keys.yaml")) - 1001.0).abs() < 1e-6);
    assert!((rate(&planned("eight-topics.yaml")) - 4000.0).abs() < 1e-6);
    let fastest = planned("fastest.yaml");
    let Role::Produce(produce) = &fastest.cases[0].load["writers"].role else { panic!("it produces") };
    assert!(matches!(produce.rate, Rate::Max { .. }));
}

#[test]
fn a_payload_file_is_looked_up_next_to_the_workload() {
    let workload = fixtures().join("workloads/from-file.yaml");
    let path = payload(&workload, "payload-64.data", 64).expect("a path");
    assert!(
        Path::new(&path).is_absolute() && path.ends_with("tests/omb/workloads/payload-64.data"),
        "{path}"
    );
    assert!(payload(&workload, "payload-64.data", 65).expect_err("a size").contains("has 64 bytes"));
    assert!(
        payload(&workload, "/no/such.data", 64).expect_err("no file").starts_with("there is no such file")
    );
    let compressed = run(&workload, &fixtures().join("kafka-lz4.yaml")).expect("a run");
    assert!(compressed.scenario.text.contains("payload-64.data"), "{}", compressed.scenario.text);
}

#[test]
fn several_results_need_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    assert_eq!(output(&typed(&["--output", path]), 2).ok(), Some(Some(folder.path().to_owned())));
    assert_eq!(output(&typed(&["--output", "a.json"]), 1).ok(), Some(None));
    assert_eq!(output(&typed(&[]), 2).ok(), Some(Some(PathBuf::new())));
    let refused = output(&typed(&["--output", "a.json"]), 2).expect_err("one file");
    assert!(refused.message.contains("a.json is no folder"), "{}", refused.message);
}

#[test]
fn folders_that_are_not_there_are_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = |name: &str, runs: usize| {
        let path = folder.path().join(name);
        output(&typed(&["--output", path.to_str().expect("UTF-8")]), runs).map_err(|failure| failure.message)
    };
    assert_eq!(made("many/results", 2), Ok(Some(folder.path().join("many/results"))));
    assert!(folder.path().join("many/results").is_dir());
    assert_eq!(made("one/result.json", 1), Ok(None));
    assert!(folder.path().join("one").is_dir() && !folder.path().join("one/result.json").exists());
    assert_eq!(made("named/", 1), Ok(Some(folder.path().join("named/"))));
    assert!(folder.path().join("named").is_dir());
    std::fs::write(folder.path().join("file"), "").expect("written");
    assert!(made("file/results", 2).is_err_and(|why| why.starts_with("could not make the folder ")));
}

#[test]
fn drivers_of_one_name_are_called_by_their_files_too() {
    let kept = |files: &[(&str, &str)]| -> Result<Vec<String>, String> {
        let mut names: Vec<String> = files.iter().map(|(_, name)| (*name).to_owned()).collect();
        let paths = files.iter().map(|(path, _)| Path::new(*path));
        keep_apart(paths.zip(&mut names).collect()).map_err(|failure| failure.message)?;
        Ok(names)
    };
    let distinct = kept(&[("a/low.yaml", "Kafka"), ("b/high.yaml", "Kafka"), ("c.yaml", "other")]);
    assert_eq!(distinct.expect("distinct files"), ["Kafka low", "Kafka high", "other"]);
    let twice = kept(&[("a.yaml", "Kafka"), ("a.yaml", "Kafka")]);
    assert_eq!(twice.expect("one driver"), ["Kafka", "Kafka"]);
    let alike =
        kept(&[("a/k.yaml", "Kafka"), ("b/k.yaml", "Kafka")]).expect_err("nothing distinguishes them");
    assert!(alike.starts_with("a/k.yaml and b/k.yaml have one `name`, `Kafka`, "), "{alike}");
}

/// A script that reads results sees that one is missing.
#[test]
fn a_run_without_a_result_never_ends_with_0() {
    let search =
        run(&fixtures().join("workloads/search.yaml"), &fixtures().join("kafka.yaml")).expect("a run");
    let why = "no load of the search was sustained";
    assert_eq!(unwritten(&search, why, Exit::Done), Exit::Inconclusive);
    assert_eq!(unwritten(&search, why, Exit::NotMet), Exit::NotMet);
}

#[test]
fn a_target_with_security_needs_a_file_of_its_own() {
    let text = std::fs::read_to_string(fixtures().join("kafka.yaml")).expect("a driver");
    let secret = "commonConfig: |\n  sasl.jaas.config=x required password=\"hunter2\";\n";
    let driver = OmbDriver::read(&text.replace("commonConfig: |\n", secret)).expect("a driver");
    let refused = target(&typed(&["--bootstrap-server", "127.0.0.1:1"]), &driver).expect_err("no properties");
    assert!(
        refused.message.contains("`sasl.jaas.config`") && !refused.message.contains("hunter2"),
        "{refused:?}"
    );
}

/// With `KDYNO_OMB`, a checkout of OMB: each of its workloads with each of its drivers for Kafka is planned, or refused in one
/// sentence.
#[test]
fn files_of_a_checkout_are_planned_or_refused() {
    let Some(folder) = std::env::var_os("KDYNO_OMB").map(PathBuf::from) else {
        out::note("skipped: KDYNO_OMB names no checkout of the OpenMessaging Benchmark");
        return;
    };
    let (mut planned, mut refused) = (0, Vec::new());
    let drivers = files(&folder.join("driver-kafka"));
    for workload in files(&folder.join("workloads")) {
        for driver in &drivers {
            match run(&workload, driver) {
                Ok(_) => planned += 1,
                Err(error) => refused.push(error),
            }
        }
    }
    refused.sort();
    refused.dedup();
    out::note(&format!("{planned} planned; refused:\n{}", refused.join("\n")));
    let known = |error: &&String| {
        ["`topics`: ", "`consumerBacklogSizeGB`", "`producerRate: 0`"]
            .iter()
            .any(|words| error.contains(words))
    };
    let others: Vec<&String> = refused.iter().filter(|error| !known(error)).collect();
    assert!(planned > 0 && others.is_empty(), "{others:#?}");
}
