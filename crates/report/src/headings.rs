//! Names of metrics as headings: words instead of underscores, without the unit, which follows each number.

use kdyno_model::metric::Address;

/// What becomes of parts of a name; the first that fits at a place counts.
const WORDS: &[(&[&str], &str)] = &[
    (&["fetched", "per", "s"], "consumed"),
    (&["fetched", "wire"], "batch bytes fetched"),
    (&["acked", "mib", "per", "s"], "bytes acknowledged"),
    (&["mib", "per", "s"], ""),
    (&["mib", "per", "min"], ""),
    (&["per", "s"], ""),
    (&["us", "per"], "per"),
    (&["rss", "bytes"], ""),
    (&["over"], "÷"),
    (&["bytes", "share"], "share of bytes"),
    (&["percent"], ""),
    (&["acked"], "acknowledged"),
    (&["caught", "up", "per", "s"], "consumed until caught up"),
    (&["caught", "up"], "caught up after"),
    (&["cpu"], "CPU"),
    (&["gc"], "GC"),
    (&["isr"], "ISR"),
    (&["cv"], "coefficient of variation"),
];

/// A metric with whose it is: `writers response p99`.
pub fn named(of: &Address) -> String {
    format!("{} {}", of.subject, heading(&of.metric))
}

/// `acknowledged` of `acked_per_s`, `response p99.9` of `response.p99.9`, `CPU per record` of `cpu_us_per_record`.
pub fn heading(metric: &str) -> String {
    // The statistic of a timing follows a point, and may have one itself.
    let (name, statistic) = metric.split_once('.').map_or((metric, None), |(name, of)| (name, Some(of)));
    let parts: Vec<&str> = name.split('_').collect();
    let mut words: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < parts.len() {
        let known = WORDS.iter().find(|(from, _)| parts[at..].starts_with(from));
        let (taken, word) = match known {
            Some((from, word)) => (from.len(), *word),
            // Bytes are a unit, unless they are what is counted.
            None if parts[at] == "bytes" && at > 0 => (1, ""),
            None => (1, parts[at]),
        };
        words.push(word);
        at += taken;
    }
    words.extend(statistic);
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::metric;

    #[test]
    fn metrics_are_headed_by_words() {
        for (metric, expected) in [
            ("acked_per_s", "acknowledged"),
            ("acked_mib_per_s", "bytes acknowledged"),
            ("acked_per_s_sum_of_clients", "acknowledged sum of clients"),
            ("clients_overlap_share", "clients overlap share"),
            ("response.p99.9", "response p99.9"),
            ("end_to_end.max", "end to end max"),
            ("client_threads_cpu_us_per_record", "client threads CPU per record"),
            ("client_allocated_bytes_per_record", "client allocated per record"),
            ("cpu_percent", "CPU"),
            ("busiest_partition_bytes_share", "busiest partition share of bytes"),
            ("fetched_per_s", "consumed"),
            ("bytes_in_mib_per_s", "bytes in"),
            ("records_per_batch", "records per batch"),
            ("response_over_service", "response ÷ service"),
        ] {
            assert_eq!(heading(metric), expected);
        }
    }

    #[test]
    fn every_metric_has_a_heading_of_words() {
        for one in metric::all() {
            let heading = heading(one.name);
            assert!(!heading.is_empty() && !heading.contains(['_', '.']), "{}: {heading}", one.name);
        }
    }
}
