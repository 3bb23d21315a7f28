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
    let hint = "; a lower `count` of the topic, or all of them for each client: `[t]`";
    assert!(error.starts_with("s.yaml:") && error.ends_with(hint), "{error}");
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
        (
            TOPICS,
            "r: {consume: t, group: g}, s: {consume: [t], group: g}",
            "",
            "group `g`: `r` and `s` have the same topics, one of them in a list",
        ),
    ] {
        let error = planned(topics, load, more).expect_err(words);
        assert!(error.starts_with("s.yaml:") && error.contains(words), "{words}: {error}");
    }
}

const TWO: &str = "b: {partitions: 2}, a: {partitions: 1}";

/// A list is the topics of each client.
#[test]
fn each_client_has_all_topics_of_a_list() {
    let load = "w: {produce: [b, a], clients: 2, rate: 10/s, value: 100B}, r: {consume: [a, b], clients: 3, group: g}";
    let plan = planned(TWO, load, "").expect("a plan");
    for (name, clients) in [("w", 2), ("r", 3)] {
        let item = &plan.cases[0].load[name];
        assert_eq!(topics(item), ["a", "b"], "items with the same topics have them in one order");
        assert!(item.shared_topics);
        assert_eq!((item.clients, item.stream_count(), item.clients_of_topic()), (clients, 1, clients));
        assert_eq!(plan.cases[0].partitions_of_client(item), 3);
    }
    assert!(plan.cases[0].has_end_to_end(&plan.cases[0].load["r"]));
    assert_eq!(volume_bytes(&plan), Some(10 * 10 * 100));
    assert_eq!(check_stored(&plan), Ok(()));
    // A topic with a `count` gives all of its topics.
    let counted = WRITERS.replace("produce: t", "produce: [t]");
    let many = planned("t: {count: 1000, partitions: 1}", &counted, "").expect("a plan");
    let writers = &many.cases[0].load["w"];
    assert_eq!((writers.clients, writers.topic_count(), writers.stream_count()), (2, 1000, 1));
    assert_eq!(check_stored(&many), Ok(()));
    // One topic is one, also in a list.
    let single = planned("t: {partitions: 1}", &counted, "").expect("a plan");
    let writers = &single.cases[0].load["w"];
    assert!(!writers.shared_topics && topics(writers) == ["t"]);
}

#[test]
fn what_a_list_of_topics_cannot_be_is_said() {
    let writers = |more: &str| format!("w: {{produce: [a, b], rate: 10/s, value: 100B{more}}}");
    let java = writers(", client: {driver: java, version: 4.1.1}");
    let (transactions, keyed) =
        (writers(", transactions: {every: 100ms}"), writers(", key: {uniform: {of: 9, size: 9B}}"));
    let partition = writers(", partition: 1");
    let part = format!("{}, r: {{consume: a}}", writers(""));
    let twice = "w: {produce: [a, a], rate: 10/s, value: 100B}";
    let none = "w: {produce: [], rate: 10/s, value: 100B}";
    let unknown = "w: {produce: [a, c], rate: 10/s, value: 100B}";
    let probe = "p: {end_to_end: [a, b]}";
    let large = "w: {produce: [a, t], rate: 10/s, value: 100B}";
    for (topics, load, words) in [
        (TWO, java.as_str(), "`a`, `b` are 2 topics: a Java client of kdyno's has one topic"),
        (TWO, &transactions, "`a`, `b`: a transaction of kdyno's clients has one topic"),
        (TWO, &keyed, "choose among equally many partitions of each: `a` has 1, `b` has 2"),
        (TWO, &partition, "topic `a` has no partition 1"),
        (TWO, &part, "`w` and `r` have `a` in common, and not all of their topics"),
        (TWO, twice, "`a` is twice in the list of topics"),
        (TWO, none, "`produce` is empty"),
        (TWO, unknown, "`c` is not a topic of this scenario"),
        (TWO, probe, "`end_to_end` takes a single value, not a list"),
        (
            "a: {partitions: 1}, t: {count: 1000, partitions: 1}",
            large,
            "a client has at most 1000 topics, and these are 1001",
        ),
        (
            "a: {partitions: 1}, b: {partitions: 1, config: {max.message.bytes: 120}}",
            &writers(""),
            "the largest message of the topic (`max.message.bytes`) is 120 B",
        ),
    ] {
        let error = planned(topics, load, "").expect_err(words);
        assert!(error.starts_with("s.yaml:") && error.contains(words), "{words}: {error}");
    }
    let equal = "b: {partitions: 2}, a: {partitions: 2}";
    assert!(planned(equal, &keyed, "").is_ok());
}

/// As a run file may have it that somebody else made.
#[test]
fn stored_items_have_all_topics_in_common_or_none() {
    let load = "w: {produce: [b, a], rate: 10/s, value: 100B}, r: {consume: [a, b]}";
    let plan = planned(TWO, load, "").expect("a plan");
    let refused = |change: &dyn Fn(&mut LoadPlan), words: &str| {
        let mut stored = plan.clone();
        change(stored.cases[0].load.get_mut("r").expect("it reads"));
        let error = check_stored(&stored).expect_err(words).message;
        assert!(error.contains(words), "{error}");
    };
    let words = "has load items with some topics in common, and not all (`cases.0.load`)";
    refused(&|item| item.more_topics.clear(), words);
    refused(&|item| (item.topic, item.more_topics) = ("b".to_owned(), vec!["a".to_owned()]), words);
}
