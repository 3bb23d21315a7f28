//! What a short look measured: limits that somebody may declare.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// How fast the disk under a folder took what was written to it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredDisk {
    /// The folder.
    pub folder: String,
    /// Bytes written one after the other, each 32 MiB waited for.
    pub write_bytes: u64,
    /// Bytes per second of that.
    pub write_bytes_per_s: f64,
    /// Writes of 4 KiB, each waited for (`fdatasync`).
    pub syncs: u64,
    /// Median of how long one took, ns.
    pub sync_ns_p50: u64,
    /// 99th percentile of the same.
    pub sync_ns_p99: u64,
    /// The longest.
    pub sync_ns_max: u64,
}

/// How fast the network to another host is, over one TCP connection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredNetwork {
    /// The other end, as it was typed.
    pub peer: String,
    /// Bytes sent to it.
    pub sent_bytes: u64,
    /// Bytes per second of that, until it had them all.
    pub sent_bytes_per_s: f64,
    /// Bytes that it sent.
    pub received_bytes: u64,
    /// Bytes per second of that.
    pub received_bytes_per_s: f64,
    /// How often 64 bytes went there and back.
    pub round_trips: u64,
    /// Median of how long that took, ns.
    pub round_trip_ns_p50: u64,
    /// 99th percentile of the same.
    pub round_trip_ns_p99: u64,
    /// The longest.
    pub round_trip_ns_max: u64,
}

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// In words, and as a line to paste.
#[must_use]
pub fn measured_text(all: &[MeasuredDisk]) -> String {
    let mut text = String::new();
    let ms = |ns: u64| format!("{:.2} ms", ns as f64 / 1e6);
    for disk in all {
        let mib_per_s = disk.write_bytes_per_s / BYTES_PER_MIB;
        let MeasuredDisk { folder, syncs, .. } = disk;
        let _ = writeln!(text, "Measured of the disk under {folder}, in a few seconds:");
        let _ = writeln!(
            text,
            "  written one after the other  {mib_per_s:.0} MiB/s ({:.0} MiB)",
            disk.write_bytes as f64 / BYTES_PER_MIB
        );
        let _ = writeln!(
            text,
            "  4 KiB and fdatasync          p50 {}, p99 {}, longest {} ({syncs} of them)",
            ms(disk.sync_ns_p50),
            ms(disk.sync_ns_p99),
            ms(disk.sync_ns_max)
        );
        let _ = writeln!(
            text,
            "To paste, of a host with one broker, into `facts` of a target or `environment` of a scenario:"
        );
        let _ = writeln!(text, "  disk: {{limit: {mib_per_s:.0}MiB/s}}\n");
    }
    text
}

/// The same of the network.
#[must_use]
pub fn measured_network_text(network: &MeasuredNetwork) -> String {
    let ms = |ns: u64| format!("{:.3} ms", ns as f64 / 1e6);
    let way = |bytes: u64, per_s: f64| {
        format!("{:.0} MiB/s ({:.0} MiB)", per_s / BYTES_PER_MIB, bytes as f64 / BYTES_PER_MIB)
    };
    let MeasuredNetwork { peer, sent_bytes, sent_bytes_per_s, received_bytes, received_bytes_per_s, .. } =
        network;
    let limit = sent_bytes_per_s.min(*received_bytes_per_s) / BYTES_PER_MIB;
    format!(
        "Measured of the network to {peer}, in a few seconds, over one connection:
  sent                         {}
  received                     {}
  64 bytes there and back      p50 {}, p99 {}, longest {} ({} of them)
To paste, of brokers with such a link, into `facts` of a target or `environment` of a scenario:
  network: {{limit: {limit:.0}MiB/s}}\n\n",
        way(*sent_bytes, *sent_bytes_per_s),
        way(*received_bytes, *received_bytes_per_s),
        ms(network.round_trip_ns_p50),
        ms(network.round_trip_ns_p99),
        ms(network.round_trip_ns_max),
        network.round_trips
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_is_told_and_can_be_pasted() {
        let disk = MeasuredDisk {
            folder: "/data".to_owned(),
            write_bytes: 1 << 30,
            write_bytes_per_s: 250.4 * BYTES_PER_MIB,
            syncs: 500,
            sync_ns_p50: 420_000,
            sync_ns_p99: 1_900_000,
            sync_ns_max: 12_345_678,
        };
        let text = measured_text(&[disk]);
        assert!(text.contains("250 MiB/s (1024 MiB)"), "{text}");
        assert!(text.contains("p50 0.42 ms, p99 1.90 ms, longest 12.35 ms (500 of them)"), "{text}");
        assert!(text.contains("  disk: {limit: 250MiB/s}\n"), "{text}");
        let text = measured_network_text(&MeasuredNetwork {
            peer: "b1:9099".to_owned(),
            sent_bytes: 3 << 30,
            sent_bytes_per_s: 1180.4 * BYTES_PER_MIB,
            received_bytes: 1 << 30,
            received_bytes_per_s: 590.0 * BYTES_PER_MIB,
            round_trips: 1000,
            round_trip_ns_p50: 61_000,
            round_trip_ns_p99: 190_000,
            round_trip_ns_max: 12_345_678,
        });
        assert!(text.contains("1180 MiB/s (3072 MiB)") && text.contains("590 MiB/s (1024 MiB)"), "{text}");
        assert!(text.contains("p50 0.061 ms, p99 0.190 ms, longest 12.346 ms (1000 of them)"), "{text}");
        assert!(text.contains("  network: {limit: 590MiB/s}\n"), "of the slower way: {text}");
    }
}
