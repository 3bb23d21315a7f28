//! The keys of load items over HTTP: users, and jobs.

use super::command::{AFTER, AT};
use super::{COUNT, DURATION, Key, RATE, Section, TEXT, ValueKind, key, needed, or, section};

const ADDRESS: Key = needed(
    "address",
    TEXT,
    "the application, `http://127.0.0.1:8080`, or the name of a component that speaks HTTP; what addresses of steps that begin \
     with `/` come after",
);
const HEADERS: Key = key("headers", ValueKind::Settings("texts"), "headers of every request");
const TRUST: Key = key(
    "trust",
    TEXT,
    "with `https`: a PEM file of the authorities that are trusted; left out: those of the platform",
);
const REQUEST_TIMEOUT: Key =
    or("request_timeout", DURATION, "30s", "how long a request may take; then it has failed");

/// A load item of people who use an application.
pub static USERS: Section = Section {
    name: "users item",
    purpose: "Users of an application over HTTP, from the beginning of the measure phase to its end: each goes through the \
              same steps, again and again, with a connection and cookies of its own. A step that fails ends the turn.",
    keys: &[
        needed("users", COUNT, "how many; with `rate` the most at once"),
        key(
            "rate",
            RATE,
            "turns that begin per second, by chance, whatever became of those before: one for which no user is free waits, which \
             is part of what it took; left out: each user begins the next one when it has thought",
        ),
        or(
            "think",
            ValueKind::Scalar("duration or `LEAST..MOST`", "DURATION|SPAN"),
            "0s",
            "how long a user thinks between two turns, `2s` or `1s..3s`: as likely one time as another",
        ),
        or("ramp", DURATION, "0s", "users come one after the other within this time"),
        or("warmup", DURATION, "0s", "what begins in this time is left out of the figures"),
        needed("chain", TEXT, "what metrics call all steps of a turn together, such as `check-out`"),
        needed(
            "steps",
            ValueKind::List(&ValueKind::Section(&HTTP_STEP)),
            "what a user does in a turn, one after the other",
        ),
        key(
            "data",
            TEXT,
            "a CSV with a header: each turn has the values of the next row as `{{COLUMN}}`, from the first one again after the \
             last",
        ),
        ADDRESS,
        HEADERS,
        TRUST,
        REQUEST_TIMEOUT,
        AT,
        AFTER,
    ],
    later: LATER,
    open: false,
};

/// A load item of something that an application does.
pub static JOB: Section = Section {
    name: "job item",
    purpose: "Something that an application does for a while, such as an import: started over HTTP, then polled until it says \
              that it is done. What it took is its `duration`.",
    keys: &[
        needed("job", ValueKind::Section(&HTTP_STEP), "what starts it"),
        needed(
            "poll",
            ValueKind::Section(&HTTP_STEP),
            "what says how far it is; `{{NAME}}` of what `job` keeps",
        ),
        or(
            "every",
            DURATION,
            "500ms",
            "from an answer of `poll` to the next question: as exactly `duration` is known",
        ),
        needed(
            "done",
            ValueKind::Settings("texts"),
            "what its answer says when it is done, by JSON pointer: `{/status: DONE}`; all must",
        ),
        key("failed", ValueKind::Settings("texts"), "what its answer says when it failed; one is enough"),
        or("timeout", DURATION, "1h", "how long it may take; then it counts as failed"),
        ADDRESS,
        HEADERS,
        TRUST,
        REQUEST_TIMEOUT,
        AT,
        AFTER,
    ],
    later: LATER,
    open: false,
};

const LATER: &[(&str, &str)] = &[(
    "until",
    "users stay until the measure phase ends; `measure: {until: ITEM}` ends it with a job or a command",
)];

/// A request.
pub static HTTP_STEP: Section = section(
    "request",
    "A request: one of `get`, `post`, `put`, `patch` and `delete`, with the address or the path. Texts may hold values: \
     `/users/{{id}}`. There are those of `data` and of `keep`, `user` (its number, from 1) and `turn` (how many that user has begun).",
    &[
        key("name", TEXT, "what metrics call it; needed in `steps`"),
        key("get", TEXT, "asks for this"),
        key("post", TEXT, "sends to this"),
        key("put", TEXT, "sends to this"),
        key("patch", TEXT, "sends to this"),
        key("delete", TEXT, "deletes this"),
        key("json", TEXT, "what is sent: a JSON document as one text, `'{\"user\": \"{{id}}\"}'`"),
        key("file", TEXT, "what is sent: a file as it is"),
        key("status", COUNT, "the status that the answer must have; left out: any from 200 to 399"),
        key(
            "holds",
            ValueKind::Settings("texts"),
            "values that the answer must have, by JSON pointer: `{/status: Open}`",
        ),
        key("keep", ValueKind::Settings("pointers"), "values that later steps use, by name: `{loan: /id}`"),
    ],
);
