//! The inventory, as circulation asks it.

use crate::refusal::Refusal;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long the inventory may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// An item, as the inventory reports it.
#[derive(Debug, Deserialize)]
pub struct Item {
    /// Its number.
    pub id: i64,
    /// What it is: `book`, `journal`, `reference`.
    pub material: String,
}

/// The status that an item has from some event on.
#[derive(Debug, Serialize)]
pub struct Status<'a> {
    /// The status.
    pub status: &'a str,
    /// The event's version.
    pub version: i64,
}

/// The inventory's address, with connections that stay open.
pub struct Inventory {
    client: reqwest::Client,
    address: String,
}

impl Inventory {
    /// At `HOST:PORT`.
    ///
    /// # Errors
    /// No client can be made.
    pub fn new(address: &str) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().timeout(TIMEOUT).no_proxy().build()?;
        Ok(Self { client, address: format!("http://{address}") })
    }

    /// The item with this barcode.
    pub async fn item(&self, barcode: &str) -> Result<Item, Refusal> {
        let mut url = reqwest::Url::parse(&self.address).map_err(|error| away(&error))?;
        // Whatever is in a barcode, it is one segment of the path.
        url.path_segments_mut().map_err(|()| away(&"no address"))?.extend(["items", barcode]);
        let answer = self.client.get(url).send().await.map_err(|error| away(&error))?;
        if answer.status() == reqwest::StatusCode::NOT_FOUND {
            return Err(Refusal::not_found(format!("there is no item {barcode}")));
        }
        let answer = answer.error_for_status().map_err(|error| away(&error))?;
        answer.json().await.map_err(|error| away(&error))
    }

    /// Sends an item's status. The inventory hears of the loan by its event too, so nothing is lost where this fails;
    /// it is sent at once so that the next reader sees it.
    pub async fn tell_status(&self, item: i64, status: &Status<'_>) {
        let url = format!("{}/items/{item}/status", self.address);
        let reported = self.client.put(url).json(status).send().await;
        if let Err(error) = reported.and_then(reqwest::Response::error_for_status) {
            tracing::warn!("the inventory was not told of item {item}, its event will: {error}");
        }
    }
}

fn away(error: &dyn std::fmt::Display) -> Refusal {
    tracing::warn!("the inventory: {error}");
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the inventory does not answer")
}
