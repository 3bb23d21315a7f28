//! The forms that a broker's file has: properties, or the `KAFKA_…` variables from which Apache's, Confluent's and Bitnami's
//! images make properties.

use kdyno_model::properties::Properties;
use kdyno_scenario::input::{InputError, TextPosition, known_hint, listed, quoted};
use kdyno_scenario::yaml::{self, Scalar, YamlNode};
use std::path::Path;

/// Variables that images take for themselves: none is a setting.
const OF_IMAGES: [&str; 16] = [
    "KAFKA_CLUSTER_ID",
    "KAFKA_DEBUG",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_HEAP_OPTS",
    "KAFKA_HOME",
    "KAFKA_JMX_HOSTNAME",
    "KAFKA_JMX_OPTS",
    "KAFKA_JMX_PORT",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_MODE",
    "KAFKA_OPTS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    "KAFKA_VERSION",
];

/// A setting of a file, as it is there. Its value may be a secret.
pub(super) struct GivenSetting {
    pub(super) name: String,
    pub(super) value: String,
    /// From 1.
    pub(super) line: u32,
}

/// Reads a file of this name; the error is a clause about it.
pub(super) fn read(
    name: &str,
    content: &[u8],
    service: Option<&str>,
) -> Result<Vec<GivenSetting>, InputError> {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_compose = matches!(ending, "yaml" | "yml");
    if service.is_some() && !is_compose {
        let error = InputError::whole("has no services: `service` is for a compose file (`.yaml`, `.yml`)");
        return Err(error.hint("leave `service` out"));
    }
    let found = match ending {
        _ if is_compose => of_compose(yaml::decode(content, "")?, service)?,
        "env" => of_environment(yaml::decode(content, "")?),
        _ => of_properties(content)?,
    };
    if found.is_empty() {
        let error = InputError::whole("has no setting of a broker");
        return Err(
            error.hint("settings are lines such as `num.io.threads=8`, variables `KAFKA_NUM_IO_THREADS=8`")
        );
    }
    Ok(found)
}

fn of_properties(content: &[u8]) -> Result<Vec<GivenSetting>, InputError> {
    let found = Properties::parse(content).map_err(|error| {
        let place = error.line.map(|line| TextPosition { line, column: 1 });
        let hint = Some(error.hint.to_owned()).filter(|hint| !hint.is_empty());
        InputError { place, ..InputError::whole(error.message) }.maybe_hint(hint)
    })?;
    let given = found.properties.into_iter();
    Ok(given.map(|one| GivenSetting { name: one.name, value: one.value, line: one.line }).collect())
}

/// `NAME=VALUE` lines, as `env_file` of a compose file has them.
fn of_environment(text: &str) -> Vec<GivenSetting> {
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        if let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let value = value.trim();
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
            let inner = quote.and_then(|quote| Some(value[1..].split_once(quote)?.0));
            let plain = || value.split(" #").next().unwrap_or_default().trim_end();
            found.extend(of_variable(name.trim(), inner.unwrap_or_else(plain), number));
        }
    }
    last_of_each(found)
}

/// The variables of a service; of the only one that has any where none is named.
fn of_compose(text: &str, service: Option<&str>) -> Result<Vec<GivenSetting>, InputError> {
    let root = yaml::parse(text).map_err(|error| {
        error.hint("`docker compose config` prints the file without anchors and variables")
    })?;
    let Some(YamlNode::Map(_, services)) = root.child("services") else {
        let error = InputError::whole("has no `services`, so it is no compose file");
        return Err(error.hint("properties are in a file that ends in `.properties`"));
    };
    let has_some = |(_, service): &&(Scalar, YamlNode)| !variables(service).is_empty();
    let (with_some, without): (Vec<_>, Vec<_>) = services.iter().partition(has_some);
    let named =
        |services: &[&'_ (Scalar, YamlNode)]| listed(services.iter().map(|(name, _)| name.text.as_str()));
    match (service, &with_some[..]) {
        (None, [(_, only)]) => Ok(variables(only)),
        (None, []) => Err(InputError::whole("has no service with `KAFKA_…` variables in `environment`")
            .hint("name the file that its `env_file` names, if it ends in `.env`")),
        (None, several) => Err(InputError::whole(format!(
            "has several services with `KAFKA_…` variables: {}",
            named(several)
        ))
        .hint(format!("name one: `service: {}`", several[0].0.text))),
        (Some(service), several) => match several.iter().find(|(name, _)| name.text == service) {
            Some((_, found)) => Ok(variables(found)),
            None if without.iter().any(|(name, _)| name.text == service) => Err(InputError::whole(format!(
                "has a service {} without `KAFKA_…` variables in `environment`",
                quoted(service)
            ))),
            None => {
                let names = services.iter().map(|(name, _)| name.text.as_str()).collect::<Vec<_>>();
                Err(InputError::whole(format!("has no service {}", quoted(service)))
                    .hint(known_hint(service, names)))
            }
        },
    }
}

/// The settings among a service's variables, which are a map or a list of `NAME=VALUE`.
fn variables(service: &YamlNode) -> Vec<GivenSetting> {
    let scalar = |node: &YamlNode| match node {
        YamlNode::Scalar(typed) => Some(typed.clone()),
        _ => None,
    };
    let found = match service.child("environment") {
        Some(YamlNode::Map(_, fields)) => {
            let setting = |(name, value): &(Scalar, YamlNode)| {
                of_variable(&name.text, &scalar(value)?.text, name.place.line)
            };
            fields.iter().filter_map(setting).collect()
        }
        Some(YamlNode::List(_, items)) => {
            let setting = |item: &YamlNode| {
                let Scalar { text, place, .. } = scalar(item)?;
                let (name, value) = text.split_once('=').unwrap_or((&text, ""));
                of_variable(name, value, place.line)
            };
            items.iter().filter_map(setting).collect()
        }
        _ => Vec::new(),
    };
    last_of_each(found)
}

/// Both images' rule: `___` is a dash, `__` an underscore, `_` a dot. Bitnami's image marks settings with `KAFKA_CFG_`.
fn of_variable(name: &str, value: &str, line: u32) -> Option<GivenSetting> {
    if OF_IMAGES.contains(&name) {
        return None;
    }
    let name = name.strip_prefix("KAFKA_CFG_").or_else(|| name.strip_prefix("KAFKA_"))?;
    let name =
        name.to_lowercase().replace("___", "-").replace("__", "\0").replace('_', ".").replace('\0', "_");
    Some(GivenSetting { name, value: value.to_owned(), line })
}

/// The last of several with one name counts.
fn last_of_each(mut found: Vec<GivenSetting>) -> Vec<GivenSetting> {
    let mut seen = std::collections::BTreeSet::new();
    found.reverse();
    found.retain(|given| seen.insert(given.name.clone()));
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(name: &str, text: &str, service: Option<&str>) -> Vec<(String, String, u32)> {
        let found = read(name, text.as_bytes(), service).expect("settings");
        found.into_iter().map(|one| (one.name, one.value, one.line)).collect()
    }

    fn refused(name: &str, text: &str, service: Option<&str>) -> String {
        let error = read(name, text.as_bytes(), service).err().expect("refused");
        format!("{} | {}", error.message, error.hint.unwrap_or_default())
    }

    const COMPOSE: &str = "\
services:
  ui:
    image: ui
    environment: {DYNAMIC: 'true'}
  one:
    environment:
      KAFKA_NUM_IO_THREADS: 4
      KAFKA_HEAP_OPTS: -Xmx1g
      KAFKA_LOG_RETENTION_MS: \"60000\"
      CLUSTER_ID: x
";

    #[test]
    fn variables_become_names_by_the_rule_of_both_images() {
        let name = |variable| of_variable(variable, "", 1).map(|given| given.name);
        assert_eq!(name("KAFKA_NUM_IO_THREADS").as_deref(), Some("num.io.threads"));
        assert_eq!(name("KAFKA_VALID___PROPERTY__ALL_CASES").as_deref(), Some("valid-property_all.cases"));
        assert_eq!(name("KAFKA_CFG_NODE_ID").as_deref(), Some("node.id"));
        for none in ["KAFKA_HEAP_OPTS", "CLUSTER_ID", "NUM_IO_THREADS"] {
            assert_eq!(name(none), None, "{none}");
        }
    }

    #[test]
    fn the_only_service_with_variables_is_taken() {
        let expected = [("num.io.threads", "4", 7), ("log.retention.ms", "60000", 9)];
        let expected = expected.map(|(name, value, line)| (name.to_owned(), value.to_owned(), line));
        assert_eq!(pairs("compose.yaml", COMPOSE, None), expected);
        assert_eq!(pairs("a/docker-compose.yml", COMPOSE, Some("one")), expected);
        let list = "services: {b: {environment: [KAFKA_A_B=1, 'KAFKA_A_B=c=d', KAFKA_X]}}";
        assert_eq!(
            pairs("c.yml", list, None),
            [("a.b", "c=d"), ("x", "")].map(|(a, b)| (a.to_owned(), b.to_owned(), 1))
        );
    }

    #[test]
    fn a_service_that_is_not_there_or_not_named_is_refused() {
        let two = format!("{COMPOSE}  two: {{environment: {{KAFKA_A_B: 1}}}}\n");
        assert!(refused("c.yaml", &two, None).contains("variables: `one`, `two` | name one: `service: one`"));
        assert!(
            refused("c.yaml", COMPOSE, Some("ui")).contains("a service `ui` without `KAFKA_…` variables")
        );
        assert!(refused("c.yaml", COMPOSE, Some("onee")).contains("did you mean `one`?"));
        assert!(refused("c.yaml", "kdyno: 1", None).contains("has no `services`"));
        assert!(refused("c.yaml", "services: {a: &x {}}", None).contains("`docker compose config`"));
        assert!(refused("c.yaml", "services: {a: {}}", None).contains("`env_file`"));
        assert!(refused("server.properties", "a.b=1", Some("one")).contains("leave `service` out"));
        assert!(refused("server.properties", "# nothing", None).contains("has no setting of a broker"));
    }

    #[test]
    fn lines_of_an_environment_are_read_as_compose_reads_them() {
        let text = "# KAFKA_A_A=0\nexport KAFKA_A_B=1\n KAFKA_C_D = \"2 #\"\nKAFKA_E_F=x # y\nKAFKA_A_B='3'\nOTHER=1\nKAFKA\n";
        let expected = [("c.d", "2 #", 3), ("e.f", "x", 4), ("a.b", "3", 5)];
        assert_eq!(
            pairs("kafka.env", text, None),
            expected.map(|(a, b, line)| (a.to_owned(), b.to_owned(), line))
        );
    }
}
