//! The evidence of one trial, as analysis reads it: of a finished run and, by the writer's own connection, while the
//! run goes on.

use crate::columns::{self, RowFault, blob, named, unsigned};
use crate::error::StoreError;
use crate::pack;
use crate::reader::{RunFile, stream_id};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::held_up::has_held_up;
use kdyno_model::sample::{
    ClientTotals, Counts, Grain, NoiseReading, Phase, ProbeReading, Sample, StreamTotals,
};
use kdyno_model::trial::TrialId;
use kdyno_model::worker::PhaseSpan;
use rusqlite::{Row, ToSql};
use serde::Serialize;

/// See [`RunFile::evidence`].
const SAMPLES: &str = "SELECT worker, stream, sequence, grain, phase, t0_second, written_second, packed \
     FROM sample WHERE trial = ?1 AND (grain <> ?2 OR (worker, stream) NOT IN \
     (SELECT worker, stream FROM sample WHERE trial = ?1 AND grain = ?3 AND phase = ?4)) \
     ORDER BY worker, stream, sequence";
/// Replaces a grain whose rows are left out: none are.
const NO_GRAIN: &str = "";
/// See [`RunFile::recent`]. Sorted by nothing, so that the index decides what is looked at.
const RECENT_SAMPLES: &str = "SELECT worker, stream, sequence, grain, phase, t0_second, written_second, packed \
     FROM sample WHERE trial = ?1 AND written_second >= ?2 AND grain = ?3";
const PROBES: &str = "SELECT packed FROM probe WHERE trial = ?1 AND at_ns >= ?2 ORDER BY at_ns, rowid";

impl RunFile {
    /// What is stored of a trial: samples by stream and sequence, readings by time, all else in the order of arrival. Rows
    /// of five seconds only of streams that were cut off before they wrote their row of the whole measure phase, or of all where a
    /// worker stood still in it, for they say when: of the others they say the same once more, in most of the bytes of a long trial.
    ///
    /// # Errors
    /// When the trial never started, or its rows are damaged or more than fit in memory.
    pub fn evidence(&self, trial: TrialId) -> Result<TrialEvidence, StoreError> {
        let [five, whole] = [Grain::FiveSeconds, Grain::Phase].map(|grain| self.name_of(&grain));
        let (five, whole, measure) = (five?, whole?, self.name_of(&Phase::Measure)?);
        let mut samples = self.samples(SAMPLES, &[&trial.0, &five, &whole, &measure])?;
        let is_measured = |row: &&Sample| row.grain == Grain::Phase && row.phase == Phase::Measure;
        if samples.iter().filter(is_measured).any(has_held_up) {
            samples = self.samples(SAMPLES, &[&trial.0, &NO_GRAIN, &whole, &measure])?;
        }
        self.evidence_with(trial, samples)
    }

    /// The evidence with the rows of five seconds of all streams, for figures over time that rows of one second do not have: the load
    /// generator's delay, and the wait for room.
    ///
    /// # Errors
    /// As those of [`Self::evidence`].
    pub fn evidence_with_fives(&self, trial: TrialId) -> Result<TrialEvidence, StoreError> {
        let [whole, measure] = [self.name_of(&Grain::Phase)?, self.name_of(&Phase::Measure)?];
        let samples = self.samples(SAMPLES, &[&trial.0, &NO_GRAIN, &whole, &measure])?;
        self.evidence_with(trial, samples)
    }

    fn evidence_with(&self, trial: TrialId, samples: Vec<Sample>) -> Result<TrialEvidence, StoreError> {
        Ok(TrialEvidence {
            samples,
            probes: self.probes(trial, i64::MIN)?,
            totals: self.totals(trial)?,
            events: self.events_where("trial = ?1", [trial.0])?.into_iter().map(|(_, event)| event).collect(),
            noise: self.noise(trial)?,
            ..self.evidence_without_rows(trial)?
        })
    }

    /// The newest part of a trial, for display while it runs: of the samples those of one second, written from
    /// that second on; of the readings those from the start of that second on; neither totals nor events nor noise.
    pub(crate) fn recent(
        &self,
        trial: TrialId,
        from_written_second: u32,
    ) -> Result<TrialEvidence, StoreError> {
        let grain = self.name_of(&Grain::Second)?;
        Ok(TrialEvidence {
            samples: self.samples(RECENT_SAMPLES, &[&trial.0, &from_written_second, &grain])?,
            probes: self.probes(trial, i64::from(from_written_second) * 1_000_000_000)?,
            ..self.evidence_without_rows(trial)?
        })
    }

    /// What a column holds for a value.
    fn name_of(&self, value: &impl Serialize) -> Result<String, StoreError> {
        columns::name_of(value)
            .map_err(|error| StoreError::Read { path: self.path().to_path_buf(), reason: error.to_string() })
    }

    /// A trial's start, session and phases.
    fn evidence_without_rows(&self, trial: TrialId) -> Result<TrialEvidence, StoreError> {
        let start = self.trials_where("trial = ?1", [trial.0])?.pop();
        let start = start.ok_or_else(|| StoreError::NoTrial { path: self.path().to_path_buf(), trial })?;
        let session = self.sessions()?.into_iter().find(|(session, _)| session.number == start.session);
        let (session, _) = session.ok_or_else(|| {
            StoreError::damaged(self.path(), format!("the session of trial {trial} is missing"))
        })?;
        Ok(TrialEvidence {
            phases: self.phases(trial)?,
            start,
            session,
            samples: Vec::new(),
            probes: Vec::new(),
            totals: Vec::new(),
            events: Vec::new(),
            noise: Vec::new(),
        })
    }

    fn phases(&self, trial: TrialId) -> Result<Vec<PhaseSpan>, StoreError> {
        let sql = "SELECT phase, start_ns, end_ns FROM phase WHERE trial = ?1 ORDER BY rowid";
        self.rows("phase", sql, [trial.0], |row| {
            Ok(PhaseSpan {
                phase: named(row, 0)?,
                start_ns: unsigned(row, 1)?,
                end_ns: row.get::<_, Option<i64>>(2)?.map_or(u64::MAX, i64::cast_unsigned),
            })
        })
    }

    fn samples(&self, sql: &str, params: &[&dyn ToSql]) -> Result<Vec<Sample>, StoreError> {
        let mut samples = Vec::new();
        let mut plain_bytes = 0;
        self.visit("sample", sql, params, sample, &mut |sample| {
            plain_bytes += held_bytes(&sample);
            samples.push(sample);
            self.within("samples", plain_bytes)
        })?;
        Ok(samples)
    }

    fn probes(&self, trial: TrialId, from_ns: i64) -> Result<Vec<ProbeReading>, StoreError> {
        let mut readings: Vec<ProbeReading> = Vec::new();
        let mut held = 0;
        let unpack = |row: &Row<'_>| Ok(pack::unpack_readings(blob(row, 0)?)?);
        let hold = &mut |(mut round, bytes): (Vec<ProbeReading>, u64)| {
            held += bytes;
            readings.append(&mut round);
            self.within("readings", held)
        };
        self.visit("probe", PROBES, (trial.0, from_ns), unpack, hold)?;
        Ok(readings)
    }

    fn totals(&self, trial: TrialId) -> Result<Vec<StreamTotals>, StoreError> {
        let sql = "SELECT worker, stream, packed FROM totals WHERE trial = ?1 ORDER BY worker, stream";
        let (mut totals, mut held) = (Vec::new(), 0);
        let unpack = |row: &Row<'_>| Ok(pack::unpack_totals(stream_id(row)?, blob(row, 2)?)?);
        self.visit("totals", sql, [trial.0], unpack, &mut |of_stream: StreamTotals| {
            let service = of_stream.steady.as_ref().map_or(0, |steady| steady.service.len());
            let clients = of_stream.clients.len() * size_of::<ClientTotals>();
            held += (clients + service + reasons_bytes(&of_stream.counts)) as u64;
            totals.push(of_stream);
            self.within("totals", held)
        })?;
        Ok(totals)
    }

    /// What the noise probe showed before a trial.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn noise(&self, trial: TrialId) -> Result<Vec<NoiseReading>, StoreError> {
        let sql = "SELECT spin_per_us, spin_worst_ratio, sleep_late_ns_p50, sleep_late_ns_p99, \
                   loopback_ns_p50, loopback_ns_p99, steal_share FROM noise WHERE trial = ?1 ORDER BY rowid";
        self.rows("noise", sql, [trial.0], |row| {
            Ok(NoiseReading {
                spin_per_us: row.get(0)?,
                spin_worst_ratio: row.get(1)?,
                sleep_late_ns_p50: unsigned(row, 2)?,
                sleep_late_ns_p99: unsigned(row, 3)?,
                loopback_ns_p50: unsigned(row, 4)?,
                loopback_ns_p99: unsigned(row, 5)?,
                steal_share: row.get(6)?,
            })
        })
    }
}

fn sample(row: &Row<'_>) -> Result<Sample, RowFault> {
    let (counts, histograms, sums_ns) = pack::unpack_sample(blob(row, 7)?)?;
    Ok(Sample {
        id: stream_id(row)?,
        sequence: unsigned(row, 2)?,
        grain: named(row, 3)?,
        phase: named(row, 4)?,
        t0_second: row.get(5)?,
        written_second: row.get(6)?,
        counts,
        histograms,
        sums_ns,
    })
}

/// About the memory that a sample takes.
fn held_bytes(sample: &Sample) -> u64 {
    let histograms: usize = sample.histograms.values().map(|bytes| bytes.len() + 64).sum();
    let sums = 64 * sample.sums_ns.len();
    (size_of::<Sample>() + histograms + sums + reasons_bytes(&sample.counts)) as u64
}

/// Reads the reasons for which records failed.
fn reasons_bytes(counts: &Counts) -> usize {
    counts.failed.keys().map(|reason| reason.len() + 64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;
    use rusqlite::Connection;

    /// How SQLite would go about a query, in its own words.
    fn ways(sql: &str) -> Vec<String> {
        let connection = Connection::open_in_memory().expect("in memory");
        connection.execute_batch(schema::TABLES).expect("valid tables");
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("valid SQL");
        let ways = statement.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>();
        ways.expect("an explanation")
    }

    #[test]
    fn the_newest_rows_of_a_long_trial_are_found_without_a_scan() {
        let samples = "SEARCH sample USING INDEX sample_written (trial=? AND written_second>?)";
        assert_eq!(ways(RECENT_SAMPLES), [samples]);
        assert_eq!(ways(PROBES), ["SEARCH probe USING INDEX probe_at (trial=? AND at_ns>?)"]);
    }

    #[test]
    fn the_samples_of_a_trial_need_no_sorting() {
        let key = "SEARCH sample USING INDEX sqlite_autoindex_sample_1 (trial=?)";
        let ways = ways(SAMPLES);
        assert_eq!(ways.first().map(String::as_str), Some(key));
        assert!(!ways.iter().any(|way| way.contains("ORDER BY")), "{ways:?}");
    }
}
