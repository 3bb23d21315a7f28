//! Many topics at once: one load item over all of them.

use kdyno_model::plan::{CasePlan, Driver, LoadPlan, Payload, Role};
use kdyno_plan::{Choices, check_stored, plan, volume_bytes};
use kdyno_scenario::Scenario;
use kdyno_scenario::input::InputError;

fn planned(topics: &str, load: &str, more: &str) -> Result<kdyno_model::plan::Plan, String> {
    let text = format!(
        "kdyno: 1\nid: many\nquestion: How many?\nparams: {{topics: 3}}\nsystem: {{brokers: 1}}\ntopics: {{{topics}}}\n\
         load: {{{load}}}\nphases: {{warmup: 1s, condition: none, measure: 9s}}\n{more}"
    );
    let reported = |error: InputError| format!("{error}; {}", error.hint.as_deref().unwrap_or_default());
    let scenario = Scenario::parse(&text, "s.yaml").map_err(reported)?;
    plan(&scenario, &Choices::default()).map_err(reported)
}

const TOPICS: &str = "t: {count: $topics, partitions: 2}, one: {partitions: 1}";
const WRITERS: &str = "w: {produce: t, clients: 2, rate: 10/s, value: 100B}";

fn topics(item: &LoadPlan) -> Vec<&str> {
    item.topics().collect()
}

#[test]
fn an_item_has_as_many_clients_for_each_of_its_topics() {
    let load = format!("{WRITERS}, r: {{consume: t, group: g}}, o: {{consume: one, clients: 2}}");
    let plan = planned(TOPICS, &load, "").expect("a plan");
    let case: &CasePlan = &plan.cases[0];
    let names: Vec<&str> = case.topics.keys().map(String::as_str).collect();
    assert_eq!(names, ["one", "t-001", "t-002", "t-003"]);
    let [writers, readers, others] = ["w", "r", "o"].map(|name| &case.load[name]);
    assert_eq!(topics(writers), ["t-001", "t-002", "t-003"]);
    assert_eq!((writers.clients, writers.topic_count(), writers.clients_of_topic()), (6, 3, 2));
    assert_eq!((topics(readers), readers.clients), (topics(writers), 3));
    assert_eq!((topics(others), others.clients, others.topic_count()), (vec!["one"], 2, 1));
    assert!(matches!(writers.driver, Driver::Native) && case.has_end_to_end(readers));
    assert_eq!(case.fullest_share(readers).map(|share| (share.partitions, share.of)), Some((2, 2)));
    // The rate is that of the whole item.
    assert_eq!(volume_bytes(&plan), Some(10 * 10 * 100));
    assert_eq!(check_stored(&plan), Ok(()));
    let single = planned("t: {count: 1, partitions: 2}", WRITERS, "").expect("a plan");
    assert_eq!(topics(&single.cases[0].load["w"]), ["t"]);
    let many = planned("t: {count: 1000, partitions: 1}", WRITERS, "").expect("a plan");
    assert_eq!(many.cases[0].load["w"].more_topics.last().map(String::as_str), Some("t-1000"));
}

/// A worker has a thread, and with `payload: pooled` a pool, for each topic of each item.
#[test]
fn threads_and_pools_of_all_topics_are_bounded() {
    const MANY: &str = "t: {count: 1000, partitions: 1}";
    let items = |readers: u32| {
        let readers = (1..=readers).map(|reader| format!(", r{reader}: {{consume: t}}"));
        format!("{WRITERS}{}", readers.collect::<String>())
    };
    let error = planned(MANY, &items(5), "").expect_err("six times 1,000");
    assert!(error.contains("`r5`: with it the load has more than 5000 threads"), "{error}");
    assert!(error.starts_with("s.yaml:") && error.ends_with("; a lower `count` of the topic"), "{error}");
    let mut most = planned(MANY, &items(4), "").expect("a plan");
    assert_eq!(check_stored(&most), Ok(()));
    let item = most.cases[0].load["r4"].clone();
    most.cases[0].load.insert("r5".to_owned(), item);
    let error = check_stored(&most).expect_err("six times 1,000").message;
    assert!(error.contains("has 6000, which is outside 0 to 5000 (`cases.0.load`)"), "{error}");

    let pooled = |bytes: &str| WRITERS.replace("value: 100B", &format!("value: 100B, payload: {bytes}"));
    let error = planned(TOPICS, &pooled("{pooled: 400MiB}"), "").expect_err("three pools");
    assert!(error.contains("each of 3 topics has a pool of its own: together more than 1 GiB"), "{error}");
    assert!(error.ends_with("; a smaller pool, or `payload: unique`"), "{error}");
    let mut fits = planned(TOPICS, &pooled("{pooled: 300MiB}"), "").expect("a plan");
    assert_eq!(check_stored(&fits), Ok(()));
    let Role::Produce(produce) = &mut fits.cases[0].load.get_mut("w").expect("it produces").role else {
        panic!("it produces")
    };
    produce.payload = Payload::Pooled { pool_bytes: 400 << 20 };
    let error = check_stored(&fits).expect_err("three pools").message;
    assert!(error.ends_with("(`cases.0.load.w.payload`)"), "{error}");
}

#[test]
fn what_is_of_one_topic_alone_is_refused() {
    let java = WRITERS.replace("clients: 2", "client: {driver: java, version: 4.1.1}");
    let crowded = WRITERS.replace("clients: 2", "clients: 4000");
    let numbered = WRITERS.replace("produce: t", "produce: t-001");
    let search = "find: {highest: w.clients, each: 10/s, to: 100/s, while: [w.response.p99 <= 20ms]}\n";
    let find = "find: {highest: w.rate, from: 10/s, to: 100/s, while: [w.response.p99 <= 20ms]}\n";
    assert!(planned(TOPICS, WRITERS, find).is_ok());
    for (topics, load, more, words) in [
        (TOPICS, "p: {end_to_end: t}", "", "`t` are 3 topics: a probe has a topic of its own"),
        (TOPICS, java.as_str(), "", "a Java client would need a process for each of them"),
        (TOPICS, crowded.as_str(), "", "4000 for each of 3 topics are more than"),
        (TOPICS, WRITERS, search, "`w` has 3 topics, each with as many clients"),
        ("t: {count: 3, partitions: 1}, t-002: {partitions: 1}", WRITERS, "", "topic `t-002` is there twice"),
        ("t: {count: 0, partitions: 1}", WRITERS, "", "`count`"),
        ("t: {count: 1001, partitions: 1}", WRITERS, "", "`count`"),
        (TOPICS, numbered.as_str(), "", "is not a topic of this scenario"),
    ] {
        let error = planned(topics, load, more).expect_err(words);
        assert!(error.starts_with("s.yaml:") && error.contains(words), "{words}: {error}");
    }
}
