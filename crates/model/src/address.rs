//! Addresses of brokers, and the prefix of all that kdyno names on a cluster of somebody else.

/// Longest prefix, characters: topic names have 249 in all.
pub const PREFIX_CHARS_MAX: usize = 50;

/// Whether the text is `host:port`, or `[address]:port` for IPv6. Whether anybody answers there is not asked.
pub fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let bracketed = host.starts_with('[') && host.ends_with(']');
        let plain = !host.contains([':', '/', '@', '[', ']']) && !host.contains(char::is_whitespace);
        !host.is_empty() && (bracketed || plain) && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}
