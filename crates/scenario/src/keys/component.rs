//! The keys of components.

use super::{COUNT, DURATION, Section, TEXT, ValueKind, key, or, section};
use kdyno_model::plan::StopSignal;

/// What runs next to the cluster.
pub static COMPONENT: Section = section(
    "component",
    "A process that runs next to the cluster: a service of your own system, or a database. It is started after the brokers and \
     topics and before the load, in the order of the scenario, fresh for each trial, probed as brokers are, and ended after the \
     trial. Its environment: docs/reference/components.md (Components). Either `command` or `postgres`.",
    &[
        key(
            "command",
            ValueKind::Either(&[TEXT, ValueKind::List(&TEXT)]),
            "the program and its arguments, `[java, -jar, inventory.jar]`, started as they are; or one text, which `sh -c` runs \
             (`$$KDYNO_PORT` is a variable there). It is to listen on 127.0.0.1 and the port that `KDYNO_PORT` names",
        ),
        key(
            "postgres",
            ValueKind::Section(&POSTGRES),
            "a PostgreSQL server of this host's packages, with data and port of its own; `{}`: as it comes",
        ),
        or(
            "at",
            TEXT,
            "here",
            "`here`: it is started; or the address of one that runs already, `http://HOST:PORT`, to which users and jobs go that \
             name it: then nothing is started nor read, and other components do not get its address",
        ),
        key("environment", ValueKind::Settings("text"), "further variables of the command's environment"),
        key(
            "ready",
            ValueKind::Either(&[ValueKind::Choice(READY_WORDS), ValueKind::Section(&READY)]),
            "when the command counts as ready: `port` (the default), when its port takes connections; `started`, at once; \
             `{http: /health}`, when its port answers that with a status from 200 to 399; `{line: TEXT}`, when it has written a \
             line with that text",
        ),
        or("ready_within", DURATION, "1m", "how long it may take until it is ready; then the run ends"),
        key(
            "stop",
            ValueKind::Section(&STOP),
            "how it is asked to end; left out: `{signal: TERM, within: 10s}`",
        ),
    ],
);

/// The words of `ready`.
pub const READY_WORDS: &[&str] = &["port", "started"];

/// When a command is ready.
pub static READY: Section = section(
    "ready",
    "One of the two.",
    &[
        key("http", TEXT, "a path, e.g. `/health`, that its port answers with a status from 200 to 399"),
        key("line", TEXT, "a text that a line of its output contains"),
    ],
);

/// How a component is ended.
pub static STOP: Section = section(
    "stop",
    "How it is asked to end, with all that it started in its process group.",
    &[
        or("signal", ValueKind::Choice(&StopSignal::WORDS), "TERM", "the signal that asks it"),
        or("within", DURATION, "10s", "how long it may take then; what is left is killed"),
    ],
);

/// A PostgreSQL server.
pub static POSTGRES: Section = section(
    "postgres",
    "A PostgreSQL server: `initdb` in a folder of the trial, a password by chance, a port of its own.",
    &[
        key("version", COUNT, "major version, of those that are installed; left out: the newest"),
        key("database", TEXT, "name of the database that is made in it; left out: the name of the component"),
        key(
            "settings",
            ValueKind::Settings("PostgreSQL settings"),
            "settings of the server under PostgreSQL's names, e.g. `{max_connections: 200, shared_buffers: 256MB}`",
        ),
    ],
);
