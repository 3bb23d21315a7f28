//! Options of brokers' JVMs, and their heaps compared with the memory of the host.

use super::{Reason, advice, source};
use crate::advice::AdviceSeverity::{High, Low, Medium};
use crate::advice::{Advice, SettingChange};
use crate::observed::{Jvm, ObservedBroker};
use kdyno_model::units;

/// What a heap should have, where the host has it.
const HEAP_BYTES: u64 = 4 << 30;
const MIB: u64 = 1 << 20;

/// Holds the JVM of one broker against what is recommended. `memory_bytes`: its part of the host's memory, where that is known.
pub(crate) fn examine(of: &str, jvm: &Jvm, memory_bytes: Option<u64>, is_planned: bool) -> [Advice; 2] {
    let heap = Reason {
        severity: Low,
        why: "leaves garbage collections rare and short under production load; in a small test a smaller heap may do",
        source: source::INTEL,
    };
    let touch = Reason {
        severity: Low,
        why: "the kernel hands out all memory of the heap at the start, not under load",
        source: source::INTEL,
    };
    const TOUCH: &str = "-XX:+AlwaysPreTouch";
    let has_touch = jvm.options.iter().any(|option| option == TOUCH);
    let now = if has_touch { "on" } else { "off" };
    // No more than may be taken away from the page cache.
    let room_bytes = memory_bytes.map(|all| all / 2 / MIB * MIB).filter(|room| *room < HEAP_BYTES);
    let least = match room_bytes {
        Some(room) => format!("{} (half of its part of the host's memory)", units::bytes(room as f64)),
        None => format!("at least {}", units::size(HEAP_BYTES)),
    };
    let least_bytes = room_bytes.unwrap_or(HEAP_BYTES);
    let heap_mib = least_bytes / MIB;
    let how = |scenario: String, running: String| {
        let by_hand = match is_planned {
            true => format!("in the scenario: {scenario}"),
            false => {
                format!("in the environment of each broker: {running}; then restart one after the other")
            }
        };
        Some(SettingChange::by_hand(by_hand))
    };
    let heap_now = units::bytes(jvm.heap_bytes as f64);
    [
        advice(
            of,
            "heap (-Xms = -Xmx)",
            (Some(heap_now), Some(jvm.heap_bytes >= least_bytes)),
            least,
            heap,
            |_| {
                how(
                    format!("system.limits: {{heap: {heap_mib}MiB}}"),
                    format!("KAFKA_HEAP_OPTS=\"-Xms{heap_mib}m -Xmx{heap_mib}m\""),
                )
            },
        ),
        advice(of, TOUCH, (Some(now.to_owned()), Some(has_touch)), "on".to_owned(), touch, |_| {
            how(format!("system.jvm: [{TOUCH}]"), format!("KAFKA_OPTS=\"{TOUCH}\""))
        }),
    ]
}

/// The heaps of all brokers of one host together, compared with its memory; `None` where no heap is known.
pub(crate) fn heaps(brokers: &[ObservedBroker], memory_bytes: u64) -> Option<Advice> {
    let known: Vec<u64> = brokers.iter().filter_map(|broker| Some(broker.jvm.as_ref()?.heap_bytes)).collect();
    if known.is_empty() {
        return None;
    }
    let (all_bytes, most_bytes) =
        (known.iter().fold(0, |all: u64, one| all.saturating_add(*one)), memory_bytes / 2);
    let words = |bytes: u64| units::bytes(bytes as f64);
    let is_followed = match (all_bytes > most_bytes, known.len() == brokers.len()) {
        (true, _) => Some(false),
        (false, true) => Some(true),
        // Unknown heaps come on top.
        (false, false) => None,
    };
    let reason = Reason {
        severity: if all_bytes >= memory_bytes { High } else { Medium },
        why: "brokers write and read through the page cache, which has what heaps and programs leave; heaps that do not fit at all \
              are swapped out, or their brokers killed",
        source: source::STRIMZI,
    };
    let sum = match known.as_slice() {
        [_] => String::new(),
        several => format!(" of {} brokers", several.len()),
    };
    let is_planned = brokers.iter().any(|broker| broker.is_planned);
    let part_mib = most_bytes / brokers.len().max(1) as u64 / MIB;
    let how = match is_planned {
        true => format!(
            "in the scenario: system.limits: {{heap: {part_mib}MiB}} or less, or fewer brokers on a host"
        ),
        false => {
            format!("KAFKA_HEAP_OPTS=\"-Xms{part_mib}m -Xmx{part_mib}m\" or less, or fewer brokers on a host")
        }
    };
    Some(advice(
        "brokers",
        "heaps against the host's memory",
        (Some(format!("{}{sum}, of {}", words(all_bytes), words(memory_bytes))), is_followed),
        format!("at most half of it, {}", words(most_bytes)),
        reason,
        |_| Some(SettingChange::by_hand(how)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AdviceSeverity;
    use crate::AdviceStatus::{self, Followed, NotFollowed, Unknown};

    const GIB: u64 = 1 << 30;

    fn broker(id: i32, heap_bytes: Option<u64>) -> ObservedBroker {
        let jvm = heap_bytes.map(|heap_bytes| Jvm { heap_bytes, options: Vec::new() });
        ObservedBroker { id, jvm, is_planned: true, ..ObservedBroker::default() }
    }

    fn reported(
        heaps_gib: &[Option<u64>],
        memory_gib: u64,
    ) -> Option<(AdviceStatus, AdviceSeverity, String)> {
        let brokers: Vec<ObservedBroker> =
            (0..).zip(heaps_gib).map(|(id, gib)| broker(id, gib.map(|gib| gib * GIB))).collect();
        let advice = heaps(&brokers, memory_gib * GIB)?;
        Some((advice.verdict, advice.severity, advice.current.unwrap_or_default()))
    }

    #[test]
    fn heaps_leave_half_of_the_memory_to_the_page_cache() {
        let one = reported(&[Some(30)], 24).expect("a rule");
        assert_eq!(one, (NotFollowed, High, "30.0 GiB, of 24.0 GiB".to_owned()), "it does not fit at all");
        let three = reported(&[Some(5); 3], 24).expect("a rule");
        assert_eq!(three, (NotFollowed, Medium, "15.0 GiB of 3 brokers, of 24.0 GiB".to_owned()));
        assert_eq!(reported(&[Some(4); 3], 24).expect("a rule").0, Followed);
        assert_eq!(
            reported(&[Some(4), None, Some(4)], 24).expect("a rule").0,
            Unknown,
            "another one has a heap too"
        );
        assert_eq!(reported(&[Some(13), None], 24).expect("a rule").0, NotFollowed);
        assert_eq!(reported(&[None, None], 24), None);
    }

    #[test]
    fn no_more_heap_is_asked_for_than_a_small_host_can_spare() {
        let of = |heap_bytes, memory_bytes| {
            let jvm = Jvm { heap_bytes, options: Vec::new() };
            examine("brokers", &jvm, memory_bytes, true)[0].clone()
        };
        assert_eq!(of(4 * GIB, None).verdict, Followed);
        assert_eq!(of(GIB, Some(64 * GIB)).recommended, "at least 4 GiB");
        let small = of(GIB, Some(4 * GIB));
        assert_eq!(small.recommended, "2.00 GiB (half of its part of the host's memory)");
        assert_eq!(small.change.expect("a change").apply, "in the scenario: system.limits: {heap: 2048MiB}");
        assert_eq!(of(2 * GIB, Some(4 * GIB)).verdict, Followed);
    }

    #[test]
    fn a_running_brokers_heap_is_read_from_its_command_line() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let line = "java -Xmx1g -Xms6g -Xmx6G -XX:+AlwaysPreTouch kafka.Kafka server.properties";
        let jvm = Jvm::of_command_line(&words(line)).expect("a heap");
        assert_eq!(jvm.heap_bytes, 6 * GIB, "the last one counts");
        let [heap, touch] = examine("broker 1", &jvm, None, false);
        assert_eq!([heap.verdict, touch.verdict], [Followed; 2]);
        assert_eq!(Jvm::of_command_line(&words("java -XX:MaxRAMPercentage=50 kafka.Kafka")), None);
        assert_eq!(Jvm::of_command_line(&words("docker-proxy -proto tcp")), None);
    }
}
