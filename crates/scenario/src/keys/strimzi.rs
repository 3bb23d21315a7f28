//! Keys of a cluster that Strimzi makes.

use super::{DURATION, SIZE, Section, TEXT, ValueKind, key, or, section};
use kdyno_model::plan::StrimziListener;

/// A cluster that Strimzi makes.
pub static STRIMZI: Section = section(
    "strimzi",
    "Brokers in Kubernetes: Strimzi's operator, which must run there, makes the cluster for each start and removes it. Release, \
     `mode`, `brokers`, `config`, `listeners`, `limits.heap` and `limits.cpus` are those of `system`; of logins Strimzi knows \
     SCRAM-SHA-512 and certificates.",
    &[
        key(
            "context",
            TEXT,
            "context of the kubeconfig; without it the current one, or the cluster in which kdyno runs",
        ),
        key("namespace", TEXT, "namespace that the operator watches; without it that of the context"),
        key(
            "cpu",
            ValueKind::Scalar("a number of CPUs", "NUMBER"),
            "CPUs that are reserved for each broker; `limits.cpus` limits them",
        ),
        key("memory", SIZE, "memory of each broker, with room for the page cache next to the heap"),
        or(
            "storage",
            ValueKind::Scalar("`ephemeral` or a size", "ephemeral|SIZE"),
            "ephemeral",
            "`ephemeral`: the node's own disk, without a volume; or the size of a volume that each broker gets, and that is deleted \
             with the cluster",
        ),
        key("class", TEXT, "storage class of the volumes; without it the cluster's default"),
        or(
            "listener",
            ValueKind::Choice(StrimziListener::NAMES),
            "internal",
            "Strimzi's type of the listener: `internal` is reached from within Kubernetes alone, the others from outside too",
        ),
        key(
            "template",
            TEXT,
            "YAML file with a `Kafka`, a `KafkaNodePool` or both, relative to the scenario; what the scenario says is laid over it",
        ),
        or("wait", DURATION, "10m", "how long the cluster may take until it is ready"),
    ],
);
