//! The machine's network: bytes of its interfaces, and what TCP had to send again.

use super::parse::{self, SeriesValue};
use kdyno_model::sample::series;
use procfs::net::DeviceStatus;
use std::path::Path;

/// Every series of the network that this machine has.
pub(super) fn values() -> Vec<SeriesValue> {
    let mut values = interfaces().unwrap_or_default();
    let snmp = parse::read("/proc/net/snmp").unwrap_or_default();
    let tcp = [
        (series::TCP_SEGMENTS_SENT_TOTAL, "OutSegs"),
        (series::TCP_SEGMENTS_RETRANSMITTED_TOTAL, "RetransSegs"),
    ];
    values.extend(tcp.into_iter().filter_map(|(series, name)| {
        Some((series.into(), parse::below_its_name(&snmp, "Tcp:", name)? as f64))
    }));
    values
}

/// Sums over interfaces other than loopback, those with hardware behind them where there are any: bridges and virtual
/// pairs would count the same bytes again.
fn interfaces() -> Option<Vec<SeriesValue>> {
    let mut all = procfs::net::dev_status().ok()?;
    all.remove("lo");
    let hardware = |name: &str| Path::new("/sys/class/net").join(name).join("device").exists();
    let any = all.keys().any(|name| hardware(name));
    let counted: Vec<&DeviceStatus> = all.values().filter(|device| !any || hardware(&device.name)).collect();
    let sum = |of: fn(&DeviceStatus) -> u64| counted.iter().map(|device| of(device) as f64).sum::<f64>();
    Some(vec![
        (series::NET_RECEIVE_BYTES_TOTAL.into(), sum(|device| device.recv_bytes)),
        (series::NET_TRANSMIT_BYTES_TOTAL.into(), sum(|device| device.sent_bytes)),
        (series::NET_RECEIVE_DROPPED_TOTAL.into(), sum(|device| device.recv_drop)),
    ])
}
