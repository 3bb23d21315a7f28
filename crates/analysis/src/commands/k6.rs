//! k6's JSON lines (`k6 run --out json=…`): a point of `http_req_duration` is a request, one of `http_req_failed` that is not 0
//! an error.

use super::reported::CommandTotals;
use crate::imported::time;
use serde::Deserialize;

#[derive(Deserialize)]
struct K6Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    metric: Option<&'a str>,
    data: Option<K6Data>,
}

#[derive(Deserialize)]
struct K6Data {
    #[serde(default)]
    time: Option<String>,
    #[serde(default)]
    value: Option<f64>,
    #[serde(default)]
    tags: Tags,
}

/// What k6 says of a point: a request is called by its address unless the script names it.
#[derive(Deserialize, Default)]
struct Tags {
    #[serde(default)]
    name: Option<String>,
}

pub(super) fn line(line: &str, reported: &mut CommandTotals) {
    if line.trim().is_empty() {
        return;
    }
    let Ok(parsed) = serde_json::from_str::<K6Line<'_>>(line) else {
        reported.unparsed += 1;
        return;
    };
    reported.has_errors = true;
    let is_duration = parsed.metric == Some("http_req_duration");
    let is_failed = parsed.metric == Some("http_req_failed");
    if parsed.kind != "Point" || !(is_duration || is_failed) {
        return;
    }
    let data = parsed.data;
    // It says when the request had ended.
    let ended_ns = data.as_ref().and_then(|data| time::unix_ns(data.time.as_deref()?, None).ok());
    let label = data.as_ref().and_then(|data| data.tags.name.as_deref());
    match data.as_ref().and_then(|data| data.value).filter(|value| value.is_finite() && *value >= 0.0) {
        Some(ms) if is_duration && CommandTotals::is_time(ms / 1e3) => {
            reported.request_of(
                label,
                ms / 1e3,
                ended_ns.map(|ended_ns| ended_ns.saturating_sub((ms * 1e6) as i64)),
            );
        }
        Some(_) if is_duration => reported.unparsed += 1,
        Some(failed) if failed > 0.0 => reported.error_of(label, ended_ns),
        Some(_) => {}
        None => reported.unparsed += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_requests_and_failures_errors() {
        let lines = r#"{"type":"Metric","data":{"name":"http_req_duration","type":"trend"},"metric":"http_req_duration"}
{"metric":"http_reqs","type":"Point","data":{"time":"2026-03-07T09:05:04.5Z","value":1,"tags":{"status":"200"}}}
{"metric":"http_req_duration","type":"Point","data":{"time":"2026-03-07T09:05:04.5Z","value":12.5,"tags":{"status":"200"}}}
{"metric":"http_req_failed","type":"Point","data":{"time":"2026-03-07T09:05:04.5Z","value":0}}
{"metric":"http_req_duration","type":"Point","data":{"time":"2026-03-07T10:05:05+01:00","value":30}}
{"metric":"http_req_failed","type":"Point","data":{"time":"2026-03-07T10:05:05+01:00","value":1}}
{"metric":"http_req_duration","type":"Point","data":{"value":null}}
{"metric":"http_req_duration","type":"Po"#;
        let mut reported = CommandTotals::default();
        lines.lines().for_each(|one| line(one, &mut reported));
        assert_eq!((reported.requests, reported.errors, reported.unparsed), (2, 1, 2));
    }
}
