//! Jobs that are never done.

use crate::{GENEROUS, LoadReport, MS, answer, each_connection, run, serve, step, target};
use kdyno_model::plan::http_load::{HttpLoad, JobPlan};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Many times what is between two questions.
const A_WHILE: Duration = Duration::from_secs(2);

/// Asks an application for a job that answers each question with this, until so many were asked; whether that is the last one.
fn reported(poll: &'static str, questions: usize, is_last: bool) -> LoadReport {
    let (asks, asked) = channel();
    let port = each_connection(move |mut stream| {
        serve(&mut stream, |path| {
            if path == "/imports" {
                return Some(answer("200 OK", "{}"));
            }
            asks.send(()).is_ok().then(|| poll.to_owned())
        });
    });
    let job = JobPlan {
        target: target(format!("http://127.0.0.1:{port}"), None),
        start: step("start", "/imports"),
        poll: step("poll", "/imports/7"),
        every_ns: MS,
        done: [("/status".to_owned(), "DONE".to_owned())].into(),
        failed: std::collections::BTreeMap::new(),
    };
    run(&HttpLoad::Job(Box::new(job)), || {
        for _ in 0..questions {
            asked.recv_timeout(GENEROUS).expect("it asks again");
        }
        if is_last {
            assert!(asked.recv_timeout(A_WHILE).is_err(), "it asks no more");
        }
    })
}

/// A path that is not there would be polled until the timeout, an hour by default.
#[test]
fn a_job_whose_questions_are_refused_again_and_again_has_failed() {
    let reported = reported("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", 20, true);
    let ended = reported.ended.clone().unwrap_or_default();
    assert_eq!(ended, "job: 20 questions in a row were refused: status 404, not 200 to 399: none");
    assert_eq!(
        (reported.count("start", true), reported.count("poll", false)),
        (1, 20),
        "{:?}",
        reported.requests
    );
    assert!(reported.words.contains("poll: status 404"), "{}", reported.words);
}

/// A service that is not there for a while is asked again.
#[test]
fn an_unfinished_job_reports_its_last_answer() {
    let unavailable = reported("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", 60, false);
    let ended = unavailable.ended.unwrap_or_default();
    assert_eq!(ended, "job: it was not done when the load ended: it never answered as it should");
    let running = reported("HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{\"state\":\"GOING\"}", 60, false);
    let ended = running.ended.unwrap_or_default();
    assert_eq!(ended, "job: it was not done when the load ended: its last answer: {\"state\":\"GOING\"}");
}
