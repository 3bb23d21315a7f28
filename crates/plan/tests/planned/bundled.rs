//! Every bundled scenario plans in every profile.

use kdyno_model::generator::GeneratorsPlan;
use kdyno_model::plan::{CasePlan, ParamValue, Plan, Rate, Role, SystemPlan};
use kdyno_model::plan::{ClaimExpr, Depth, EvidenceUnit, Strategy, Vary};
use kdyno_plan::{
    Choices, CompareChoices, FileReader, FoundFile, PlanQuestion, Remark, SideChange, SideChoices,
    check_commands_in_pods, check_stored, estimate, on_generators, plan, remarks,
};
use kdyno_scenario::Scenario;
use std::path::{Path, PathBuf};

fn bundled() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = |dir: PathBuf| {
        let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect::<Vec<_>>()
    };
    let mut found = files(root.clone());
    found.extend(files(root.join("reports")));
    found.sort();
    found
}

fn read(path: &Path) -> Scenario {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    Scenario::parse_bytes(&std::fs::read(path).unwrap(), &name).unwrap()
}

/// What the program has bundled in addition to the scenarios.
fn payload(_scenario: &str, name: &str) -> Result<FoundFile, String> {
    let file = name.strip_prefix("bundled:").unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/reports").join(file);
    Ok(FoundFile { path: name.to_owned(), content: std::fs::read(path).unwrap() })
}

fn choices() -> Choices {
    Choices { files: FileReader(payload), ..Choices::default() }
}

fn of(id: &str, profile: &str) -> Plan {
    let path = bundled().into_iter().find(|path| path.file_stem().unwrap() == id).unwrap();
    let choices = Choices { profile: Some(profile.to_owned()), ..choices() };
    plan(&read(&path), &choices).unwrap()
}

#[test]
fn every_scenario_plans_in_every_profile() {
    let files = bundled();
    assert!(files.len() >= 5, "{files:?}");
    for path in files {
        let scenario = read(&path);
        assert_eq!(path.file_stem().unwrap().to_str().unwrap(), scenario.id());
        for profile in scenario.profiles() {
            let choices = Choices { profile: Some(profile.to_owned()), ..choices() };
            let plan = plan(&scenario, &choices).unwrap_or_else(|error| panic!("{profile}: {error}"));
            // Brokers elsewhere, such as in Kubernetes, are made there.
            let are_made_elsewhere = |system: &SystemPlan| system.starts_brokers() && !system.runs_here();
            let runs_programs =
                plan.every_case().any(|case| case.has_others_writing() || are_made_elsewhere(&case.system));
            assert_eq!(
                check_stored(&plan).is_err(),
                runs_programs,
                "{}: {:?}",
                scenario.id(),
                check_stored(&plan)
            );
            if let Some(trials) = plan.strategy.trials_planned() {
                let repeats: u32 =
                    (0..).take(plan.cases.len()).filter_map(|case| plan.repeats_planned(case)).sum();
                assert_eq!(trials, repeats);
            }
            let notes = remarks(&scenario, &choices, &plan).unwrap();
            // A small machine does not see every margin, and that is to be reported.
            let is_known = |text: &str| text.contains("is more than the margin");
            let warned = notes.iter().any(|note| matches!(note, Remark::Warning(text) if !is_known(text)));
            assert!(!warned, "{}: {profile}: {notes:?}", scenario.id());
            let json = serde_json::to_string(&plan).unwrap();
            let back: Plan = serde_json::from_str(&json).unwrap();
            assert_eq!(back, plan, "the plan does not survive the run file");
        }
    }
}

/// Offsets are committed with all acknowledgements, whatever the producers ask for: with fewer replicas of their topic than
/// `min.insync.replicas` no member of a group could commit any.
#[test]
fn every_group_can_commit_offsets() {
    let mut seen = 0;
    for path in bundled() {
        let scenario = read(&path);
        for profile in scenario.profiles() {
            let choices = Choices { profile: Some(profile.to_owned()), ..choices() };
            for case in plan(&scenario, &choices).unwrap().cases {
                let SystemPlan::Local(cluster) = &case.system else { continue };
                let of = |name: &str| cluster.config.get(name).map(|text| text.parse::<u32>().unwrap());
                let replicas = of("offsets.topic.replication.factor").unwrap_or(cluster.brokers.min(3));
                let least = of("min.insync.replicas").unwrap_or(1);
                if case.load.values().any(|item| item.role.group().is_some()) {
                    assert!(least <= replicas, "{}: {profile}: {least} of {replicas}", scenario.id());
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 0, "no scenario has a group");
}

#[test]
fn laptop_profiles_are_short() {
    for path in bundled() {
        let scenario = read(&path);
        let plan = plan(&scenario, &choices()).unwrap();
        // Brokers in Kubernetes run on no laptop.
        if !plan.cases.iter().all(|case| case.system.runs_here()) {
            continue;
        }
        assert_eq!(plan.profile, "laptop", "{}", scenario.id());
        if let Strategy::List(_) = plan.strategy {
            let expected_s = estimate(&plan).expected_ns / 1_000_000_000;
            assert!(expected_s < 480, "{}: {expected_s} s", scenario.id());
        }
    }
}

#[test]
fn laptop_comparisons_and_searches_fit_their_time() {
    const MINUTE_NS: u64 = 60_000_000_000;
    let within = |path: &Path, minutes: u64, depth: Depth| {
        let choices = Choices { budget_ns: Some(minutes * MINUTE_NS), depth, ..choices() };
        plan(&read(path), &choices).unwrap()
    };
    let mut seen = Vec::new();
    for path in bundled() {
        let id = path.file_stem().unwrap().to_string_lossy().into_owned();
        match plan(&read(&path), &choices()).unwrap().strategy {
            Strategy::List(_) => continue,
            Strategy::Compare(_) => {
                // Eight starts, each with a pair, in 45 minutes at the longest, and in 25 as it usually goes; a quick
                // look of at least three pairs in ten at the longest.
                let mut verdict = within(&path, 45, Depth::Verdict);
                assert!(estimate(&verdict).longest_ns <= 45 * MINUTE_NS, "{id}");
                let Strategy::Compare(compare) = &mut verdict.strategy else { panic!("{id}") };
                assert_eq!(compare.unit, EvidenceUnit::Start);
                assert!(compare.looks.last() >= Some(&8), "{id}: {:?}", compare.looks);
                compare.looks = vec![8];
                assert!(estimate(&verdict).expected_ns <= 25 * MINUTE_NS, "{id}");
                let choices = Choices { depth: Depth::Quick, ..choices() };
                let quick = plan(&read(&path), &choices).unwrap();
                assert!(estimate(&quick).longest_ns <= 10 * MINUTE_NS, "{id}");
                let Strategy::Compare(quick) = quick.strategy else { panic!("{id}") };
                assert_eq!((quick.unit, quick.looks[0]), (EvidenceUnit::Pair, quick.pairs_per_start));
            }
            Strategy::Find(_) => {
                // Ten minutes, though the scenario's own budget is longer.
                let choices = Choices { depth: Depth::Quick, ..choices() };
                let quick = plan(&read(&path), &choices).unwrap();
                let Strategy::Find(search) = &quick.strategy else { panic!("{id}") };
                assert_eq!((quick.depth, search.trials_max), (Depth::Quick, 16), "{id}");
                let verdict = within(&path, 35, Depth::Verdict);
                assert_eq!(verdict.depth, Depth::Verdict, "{id}");
                // Whatever its trials show.
                assert!(estimate(&quick).longest_ns <= 10 * MINUTE_NS, "{id}");
                assert!(estimate(&verdict).longest_ns <= 35 * MINUTE_NS, "{id}");
            }
        }
        seen.push(id);
    }
    let folio_41 = ["folio-41-import", "folio-41-kafka", "folio-41-users"];
    let folio_kraft = ["folio-kraft-both", "folio-kraft-import", "folio-kraft-kafka", "folio-kraft-users"];
    let others = ["intel-sla", "upgrade-check"];
    assert_eq!(seen, [&["client-check"][..], &folio_41, &folio_kraft, &others].concat());
}

#[test]
fn the_reports_questions_are_asked() {
    let changes = |id: &str| match of(id, "laptop").strategy {
        Strategy::Compare(compare) => (compare.labels.join(" | "), compare.changes.join("; ")),
        other => panic!("{other:?}"),
    };
    let reported = |labels: &str, change: &str| (labels.to_owned(), change.to_owned());
    for of in ["kafka", "users", "import"] {
        let asked = changes(&format!("folio-41-{of}"));
        assert_eq!(asked, reported("Kafka 3.7 | Kafka 4.1", "system.kafka: 3.7.2 → 4.1.1"));
    }
    for of in ["kafka", "users", "import", "both"] {
        let asked = changes(&format!("folio-kraft-{of}"));
        assert_eq!(asked, reported("ZooKeeper | KRaft", "system.mode: zookeeper → kraft"));
    }
    assert_eq!(
        changes("upgrade-check"),
        reported("Kafka 3.7.2 | Kafka 4.4.0", "system.kafka: 3.7.2 → 4.4.0")
    );

    let intel = of("intel-sla", "published");
    let Strategy::Find(search) = &intel.strategy else { panic!("a search") };
    assert_eq!(search.vary, Vary::Clients { per_client_per_s: 50_000.0 });
    assert_eq!((search.from_per_s, search.conditions[0].limit), (50_000.0, 20e6));
    let SystemPlan::Local(cluster) = &intel.cases[0].system else { panic!("local") };
    assert_eq!(cluster.pinned_to, [[0], [1], [2], [3]]);
    let SystemPlan::Local(cluster) = &of("intel-sla", "laptop").cases[0].system else { panic!("local") };
    assert_eq!(cluster.pinned_to, [[0], [1], [0], [1]]);

    let huawei = of("huawei-rate", "laptop");
    let ends: Vec<_> = huawei.contrasts.iter().map(|it| (it.name.as_str(), it.from, it.to)).collect();
    let expected = [
        ("bigger batches", 0, 1),
        ("one zone", 2, 0),
        ("more replicas", 0, 4),
        ("asynchronous replication", 3, 4),
    ];
    assert_eq!(ends, expected);
    assert_eq!(huawei.claims.len(), 12, "those about another zone too");
    assert!(matches!(&huawei.claims[0].left, ClaimExpr::Metric { case: 1, .. }));
    assert_eq!((huawei.repeats_planned(0), huawei.repeats_planned(4)), (Some(3), Some(3)));
    let sweep = of("huawei-rate", "sweep");
    let delay_ns = |case: &CasePlan| match &case.system {
        SystemPlan::Local(cluster) => cluster.zones.as_ref().map(|zones| zones.link.delay_ns),
        _ => None,
    };
    let delays: Vec<u64> = sweep.cases.iter().skip(1).filter_map(delay_ns).collect();
    assert_eq!(delays, [0, 250_000, 650_000, 1_000_000, 2_000_000]);
    let is_apart = |case: &CasePlan| case.load["writers"].zone.is_some();
    assert_eq!(sweep.cases.iter().map(is_apart).collect::<Vec<_>>(), [false, true, true, true, true, true]);
}

#[test]
fn the_reports_that_were_secured_are_secured_and_tell_the_price() {
    let listeners = |plan: &Plan| {
        let of = |system: &SystemPlan| match system {
            SystemPlan::Local(cluster) => cluster.listeners.to_string(),
            other => panic!("local: {other:?}"),
        };
        plan.cases.iter().map(|case| of(&case.system)).collect::<Vec<_>>()
    };
    let secured = "clients SASL_SSL SCRAM-SHA-512 TLSv1.2, internal SSL";
    let open = "clients PLAINTEXT, internal PLAINTEXT";
    for (id, profile) in [
        ("ibm-resilient", "laptop"),
        ("ibm-fast", "laptop"),
        ("ibm-resilient", "published"),
        ("ibm-fast", "published"),
    ] {
        let plan = of(id, profile);
        let reported = listeners(&plan);
        let contrast = &plan.contrasts[0];
        assert_eq!((contrast.from as usize, contrast.to), (plan.cases.len() - 1, 0), "{id} {profile}");
        assert_eq!((reported[contrast.from as usize].as_str(), reported[0].as_str()), (open, secured));
        assert_eq!(plan.repeats_planned(0), Some(3), "{id}: fewer have no interval");
        let row = &plan.published.as_ref().unwrap().rows[0];
        assert!(row.params.iter().all(|(name, value)| &plan.cases[0].params[name] == value), "{id}: {row:?}");
    }
    let payload = of("ibm-payload", "security");
    let ends: Vec<_> = payload.contrasts.iter().map(|of| (of.from, of.to)).collect();
    assert_eq!((ends, payload.repeats_planned(0)), (vec![(2, 0), (3, 1)], Some(6)));
    assert_eq!(listeners(&payload), [secured, secured, open, open]);

    let both = "clients SSL TLSv1.2 TLSv1.3, internal SSL";
    assert_eq!(listeners(&of("intel-sla", "published")), [both]);
    assert_eq!(listeners(&of("intel-sla", "security")), [both, open]);
    let side = |values: [&str; 2]| {
        let set =
            |(name, value): (&str, &str)| SideChange::Set { name: name.to_owned(), value: value.to_owned() };
        let changes = ["protocol", "internal"].into_iter().zip(values).map(set).collect();
        SideChoices { changes, ..SideChoices::default() }
    };
    let (a, b) = (side(["PLAINTEXT", "PLAINTEXT"]), side(["SSL", "SSL"]));
    let ask = PlanQuestion::Compare(CompareChoices { a, b, ..CompareChoices::default() });
    let set = vec![("each".to_owned(), "20k/s".to_owned())];
    let path = bundled().into_iter().find(|path| path.ends_with("intel-sla.yaml")).unwrap();
    let intel = plan(&read(&path), &Choices { ask, set, ..choices() }).unwrap();
    let Strategy::Compare(compare) = &intel.strategy else { panic!("a comparison") };
    assert_eq!((listeners(&intel), compare.b.len()), (vec![open.to_owned()], 1));
}

#[test]
fn the_reports_that_had_a_proxy_tell_its_price() {
    for (id, profile, ends) in [
        ("ibm-resilient", "proxy", vec![(0, 1)]),
        ("ibm-fast", "proxy", vec![(0, 1)]),
        ("ibm-payload", "proxy", vec![(0, 2), (1, 3)]),
        ("ibm-resilient", "published", vec![(0, 3)]),
        ("ibm-fast", "published", vec![(0, 2)]),
    ] {
        let plan = of(id, profile);
        let prices = plan.contrasts.iter().filter(|of| of.name.starts_with("price of a proxy"));
        let prices: Vec<_> = prices.map(|of| (of.from, of.to)).collect();
        assert_eq!(prices, ends, "{id} {profile}");
        let proxies = |case: u32| plan.cases[case as usize].components.len();
        assert!(ends.iter().all(|(from, to)| (proxies(*from), proxies(*to)) == (0, 1)), "{id} {profile}");
        assert!(plan.repeats_planned(0) >= Some(3), "{id} {profile}: fewer have no interval");
    }
}

#[test]
fn the_published_tables_have_their_shape() {
    let resilient = of("ibm-resilient", "published");
    let brokers: Vec<_> = resilient.cases.iter().map(|case| case.params["brokers"].clone()).collect();
    assert_eq!(brokers, [3, 6, 9, 3, 6, 9, 3].map(ParamValue::Int), "the last one in the open");
    assert_eq!(resilient.cases[2].load["writers"].clients, 18);
    assert_eq!(resilient.cases[2].topics["perf"].partitions, 18);
    let published = resilient.published.unwrap();
    assert_eq!(published.rows.len(), 6);
    assert_eq!(published.rows[0].params["proxy"], ParamValue::Text("none".to_owned()));
    assert_eq!(published.rows[5].values["writers.acked_per_s_sum_of_clients"], None);

    let fast = of("ibm-fast", "laptop");
    assert_eq!((fast.cases[0].load["writers"].clients, fast.cases[0].load["readers"].clients), (12, 24));
    let Role::Produce(writers) = &fast.cases[0].load["writers"].role else { panic!("writers produce") };
    assert_eq!(writers.records_max, Some(240_000_000));
    assert_eq!((writers.client.acks, writers.client.linger_ns), (1, 0));

    let payload = of("ibm-payload", "laptop");
    assert_eq!(payload.cases.len(), 14, "secured and in the open");
    assert_eq!(payload.cases[6].label, "SASL_SSL internal=SSL 500 KiB");
    assert_eq!(payload.published.unwrap().rows.len(), 14);

    let huawei = of("huawei-rate", "laptop");
    assert_eq!(huawei.cases.len(), 5);
    let Role::Produce(writers) = &huawei.cases[3].load["writers"].role else { panic!("writers produce") };
    assert_eq!((writers.client.acks, writers.client.batch_bytes), (-1, 1024));
    let Rate::Open { pieces, .. } = &writers.rate else { panic!("the rate is paced") };
    assert_eq!(pieces[0].from_per_s, 102_400.0);
    let published = huawei.published.unwrap();
    let tested = |row: &&kdyno_model::plan::PublishedRow| {
        huawei.cases.iter().any(|case| row.params.iter().all(|(name, value)| &case.params[name] == value))
    };
    assert_eq!(published.rows.iter().filter(tested).count(), 5, "that from another zone too");
    let SystemPlan::Local(cluster) = &huawei.cases[0].system else { panic!("local") };
    assert_eq!(cluster.brokers, 3);
}

/// As the source's brokers and jobs are; the smallest size is one of two small nodes.
#[test]
fn the_report_of_kubernetes_has_its_sources_sizes() {
    let (own, jobs) = (of("ibm-resilient-kubernetes", "published"), of("ibm-resilient-jobs", "published"));
    let broker = |case: &CasePlan| {
        let SystemPlan::Strimzi(made) = &case.system else { panic!("by Strimzi") };
        let volume = made.volume.as_ref().map(|volume| volume.bytes);
        (made.cluster.brokers, made.cluster.cpu_limit, made.cpu_milli, made.memory_bytes, volume)
    };
    for (place, brokers) in [3, 6, 9].into_iter().enumerate() {
        let (own, jobs) = (&own.cases[place], &jobs.cases[place]);
        let source = (brokers, Some(4.0), Some(4000), Some(8096 << 20), Some(100 << 30));
        assert_eq!((broker(own), broker(jobs)), (source, source));
        let clients = 2 * brokers;
        assert_eq!((own.load["writers"].clients, own.load["readers"].clients), (clients, clients));
        for item in ["writers", "readers"] {
            let pods = jobs.commands[item].pods.as_ref().unwrap();
            assert_eq!(u32::from(pods.count), clients);
            assert_eq!((pods.cpu_milli, pods.memory_bytes), (Some(2000), Some(8096 << 20)));
        }
        assert_eq!((own.topics["perf"].partitions, jobs.topics["perf"].partitions), (clients, clients));
    }
    check_commands_in_pods(&jobs, true).unwrap();
    assert!(check_commands_in_pods(&jobs, false).is_err());
    for id in ["ibm-resilient-kubernetes", "ibm-resilient-jobs"] {
        let (brokers, cpu_limit, cpu_milli, memory, _) = broker(&of(id, "smoke").cases[0]);
        assert_eq!((brokers, cpu_limit, cpu_milli, memory), (1, Some(1.0), Some(100), Some(1 << 30)), "{id}");
    }
}

#[test]
fn the_search_from_hosts_begins_with_a_producer_for_each() {
    let mut intel = of("intel-sla", "hosts");
    let hosts = (1..=4).map(|number| format!("gen-{number}")).collect();
    on_generators(&mut intel, &GeneratorsPlan { hosts, ..GeneratorsPlan::default() }).unwrap();
    let Strategy::Find(find) = &intel.strategy else { panic!("a search") };
    assert_eq!((intel.cases[0].load["writers"].clients, find.from_per_s), (4, 200_000.0));
    let Strategy::Find(find) = of("intel-sla", "published").strategy else { panic!("a search") };
    assert_eq!(find.from_per_s, 50_000.0, "as before there were hosts");
}

#[test]
fn drivers_and_clients_are_set_side_by_side() {
    let reported = |plan: &Plan| {
        plan.cases.iter().map(|case| case.load["writers"].driver.to_string()).collect::<Vec<_>>()
    };
    let drivers = of("drivers", "laptop");
    assert_eq!(reported(&drivers), ["native", "java 3.9.2 -Xmx256m", "java 4.1.2 -Xmx256m"]);
    let linger = |case: &kdyno_model::plan::CasePlan| {
        case.load["writers"].role.as_produce().map(|produce| produce.client.linger_ns)
    };
    assert!(
        drivers.cases.iter().all(|case| linger(case) == Some(5_000_000)),
        "whatever the release's default is"
    );

    let check = of("client-check", "laptop");
    let Strategy::Compare(compare) = &check.strategy else { panic!("a comparison") };
    assert_eq!(reported(&check), ["java 4.1.2 -Xmx512m"]);
    assert_eq!(compare.b[0].load["writers"].driver.to_string(), "java 4.4.0 -Xmx512m");
    assert_eq!(compare.changes, ["load.writers.client.version: 4.1.2 → 4.4.0"]);
    assert!(estimate(&check).longest_ns <= 600_000_000_000, "ten minutes: {:?}", estimate(&check));
    let judged: Vec<String> = compare.judge.iter().map(|judge| judge.of.to_string()).collect();
    let wanted = ["client_threads_cpu_us_per_record", "client_allocated_bytes_per_record"];
    assert_eq!(judged, wanted.map(|metric| format!("writers.{metric}")));
    let path = bundled().into_iter().find(|path| path.ends_with("client-check.yaml")).unwrap();
    let (mut smallest, mut warned) = (String::new(), String::new());
    for note in remarks(&read(&path), &choices(), &check).unwrap() {
        match note {
            Remark::Fact(text) if text.contains("smallest differences") => smallest = text,
            Remark::Fact(_) => {}
            Remark::Warning(text) => warned.push_str(&text),
        }
    }
    assert!(smallest.ends_with("writers.client_allocated_bytes_per_record 0.3 %"), "{smallest}");
    // Whether both at once would spread less was not measured.
    assert!(!warned.contains("allocated") && !warned.contains("duet"), "{warned}");
}
