//! Words that people use for ours: other tools' names, Kafka's own, and those of earlier versions of the format.
//! Looking alike is no guide for them.

/// What somebody may have typed, and what it is called here; the first that is allowed at the place is meant.
const SYNONYMS: &[(&[&str], &[&str])] = &[
    (&["client_count", "num_clients", "connections", "threads", "producers", "consumers"], &["clients"]),
    (&["queue", "queue_depth", "depth"], &["fill", "send_wait"]),
    (&["none", "lean"], &["in-flight"]),
    (&["full", "deep"], &["buffer"]),
    (&["throughput", "rate_per_s", "records_per_s", "tps"], &["rate", "acked_per_s", "fetched_per_s"]),
    (&["size", "record_size", "message_size", "value_size", "bytes"], &["value"]),
    (&["messages", "num_records", "count"], &["records", "of"]),
    (&["cardinality", "number", "distinct", "n"], &["of"]),
    (&["exponent", "skew", "theta", "alpha"], &["s"]),
    (&["deletes", "nulls", "null_share"], &["tombstones"]),
    (&["ratio", "compression", "compression_ratio", "compressibility"], &["compressible"]),
    (&["commit_interval", "interval"], &["every"]),
    (&["synchronous", "blocking"], &["sync", "sending"]),
    (&["asynchronous"], &["async"]),
    (&["duration", "time", "run_time", "window"], &["measure"]),
    (&["warm_up", "warm-up"], &["warmup"]),
    (&["cooldown", "cool_down"], &["drain"]),
    (&["replication", "replication_factor", "replication.factor", "rf"], &["replicas"]),
    (&["partition_count", "num_partitions", "num.partitions"], &["partitions"]),
    (&["nodes", "broker_count", "num_brokers", "servers"], &["brokers"]),
    (&["cluster"], &["system"]),
    (&["version", "release", "kafka_version"], &["kafka"]),
    (&["memory", "Xmx", "xmx", "heap_size"], &["heap"]),
    (&["cpuset", "processors"], &["pin", "cpus"]),
    (&["cpu_limit", "cpu_quota", "cores"], &["cpus"]),
    (&["settings", "properties", "configs", "options"], &["config", "client"]),
    (&["config"], &["client"]),
    (&["workload", "workloads", "streams"], &["load"]),
    (&["variables", "vars", "parameters"], &["params"]),
    (&["matrix", "sweep"], &["vary"]),
    (&["repeats", "repetitions", "iterations", "runs", "trials"], &["repeat"]),
    (&["fixed", "uniform", "equal", "regular"], &["constant"]),
    (&["exponential", "random"], &["poisson"]),
    (&["beginning", "start", "oldest"], &["earliest"]),
    (&["end", "newest"], &["latest"]),
    (&["zk"], &["zookeeper"]),
    (&["tmpfs", "ram"], &["memory"]),
    (&["latency", "e2e", "rtt"], &["end_to_end", "response"]),
    (&["lag_records"], &["lag"]),
    (&["committed_lag_records_at_start"], &["committed_lag_at_start"]),
    (&["committed_lag_records_at_end"], &["committed_lag_at_end"]),
    (&["lag"], &["schedule_delay"]),
    (&["lag_ns", "lag_s", "lag_ms", "time_lag"], &["lag_time"]),
    (&["acked", "acknowledged", "produced_per_s"], &["acked_per_s"]),
    (&["mb_per_s", "mib_per_s", "bandwidth"], &["acked_mib_per_s", "fetched_wire_mib_per_s"]),
    (&["consumed_per_s", "fetched"], &["fetched_per_s"]),
    (&["errors", "failures"], &["failed"]),
    (&["cpu"], &["cpu_percent"]),
    (&["rss", "memory_bytes"], &["memory_rss_bytes_max"]),
    (&["median", "avg", "average"], &["p50", "mean"]),
];

/// What the word means among the known names.
pub(crate) fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let of_word = SYNONYMS.iter().filter(|(typed, _)| typed.contains(&word));
    of_word.flat_map(|(_, names)| *names).find_map(|name| known.clone().into_iter().find(|k| k == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_decides_what_a_word_means() {
        assert_eq!(meant("client_count", ["client", "clients"]), Some("clients"));
        assert_eq!(meant("queue", ["rate", "fill"]), Some("fill"));
        assert_eq!(meant("queue", ["linger", "send_wait"]), Some("send_wait"));
        assert_eq!(meant("none", ["sticky"]), None);
    }
}
