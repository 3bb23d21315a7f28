//! One function per kind of row: how a value is laid into its table.

use crate::pack;
use kdyno_model::finding::{Caveat, Finding, Severity, Value};
use kdyno_model::plan::TrialRef;
use kdyno_model::run::{Event, RunEnd, RunHeader, RunStatus, TrialStart};
use kdyno_model::sample::{Grain, NoiseReading, Phase, ProbeReading, Sample, StreamTotals};
use kdyno_model::series::SeriesRole;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// Longest text of one event or log row; of longer ones the end is kept, where errors stand.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;

/// A row that could not be laid: by SQLite, or because it cannot be encoded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RowError {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error(transparent)]
    Pack(#[from] pack::PackError),
    #[error("could not encode a value as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

type Result = std::result::Result<(), RowError>;

/// A trial's key in every table.
pub(crate) fn trial_key(trial: TrialRef) -> i64 {
    (i64::from(trial.case) << 32) | i64::from(trial.repeat)
}

/// The reverse of [`trial_key`]; `None` for what it cannot have made.
pub(crate) fn trial_of(key: i64) -> Option<TrialRef> {
    let case = u32::try_from(key >> 32).ok()?;
    let repeat = u32::try_from(key & 0xffff_ffff).ok()?;
    Some(TrialRef { case, repeat })
}

pub(crate) fn grain_code(grain: Grain) -> i64 {
    match grain {
        Grain::Second => 0,
        Grain::FiveSeconds => 1,
        Grain::Phase => 2,
    }
}

pub(crate) fn phase_code(phase: Phase) -> i64 {
    match phase {
        Phase::Startup => 0,
        Phase::Warmup => 1,
        Phase::Measure => 2,
        Phase::Drain => 3,
    }
}

pub(crate) fn role_name(role: SeriesRole) -> &'static str {
    match role {
        SeriesRole::Produce => "produce",
        SeriesRole::Consume => "consume",
    }
}

pub(crate) fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "caveat",
        Severity::Invalid => "invalid",
    }
}

pub(crate) fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "completed",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "failed",
    }
}

pub(crate) fn header(connection: &Connection, header: &RunHeader) -> Result {
    connection.execute(
        "INSERT INTO run VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            format!("{:016x}", header.run_id),
            header.kdyno_version,
            header.started_unix_ns.cast_signed(),
            header.plan.scenario,
            header.plan.profile,
            header.plan.order.len().cast_signed(),
            header.scenario_path,
            header.scenario_text,
            serde_json::to_string(&header.plan)?,
            serde_json::to_string(&header.host_facts)?,
            serde_json::to_string(&header.command_line)?,
            header.git_head,
        ],
    )?;
    Ok(())
}

pub(crate) fn trial_start(connection: &Connection, start: &TrialStart) -> Result {
    let key = trial_key(start.trial);
    connection.execute(
        "INSERT INTO trial VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            key,
            start.number,
            start.t0_unix_ns.cast_signed(),
            start.t0_monotonic_ns.cast_signed(),
            serde_json::to_string(&start.phases)?,
            serde_json::to_string(&start.cluster)?,
            serde_json::to_string(&start.command_lines)?,
        ],
    )?;
    for stream in &start.streams {
        connection.execute(
            "INSERT INTO stream VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                key,
                stream.stream,
                stream.name,
                stream.topic,
                role_name(stream.role),
                stream.clients,
                stream.value_bytes,
            ],
        )?;
    }
    Ok(())
}

/// A sample that is there already is left alone: what arrives twice counts once.
pub(crate) fn sample(connection: &Connection, trial: TrialRef, sample: &Sample) -> Result {
    let packed = pack::pack_sample(sample)?;
    connection
        .prepare_cached("INSERT OR IGNORE INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
        .execute(params![
            trial_key(trial),
            sample.worker,
            sample.sequence.cast_signed(),
            sample.stream,
            grain_code(sample.grain),
            phase_code(sample.phase),
            sample.t0_second,
            sample.written_second,
            packed,
        ])?;
    Ok(())
}

pub(crate) fn probe(connection: &Connection, trial: TrialRef, readings: &[ProbeReading]) -> Result {
    let Some(first) = readings.first() else { return Ok(()) };
    let packed = pack::pack_readings(readings)?;
    connection.prepare_cached("INSERT INTO probe VALUES (?1, ?2, ?3)")?.execute(params![
        trial_key(trial),
        first.at_ns,
        packed
    ])?;
    Ok(())
}

pub(crate) fn event(connection: &Connection, trial: Option<TrialRef>, event: &Event) -> Result {
    connection.prepare_cached("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        trial.map(trial_key),
        event.at_unix_ns.cast_signed(),
        event.at_ns,
        tail(&event.kind),
        tail(&event.subject),
        tail(&event.detail),
    ])?;
    Ok(())
}

pub(crate) fn noise(connection: &Connection, trial: TrialRef, reading: &NoiseReading) -> Result {
    connection.execute(
        "INSERT INTO noise VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            trial_key(trial),
            finite(reading.spin_per_us),
            finite(reading.spin_worst_ratio),
            reading.sleep_late_ns_p50.cast_signed(),
            reading.sleep_late_ns_p99.cast_signed(),
            reading.loopback_ns_p50.cast_signed(),
            reading.loopback_ns_p99.cast_signed(),
            finite(reading.steal_share),
        ],
    )?;
    Ok(())
}

pub(crate) fn totals(connection: &Connection, trial: TrialRef, totals: &[StreamTotals]) -> Result {
    for stream in totals {
        connection.execute(
            "INSERT OR REPLACE INTO totals VALUES (?1, ?2, ?3)",
            params![trial_key(trial), stream.stream, pack::pack_totals(stream)?],
        )?;
    }
    Ok(())
}

pub(crate) fn log(connection: &Connection, subject: &str, excerpt: &str) -> Result {
    connection.execute("INSERT INTO log VALUES (?1, ?2)", params![tail(subject), tail(excerpt)])?;
    Ok(())
}

/// Findings and caveats of the trials named in them; what was stored for those trials before is replaced.
pub(crate) fn findings(
    connection: &Connection,
    findings: &[Finding],
    caveats: &[(TrialRef, Severity, Caveat)],
) -> Result {
    let trials: BTreeSet<i64> = findings
        .iter()
        .map(|finding| trial_key(finding.trial))
        .chain(caveats.iter().map(|(trial, ..)| trial_key(*trial)))
        .collect();
    for trial in trials {
        connection.execute("DELETE FROM finding WHERE trial = ?1", [trial])?;
        connection.execute("DELETE FROM caveat WHERE trial = ?1", [trial])?;
    }
    let mut insert = connection.prepare_cached("INSERT INTO finding VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for finding in findings {
        let (kind, value) = match finding.value {
            Value::Is(value) if !value.is_nan() => ("is", Some(value)),
            Value::AtLeast(value) if !value.is_nan() => ("at-least", Some(value)),
            Value::Is(_) | Value::AtLeast(_) | Value::None => ("none", None),
        };
        insert.execute(params![
            trial_key(finding.trial),
            finding.of.subject,
            finding.of.metric,
            unit_name(finding.unit)?,
            kind,
            value,
        ])?;
    }
    for (trial, severity, caveat) in caveats {
        connection.execute(
            "INSERT INTO caveat VALUES (?1, ?2, ?3)",
            params![trial_key(*trial), severity_name(*severity), serde_json::to_string(caveat)?],
        )?;
    }
    Ok(())
}

pub(crate) fn run_end(connection: &Connection, end: &RunEnd) -> Result {
    connection.execute(
        "INSERT OR REPLACE INTO run_end VALUES (1, ?1, ?2, ?3, ?4)",
        params![status_name(end.status), end.exit_code, tail(&end.detail), end.ended_unix_ns.cast_signed()],
    )?;
    Ok(())
}

fn unit_name(unit: kdyno_model::metric::Unit) -> std::result::Result<String, serde_json::Error> {
    Ok(serde_json::to_value(unit)?.as_str().unwrap_or_default().to_owned())
}

/// SQLite has no NaN in a column that must have a value; an unknown reading becomes 0.
fn finite(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

/// The last [`TEXT_BYTES_MAX`] bytes of a text, cut at a character.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(TEXT_BYTES_MAX);
    let from = (from..=text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(text.len());
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trial_keys_come_back() {
        for trial in [(0, 0), (1, 2), (u32::MAX >> 1, u32::MAX)] {
            let trial = TrialRef { case: trial.0, repeat: trial.1 };
            assert_eq!(trial_of(trial_key(trial)), Some(trial));
        }
        assert_eq!(trial_of(-1), None);
    }

    #[test]
    fn of_a_long_text_the_end_is_kept_at_a_character() {
        let text = format!("{}end", "ä".repeat(TEXT_BYTES_MAX));
        let kept = tail(&text);
        assert!(kept.len() <= TEXT_BYTES_MAX && kept.ends_with("äend"));
    }
}
