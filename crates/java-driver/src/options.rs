//! Options of a client's Java process.
//!
//! Ours are few, so that the client is run as applications run theirs: the heap that Kafka's own tools give their clients
//! by default (`-Xmx512M`), and the collector that Java itself takes on any host with two CPUs and
//! 2 GB, which a smaller one would not get (`-XX:+UseG1GC`). Each gives way to an option of the user's that says the same
//! thing otherwise.

use kdyno_model::plan::java_size;
use kdyno_testbed::TestbedError;

/// As in Kafka's `kafka-producer-perf-test.sh` and `kafka-consumer-perf-test.sh`.
const HEAP: &str = "-Xmx512M";
const COLLECTOR: &str = "-XX:+UseG1GC";
/// A client opens no window.
const HEADLESS: &str = "-Djava.awt.headless=true";
/// One that has no memory left ends, instead of going on without the threads that found none; the worker knows its exit
/// code.
const ENDS_WITHOUT_MEMORY: &str = "-XX:+ExitOnOutOfMemoryError";

/// What begins an option that says how large the heap may become.
const SAYS_HEAP: [&str; 4] = ["-Xmx", "-XX:MaxHeapSize", "-XX:MaxRAMPercentage", "-XX:MaxRAM="];
/// Share of the memory that Java takes for a heap by default, percent.
const HEAP_SHARE: f64 = 25.0;
/// Options that name what is run: that is the driver.
const NAMES_CLASSES: [&str; 7] = ["-cp", "-classpath", "--class-path", "-jar", "-m", "--module", "--source"];

/// Ours, as far as they are used, and behind them the user's.
pub(crate) fn all(given: &[String]) -> Result<Vec<String>, TestbedError> {
    given.iter().try_for_each(|option| check(option))?;
    let mut all = vec![HEADLESS.to_owned(), ENDS_WITHOUT_MEMORY.to_owned()];
    if !says_heap(given) {
        all.push(HEAP.to_owned());
    }
    let names_collector = |option: &String| option.starts_with("-XX:+Use") && option.ends_with("GC");
    if !given.iter().any(names_collector) {
        all.push(COLLECTOR.to_owned());
    }
    all.extend(given.iter().cloned());
    Ok(all)
}

fn says_heap(given: &[String]) -> bool {
    given.iter().any(|option| SAYS_HEAP.iter().any(|begin| option.starts_with(begin)))
}

/// The largest that the heap of a process with these options of the user's becomes, bytes, on a host with so much memory.
pub fn heap_bytes(given: &[String], memory_bytes: u64) -> u64 {
    if !says_heap(given) {
        return HEAP.strip_prefix("-Xmx").and_then(java_size).unwrap_or(0);
    }
    if let Some(bytes) = last_of(given, &["-Xmx", "-XX:MaxHeapSize="]).and_then(java_size) {
        return bytes;
    }
    let memory = last_of(given, &["-XX:MaxRAM="]).and_then(java_size).unwrap_or(memory_bytes);
    let share = last_of(given, &["-XX:MaxRAMPercentage="]).and_then(|text| text.parse().ok());
    (memory as f64 * share.unwrap_or(HEAP_SHARE) / 100.0) as u64
}

/// What follows the beginning of the last option that begins so: it is the one that counts.
fn last_of<'a>(given: &'a [String], begins: &[&str]) -> Option<&'a str> {
    let value = |option: &'a String| begins.iter().find_map(|begin| option.strip_prefix(*begin));
    given.iter().rev().find_map(value)
}

fn check(option: &str) -> Result<(), TestbedError> {
    let refused = |message: String| {
        let hint = "`jvm` takes options of the Java process, each by itself, e.g. `[-Xmx1g, -XX:+UseZGC]`";
        TestbedError::hinted(message, hint)
    };
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    if !option.starts_with('-') || option.contains(['\n', '\0']) {
        return Err(refused(format!("{option:?} is no option of a Java process")));
    }
    if NAMES_CLASSES.contains(&name) {
        return Err(refused(format!("{option:?} says which classes are run, and those are the driver's")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[&str]) -> Result<Vec<String>, TestbedError> {
        all(&given.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn ours_give_way_to_the_users() {
        let options = |given: &[&str]| of(given).expect("options").join(" ");
        assert_eq!(
            options(&[]),
            "-Djava.awt.headless=true -XX:+ExitOnOutOfMemoryError -Xmx512M -XX:+UseG1GC"
        );
        assert_eq!(
            options(&["-Xmx1g"]),
            "-Djava.awt.headless=true -XX:+ExitOnOutOfMemoryError -XX:+UseG1GC -Xmx1g"
        );
        assert_eq!(options(&["-XX:MaxRAMPercentage=50"]).matches("-Xmx").count(), 0);
        assert_eq!(
            options(&["-XX:+UseZGC"]),
            "-Djava.awt.headless=true -XX:+ExitOnOutOfMemoryError -Xmx512M -XX:+UseZGC"
        );
        assert!(options(&["-Xms1g", "-XX:+UseStringDeduplication"]).contains("-Xmx512M -XX:+UseG1GC -Xms1g"));
    }

    #[test]
    fn a_heap_is_as_large_as_java_makes_it() {
        let memory_bytes = 8 << 30;
        let mib = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|option| (*option).to_owned()).collect();
            heap_bytes(&given, memory_bytes) >> 20
        };
        assert_eq!((mib(&[]), mib(&["-Xms1g", "-XX:+UseZGC"])), (512, 512));
        assert_eq!((mib(&["-Xmx1g"]), mib(&["-Xmx2G", "-Xmx300m"])), (1024, 300));
        assert_eq!((mib(&["-XX:MaxHeapSize=1048576k"]), mib(&["-Xmx1073741824"])), (1024, 1024));
        assert_eq!(mib(&["-XX:MaxRAMPercentage=50", "-Xmx1t"]), 1 << 20, "a size comes before a share");
        assert_eq!((mib(&["-XX:MaxRAMPercentage=50"]), mib(&["-XX:MaxRAM=4g"])), (4096, 1024));
    }

    #[test]
    fn what_names_other_classes_is_refused() {
        for (option, why) in [
            ("Xmx1g", "is no option"),
            ("", "is no option"),
            ("-cp", "which classes are run"),
            ("--class-path=/x", "which classes are run"),
            ("-jar", "which classes are run"),
        ] {
            let error = of(&[option]).expect_err(option);
            assert!(error.to_string().contains(why), "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("jvm")));
        }
    }
}
