//! Who else had the processors.

use super::words::{Described, Numbers, told};
use kdyno_model::caveat::Caveat;

/// Other programs, the hypervisor, limits, and processes of the run that waited for each other.
pub(super) fn words(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::HostShared { detail } => told(
            detail,
            &[],
            format!("another measured run used this host at the same time: {detail}"),
            "run one at a time, and repeat",
        ),
        Caveat::Steal { share } => told(
            "",
            &[*share],
            format!("the hypervisor took {} of the processor time", numbers.percent(0)),
            "repeat on a quieter host, and compare only trials that ran close together",
        ),
        Caveat::OtherLoad { cpu_percent } => told(
            "",
            &[*cpu_percent],
            format!("programs that are not part of the run used {}", numbers.cores(0)),
            "end them, or run where nothing else does, and repeat",
        ),
        Caveat::WaitedForProcessor { who, share } => told(
            who,
            &[*share],
            format!("{who} had to wait for a processor for {} of the window", numbers.percent(0)),
            "use fewer brokers or a lower rate for these processors, or more of them",
        ),
        Caveat::ProcessorLimited { share } => told(
            "",
            &[*share],
            format!(
                "a limit on processor time (cgroup) held processes of the run for {} of the window",
                numbers.percent(0)
            ),
            "lift the limit of the container or service that kdyno runs in",
        ),
        Caveat::SharedProcessors { processors } => told(
            "",
            &[],
            format!(
                "brokers and load generator share the same {processors} processors, so each takes time from the other"
            ),
            "compare cases of this run with each other; for absolute figures attach to a cluster on other machines",
        ),
        _ => None,
    }
}
