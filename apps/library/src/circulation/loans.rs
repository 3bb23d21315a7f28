//! Check-out and check-in.

use super::inventory::Status;
use super::shared::Circulation;
use crate::kafka::Message;
use crate::messages::{LoanEvent, LoanEventKind};
use crate::refusal::Refusal;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use deadpool_postgres::tokio_postgres::types::ToSql;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Who wants what.
#[derive(Debug, Deserialize)]
pub struct CheckOut {
    user: String,
    item: String,
}

/// What is brought back.
#[derive(Debug, Deserialize)]
pub struct CheckIn {
    item: String,
}

/// A loan.
#[derive(Debug, Serialize)]
pub struct Loan {
    /// Its number.
    pub id: i64,
    /// When the item is to be back, in UTC.
    pub due: String,
}

/// `POST /check-outs {"user": BARCODE, "item": BARCODE}`
pub async fn check_out(
    State(circulation): State<Arc<Circulation>>,
    Json(wanted): Json<CheckOut>,
) -> Result<(StatusCode, Json<Loan>), Refusal> {
    let user = circulation.user(&wanted.user).await?;
    if !user.active {
        return Err(Refusal::not_allowed(format!("user {} may not borrow", user.barcode)));
    }
    let item = circulation.inventory.item(&wanted.item).await?;
    let days = circulation.loan_days(&user.group, &item.material).await?;
    // If two ask at once the second waits for the first one's row, then inserts nothing.
    let insert =
        "INSERT INTO loans (user_id, item_id, due_at) VALUES ($1, $2, now() + make_interval(days => $3))
        ON CONFLICT (item_id) WHERE returned_at IS NULL DO NOTHING
        RETURNING *";
    let loan =
        circulation.change_loan(LoanEventKind::CheckedOut, insert, &[&user.id, &item.id, &days]).await?;
    let loan = loan.ok_or_else(|| Refusal::conflict(format!("item {} is checked out", wanted.item)))?;
    Ok((StatusCode::CREATED, Json(loan)))
}

/// `POST /check-ins {"item": BARCODE}`
pub async fn check_in(
    State(circulation): State<Arc<Circulation>>,
    Json(brought): Json<CheckIn>,
) -> Result<Json<Loan>, Refusal> {
    let item = circulation.inventory.item(&brought.item).await?;
    let update =
        "UPDATE loans SET returned_at = now() WHERE item_id = $1 AND returned_at IS NULL RETURNING *";
    let loan = circulation.change_loan(LoanEventKind::CheckedIn, update, &[&item.id]).await?;
    loan.map(Json).ok_or_else(|| Refusal::conflict(format!("item {} is not checked out", brought.item)))
}

impl Circulation {
    /// Changes a loan by a statement that returns it, counts the item's version and writes the event in one
    /// transaction, then informs the inventory. `None`: there was nothing to change.
    async fn change_loan(
        &self,
        kind: LoanEventKind,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Loan>, Refusal> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        // Changes of one item wait for each other at its loan, so their versions rise as they come. Numbers of loans would not do:
        // one is drawn before it is known whether the item is lent already, and may be used after a higher one.
        let change = format!(
            "WITH changed AS ({sql}), counted AS (
                INSERT INTO item_versions SELECT item_id, 1 FROM changed
                ON CONFLICT (item_id) DO UPDATE SET version = item_versions.version + 1 RETURNING version)
            SELECT id, user_id, item_id, version, to_char(due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')
            FROM changed, counted"
        );
        let change = transaction.prepare_cached(&change).await?;
        let Some(row) = transaction.query_opt(&change, params).await? else { return Ok(None) };
        let loan = Loan { id: row.get(0), due: row.get(4) };
        let event =
            LoanEvent { kind, loan: loan.id, user: row.get(1), item: row.get(2), version: row.get(3) };
        let message = Message::json(&self.loans_topic, event.item.to_string(), &event);
        self.outbox.put(&transaction, &message).await?;
        transaction.commit().await?;
        // Not kept while the inventory is asked: it would be a connection less for everybody else.
        drop(client);
        self.outbox.wake();
        let status = Status { status: event.status(), version: event.version };
        self.inventory.tell_status(event.item, &status).await;
        Ok(Some(loan))
    }
}
