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
    }
}
