//! What the environment of commands and components says of their trial.

use super::TrialContext;
use kdyno_model::event::Subject;
use kdyno_model::secret::Secret;
use kdyno_testbed::cluster::{TokenFrom, client_properties};
use kdyno_testbed::secret_file;
use std::collections::BTreeMap;
use std::path::Path;

/// Names and values of variables.
pub(super) type Variables = Vec<(String, String)>;

/// The variables, and in the folder a file of settings for Kafka's clients that one of them names. `bootstrap` is what these
/// ask first.
pub(super) fn of_trial(
    context: &TrialContext<'_>,
    folder: &Path,
    bootstrap: &[String],
) -> Result<Variables, String> {
    let (trial, system) = (context.trial, context.system);
    let mut secrets: BTreeMap<&str, &Secret> = context.secrets.of(&trial.effective);
    secrets.extend(system.secrets());
    let value = |name: &str| secrets.get(name).copied();
    let properties = client_properties(bootstrap, &system.security(), &value, TokenFrom::Claim);
    let properties =
        secret_file::write(folder, "client.properties", &properties).map_err(|error| error.to_string())?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut found = of_any_place(context, bootstrap);
    found.push(("KDYNO_CLIENT_PROPERTIES".to_owned(), text(&properties)));
    found.push(("KDYNO_FOLDER".to_owned(), text(folder)));
    found.extend(kafka_tools(context));
    Ok(found)
}

/// The variables that mean the same on every host.
pub(super) fn of_any_place(context: &TrialContext<'_>, bootstrap: &[String]) -> Variables {
    let trial = context.trial;
    let mut found = vec![
        ("KDYNO_BOOTSTRAP_SERVERS".to_owned(), bootstrap.join(",")),
        ("KDYNO_RUN".to_owned(), format!("{:016x}", context.run_id)),
        ("KDYNO_TRIAL".to_owned(), trial.id.to_string()),
        ("KDYNO_CASE".to_owned(), trial.effective.label.clone()),
        ("KDYNO_SIDE".to_owned(), trial.variant.clone().unwrap_or_default()),
    ];
    let topics = context.topics.iter();
    found.extend(topics.map(|(address, topic)| (named("KDYNO_TOPIC_", address), topic.clone())));
    let params = trial.effective.params.iter();
    found.extend(params.map(|(name, value)| (named("KDYNO_PARAM_", name), value.to_string())));
    found
}

/// A variable of that beginning for something of that name.
fn named(beginning: &str, name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("{beginning}{name}")
}

/// With which Java and which classes Kafka's own tools can be run, of a local cluster: those of its first broker.
fn kafka_tools(context: &TrialContext<'_>) -> Vec<(String, String)> {
    let lines = context.system.command_lines();
    let Some(line) = lines.get(&Subject::Broker(0)) else { return Vec::new() };
    let classes = line.iter().position(|word| word == "-cp").and_then(|at| line.get(at + 1));
    let (Some(java), Some(classes)) = (line.first(), classes) else { return Vec::new() };
    vec![("KDYNO_JAVA".to_owned(), java.clone()), ("KDYNO_KAFKA_CLASSPATH".to_owned(), classes.clone())]
}
