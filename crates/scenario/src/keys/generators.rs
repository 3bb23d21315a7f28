//! Keys of generators: the hosts and pods that carry a load.

use super::secret::SECRET;
use super::{COUNT, DURATION, SIZE, Section, TEXT, ValueKind, key, needed, or, section};

/// What is under `share` by load item.
pub const HOSTS_OF_ITEMS: &str = "lists of hosts by load item";

/// What is under `node_selector`.
const LABELS: &str = "labels of nodes";

/// Hosts that carry a load.
pub static GENERATORS: Section = section(
    "generators",
    "Other hosts that generate the load, instead of the host on which kdyno runs. Also a file of its own: `--generators FILE`. \
     `hosts`, `kubernetes`, or both.",
    &[
        key(
            "hosts",
            ValueKind::List(&ValueKind::Section(&GENERATOR)),
            "the hosts, at most 100 with the pods",
        ),
        key(
            "kubernetes",
            ValueKind::Section(&KUBERNETES),
            "pods that are made for the run and removed at its end",
        ),
        or(
            "share",
            ValueKind::Either(&[ValueKind::Choice(&["even"]), ValueKind::Settings(HOSTS_OF_ITEMS)]),
            "even",
            "how the clients of load items are shared: `even`, all items among all hosts; or the hosts of some items, as in \
             `{readers: [gen-2]}`, and all others among all hosts",
        ),
        or(
            "lost_workers",
            ValueKind::Choice(&["end", "report"]),
            "end",
            "what becomes of a trial that loses the worker of a host: `end`, it ends and is invalid; `report`, it goes on with the load that \
             is left, unless it was still warming up, and its figures cover the time before: for loads of hours",
        ),
    ],
);

/// A host that carries a load.
pub static GENERATOR: Section = section(
    "generator",
    "One of `ssh` and `connect`: how its agent is reached.",
    &[
        key("name", TEXT, "its name in reports and in `share`; without it the host of `ssh` or `connect`"),
        key(
            "ssh",
            TEXT,
            "`HOST` or `USER@HOST` as ssh takes it; ports, keys and jump hosts are those of ssh's own configuration",
        ),
        key(
            "ssh_config",
            TEXT,
            "with `ssh`: file by which ssh is configured instead of the user's own (`ssh -F`), relative to this file's folder",
        ),
        key(
            "program",
            TEXT,
            "with `ssh`: path of a kdyno that is there; without it the kdyno of the run is copied to \
             `~/.cache/kdyno/SHA256/kdyno` there, once",
        ),
        key("connect", TEXT, "`HOST:PORT` at which `kdyno agent --listen` answers"),
        key(
            "certificate",
            TEXT,
            "with `connect`: PEM file with the agent's certificate, relative to this file's folder",
        ),
        key("token", ValueKind::Section(&SECRET), "with `connect`: where the agent's token is"),
    ],
);

/// Pods that carry a load.
pub static KUBERNETES: Section = section(
    "kubernetes",
    "Pods of a Kubernetes cluster that carry the load, each a generator: `pod-0`, `pod-1` and so on. The cluster is reached as by \
     `kubectl`.",
    &[
        key(
            "context",
            TEXT,
            "context of the kubeconfig; without it the current one, or the cluster in which kdyno runs",
        ),
        key("namespace", TEXT, "their namespace; without it that of the context"),
        needed("image", TEXT, "kdyno's image by its digest, `NAME@sha256:…`"),
        needed("pods", COUNT, "number of pods"),
        or(
            "cpu",
            ValueKind::Scalar("a number of CPUs", "NUMBER"),
            "1",
            "CPUs that are reserved for each pod; it may use more where its node has them idle",
        ),
        or("memory", SIZE, "1GiB", "memory of each pod"),
        or(
            "spread",
            TEXT,
            "kubernetes.io/hostname",
            "label of nodes: the numbers of pods on nodes with different values of it differ by 1 at most",
        ),
        key("node_selector", ValueKind::Settings(LABELS), "labels that a node needs to get a pod"),
        key(
            "secrets",
            ValueKind::List(&ValueKind::Section(&MOUNTED_SECRET)),
            "secrets of the namespace that pods see as files",
        ),
        or("wait", DURATION, "5m", "how long the pods may take until all of them run"),
        key(
            "service_account",
            TEXT,
            "with `--in kubernetes`: service account of the lab's pod, with the rights of `kdyno kubernetes role`, by which it makes the \
             pods that carry the load, and brokers by Strimzi; without it the lab's own pod carries the load",
        ),
        key(
            "claim",
            TEXT,
            "with `--in kubernetes`: persistent volume claim of the namespace on which the lab's pod keeps run files; without it they go \
             with the pod once they are copied",
        ),
    ],
);

/// A secret that pods see as files.
pub static MOUNTED_SECRET: Section = section(
    "mounted secret",
    "A secret of the namespace and where its files are.",
    &[
        needed("secret", TEXT, "name of the secret"),
        needed("at", TEXT, "folder in the pod, an absolute path"),
    ],
);
