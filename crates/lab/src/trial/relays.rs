//! What the relays of a trial's cluster did, once it has ended: how much they passed on, and how late in the measure phase.

use super::Execution;
use crate::clock::relative_ns;
use crate::error::LabError;
use crate::options::RunProgress;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::metric::QUANTILES;
use kdyno_model::sample::{Phase, ProbeReading, series};
use kdyno_model::units::count;
use kdyno_model::worker::PhaseSpan;
use kdyno_testbed::cluster::Relayed;
use kdyno_testbed::relay;

const NS_PER_S: f64 = 1e9;

impl Execution<'_> {
    /// Stores what they say of themselves, and reports once which of them did not take all connections.
    pub(super) fn keep_relayed(&self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        let context = self.context;
        for relayed in context.system.relayed() {
            context.store.probe(context.trial.id, readings(&relayed, self.t0_ns, &self.phases))?;
            if let Some((until_ns, why)) = refused(&relayed, self.t0_ns) {
                progress(RunProgress::Warning(why.clone()));
                let at_ns = relative_ns(until_ns, self.t0_ns);
                self.event(Some(at_ns), EventKind::ConnectionsRefused, &relayed.subject, &why)?;
            }
        }
        Ok(())
    }
}

/// Second by second how much was passed on; of the measure phase, where there was one, how late.
fn readings(relayed: &Relayed, t0_ns: u64, phases: &[PhaseSpan]) -> Vec<ProbeReading> {
    let Relayed { subject, ends: [one, other], tallies } = relayed;
    let ways = [format!("{one}>{other}"), format!("{other}>{one}")];
    let mut found = Vec::new();
    // A cluster lives longer than a trial: the tally before T0 says from where its bytes count.
    let before = tallies.iter().rposition(|tally| tally.until_ns < t0_ns).unwrap_or(0);
    for tally in &tallies[before.min(tallies.len())..] {
        let at_ns = relative_ns(tally.until_ns, t0_ns);
        for (way, bytes) in ways.iter().zip(tally.bytes) {
            let name = format!("{}{way}", series::RELAYED_BYTES_TOTAL_OF);
            found.push(reading(at_ns, subject, name, bytes as f64));
        }
    }
    let Some(span) = phases.iter().find(|span| span.phase == Phase::Measure) else { return found };
    let window = t0_ns.saturating_add(span.start_ns)..t0_ns.saturating_add(span.end_ns);
    // The line that ends first in the window is of the second before it.
    let inside = tallies.iter().filter(|tally| window.contains(&tally.until_ns)).skip(1);
    let late = inside.filter_map(|tally| tally.late().ok()).reduce(|mut all, one| {
        // Counts of seconds: they do not overflow together.
        let _ = kdyno_model::histogram::merge(&mut all, &one);
        all
    });
    if let Some(late) = late {
        let at_ns = relative_ns(window.end, t0_ns);
        found.push(reading(at_ns, subject, series::RELAYED_IN_WINDOW.to_owned(), late.len() as f64));
        if late.is_empty() {
            return found;
        }
        let errors =
            QUANTILES.iter().map(|(name, quantile)| (*name, late.value_at_quantile(*quantile) as f64));
        for (name, late_ns) in errors.chain([("mean", late.mean()), ("max", late.max() as f64)]) {
            let name = format!("{}{name}", series::RELAY_DELAY_ERROR_S_OF);
            found.push(reading(at_ns, subject, name, late_ns / NS_PER_S));
        }
    }
    found
}

/// The second in which it began to refuse connections since T0, and how many they were, one lowercase sentence.
fn refused(relayed: &Relayed, t0_ns: u64) -> Option<(u64, String)> {
    let of_trial = |tally: &&relay::RelayTally| tally.until_ns >= t0_ns;
    let before = relayed.tallies.iter().rev().find(|tally| !of_trial(tally)).map_or(0, |tally| tally.refused);
    let first = relayed.tallies.iter().filter(of_trial).find(|tally| tally.refused > before)?;
    let refused = relayed.tallies.last()?.refused - before;
    let [one, other] = &relayed.ends;
    let max = count(relay::CONNECTIONS_MAX as f64);
    let why = format!(
        "{} between {one} and {other} refused {refused} connections: it handles {max} at once at most",
        relayed.subject
    );
    Some((first.until_ns, why))
}

fn reading(at_ns: i64, subject: &Subject, series: String, value: f64) -> ProbeReading {
    ProbeReading { at_ns, subject: subject.clone(), series, value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_testbed::relay::RelayTally;

    const SECOND: u64 = 1_000_000_000;

    fn tally(until_s: u64, bytes: u64, late_ns: &[u64]) -> RelayTally {
        RelayTally::of(until_s * SECOND, [bytes, 2 * bytes], late_ns)
    }

    #[test]
    fn relay_delays_are_those_of_the_measure_phase_alone() {
        let ends = ["a".to_owned(), "b".to_owned()];
        let tallies = vec![
            tally(99, 5, &[9_000_000]),
            tally(101, 10, &[9_000_000]),
            tally(103, 20, &[9_000_000]),
            tally(104, 30, &[50_000, 60_000]),
            tally(105, 40, &[70_000]),
            tally(107, 50, &[9_000_000]),
        ];
        let relayed = Relayed { subject: Subject::Relay(0), ends, tallies };
        let span =
            |phase, start_s, end_s| PhaseSpan { phase, start_ns: start_s * SECOND, end_ns: end_s * SECOND };
        let phases = [span(Phase::Warmup, 0, 2), span(Phase::Measure, 2, 6), span(Phase::Drain, 6, 20)];
        let found = readings(&relayed, 100 * SECOND, &phases);
        let of = |name: &str| -> Vec<(i64, f64)> {
            found.iter().filter(|one| one.series == name).map(|one| (one.at_ns, one.value)).collect()
        };
        let bytes = of("relayed_bytes_total.b>a");
        assert_eq!((bytes.len(), bytes[0], bytes[5]), (6, (-1_000_000_000, 10.0), (7_000_000_000, 100.0)));
        assert_eq!(of("relayed_in_window"), [(6_000_000_000, 3.0)]);
        let p50 = of("relay_delay_error_s.p50")[0].1;
        assert!((59e-6..61e-6).contains(&p50), "{p50}");
        let idle = Relayed { tallies: Vec::new(), ..relayed };
        assert!(readings(&idle, 0, &phases).is_empty());
    }

    #[test]
    fn refused_connections_are_those_of_this_trial_alone() {
        let of = |refused: &[u64]| {
            let tallies = (99..).zip(refused).map(|(until_s, refused)| {
                let mut one = tally(until_s, 0, &[]);
                one.refused = *refused;
                one
            });
            let ends = ["a".to_owned(), "b".to_owned()];
            super::refused(
                &Relayed { subject: Subject::Relay(0), ends, tallies: tallies.collect() },
                100 * SECOND,
            )
        };
        assert_eq!(of(&[3, 3, 3]), None);
        assert_eq!(of(&[]), None);
        let (until_ns, why) = of(&[3, 3, 5, 10]).expect("seven");
        assert_eq!(until_ns, 101 * SECOND);
        assert_eq!(why, "relay-0 between a and b refused 7 connections: it handles 8,192 at once at most");
    }
}
