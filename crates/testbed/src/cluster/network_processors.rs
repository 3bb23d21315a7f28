//! The metrics of a broker's network processors: under which names Kafka keeps them, by the broker's settings.
//!
//! A broker has thousands of objects, and looks at each of them for a name with a star in it. Named ones it finds at once,
//! and of them alone what is not read can be left out.

use super::config::ConfigValues;

const OBJECT: &str = "kafka.server:type=socket-server-metrics";
/// All of a broker.
pub(super) const ALL: &str = "kafka.server:type=socket-server-metrics,listener=*,networkProcessor=*";
/// Kafka's default of `num.network.threads`.
const OF_LISTENER: u32 = 3;
/// Most that are named one by one; the agent reads their names when the broker starts.
const NAMED_MAX: u32 = 64;

/// The objects of the network processors of a broker with these settings; none where they are too many to be named, or
/// where their number is unknown.
///
/// A broker numbers its processors through all of its listeners, in their order. A controller in its process has a server of
/// its own, which starts from 0 again.
pub(super) fn of(settings: &ConfigValues) -> Vec<String> {
    let controllers = settings.get("controller.listener.names").map(String::as_str).unwrap_or_default();
    let is_of_controller = |listener: &str| controllers.split(',').any(|one| one == listener);
    let listeners = settings.get("listeners").map(String::as_str).unwrap_or_default();
    let (mut next, mut objects) = ([0, 0], Vec::new());
    for listener in listeners.split(',').filter_map(|one| Some(one.split_once("://")?.0)) {
        let next = &mut next[usize::from(is_of_controller(listener))];
        let Some(count) = count(settings, listener).filter(|count| *count <= NAMED_MAX) else {
            return Vec::new();
        };
        objects.extend(
            (*next..*next + count).map(|n| format!("{OBJECT},listener={listener},networkProcessor={n}")),
        );
        *next += count;
    }
    if objects.len() > NAMED_MAX as usize { Vec::new() } else { objects }
}

/// How many a listener has: its own number (KIP-788), or that of all.
fn count(settings: &ConfigValues, listener: &str) -> Option<u32> {
    const THREADS: &str = "num.network.threads";
    let own = format!("listener.name.{}.{THREADS}", listener.to_lowercase());
    match settings.get(&own).or_else(|| settings.get(THREADS)) {
        Some(count) => count.trim().parse().ok(),
        None => Some(OF_LISTENER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(settings: &[(&str, &str)]) -> Vec<String> {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let short = |name: String| name.replace(OBJECT, "").replace("networkProcessor=", "");
        of(&settings).into_iter().map(short).collect()
    }

    #[test]
    fn they_are_numbered_across_listeners_and_per_controller() {
        let all = [
            ("listeners", "CLIENTS://127.0.0.1:1,CONTROLLER://127.0.0.1:2,INTERNAL://127.0.0.1:3"),
            ("controller.listener.names", "CONTROLLER"),
            ("num.network.threads", "2"),
            ("listener.name.internal.num.network.threads", "1"),
        ];
        let expected = [
            ",listener=CLIENTS,0",
            ",listener=CLIENTS,1",
            ",listener=CONTROLLER,0",
            ",listener=CONTROLLER,1",
            ",listener=INTERNAL,2",
        ];
        assert_eq!(named(&all), expected);
        assert_eq!(named(&all[..1]).len(), 9, "Kafka's default of three");
    }

    #[test]
    fn they_are_unnamed_where_they_are_many_or_of_unknown_number() {
        for threads in ["65", "33", "many", "-1", "4294967295"] {
            let all = [("listeners", "A://h:1,B://h:2"), ("num.network.threads", threads)];
            assert_eq!(named(&all), [""; 0], "{threads}");
        }
        assert_eq!(named(&[("listeners", "A://h:1,B://h:2"), ("num.network.threads", "32")]).len(), 64);
    }
}
