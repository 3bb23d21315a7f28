//! Keys of the brokers' settings other than Kafka's own names.

use super::{Section, TEXT, key};

/// Settings of brokers.
pub static BROKER_CONFIG: Section = Section {
    name: "config",
    purpose: "Settings of the brokers. All names but these two are Kafka's own.",
    keys: &[
        key(
            "file",
            TEXT,
            "the brokers' own file as it is: a `server.properties`; the `KAFKA_…` environment of a service in a compose file \
             (`.yaml`, `.yml`); or a file with that environment (`.env`). A relative path counts from the scenario file; typed by \
             hand, from the folder where kdyno is started. Settings next to `file` replace those in it. What kdyno sets itself, \
             secrets, and what the release has removed is ignored, with a note for each",
        ),
        key("service", TEXT, "the service of a compose file; needed where several have `KAFKA_…` variables"),
    ],
    later: &[],
    open: true,
};
