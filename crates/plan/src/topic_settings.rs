//! Settings of topics: the names that releases of Kafka know, so that a misspelt one is reported before brokers are
//! started.

use kdyno_model::plan::Plan;
use kdyno_model::version::NEWEST;
use kdyno_scenario::input::{meant, quoted};
use std::collections::BTreeSet;

/// Settings of 2.7.2, 3.7.2, 4.1.1 and 4.3.1 together, from their `TopicConfig` and `LogConfig`; not each has them all.
const KNOWN: &[&str] = &[
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "index.interval.bytes",
    "internal.segment.bytes",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.downconversion.enable",
    "message.format.version",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
    "unclean.leader.election.enable",
];

/// A sentence for each name that no release is known to have. Other builds, and clusters of others, may have more of them;
/// so may a release that is newer than this list, which is why it is no error.
pub(crate) fn unknown(plan: &Plan) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for case in plan.every_case() {
        if case.system.release().is_none() {
            continue;
        }
        for (address, topic) in &case.topics {
            for name in topic.config.keys().filter(|name| !KNOWN.contains(&name.as_str())) {
                let near = meant(name, KNOWN.iter().copied());
                let near = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
                found.insert(format!(
                    "no release of Kafka up to {NEWEST} is known to have the setting {} of topic `{address}`, and brokers \
                     refuse a topic with one that they do not have{near}",
                    quoted(name)
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::Choices;
    use kdyno_scenario::Scenario;

    fn reported(kafka: &str, config: &str) -> Vec<String> {
        let text = format!(
            "kdyno: 1\nid: x\nquestion: why?\nsystem: {{kafka: {kafka}}}\n\
             topics: {{t: {{partitions: 1, config: {{{config}}}}}}}\n\
             load: {{w: {{produce: t, rate: max, value: 1KiB}}}}\nphases: {{measure: 1s}}\n"
        );
        let scenario = Scenario::parse(&text, "x.yaml").expect("a scenario");
        unknown(&crate::plan(&scenario, &Choices::default()).expect("a plan")).into_iter().collect()
    }

    #[test]
    fn a_misspelt_topic_setting_is_reported_with_the_nearest_one() {
        let found = reported("4.1.1", "min.insync.replica: 1, retention.bytes: 1GiB, max.mesage.bytes: 1MiB");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`max.mesage.bytes` of topic `t`"), "{found:?}");
        assert!(found[0].ends_with(": did you mean `max.message.bytes`?"), "{found:?}");
        assert!(found[1].ends_with(": did you mean `min.insync.replicas`?"), "{found:?}");
        let far = reported("4.1.1", "zzz: 1");
        assert!(far[0].ends_with("that they do not have"), "{far:?}");
        assert!(reported("{home: k}", "min.insync.replica: 1").is_empty(), "a build may have others");
        // The one that says how large records may be has to let those of the load through.
        let value = |name: &str| if name == "max.message.bytes" { "1MiB" } else { "1" };
        let all: Vec<String> = KNOWN.iter().map(|name| format!("{name}: {}", value(name))).collect();
        assert!(reported("4.1.1", &all.join(", ")).is_empty());
    }
}
