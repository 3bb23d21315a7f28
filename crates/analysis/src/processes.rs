//! What each process of this host used in the window, and whether its memory keeps its size.
//!
//! The slope of memory is that between stretches of the window: readings of neighbouring seconds depend on each other, and the
//! medians of stretches do so less. For the heap after collections the least of each stretch counts, which is the
//! nearest to what is alive.

use crate::cpu;
use crate::evidence::{NS_PER_S, Window};
use crate::rows::TrialRows;
use crate::statistics::{SEN_LEVEL, SEN_MIN, SenSlope, sen_slope};
use crate::steady::{median, theil_sen};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Interval, IntervalMethod, Mark, NotResolvable};
use kdyno_model::processes::{MemoryCourse, MemorySays, MemoryUntold, ProcessUse, Processes};
use kdyno_model::sample::{ProbeReading, series};

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// Shortest window for which a leak is judged, s: pools, caches and compiled code take minutes to have their size.
const SAYS_S: u32 = 300;

/// Stretches that a window is divided into at most, and the shortest of them, s.
const STRETCHES_MAX: u32 = 20;
const STRETCH_S_MIN: u32 = 5;

/// Fewest stretches that have a slope.
const STRETCHES_MIN: usize = 3;

/// What is called stable, per minute: 0.1 MiB (144 MiB in a day) or 0.02 % of it (29 % in a day), whichever is more.
const STABLE_MIB: f64 = 0.1;
const STABLE_SHARE: f64 = 0.0002;

/// A second half that grows by less than this share of what the first one does levels off.
const LEVELLING_SHARE: f64 = 0.5;

/// Every process that was probed and is not the other side's; `None`: there is none, or no window.
pub(crate) fn of(trial: &TrialRows<'_>) -> Option<Processes> {
    let window = trial.window?;
    let is_one = |subject: &Subject| {
        let is_reported = cpu::is_own_process(subject) || cpu::is_named(subject);
        is_reported && !cpu::is_other_side(subject)
    };
    let subjects = cpu::subjects(trial.probes(), is_one).into_iter();
    let processes: Vec<ProcessUse> =
        subjects.filter_map(|subject| used(trial.probes(), subject, window)).collect();
    (!processes.is_empty()).then(|| Processes { scope: trial.scope(), processes })
}

/// For one that reports its CPU time: brokers elsewhere report other things.
fn used(probes: &[ProbeReading], of: Subject, window: Window) -> Option<ProcessUse> {
    // An hour has millions of all, and each figure looks through what it is given.
    let probes: &[ProbeReading] =
        &probes.iter().filter(|reading| reading.subject == of).cloned().collect::<Vec<_>>();
    let grown = |series: &str| cpu::counter_s(probes, &of, series, window).map(|sum| sum / window.seconds());
    let cpu_user_percent = grown(series::CPU_USER_S_TOTAL).map(|share| 100.0 * share);
    let cpu_system_percent = grown(series::CPU_SYSTEM_S_TOTAL).map(|share| 100.0 * share);
    cpu_user_percent?;
    let switches = [series::CONTEXT_SWITCHES_INVOLUNTARY_TOTAL, series::CONTEXT_SWITCHES_VOLUNTARY_TOTAL];
    Some(ProcessUse {
        cpu_user_percent,
        cpu_system_percent,
        memory_rss_bytes_max: cpu::memory_bytes_max(probes, &of, window),
        memory: memory(probes, &of, window),
        heap_after_gc: heap(probes, &of, window),
        disk_read_bytes_per_s: grown(series::DISK_READ_BYTES_TOTAL),
        disk_write_bytes_per_s: grown(series::DISK_WRITE_BYTES_TOTAL),
        context_switches_per_s: switches.into_iter().map(grown).sum(),
        open_files_max: cpu::largest(probes, &of, series::OPEN_FILES, window),
        of,
    })
}

/// How resident memory of a process went.
pub(crate) fn memory(probes: &[ProbeReading], of: &Subject, window: Window) -> Option<MemoryCourse> {
    // Another process of that name has memory of its own, and its CPU time begins at nothing.
    let cpu = of_series(probes, of, series::CPU_USER_S_TOTAL);
    if !cpu.is_sorted_by(|a, b| a.1 <= b.1) {
        return None;
    }
    let readings = of_series(probes, of, series::MEMORY_RSS_BYTES);
    course(&stretches(&readings, window, median), window)
}

/// How the heap after collections went: of readings before which there was one.
pub(crate) fn heap(probes: &[ProbeReading], of: &Subject, window: Window) -> Option<MemoryCourse> {
    let pauses = of_series(probes, of, series::GC_PAUSES_TOTAL);
    let had_one = |at_ns: i64| {
        let at = pauses.partition_point(|(read_ns, _)| *read_ns < at_ns);
        let now = pauses.get(at).filter(|(read_ns, _)| *read_ns == at_ns);
        let before = at.checked_sub(1).map(|before| pauses[before]);
        now.zip(before).is_some_and(|(now, before)| now.1 > before.1)
    };
    let mut readings = of_series(probes, of, series::HEAP_AFTER_GC_BYTES);
    readings.retain(|(at_ns, _)| had_one(*at_ns));
    let least = |values: &mut [f64]| values.iter().copied().reduce(f64::min);
    let mut found = course(&stretches(&readings, window, least), window)?;
    if matches!(found.says, MemorySays::Growing | MemorySays::CannotTell(MemoryUntold::LevellingOff)) {
        found.says = MemorySays::CannotTell(MemoryUntold::OldGarbage);
    }
    Some(found)
}

/// Readings of a series in order of time, ns from T0.
fn of_series(probes: &[ProbeReading], of: &Subject, series: &str) -> Vec<(i64, f64)> {
    let is_it = |reading: &&ProbeReading| {
        reading.series == series && reading.subject == *of && reading.value.is_finite()
    };
    let mut found: Vec<(i64, f64)> =
        probes.iter().filter(is_it).map(|reading| (reading.at_ns, reading.value)).collect();
    found.sort_by_key(|(at_ns, _)| *at_ns);
    found
}

/// One value for each stretch of the window, which end with it; none unless each stretch has readings.
struct Stretches {
    values: Vec<f64>,
    seconds: u32,
}

fn stretches(readings: &[(i64, f64)], window: Window, of: impl Fn(&mut [f64]) -> Option<f64>) -> Stretches {
    let length_s = window.end_second - window.first_second;
    let seconds = length_s.div_ceil(STRETCHES_MAX).max(STRETCH_S_MIN);
    let many = length_s / seconds;
    let first_s = window.end_second - many * seconds;
    let ns = |second: u32| i64::from(second) * NS_PER_S.cast_signed();
    let value = |number: u32| {
        let (from_ns, to_ns) = (ns(first_s + number * seconds), ns(first_s + (number + 1) * seconds));
        let inside = readings.iter().filter(|(at_ns, _)| (from_ns..to_ns).contains(at_ns));
        of(&mut inside.map(|(_, value)| *value).collect::<Vec<f64>>())
    };
    Stretches { values: (0..many).map(value).collect::<Option<_>>().unwrap_or_default(), seconds }
}

fn course(of: &Stretches, window: Window) -> Option<MemoryCourse> {
    if of.values.len() < STRETCHES_MIN {
        return None;
    }
    let SenSlope { slope, bounds } = sen_slope(&of.values)?;
    let mib_per_min = |per_stretch: f64| per_stretch / BYTES_PER_MIB * 60.0 / f64::from(of.seconds);
    let interval = match bounds.map(|bounds| bounds.map(mib_per_min)) {
        Some([low, high]) => Interval::Bounds { low, high, level: SEN_LEVEL, method: IntervalMethod::Sen },
        None => Interval::NotResolvable(NotResolvable::TooShort),
    };
    let size_mib = median(&mut of.values.clone())? / BYTES_PER_MIB;
    let stable = STABLE_MIB.max(STABLE_SHARE * size_mib);
    let says = match interval {
        _ if window.end_second - window.first_second < SAYS_S => {
            MemorySays::CannotTell(MemoryUntold::WindowTooShort { needed_s: SAYS_S })
        }
        Interval::Bounds { low, high, .. } => says(low, high, stable, &of.values),
        Interval::NotResolvable(_) => MemorySays::CannotTell(MemoryUntold::Noisy),
    };
    Some(MemoryCourse { mib_per_min: mib_per_min(slope), interval, says })
}

/// The marks of its slope.
pub(crate) fn mark(course: &MemoryCourse) -> Option<Mark> {
    let is_short = matches!(course.says, MemorySays::CannotTell(MemoryUntold::WindowTooShort { .. }));
    is_short.then_some(Mark::TooShortToTell)
}

fn says(low: f64, high: f64, stable: f64, values: &[f64]) -> MemorySays {
    if low >= -stable && high <= stable {
        MemorySays::Stable
    } else if low > stable {
        let (first, second) = values.split_at(values.len() / 2);
        let levels_off = match (theil_sen(first), theil_sen(second)) {
            (Some(first), Some(second)) => second < LEVELLING_SHARE * first,
            _ => false,
        };
        if levels_off { MemorySays::CannotTell(MemoryUntold::LevellingOff) } else { MemorySays::Growing }
    } else if high < -stable {
        MemorySays::Shrinking
    } else {
        MemorySays::CannotTell(MemoryUntold::Noisy)
    }
}

const _: () = assert!(SAYS_S.div_ceil(SAYS_S.div_ceil(STRETCHES_MAX)) as usize >= SEN_MIN);

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::seed::mix;

    const MIB: f64 = BYTES_PER_MIB;

    fn reading(at_s: u32, series: &str, value: f64) -> ProbeReading {
        let at_ns = i64::from(at_s) * NS_PER_S.cast_signed() + 3_000_000;
        ProbeReading { at_ns, subject: Subject::Broker(0), series: series.to_owned(), value }
    }

    /// Resident memory in MiB by the second.
    fn rss(seconds: u32, of: impl Fn(f64) -> f64) -> MemoryCourse {
        let probes: Vec<ProbeReading> = (0..=10 + seconds)
            .map(|at| reading(at, series::MEMORY_RSS_BYTES, of(f64::from(at)) * MIB))
            .collect();
        let window = Window { first_second: 10, end_second: 10 + seconds };
        memory(&probes, &Subject::Broker(0), window).expect("a slope")
    }

    fn bounds(of: &MemoryCourse) -> [f64; 2] {
        match of.interval {
            Interval::Bounds { low, high, .. } => [low, high],
            Interval::NotResolvable(why) => panic!("{why:?}"),
        }
    }

    fn noise(at: f64) -> f64 {
        mix(at as u64, 11) as f64 / u64::MAX as f64 - 0.5
    }

    #[test]
    fn flat_memory_is_stable_and_the_interval_says_within_what() {
        let flat = rss(300, |_| 500.0);
        assert_eq!((flat.mib_per_min, flat.says, bounds(&flat)), (0.0, MemorySays::Stable, [0.0, 0.0]));
        let noisy = rss(600, |at| 500.0 + noise(at));
        let [low, high] = bounds(&noisy);
        assert!(noisy.says == MemorySays::Stable && low < 0.0 && high > 0.0, "{noisy:?}");
        // A step of a pool that is allocated once is no growth.
        let step = rss(600, |at| if at < 60.0 { 480.0 } else { 500.0 });
        assert_eq!(step.says, MemorySays::Stable, "{step:?}");
    }

    #[test]
    fn a_leak_is_seen_with_its_slope_also_in_noise() {
        let clean = rss(300, |at| 500.0 + 2.0 * at / 60.0);
        assert_eq!(clean.says, MemorySays::Growing);
        assert!((clean.mib_per_min - 2.0).abs() < 1e-9, "{clean:?}");
        let noisy = rss(900, |at| 500.0 + 2.0 * at / 60.0 + 4.0 * noise(at));
        let [low, high] = bounds(&noisy);
        assert_eq!(noisy.says, MemorySays::Growing, "{noisy:?}");
        assert!(low < 2.0 && high > 2.0 && high - low < 0.5, "{noisy:?}");
        assert_eq!(rss(300, |at| 500.0 - at / 60.0).says, MemorySays::Shrinking);
    }

    #[test]
    fn a_short_window_has_a_slope_and_no_leak() {
        let short = MemorySays::CannotTell(MemoryUntold::WindowTooShort { needed_s: 300 });
        let minute = rss(60, |at| 500.0 + 2.0 * at / 60.0);
        assert_eq!(minute.says, short);
        assert!((minute.mib_per_min - 2.0).abs() < 1e-9 && bounds(&minute)[0] > 1.9, "{minute:?}");
        let seconds = rss(20, |at| 500.0 + at);
        assert_eq!(seconds.says, short);
        assert_eq!(seconds.interval, Interval::NotResolvable(NotResolvable::TooShort));
        let window = Window { first_second: 0, end_second: 12 };
        let few: Vec<_> = (0..12).map(|at| reading(at, series::MEMORY_RSS_BYTES, MIB)).collect();
        assert_eq!(memory(&few, &Subject::Broker(0), window), None);
    }

    #[test]
    fn memory_that_levels_off_or_swings_is_no_leak() {
        let warm = rss(600, |at| 500.0 - 300.0 * (-at / 200.0).exp());
        assert_eq!(warm.says, MemorySays::CannotTell(MemoryUntold::LevellingOff), "{warm:?}");
        assert!(warm.mib_per_min > 1.0, "{warm:?}");
        let swings = rss(300, |at| 500.0 + 40.0 * noise((at / 15.0).floor()));
        assert_eq!(swings.says, MemorySays::CannotTell(MemoryUntold::Noisy), "{swings:?}");
    }

    #[test]
    fn a_window_with_a_gap_has_no_slope() {
        let window = Window { first_second: 0, end_second: 300 };
        let probes: Vec<_> = (0..300)
            .filter(|at| !(100..140).contains(at))
            .map(|at| reading(at, series::MEMORY_RSS_BYTES, MIB))
            .collect();
        assert_eq!(memory(&probes, &Subject::Broker(0), window), None);
    }

    #[test]
    fn two_processes_of_one_name_have_no_slope_together() {
        let window = Window { first_second: 0, end_second: 300 };
        let of = |cpu_s: fn(u32) -> u32| {
            let one = move |at: u32| {
                [
                    reading(at, series::MEMORY_RSS_BYTES, MIB),
                    reading(at, series::CPU_USER_S_TOTAL, f64::from(cpu_s(at))),
                ]
            };
            let probes: Vec<_> = (0..300).flat_map(one).collect();
            memory(&probes, &Subject::Broker(0), window)
        };
        assert!(of(|at| at).is_some());
        assert_eq!(of(|at| if at < 150 { at } else { at - 150 }), None);
    }

    /// A collection in every third second; between them the last one's figure is reported again.
    fn heap_of(of: impl Fn(f64) -> f64) -> Option<MemoryCourse> {
        let probes: Vec<ProbeReading> = (0..=300u32)
            .flat_map(|at| {
                let last = f64::from(at / 3 * 3);
                let after = of(last) + if (at / 3) % 4 == 0 { 0.0 } else { 30.0 };
                [
                    reading(at, series::GC_PAUSES_TOTAL, f64::from(at / 3)),
                    reading(at, series::HEAP_AFTER_GC_BYTES, after * MIB),
                ]
            })
            .collect();
        heap(&probes, &Subject::Broker(0), Window { first_second: 0, end_second: 300 })
    }

    #[test]
    fn of_the_heap_the_least_counts_and_old_garbage_is_no_leak() {
        let flat = heap_of(|_| 100.0).expect("a slope");
        assert_eq!((flat.says, flat.mib_per_min), (MemorySays::Stable, 0.0));
        let grows = heap_of(|at| 100.0 + at / 60.0).expect("a slope");
        assert_eq!(grows.says, MemorySays::CannotTell(MemoryUntold::OldGarbage));
        assert!((grows.mib_per_min - 1.0).abs() < 0.1, "{grows:?}");
        // One that does not collect reports nothing again and again.
        let idle: Vec<_> = (0..300)
            .flat_map(|at| {
                [reading(at, series::GC_PAUSES_TOTAL, 3.0), reading(at, series::HEAP_AFTER_GC_BYTES, MIB)]
            })
            .collect();
        assert_eq!(heap(&idle, &Subject::Broker(0), Window { first_second: 0, end_second: 300 }), None);
    }
}
