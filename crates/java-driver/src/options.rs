//! Options of a client's Java process.
//!
//! Ours are few, so that the client is run as applications run theirs: the heap that Kafka's own tools give their clients
//! when nobody says otherwise (`-Xmx512M`), and the collector that Java itself takes on any host with two processors and
//! 2 GB, which a smaller one would not get (`-XX:+UseG1GC`). Each gives way to an option of the user's that says the same
//! thing otherwise.

use crate::error::JavaDriverError;

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
/// Options that name what is run: that is the driver.
const NAMES_CLASSES: [&str; 7] = ["-cp", "-classpath", "--class-path", "-jar", "-m", "--module", "--source"];

/// Ours, as far as they stand, and behind them the user's.
pub(crate) fn all(given: &[String]) -> Result<Vec<String>, JavaDriverError> {
    given.iter().try_for_each(|option| check(option))?;
    let says = |option: &String, begins: &[&str]| begins.iter().any(|begin| option.starts_with(begin));
    let mut all = vec![HEADLESS.to_owned(), ENDS_WITHOUT_MEMORY.to_owned()];
    if !given.iter().any(|option| says(option, &SAYS_HEAP)) {
        all.push(HEAP.to_owned());
    }
    let names_collector = |option: &String| option.starts_with("-XX:+Use") && option.ends_with("GC");
    if !given.iter().any(names_collector) {
        all.push(COLLECTOR.to_owned());
    }
    all.extend(given.iter().cloned());
    Ok(all)
}

fn check(option: &str) -> Result<(), JavaDriverError> {
    let refused = |message: String| {
        let hint = "`jvm` takes options of the Java process, each by itself, e.g. `[-Xmx1g, -XX:+UseZGC]`";
        JavaDriverError::Option { message, hint: hint.to_owned() }
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

    fn of(given: &[&str]) -> Result<Vec<String>, JavaDriverError> {
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
