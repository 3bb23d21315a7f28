//! Who else had the processors.

use super::words::{Described, Numbers, told};
use crate::units;
use kdyno_model::caveat::Caveat;

/// Other programs, the hypervisor, limits, and processes of the run that waited for each other.
pub(super) fn words(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::HostShared { detail } => told(
            detail,
            &[],
            format!(
                "another measured run used this host at the same time ({detail}): each took processors and disk from the \
                 other"
            ),
            "run one at a time, and repeat",
        ),
        Caveat::Steal { share } => told(
            "",
            &[*share],
            format!(
                "the hypervisor took {} of the processor time: rates may be too low and latencies too high",
                numbers.percent(0)
            ),
            "repeat on a quieter host, and compare only trials that ran close together",
        ),
        Caveat::OtherLoad { cpu_percent } => told(
            "",
            &[*cpu_percent],
            format!(
                "other programs used {}: this changes CPU per record first, then latencies and rates, and each may be too high or \
                 too low",
                numbers.cores(0)
            ),
            "end them, or run where nothing else does, and repeat",
        ),
        Caveat::WaitedForProcessor { who, share, share_of_ready } => told(
            who,
            &[share_of_ready.unwrap_or(*share)],
            format!(
                "threads of {who} were ready and waited for a processor, {}: rates may be too low and latencies too high",
                match share_of_ready {
                    Some(_) => {
                        format!("for {} of the time in which they ran or were ready", numbers.percent(0))
                    }
                    None => format!("added up for {} of the window", numbers.percent(0)),
                }
            ),
            "use fewer brokers, a lower rate or more processors, and where both sides of a comparison run at once \
             `--design turns`",
        ),
        Caveat::ProcessorLimited { share } => told(
            "",
            &[*share],
            format!(
                "a limit on processor time (cgroup) stopped processes of the run, added up over processors for {} of the \
                 window: rates may be too low and latencies too high",
                numbers.percent(0)
            ),
            "lift the limit of the container or service that kdyno runs in, or of its brokers (`limits.cpus`)",
        ),
        Caveat::SharedProcessors { processors } => told(
            "",
            &[],
            format!(
                "brokers and load generator share the same {}, so each takes time from the other",
                units::processors(f64::from(*processors))
            ),
            "compare cases of this run with each other; for absolute figures attach to a cluster on other machines",
        ),
        _ => None,
    }
}
