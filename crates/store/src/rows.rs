//! One function per kind of row: how a value is written into its table.

use crate::blob::PackError;
use crate::columns::{self, name_of};
use crate::pack;
use kdyno_model::conclusion::Conclusion;
use kdyno_model::event::Event;
use kdyno_model::finding::{Finding, Interval, NotResolvable, Scope};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::CasePlan;
use kdyno_model::run::{RunHeader, Session, SessionEnd, TrialStart};
use kdyno_model::sample::{NoiseReading, ProbeReading, Sample, StreamTotals};
use kdyno_model::secret::SecretRef;
use kdyno_model::trial::TrialId;
use kdyno_model::worker::PhaseSpan;
use rusqlite::{Connection, params};
use serde_json::to_string;
use std::collections::BTreeSet;

/// Longest text of one event or log row; of longer ones the end is kept, where errors are.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;

/// Replaces what is shown and never stored (see [`redact`]).
const REDACTED: &str = "redacted";

/// A row that could not be written: by SQLite, because it cannot be encoded, or because it does not fit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RowError {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error(transparent)]
    Pack(#[from] PackError),
    #[error("could not encode a value as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("session {number} does not follow session {last}")]
    SessionNumber { last: u32, number: u32 },
}

type Result = std::result::Result<(), RowError>;

pub(crate) fn header(connection: &Connection, header: &RunHeader) -> Result {
    let mut plan = header.plan.clone();
    plan.every_case_mut().for_each(redact);
    let target = plan.cases.iter().find_map(|case| Some(&case.system.target()?.target));
    connection.execute(
        "INSERT INTO run VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            format!("{:016x}", header.run_id),
            plan.scenario,
            plan.profile,
            target,
            to_string(&plan.changed)?,
            plan.strategy.trials_planned(),
            header.scenario_path,
            header.scenario_text,
            to_string(&plan)?,
        ],
    )?;
    Ok(())
}

/// A session begins; its number must follow that of the last one.
pub(crate) fn session(connection: &Connection, session: &Session) -> Result {
    let last: u32 =
        connection.query_row("SELECT coalesce(max(session), 0) FROM session", [], |row| row.get(0))?;
    if last.checked_add(1) != Some(session.number) {
        return Err(RowError::SessionNumber { last, number: session.number });
    }
    connection.execute(
        "INSERT INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, NULL, NULL)",
        params![
            session.number,
            session.started_unix_ns.cast_signed(),
            session.kdyno_version,
            session.git_head,
            to_string(&session.command_line)?,
            session.boot_id,
            session.processors,
            to_string(&session.host_facts)?,
        ],
    )?;
    Ok(())
}

pub(crate) fn session_end(connection: &Connection, session: u32, end: &SessionEnd) -> Result {
    connection.execute(
        "UPDATE session SET status = ?2, detail = ?3, ended_unix_ns = ?4 WHERE session = ?1",
        params![session, name_of(&end.status)?, tail(&end.detail), end.ended_unix_ns.cast_signed()],
    )?;
    Ok(())
}

pub(crate) fn trial_start(connection: &Connection, start: &TrialStart) -> Result {
    let trial = &start.trial;
    let mut effective = trial.effective.clone();
    redact(&mut effective);
    connection.execute(
        "INSERT INTO trial VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        params![
            trial.id.0,
            start.session,
            trial.case,
            trial.variant,
            trial.pair.map(|place| place.pair),
            trial.pair.map(|place| place.place),
            trial.repeat,
            trial.start,
            trial.label,
            to_string(&trial.reason)?,
            trial.seed.cast_signed(),
            to_string(&effective)?,
            start.t0_unix_ns.cast_signed(),
            start.t0_monotonic_ns.cast_signed(),
            to_string(&start.cluster)?,
            to_string(&start.command_lines)?,
            to_string(&start.settings)?,
        ],
    )?;
    for stream in &start.streams {
        connection.execute(
            "INSERT INTO stream VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                trial.id.0,
                stream.id.worker,
                stream.id.stream,
                stream.name,
                stream.topic,
                name_of(&stream.role)?,
                stream.clients,
                stream.value_bytes,
            ],
        )?;
    }
    Ok(())
}

/// The phases of a trial; what was stored of them before is replaced.
pub(crate) fn phases(connection: &Connection, trial: TrialId, spans: &[PhaseSpan]) -> Result {
    connection.execute("DELETE FROM phase WHERE trial = ?1", [trial.0])?;
    for span in spans {
        let end_ns = (span.end_ns != u64::MAX).then_some(span.end_ns.cast_signed());
        connection.execute(
            "INSERT INTO phase VALUES (?1, ?2, ?3, ?4)",
            params![trial.0, name_of(&span.phase)?, span.start_ns.cast_signed(), end_ns],
        )?;
    }
    Ok(())
}

/// A sample that is there already is left alone: what arrives twice counts once.
pub(crate) fn sample(connection: &Connection, trial: TrialId, sample: &Sample) -> Result {
    connection
        .prepare_cached("INSERT OR IGNORE INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
        .execute(params![
            trial.0,
            sample.id.worker,
            sample.id.stream,
            sample.sequence.cast_signed(),
            name_of(&sample.grain)?,
            name_of(&sample.phase)?,
            sample.t0_second,
            sample.written_second,
            pack::pack_sample(sample)?,
        ])?;
    Ok(())
}

pub(crate) fn probe(connection: &Connection, trial: TrialId, readings: &[ProbeReading]) -> Result {
    let Some(first) = readings.first() else { return Ok(()) };
    connection.prepare_cached("INSERT INTO probe VALUES (?1, ?2, ?3)")?.execute(params![
        trial.0,
        first.at_ns,
        pack::pack_readings(readings)?
    ])?;
    Ok(())
}

pub(crate) fn event(connection: &Connection, trial: Option<TrialId>, event: &Event) -> Result {
    connection.prepare_cached("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        trial.map(|trial| trial.0),
        event.at_unix_ns.cast_signed(),
        event.at_ns,
        name_of(&event.kind)?,
        name_of(&event.subject)?,
        tail(&event.detail),
    ])?;
    Ok(())
}

pub(crate) fn noise(connection: &Connection, trial: TrialId, reading: &NoiseReading) -> Result {
    connection.execute(
        "INSERT INTO noise VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            trial.0,
            known(reading.spin_per_us),
            known(reading.spin_worst_ratio),
            reading.sleep_late_ns_p50.cast_signed(),
            reading.sleep_late_ns_p99.cast_signed(),
            reading.loopback_ns_p50.cast_signed(),
            reading.loopback_ns_p99.cast_signed(),
            known(reading.steal_share),
        ],
    )?;
    Ok(())
}

/// A stream's later totals replace its earlier ones.
pub(crate) fn totals(connection: &Connection, trial: TrialId, totals: &[StreamTotals]) -> Result {
    for stream in totals {
        connection.execute(
            "INSERT OR REPLACE INTO totals VALUES (?1, ?2, ?3, ?4)",
            params![trial.0, stream.id.worker, stream.id.stream, pack::pack_totals(stream)?],
        )?;
    }
    Ok(())
}

pub(crate) fn log(connection: &Connection, subject: &str, excerpt: &str) -> Result {
    connection.execute("INSERT INTO log VALUES (?1, ?2)", params![tail(subject), tail(excerpt)])?;
    Ok(())
}

/// Everything of a trial, but for excerpts of logs, which belong to the run.
pub(crate) fn forget(connection: &Connection, trial: TrialId) -> Result {
    for table in
        ["trial", "phase", "stream", "sample", "totals", "probe", "event", "noise", "stacks", "course"]
    {
        connection.execute(&format!("DELETE FROM {table} WHERE trial = ?1"), [trial.0])?;
    }
    let (kind, id, _) = columns::scope_columns(Scope::Trial(trial))?;
    for table in ["finding", "caveat", "conclusion"] {
        let sql = format!("DELETE FROM {table} WHERE scope = ?1 AND scope_id IS ?2");
        connection.execute(&sql, params![kind, id])?;
    }
    Ok(())
}

/// What was drawn from several trials together: it is about to be drawn again, with more of them.
pub(crate) fn forget_together(connection: &Connection) -> Result {
    let (kind, ..) = columns::scope_columns(Scope::Trial(TrialId(0)))?;
    for table in ["finding", "caveat", "conclusion"] {
        connection.execute(&format!("DELETE FROM {table} WHERE scope <> ?1"), [&kind])?;
    }
    Ok(())
}

/// What was drawn from evidence, for the scopes named in it; what was stored for those scopes before is replaced.
pub(crate) fn judgement(connection: &Connection, judgement: &Judgement) -> Result {
    let Judgement { findings, caveats, conclusions } = judgement;
    let scopes: BTreeSet<Scope> = findings
        .iter()
        .map(|finding| finding.scope)
        .chain(caveats.iter().map(|caveat| caveat.scope))
        .chain(conclusions.iter().map(Conclusion::scope))
        .collect();
    for scope in scopes {
        let (kind, id, pair) = columns::scope_columns(scope)?;
        for table in ["finding", "caveat", "conclusion"] {
            connection
                .prepare_cached(&format!(
                    "DELETE FROM {table} WHERE scope = ?1 AND scope_id IS ?2 AND scope_pair IS ?3"
                ))?
                .execute(params![kind, id, pair])?;
        }
    }
    findings.iter().try_for_each(|row| finding(connection, row))?;
    for row in caveats {
        let (kind, id, pair) = columns::scope_columns(row.scope)?;
        connection.prepare_cached("INSERT INTO caveat VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
            kind,
            id,
            pair,
            name_of(&row.severity)?,
            to_string(&row.concerns)?,
            to_string(&row.caveat)?
        ])?;
    }
    conclusions.iter().try_for_each(|row| conclusion(connection, row))
}

pub(crate) fn conclusion(connection: &Connection, row: &Conclusion) -> Result {
    let (kind, id, pair) = columns::scope_columns(row.scope())?;
    let mut insert = connection.prepare_cached("INSERT INTO conclusion VALUES (?1, ?2, ?3, ?4)")?;
    insert.execute(params![kind, id, pair, to_string(row)?])?;
    Ok(())
}

pub(crate) fn finding(connection: &Connection, finding: &Finding) -> Result {
    let (kind, id, pair) = columns::scope_columns(finding.scope)?;
    let (estimate, at_least) = columns::value_columns(finding.estimate);
    let range = finding.range.map(|(low, high)| (columns::finite(low), columns::finite(high)));
    let interval = match finding.interval {
        // As with a single value: what is not finite is none.
        Interval::Bounds { low, high, .. } if !(low.is_finite() && high.is_finite()) => {
            Interval::NotResolvable(NotResolvable::NoValue)
        }
        other => other,
    };
    connection
        .prepare_cached(
            "INSERT INTO finding VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute(params![
            kind,
            id,
            pair,
            finding.of.subject,
            finding.of.metric,
            name_of(&finding.quantity)?,
            name_of(&finding.unit)?,
            estimate,
            at_least,
            finding.n,
            range.map(|range| to_string(&range)).transpose()?,
            to_string(&interval)?,
            to_string(&finding.marks)?,
        ])?;
    Ok(())
}

/// Takes what is private out of a case: the addresses of an attached cluster and the names of its topics, and the paths and
/// commands that give secrets.
fn redact(case: &mut CasePlan) {
    case.system.redact();
    for reference in case.secrets.values_mut() {
        match reference {
            SecretRef::File(path) | SecretRef::Property { file: path, .. } => *path = REDACTED.into(),
            SecretRef::Exec(command) => *command = vec![REDACTED.to_owned()],
            SecretRef::Env(_) | SecretRef::Made => {}
        }
    }
}

/// SQLite has no NaN in a column that must have a value; an unknown reading becomes 0.
fn known(value: f64) -> f64 {
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
    fn of_a_long_text_the_end_is_kept_at_a_character() {
        let text = format!("{}end", "ä".repeat(TEXT_BYTES_MAX));
        let kept = tail(&text);
        assert!(kept.len() <= TEXT_BYTES_MAX && kept.ends_with("äend"));
    }
}
