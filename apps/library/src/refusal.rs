//! Answers that say no, as JSON: `{"error": "…"}`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use deadpool_postgres::{PoolError, tokio_postgres};

/// A status and what is wrong.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    message: String,
}

impl Refusal {
    /// With this status.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// It contradicts what is.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    /// A rule of the library forbids it.
    pub fn not_allowed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(serde_json::json!({"error": self.message}))).into_response()
    }
}

impl From<PoolError> for Refusal {
    fn from(error: PoolError) -> Self {
        tracing::error!("no connection to the database: {error}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the database cannot be reached")
    }
}

impl From<tokio_postgres::Error> for Refusal {
    fn from(error: tokio_postgres::Error) -> Self {
        tracing::error!("the database: {error}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the database did not do it")
    }
}
