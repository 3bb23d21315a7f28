//! Files of other tools that somebody gives as a scenario or a target: the error says what they are, not which of their keys
//! looks like one of ours.

use crate::input::{InputError, Mistake};
use crate::keys::{self, Section};

/// Most lines of a text that are looked at.
const LINES_MAX: usize = 2000;

/// A text as far as formats are recognised by it.
struct Looked<'t> {
    text: &'t str,
    keys: Vec<&'t str>,
}

impl<'t> Looked<'t> {
    /// Keys of the outermost map of YAML; of JSON those of all maps.
    fn new(text: &'t str) -> Self {
        let is_json = text.trim_start().starts_with('{');
        let key = |line: &'t str| {
            let line = if is_json { line.trim_start_matches([' ', '\t', '{']) } else { line };
            let (key, _) = line.split_once(':')?;
            let key = key.trim_matches('"');
            let is_key =
                key.starts_with(|c: char| c.is_ascii_alphabetic()) && !key.contains(char::is_whitespace);
            is_key.then_some(key)
        };
        Self { text, keys: text.lines().take(LINES_MAX).filter_map(key).collect() }
    }

    fn has(&self, part: &str) -> bool {
        self.text.contains(part)
    }

    fn has_keys(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.keys.contains(key))
    }
}

/// What a file is, how it is known, and what to do with it.
type FileFormat = (&'static str, fn(&Looked<'_>) -> bool, &'static str);

const FORMATS: &[FileFormat] = &[
    (
        "a task of Trogdor",
        |file| file.has("org.apache.kafka.trogdor."),
        "kdyno does not read them; here `activeTopics` are in `topics`, `targetMessagesPerSec` is `rate` of a load item, \
         `producerConf` its `client`, and `maxMessages` is `measure: {records: N}`",
    ),
    (
        "a driver of the OpenMessaging Benchmark",
        |file| file.has_keys(&["driverClass"]) && file.has("io.openmessaging"),
        "`kdyno omb --drivers FILE WORKLOAD.yaml` runs it as it is, `--print-scenario` writes the resulting scenario",
    ),
    (
        "a workload of the OpenMessaging Benchmark",
        |file| file.has_keys(&["partitionsPerTopic", "messageSize"]),
        "`kdyno omb --drivers DRIVER.yaml FILE` runs it as it is, `--print-scenario` writes the resulting scenario",
    ),
    (
        "a script of k6",
        |file| {
            ["'k6", "\"k6"]
                .iter()
                .any(|module| file.has(&format!("from {module}")) || file.has(&format!("require({module}")))
        },
        "kdyno does not read them; a load item starts it as it is: `{command: [k6, run, FILE]}`",
    ),
    (
        "a plan of JMeter",
        |file| file.has("<jmeterTestPlan"),
        "kdyno does not read them; a load item starts it as it is: `{command: [jmeter, -n, -t, FILE]}`",
    ),
    (
        "a script of Locust",
        |file| file.has("from locust import") || file.has("import locust"),
        "kdyno does not read them; a load item starts it as it is: `{command: [locust, --headless, -f, FILE]}`",
    ),
    (
        "a resource of Strimzi",
        |file| file.has_keys(&["apiVersion", "kind"]) && file.has("kafka.strimzi.io/"),
        "a cluster that is there is measured with `--target FILE`, or for a first figure with `kdyno quick \
         --bootstrap-server HOST:PORT`",
    ),
    (
        "a resource of Kubernetes",
        |file| file.has_keys(&["apiVersion", "kind"]),
        "a cluster that is there is measured with `--target FILE`, or for a first figure with `kdyno quick \
         --bootstrap-server HOST:PORT`",
    ),
    (
        "a file of Docker Compose",
        |file| file.has_keys(&["services"]) && file.has("image:"),
        "a cluster that it starts is measured with `--target FILE`, or for a first figure with `kdyno quick \
         --bootstrap-server HOST:PORT`",
    ),
    (
        "a properties file of Kafka's brokers",
        |file| {
            is_properties(
                file.text,
                &["process.roles", "log.dirs", "zookeeper.connect", "controller.quorum.voters"],
            )
        },
        "here settings of brokers are in `config` of the `system`; `kdyno init` writes a scenario to begin with",
    ),
    (
        "a properties file of Kafka's clients",
        |file| {
            is_properties(
                file.text,
                &["bootstrap.servers", "security.protocol", "sasl.mechanism", "acks", "group.id"],
            )
        },
        "`kdyno quick --command-config FILE` takes it as it is, `kdyno init --from FILE` writes a scenario with its settings; \
         a target names it: `client: {properties: FILE}`",
    ),
    (
        "a properties file",
        |file| is_all_properties(file.text),
        "`kdyno init` writes a scenario to begin with",
    ),
    (
        "a target",
        |file| file.has_keys(&["kdyno", "target", "cluster_id"]),
        "a scenario runs on it with `--target FILE`",
    ),
    (
        "a scenario",
        |file| file.has_keys(&["kdyno", "question"]),
        "`kdyno run FILE` runs it; a target has `target`, `cluster_id`, `client` and `guard`",
    ),
];

/// Whether one of the lines sets one of these properties.
fn is_properties(text: &str, names: &[&str]) -> bool {
    text.lines().take(LINES_MAX).any(|line| {
        let set = line.trim_start().split_once('=').map(|(name, _)| name.trim_end());
        set.is_some_and(|name| names.contains(&name))
    })
}

/// Whether every line that says something sets a property.
fn is_all_properties(text: &str) -> bool {
    let says = |line: &&str| !line.is_empty() && !line.starts_with(['#', '!']);
    let sets = |line: &str| {
        let name = line.split_once('=').map(|(name, _)| name.trim_end());
        name.is_some_and(|name| !name.is_empty() && !name.contains([' ', ':', '{', '[']))
    };
    let mut saying = text.lines().take(LINES_MAX).map(str::trim).filter(says).peekable();
    saying.peek().is_some() && saying.all(sets)
}

/// The error for a text that could not be read as `expected`, where it is known to be something else; else the one that
/// there is.
pub(crate) fn recognised(text: &str, expected: &str, error: InputError) -> InputError {
    let file = Looked::new(text);
    let found = FORMATS.iter().find(|(what, is_it, _)| *what != expected && is_it(&file));
    let is_ours = |what: &str| ["a target", "a scenario"].contains(&what);
    match found {
        // What has the first key of ours is meant to be ours, whatever else there is.
        Some((what, ..)) if !is_ours(what) && file.has_keys(&["kdyno"]) => error,
        Some((what, _, hint)) => InputError::whole(format!("this is {what}, not {expected}")).hint(*hint),
        None if expected == "a scenario" && is_foreign(&file, &keys::SCENARIO, &error) => {
            InputError::whole("this is no scenario: it has none of a scenario's keys")
                .hint("`kdyno init` writes one, `kdyno scenarios first-light` prints one to begin with")
        }
        None => error,
    }
}

/// Whether what was read has keys, and none of a section's.
fn is_foreign(file: &Looked<'_>, section: &Section, error: &InputError) -> bool {
    let is_of_keys = matches!(error.mistake, Mistake::Key(_) | Mistake::Lacks(_));
    is_of_keys && !section.keys.iter().any(|key| file.keys.contains(&key.name))
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use crate::target::TargetFile;

    const TARGET: &str = "kdyno: 1\ntarget: staging\ncluster_id: aB3x\nclient: {bootstrap: ['a:9092']}\nguard: {prefix: perf-}\n";

    fn scenario(text: &str) -> String {
        let error = Scenario::parse(text, "f.yaml").map(drop).expect_err(text);
        format!("{error} | {:?}", error.hint)
    }

    #[test]
    fn files_of_other_tools_are_recognized_by_content() {
        for (text, what, hint) in [
            (
                "name: 1 topic / 1 partition / 1Kb\n\ntopics: 1\npartitionsPerTopic: 1\nmessageSize: 1024\n\
                 payloadFile: payload/payload-1Kb.data\nproducerRate: 80000\ntestDurationMinutes: 10\n",
                "a workload of the OpenMessaging Benchmark",
                "kdyno omb --drivers DRIVER.yaml FILE",
            ),
            (
                "name: Kafka\ndriverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver\n\
                 replicationFactor: 3\nproducerConfig: |\n  acks=all\n",
                "a driver of the OpenMessaging Benchmark",
                "kdyno omb --drivers FILE",
            ),
            (
                "{\n  \"class\": \"org.apache.kafka.trogdor.workload.ProduceBenchSpec\",\n  \"durationMs\": 1000,\n\
                 \"targetMessagesPerSec\": 10\n}\n",
                "a task of Trogdor",
                "`targetMessagesPerSec` is `rate`",
            ),
            (
                "import http from 'k6/http';\nexport const options = { vus: 10 };\nexport default function () {}\n",
                "a script of k6",
                "command: [k6, run",
            ),
            ("<?xml version=\"1.0\"?>\n<jmeterTestPlan version=\"1.2\">\n", "a plan of JMeter", "jmeter"),
            ("from locust import HttpUser\nclass Me(HttpUser):\n    pass\n", "a script of Locust", "locust"),
            (
                "services:\n  kafka:\n    image: apache/kafka:4.1.1\n    ports: ['9092:9092']\n",
                "a file of Docker Compose",
                "kdyno quick",
            ),
            (
                "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: &m\n  name: x\n---\nkind: KafkaNodePool\n",
                "a resource of Strimzi",
                "--target",
            ),
            ("apiVersion: v1\nkind: Pod\n", "a resource of Kubernetes", "--target"),
            (
                "bootstrap.servers=a:9092\nacks=all\n",
                "a properties file of Kafka's clients",
                "--command-config",
            ),
            ("# mine\nlinger.ms = 5\nretries=3\n", "a properties file", "`kdyno init`"),
            ("process.roles=broker\nnode.id=1\n", "a properties file of Kafka's brokers", "`system`"),
            (TARGET, "a target", "--target"),
        ] {
            let reported = scenario(text);
            assert!(reported.starts_with(&format!("f.yaml: this is {what}, not a scenario")), "{reported}");
            assert!(reported.contains(hint), "{reported}");
        }
    }

    #[test]
    fn files_meant_for_us_are_recognized_by_place() {
        let reported = scenario("kdyno: 1\nid: a\nquestion: b\nservices: {x: {image: y}}\nload: {}\n");
        assert!(reported.starts_with("f.yaml:4:1: `services` is not a key"), "{reported}");
        assert!(scenario("name: x\nload: {}\n").contains("`name` is not a key"), "it has a key of ours");
        let foreign = scenario("name: x\nsteps: [{run: make}]\n");
        assert!(foreign.starts_with("f.yaml: this is no scenario: "), "{foreign}");
        assert!(foreign.contains("`kdyno init`"), "{foreign}");
        let target =
            |text: &str| TargetFile::parse(text, "t.yaml").map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(target(TARGET), Ok(()));
        let reported = target("kdyno: 1\nid: a\nquestion: b\nload: {}\n").expect_err("no target");
        assert_eq!(reported, "t.yaml: this is a scenario, not a target");
        let reported = target("bootstrap.servers=a:9092\n").expect_err("no target");
        assert_eq!(reported, "t.yaml: this is a properties file of Kafka's clients, not a target");
    }
}
