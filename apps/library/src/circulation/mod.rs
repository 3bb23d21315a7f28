//! Circulation: who may borrow what for how long, and who has what. A check-out is a chain: user, item (asked of the inventory),
//! rule, loan with its event in one transaction, status (sent to the inventory).

mod inventory;
mod loans;
mod shared;
mod users;

use crate::service::{Service, ServiceOptions};
use axum::Router;
use axum::routing::{get, post};
use inventory::Inventory;
use shared::Circulation;
use std::sync::Arc;

/// Options of the service.
#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    service: ServiceOptions,
    /// Where the inventory listens: `HOST:PORT`.
    #[arg(long, env = "KDYNO_ADDRESS_inventory")]
    inventory: String,
    /// How many users there are to be, `U1` to `UN`; those that are there stay.
    #[arg(long, default_value_t = 0)]
    users: i32,
}

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS users (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    barcode text NOT NULL UNIQUE,
    patron_group text NOT NULL,
    is_active boolean NOT NULL);
CREATE TABLE IF NOT EXISTS rules (
    patron_group text NOT NULL,
    material text NOT NULL,
    loan_days int NOT NULL,
    PRIMARY KEY (patron_group, material));
CREATE TABLE IF NOT EXISTS loans (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users,
    item_id bigint NOT NULL,
    loaned_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL,
    returned_at timestamptz);
-- How often each item was lent or brought back: the version of its newest event.
CREATE TABLE IF NOT EXISTS item_versions (
    item_id bigint PRIMARY KEY,
    version bigint NOT NULL);
-- An item is lent once at a time, whoever asks at the same moment.
CREATE UNIQUE INDEX IF NOT EXISTS open_loans ON loans (item_id) WHERE returned_at IS NULL;
-- What is for reading in the house, reference works, has no rule.
INSERT INTO rules VALUES ('student', 'book', 28), ('student', 'journal', 7), ('staff', 'book', 90), ('staff', 'journal', 28)
    ON CONFLICT DO NOTHING;
";

/// Runs the service.
///
/// # Errors
/// It cannot be started, or cannot go on.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut service = Service::new("circulation", "circulation", TABLES, &options.service).await?;
    users::add(&service.pool, options.users).await?;
    let circulation = Circulation {
        pool: service.pool.clone(),
        inventory: Inventory::new(&options.inventory)?,
        outbox: service.outbox(),
        loans_topic: options.service.topics.loans,
    };
    let routes = Router::new()
        .route("/users/{barcode}", get(users::show))
        .route("/check-outs", post(loans::check_out))
        .route("/check-ins", post(loans::check_in))
        .with_state(Arc::new(circulation));
    service.serve(routes).await
}
