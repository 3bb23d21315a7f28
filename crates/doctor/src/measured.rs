//! What a short look measured: limits that a user may declare. It is done in rounds, and each figure is reported as
//! their median, with the lowest and the highest.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// A figure of several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RoundsSpread {
    /// The one in the middle; of an even number the lower one.
    median: f64,
    /// The lowest and the highest.
    range: [f64; 2],
}

impl RoundsSpread {
    /// The median of the rounds' figures; 0 for none.
    fn of(rounds: impl IntoIterator<Item = f64>) -> Self {
        let mut all: Vec<f64> = rounds.into_iter().collect();
        all.sort_by(f64::total_cmp);
        let at = |index: usize| all.get(index).copied().unwrap_or(0.0);
        let last = all.len().saturating_sub(1);
        Self { median: at(last / 2), range: [at(0), at(last)] }
    }
}

/// The value at a share of the sorted values, 0 to 1: the nearest one; 0 of none.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // A place in the list, not negative.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let index = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(index).copied().unwrap_or(0.0)
}

/// How fast the disk under a folder took what was written to it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredDisk {
    /// The folder.
    pub folder: String,
    /// How many rounds there were: figures are medians of them, ranges the lowest and the highest.
    pub rounds: usize,
    /// Bytes written one after the other in all, each 32 MiB waited for.
    pub write_bytes: u64,
    /// Bytes per second of that.
    pub write_bytes_per_s: f64,
    /// Its range.
    pub write_bytes_per_s_range: [f64; 2],
    /// Writes of 4 KiB in all, each waited for (`fdatasync`).
    pub syncs: usize,
    /// Median of how long one took, ns.
    pub sync_ns_p50: f64,
    /// Its range.
    pub sync_ns_p50_range: [f64; 2],
    /// 99th percentile of the same.
    pub sync_ns_p99: f64,
    /// Its range.
    pub sync_ns_p99_range: [f64; 2],
    /// The longest of all rounds.
    pub sync_ns_max: f64,
}

/// One round of a disk.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskRound {
    /// Bytes written one after the other.
    pub write_bytes: u64,
    /// Seconds that it took.
    pub write_s: f64,
    /// How long each small write took, ns.
    pub syncs_ns: Vec<f64>,
}

impl MeasuredDisk {
    /// What the rounds found of the disk under a folder.
    #[must_use]
    pub fn of(folder: String, rounds: &[DiskRound]) -> Self {
        let each = |figure: &dyn Fn(&DiskRound) -> f64| RoundsSpread::of(rounds.iter().map(figure));
        let write = each(&|round| round.write_bytes as f64 / round.write_s);
        let [p50, p99] = [0.5, 0.99].map(|share| each(&|round| quantile(&round.syncs_ns, share)));
        Self {
            folder,
            rounds: rounds.len(),
            write_bytes: rounds.iter().map(|round| round.write_bytes).sum(),
            write_bytes_per_s: write.median,
            write_bytes_per_s_range: write.range,
            syncs: rounds.iter().map(|round| round.syncs_ns.len()).sum(),
            sync_ns_p50: p50.median,
            sync_ns_p50_range: p50.range,
            sync_ns_p99: p99.median,
            sync_ns_p99_range: p99.range,
            sync_ns_max: each(&|round| quantile(&round.syncs_ns, 1.0)).range[1],
        }
    }
}

/// How fast the network to another host is, over one TCP connection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredNetwork {
    /// The other end, as it was typed.
    pub peer: String,
    /// How many rounds there were: figures are medians of them, ranges the lowest and the highest.
    pub rounds: usize,
    /// Bytes sent to it in all.
    pub sent_bytes: u64,
    /// Bytes per second of that, until it had them all.
    pub sent_bytes_per_s: f64,
    /// Its range.
    pub sent_bytes_per_s_range: [f64; 2],
    /// Bytes that it sent in all.
    pub received_bytes: u64,
    /// Bytes per second of that.
    pub received_bytes_per_s: f64,
    /// Its range.
    pub received_bytes_per_s_range: [f64; 2],
    /// How often 64 bytes went there and back in all.
    pub round_trips: usize,
    /// Median of how long that took, ns.
    pub round_trip_ns_p50: f64,
    /// Its range.
    pub round_trip_ns_p50_range: [f64; 2],
    /// 99th percentile of the same.
    pub round_trip_ns_p99: f64,
    /// Its range.
    pub round_trip_ns_p99_range: [f64; 2],
    /// The longest of all rounds.
    pub round_trip_ns_max: f64,
}

/// One round of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkRound {
    /// Bytes sent to the other end, and the seconds that it took.
    pub sent: (u64, f64),
    /// The figure from there.
    pub received: (u64, f64),
    /// How long each round trip took, ns.
    pub round_trips_ns: Vec<f64>,
}

impl MeasuredNetwork {
    /// What the rounds found of the network to a peer.
    #[must_use]
    pub fn of(peer: String, rounds: &[NetworkRound]) -> Self {
        let each = |figure: &dyn Fn(&NetworkRound) -> f64| RoundsSpread::of(rounds.iter().map(figure));
        let rate = |(bytes, seconds): (u64, f64)| bytes as f64 / seconds;
        let [sent, received] = [each(&|round| rate(round.sent)), each(&|round| rate(round.received))];
        let [p50, p99] = [0.5, 0.99].map(|share| each(&|round| quantile(&round.round_trips_ns, share)));
        Self {
            peer,
            rounds: rounds.len(),
            sent_bytes: rounds.iter().map(|round| round.sent.0).sum(),
            sent_bytes_per_s: sent.median,
            sent_bytes_per_s_range: sent.range,
            received_bytes: rounds.iter().map(|round| round.received.0).sum(),
            received_bytes_per_s: received.median,
            received_bytes_per_s_range: received.range,
            round_trips: rounds.iter().map(|round| round.round_trips_ns.len()).sum(),
            round_trip_ns_p50: p50.median,
            round_trip_ns_p50_range: p50.range,
            round_trip_ns_p99: p99.median,
            round_trip_ns_p99_range: p99.range,
            round_trip_ns_max: each(&|round| quantile(&round.round_trips_ns, 1.0)).range[1],
        }
    }
}

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// Bytes per second with their range, and how many bytes that rests on.
fn rate_words(per_s: f64, [low, high]: [f64; 2], bytes: u64) -> String {
    let [per_s, low, high, all] = [per_s, low, high, bytes as f64].map(|bytes| bytes / BYTES_PER_MIB);
    format!("{per_s:.0} ({low:.0}–{high:.0}) MiB/s, {all:.0} MiB in all")
}

/// A time in ns with its range, as ms with so many digits.
fn ms_words(ns: f64, [low, high]: [f64; 2], digits: usize) -> String {
    let [ms, low, high] = [ns, low, high].map(|ns| ns / 1e6);
    format!("{ms:.digits$} ({low:.digits$}–{high:.digits$}) ms")
}

/// In words, and as a line to paste.
#[must_use]
pub fn measured_text(all: &[MeasuredDisk]) -> String {
    let mut text = String::new();
    for disk in all {
        let MeasuredDisk { folder, rounds, syncs, .. } = disk;
        let _ = writeln!(
            text,
            "Measured of the disk under {folder}, in {rounds} short rounds: median (lowest–highest)"
        );
        let _ = writeln!(
            text,
            "  written one after the other  {}",
            rate_words(disk.write_bytes_per_s, disk.write_bytes_per_s_range, disk.write_bytes)
        );
        let _ = writeln!(
            text,
            "  4 KiB and fdatasync          p50 {}, p99 {}, longest {:.2} ms ({syncs} of them)",
            ms_words(disk.sync_ns_p50, disk.sync_ns_p50_range, 2),
            ms_words(disk.sync_ns_p99, disk.sync_ns_p99_range, 2),
            disk.sync_ns_max / 1e6
        );
        let _ = writeln!(
            text,
            "To paste, of a host with one broker, into `facts` of a target or `environment` of a scenario:"
        );
        let _ = writeln!(text, "  disk: {{limit: {:.0}MiB/s}}\n", disk.write_bytes_per_s / BYTES_PER_MIB);
    }
    text
}

/// Measures the network.
#[must_use]
pub fn measured_network_text(network: &MeasuredNetwork) -> String {
    let MeasuredNetwork { peer, rounds, sent_bytes_per_s, received_bytes_per_s, .. } = network;
    let limit = sent_bytes_per_s.min(*received_bytes_per_s) / BYTES_PER_MIB;
    format!(
        "Measured of the network to {peer}, over one connection, in {rounds} short rounds: median (lowest–highest)
  sent                         {}
  received                     {}
  64 bytes there and back      p50 {}, p99 {}, longest {:.3} ms ({} of them)
To paste, of brokers with such a link, into `facts` of a target or `environment` of a scenario:
  network: {{limit: {limit:.0}MiB/s}}\n\n",
        rate_words(*sent_bytes_per_s, network.sent_bytes_per_s_range, network.sent_bytes),
        rate_words(*received_bytes_per_s, network.received_bytes_per_s_range, network.received_bytes),
        ms_words(network.round_trip_ns_p50, network.round_trip_ns_p50_range, 3),
        ms_words(network.round_trip_ns_p99, network.round_trip_ns_p99_range, 3),
        network.round_trip_ns_max / 1e6,
        network.round_trips
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_several_rounds_is_the_median_with_its_range() {
        let of = |rounds: &[f64]| RoundsSpread::of(rounds.iter().copied());
        assert_eq!(of(&[5.0, 1.0, 9.0, 2.0, 3.0]), RoundsSpread { median: 3.0, range: [1.0, 9.0] });
        assert_eq!(of(&[4.0, 2.0]), RoundsSpread { median: 2.0, range: [2.0, 4.0] });
        assert_eq!(of(&[]), RoundsSpread { median: 0.0, range: [0.0, 0.0] });
        assert_eq!(
            [0.0, 0.5, 0.99, 1.0].map(|share| quantile(&[3.0, 1.0, 2.0], share)),
            [1.0, 2.0, 3.0, 3.0]
        );
    }

    #[test]
    fn measured_figures_are_printed_and_can_be_pasted() {
        let round = |mib_per_s: f64, sync_ms: f64| DiskRound {
            write_bytes: 200 << 20,
            write_s: 200.0 / mib_per_s,
            syncs_ns: [sync_ms * 1e6, 2e6 * sync_ms, 1.5e6 * sync_ms].to_vec(),
        };
        let rounds =
            [round(250.4, 0.4), round(120.0, 0.5), round(251.0, 0.3), round(300.0, 8.0), round(200.0, 0.4)];
        let text = measured_text(&[MeasuredDisk::of("/data".to_owned(), &rounds)]);
        assert!(text.contains("250 (120–300) MiB/s, 1000 MiB in all"), "{text}");
        let syncs = "p50 0.60 (0.45–12.00) ms, p99 0.80 (0.60–16.00) ms, longest 16.00 ms (15 of them)";
        assert!(text.contains(syncs), "{text}");
        assert!(text.contains("  disk: {limit: 250MiB/s}\n"), "{text}");
        let round = |sent: f64, received: f64| NetworkRound {
            sent: (1 << 30, 1024.0 / sent),
            received: (1 << 29, 512.0 / received),
            round_trips_ns: vec![61_000.0, 190_000.0, 61_000.0],
        };
        let rounds = [round(1180.4, 590.0), round(1100.0, 400.0), round(1190.0, 600.0)];
        let text = measured_network_text(&MeasuredNetwork::of("b1:9099".to_owned(), &rounds));
        assert!(text.contains("1180 (1100–1190) MiB/s, 3072 MiB in all"), "{text}");
        assert!(text.contains("590 (400–600) MiB/s, 1536 MiB in all"), "{text}");
        let trips = "p50 0.061 (0.061–0.061) ms, p99 0.190 (0.190–0.190) ms, longest 0.190 ms (9 of them)";
        assert!(text.contains(trips), "{text}");
        assert!(text.contains("  network: {limit: 590MiB/s}\n"), "of the slower way: {text}");
    }
}
