//! What a relay between two zones did: how much it passed on, at what cost, and how late.

use crate::cpu;
use crate::evidence::{NS_PER_S, Window};
use kdyno_model::event::Subject;
use kdyno_model::sample::{ProbeReading, series};
use std::collections::BTreeMap;

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// Whether it is a relay.
pub(crate) fn is_relay(subject: &Subject) -> bool {
    matches!(subject, Subject::Relay(_))
}

/// A metric of a relay.
pub(crate) fn value(
    probes: &[ProbeReading],
    relay: &Subject,
    window: Option<Window>,
    name: &str,
) -> Option<f64> {
    if let Some(quantile) = name.strip_prefix("delay_error.") {
        return late_s(probes, relay, quantile).map(|late_s| late_s * NS_PER_S as f64);
    }
    let window = window?;
    let used_s = || cpu::used_s(probes, relay, window);
    match name {
        "cpu_percent" => used_s().map(|used_s| 100.0 * used_s / window.seconds()),
        "memory_rss_bytes_max" => cpu::memory_bytes_max(probes, relay, window),
        "relayed_mib_per_s" => relayed_mib(probes, relay, window).map(|mib| mib / window.seconds()),
        "relayed_mib_per_s_per_core" => {
            let used_s = used_s().filter(|used_s| *used_s > 0.0)?;
            relayed_mib(probes, relay, window).map(|mib| mib / used_s)
        }
        _ => None,
    }
}

/// How late it was at a quantile of the measure phase, s.
pub(crate) fn late_s(probes: &[ProbeReading], relay: &Subject, quantile: &str) -> Option<f64> {
    let is_it = |reading: &&ProbeReading| {
        let name = reading.series.strip_prefix(series::RELAY_DELAY_ERROR_S_OF);
        reading.subject == *relay && name == Some(quantile)
    };
    probes.iter().rev().find(is_it).map(|reading| reading.value)
}

/// Bytes that it passed on in the window, by the way that they went: `from>to`.
pub(crate) fn relayed_bytes<'a>(
    probes: &'a [ProbeReading],
    relay: &Subject,
    window: Window,
) -> BTreeMap<&'a str, f64> {
    cpu::grown_of_each(probes, relay, series::RELAYED_BYTES_TOTAL_OF, window)
}

/// MiB that it passed on in the window, both ways together.
fn relayed_mib(probes: &[ProbeReading], relay: &Subject, window: Window) -> Option<f64> {
    let ways = relayed_bytes(probes, relay, window);
    (!ways.is_empty()).then(|| ways.values().sum::<f64>() / BYTES_PER_MIB)
}
