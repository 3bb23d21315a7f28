//! Which brokers take requests, as far as `partitioner.availability.timeout.ms` is concerned.

/// When a broker that leads partitions took its last request, or had nothing to take.
#[derive(Debug, Default)]
pub(super) struct Availability {
    /// By connection: since when it takes nothing although something waits for it, ns.
    blocked_since_ns: Vec<Option<u64>>,
}

impl Availability {
    pub(super) fn note(&mut self, connection: usize, takes: bool, now_ns: u64) {
        if self.blocked_since_ns.len() <= connection {
            self.blocked_since_ns.resize(connection + 1, None);
        }
        let since_ns = &mut self.blocked_since_ns[connection];
        *since_ns = if takes { None } else { since_ns.or(Some(now_ns)) };
    }

    pub(super) fn blocked_ns(&self, connection: usize, now_ns: u64) -> u64 {
        let since_ns = self.blocked_since_ns.get(connection).copied().flatten();
        since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
    }
}
