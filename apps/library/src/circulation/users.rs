//! Users, and the rules that hold for them.

use super::shared::Circulation;
use crate::refusal::Refusal;
use axum::Json;
use axum::extract::{Path, State};
use deadpool_postgres::Pool;
use serde::Serialize;
use std::sync::Arc;

/// Somebody who may borrow.
#[derive(Debug, Serialize)]
pub struct User {
    /// Their number.
    pub id: i64,
    /// What is on their card.
    pub barcode: String,
    /// `student` or `staff`.
    pub group: String,
    /// Whether they may borrow at all.
    pub active: bool,
}

/// Makes users that are not there yet: of ten nine are students, and of a hundred one is not active.
///
/// # Errors
/// The database does not take them.
pub async fn add(pool: &Pool, count: i32) -> anyhow::Result<()> {
    let insert = "INSERT INTO users (barcode, patron_group, is_active)
        SELECT 'U' || n, CASE WHEN n % 10 = 0 THEN 'staff' ELSE 'student' END, n % 100 <> 99
        FROM generate_series(1, $1::int) AS n ON CONFLICT DO NOTHING";
    pool.get().await?.execute(insert, &[&count]).await?;
    Ok(())
}

/// `GET /users/{barcode}`
pub async fn show(
    State(circulation): State<Arc<Circulation>>,
    Path(barcode): Path<String>,
) -> Result<Json<User>, Refusal> {
    circulation.user(&barcode).await.map(Json)
}

impl Circulation {
    /// The user with this card.
    pub async fn user(&self, barcode: &str) -> Result<User, Refusal> {
        let client = self.pool.get().await?;
        let select = "SELECT id, barcode, patron_group, is_active FROM users WHERE barcode = $1";
        let select = client.prepare_cached(select).await?;
        let row = client.query_opt(&select, &[&barcode]).await?;
        let row = row.ok_or_else(|| Refusal::not_found(format!("there is no user {barcode}")))?;
        Ok(User { id: row.get(0), barcode: row.get(1), group: row.get(2), active: row.get(3) })
    }

    /// For how many days users of this group may have what is of this material.
    pub async fn loan_days(&self, group: &str, material: &str) -> Result<i32, Refusal> {
        let client = self.pool.get().await?;
        let select = "SELECT loan_days FROM rules WHERE patron_group = $1 AND material = $2";
        let select = client.prepare_cached(select).await?;
        let row = client.query_opt(&select, &[&group, &material]).await?;
        let row = row.ok_or_else(|| Refusal::not_allowed(format!("no {material} is lent to {group}")))?;
        Ok(row.get(0))
    }
}
