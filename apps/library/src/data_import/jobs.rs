//! Jobs, over HTTP.

use super::shared::DataImport;
use crate::refusal::Refusal;
use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use std::sync::Arc;

/// Failures that are reported at once.
const FAILURES_MAX: i64 = 1_000;

/// How far a job is.
#[derive(Debug, Serialize)]
pub struct Job {
    id: i64,
    profile: String,
    /// `RUNNING`; once each record has become something, `COMPLETED` or `COMPLETED_WITH_ERRORS`.
    status: &'static str,
    records: i32,
    created: i32,
    updated: i32,
    failed: i32,
    /// From the upload until it was completed, or until now.
    seconds: f64,
}

/// A record that failed.
#[derive(Debug, Serialize)]
pub struct Failure {
    /// Its place in the file, from 1.
    record: i32,
    reason: String,
}

/// `GET /imports/{job}`
pub async fn show(State(import): State<Arc<DataImport>>, Path(job): Path<i64>) -> Result<Json<Job>, Refusal> {
    let client = import.pool.get().await?;
    let select = "SELECT id, profile, finished_at IS NOT NULL, records, created, updated, failed,
            extract(epoch FROM coalesce(finished_at, now()) - started_at)::float8
        FROM jobs WHERE id = $1";
    let select = client.prepare_cached(select).await?;
    let row = client.query_opt(&select, &[&job]).await?.ok_or_else(|| none(job))?;
    Ok(Json(Job {
        id: row.get(0),
        profile: row.get(1),
        status: status(row.get(2), row.get(6)),
        records: row.get(3),
        created: row.get(4),
        updated: row.get(5),
        failed: row.get(6),
        seconds: row.get(7),
    }))
}

/// `GET /imports/{job}/failures`: the first thousand, in the order of the file.
pub async fn failures(
    State(import): State<Arc<DataImport>>,
    Path(job): Path<i64>,
) -> Result<Json<Vec<Failure>>, Refusal> {
    let client = import.pool.get().await?;
    let select = "SELECT number, coalesce(reason, '') FROM outcomes
        WHERE job = $1 AND kind = 'failed' ORDER BY number LIMIT $2";
    let select = client.prepare_cached(select).await?;
    let rows = client.query(&select, &[&job, &FAILURES_MAX]).await?;
    Ok(Json(rows.iter().map(|row| Failure { record: row.get(0), reason: row.get(1) }).collect()))
}

fn status(is_finished: bool, failed: i32) -> &'static str {
    match (is_finished, failed) {
        (false, _) => "RUNNING",
        (true, 0) => "COMPLETED",
        (true, _) => "COMPLETED_WITH_ERRORS",
    }
}

fn none(job: i64) -> Refusal {
    Refusal::not_found(format!("there is no import {job}"))
}
