//! What all answers have in common: who may not ask gets none, and other sites get nothing of it.

use super::pages::PageResponse;
use crate::http::AllowedHosts;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::{Arc, LazyLock};

/// What a page may do and load: what a file of it may, and its own forms.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let policy = format!(
        "{}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        kdyno_report::html::POLICY
    );
    // It is made of constants that are text.
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// Lets a request through, or says why not; closes the answer to all other sites.
pub(super) async fn check(State(hosts): State<Arc<AllowedHosts>>, request: Request, next: Next) -> Response {
    let mut response = match hosts.refused(request.method(), request.headers()) {
        Some(why) => PageResponse::Refused(why).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
    let mut set = |name, value| drop(headers.insert(name, HeaderValue::from_static(value)));
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(header::CACHE_CONTROL, "no-store");
    response
}
