//! Keys of a secret: where its value comes from.

use super::{Section, TEXT, ValueKind, key, section};

/// Where a secret's value comes from.
pub static SECRET: Section = section(
    "secret",
    "One of these: where the value comes from. It is read when the run starts.",
    &[
        key("env", TEXT, "name of an environment variable"),
        key(
            "file",
            TEXT,
            "a file that its owner alone may read; its path is relative to the target file's folder",
        ),
        key(
            "exec",
            ValueKind::Either(&[TEXT, ValueKind::List(&TEXT)]),
            "a program, or a list of a program and its arguments, that writes the value to its standard output",
        ),
    ],
);
