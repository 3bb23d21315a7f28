//! Who else had the processors.

use crate::caveat::row::{CaveatGroup, CaveatRow, alike, reported, saturation, warning};
use crate::caveat::{Caveat, CaveatKind};

const HOST: CaveatRow = CaveatRow { group: CaveatGroup::Host, ..CaveatRow::PLAIN };

pub(super) const ROWS: &[CaveatRow] = &[
    CaveatRow {
        kind: CaveatKind::HostShared,
        short: "another measured run used this host at the same time",
        usual: warning("another measured run used the host at the same time"),
        words: &[reported(
            "{detail}",
            "another measured run used this host at the same time ({detail}): each took CPUs and disk from the other",
            "run one at a time, and repeat",
        )],
        ..HOST
    },
    CaveatRow {
        kind: CaveatKind::Steal,
        short: "the hypervisor took {share:percent} of the CPU time",
        usual: warning("the hypervisor took more than 1 % of CPU time"),
        words: &[reported(
            "",
            "the hypervisor took {share:percent} of the CPU time: rates may be too low and latencies too high",
            "repeat on a quieter host, and compare only trials that ran close together",
        )],
        ..HOST
    },
    CaveatRow {
        kind: CaveatKind::OtherLoad,
        short: "other programs used {cpu_percent:cores}",
        usual: warning(
            "other programs (not part of the run) used more than 15 % of the host's CPUs, what the hypervisor took not counted; \
             not reported for a target on this host, whose brokers are among them",
        ),
        words: &[reported(
            "",
            "other programs used {cpu_percent:cores}: this changes CPU per record first, then latencies and rates, and each may be too \
             high or too low",
            "end them, or run where nothing else does, and repeat",
        )],
        more: "What other programs change is the CPU time per record first, then latencies and rates, and each in either \
                direction: they take CPUs and caches from brokers and load, yet a CPU that is kept busy does not \
                sleep, so a load may also become cheaper and quicker (measured next to a program with 0.7 of a core: CPU time per \
                record − 28 %, p50 − 20 %). Processes that `--probe` names are among them.",
        ..HOST
    },
    CaveatRow {
        kind: CaveatKind::WaitedForProcessor,
        short: "CPU contention: threads of {who} waited for a CPU up to {share:percent_most} of the window (sum of threads)",
        name: "who",
        usual: saturation(
            "a load item's thread was ready without a CPU for more than 5 % of the window; or the brokers' threads, together, for \
             more than 20 % of their runnable time, in which they ran or were ready, and more than 5 % of the window; the printed share is \
             of the window for a thread, of runnable time for brokers",
        ),
        words: &[
            reported(
                "brokers",
                "CPU contention: threads of {who} waited for a CPU {share_of_ready:percent} of their runnable time: rates may be too low \
                 and latencies too high",
                WAITED_REMEDY,
            )
            .only(|of| matches!(of, Caveat::WaitedForProcessor { share_of_ready: Some(_), .. })),
            reported(
                "{who}",
                "CPU contention: threads of {who} waited for a CPU {share:percent} of the window (sum of threads): rates may be too low \
                 and latencies too high",
                WAITED_REMEDY,
            ),
        ],
        more: "A thread's CPU time does not show what it waited for, so its run delay is read \
                ([probes](probes.md#hosts-and-processes)).",
        ..HOST
    },
    CaveatRow {
        kind: CaveatKind::ProcessorLimited,
        short: "a CPU limit (cgroup) throttled processes of the run",
        usual: warning("a limit on CPU time (cgroup) held a process of the run for more than 1 % of the window"),
        words: &[reported(
            "",
            "a limit on CPU time (cgroup) stopped processes of the run, added up over CPUs for {share:percent} of the \
             window: rates may be too low and latencies too high",
            "lift the limit of the container or service that kdyno runs in, or of its brokers (`limits.cpus`)",
        )],
        more: "The time for which limits held a process's groups is read once a second \
                ([probes](probes.md#hosts-and-processes)).",
        ..HOST
    },
    CaveatRow {
        kind: CaveatKind::SharedProcessors,
        short: "brokers and load generator share {processors:processors}: do not read the figures as a cluster's own",
        usual: alike(
            "brokers run on the same host as the load: a cluster of our own, or a target all of whose addresses are loopback",
        ),
        words: &[reported(
            "",
            "brokers and load generator share the same {processors:processors}, so each takes time from the other",
            "compare cases of this run with each other; for absolute figures attach to a cluster on other machines",
        )],
        ..HOST
    },
];

const WAITED_REMEDY: &str = "use fewer brokers, a lower rate or more CPUs, and where both sides of a comparison run at once `--design turns`";
