//! `metrics` of a target: where those of its brokers are read.

use crate::input::{InputError, TextPosition, known_hint, quoted};
use crate::keys;
use crate::walk::{Fields, list_of, scalar};
use crate::yaml::{Scalar, YamlNode};
use kdyno_model::mbean;
use kdyno_model::plan::{MetricsFrom, MetricsLogin, MetricsPlan};
use kdyno_model::secret::SecretRef;
use std::collections::BTreeMap;
use std::path::Path;

/// Longest URL.
const URL_CHARACTERS_MAX: usize = 1000;

/// `metrics: {per_broker: "http://{host}:7071/metrics"}`; the path of a file begins in `folder`.
pub(super) fn metrics(
    node: &YamlNode,
    folder: &Path,
    secrets: &BTreeMap<String, SecretRef>,
) -> Result<MetricsPlan, InputError> {
    let fields = Fields::of(node, &keys::METRICS)?;
    let from = match (fields.scalar("per_broker")?, fields.scalar("prometheus")?, fields.scalar("jmx")?) {
        (Some(url), None, None) => MetricsFrom::PerBroker(per_broker(&url)?),
        (None, Some(url), None) => MetricsFrom::Prometheus(prometheus(&url)?),
        (None, None, Some(address)) => MetricsFrom::Jmx(jmx(&address)?),
        _ => {
            let message = "`metrics` takes `per_broker`, `prometheus` or `jmx`, exactly one";
            return Err(InputError::at(node.place(), message));
        }
    };
    let secret = |typed: &Scalar| secret(typed, secrets);
    let login = match (fields.scalar("username")?, fields.scalar("password")?, fields.scalar("bearer")?) {
        (None, None, None) => None,
        (Some(username), Some(password), None) if !username.text.contains(':') => {
            Some(MetricsLogin::Basic { username: username.text, password: secret(&password)? })
        }
        (Some(username), Some(_), None) => {
            return Err(InputError::at(username.place, "a `username` of basic authentication has no `:`"));
        }
        (None, None, Some(token)) => Some(MetricsLogin::Bearer { token: secret(&token)? }),
        _ => {
            let message = "a login of `metrics` is `username` with `password`, or `bearer`";
            return Err(InputError::at(node.place(), message));
        }
    };
    let trust = fields.scalar("trust")?;
    if let (MetricsFrom::Jmx(_), Some(place)) = (&from, other_than_jmx(login.as_ref(), trust.as_ref(), node))
    {
        let message =
            "`jmx` takes `username` and `password`, but neither `bearer` nor `trust`: it is read without TLS";
        return Err(InputError::at(place, message));
    }
    let trust = trust.map(|path| folder.join(path.text));
    let mbeans = mbeans(&list_of(&fields, "mbeans", |node| scalar(node, "mbeans"))?, &from)?;
    Ok(MetricsPlan { from, login, trust, mbeans })
}

/// Attributes of MBeans that are read in addition.
fn mbeans(typed: &[Scalar], from: &MetricsFrom) -> Result<Vec<String>, InputError> {
    let mut found: Vec<String> = Vec::new();
    for one in typed {
        if !matches!(from, MetricsFrom::Jmx(_)) {
            let message = "`mbeans` are read over `jmx` alone: exporters of others have rules of their own";
            return Err(InputError::at(one.place, message));
        }
        mbean::check(&found, &one.text).map_err(|why| InputError::at(one.place, why).hint(mbean::HINT))?;
        found.push(one.text.clone());
    }
    Ok(found)
}

/// The place of something that JMX has not.
fn other_than_jmx(
    login: Option<&MetricsLogin>,
    trust: Option<&Scalar>,
    node: &YamlNode,
) -> Option<TextPosition> {
    let bearer = matches!(login, Some(MetricsLogin::Bearer { .. })).then(|| node.place());
    trust.map(|trust| trust.place).or(bearer)
}

/// `{host}:9999`.
fn jmx(typed: &Scalar) -> Result<String, InputError> {
    let text = typed.text.trim();
    let port = text.strip_prefix(MetricsFrom::HOST).and_then(|rest| rest.strip_prefix(':'));
    match port.map(str::parse::<u16>) {
        Some(Ok(port)) if port > 0 => Ok(text.to_owned()),
        _ => Err(InputError::at(typed.place, "`jmx` is `{host}:PORT`")
            .hint("`{host}` means the host of each broker, PORT is its JMX_PORT: `{host}:9999`")),
    }
}

fn per_broker(typed: &Scalar) -> Result<String, InputError> {
    let url = url(typed)?;
    match url.matches(MetricsFrom::HOST).count() {
        1 => Ok(url),
        _ => Err(InputError::at(typed.place, "`per_broker`: the URL has no `{host}`, or more than one")
            .hint("it means the host of each broker: `http://{host}:7071/metrics`")),
    }
}

fn prometheus(typed: &Scalar) -> Result<String, InputError> {
    let url = url(typed)?;
    if url.contains(['{', '?', '#']) || url.trim_end_matches('/').ends_with("/api/v1/query") {
        return Err(InputError::at(typed.place, "`prometheus`: this is more than the URL of the server")
            .hint("what its query API adds to it is added here: `https://prometheus.example:9090`"));
    }
    Ok(url)
}

fn url(typed: &Scalar) -> Result<String, InputError> {
    let wrong = |message: &str| InputError::at(typed.place, message.to_owned());
    let text = typed.text.trim();
    let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let authority = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
    if authority.contains('@') {
        return Err(wrong("a login is in the URL")
            .hint("name it next to the URL: `username: NAME`, `password: \"${SECRET}\"`"));
    }
    let is_plain = text.chars().all(|c| c.is_ascii_graphic());
    if authority.is_empty() || !is_plain || text.len() > URL_CHARACTERS_MAX {
        return Err(wrong(&format!("{} is no URL", quoted(text)))
            .hint("it begins with `http://` or `https://`, then come host and port"));
    }
    Ok(text.to_owned())
}

/// Name of the secret in `${NAME}`.
fn secret(typed: &Scalar, secrets: &BTreeMap<String, SecretRef>) -> Result<String, InputError> {
    let name = typed.text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let Some(name) = name else {
        return Err(InputError::at(typed.place, "a login of `metrics` is here in plain text")
            .hint("name it under `client.secrets` and refer to it as `${NAME}`"));
    };
    if !secrets.contains_key(name) {
        let message = format!("{} is no secret of the target", quoted(name));
        let known = secrets.keys().map(String::as_str);
        return Err(InputError::at(typed.place, message).hint(known_hint(name, known)));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::input::InputError;
    use crate::target::{Target, TargetFile};
    use kdyno_model::plan::{MetricsFrom, MetricsLogin, MetricsPlan};

    fn read(metrics: &str) -> Result<Target, String> {
        let text = format!(
            "kdyno: 1\ntarget: t\ncluster_id: x\nclient: {{bootstrap: [a:1], secrets: {{PW: {{env: X}}}}}}\nguard: {{}}\n\
             metrics: {metrics}\n"
        );
        let reported = |error: InputError| format!("{error} | {}", error.hint.clone().unwrap_or_default());
        TargetFile::parse(&text, "dir/t.yaml").and_then(|file| file.resolve(None)).map_err(reported)
    }

    #[test]
    fn endpoints_of_brokers_and_a_server_are_read_with_their_logins() {
        let url = "https://{host}:7071/metrics";
        let target =
            read(&format!("{{per_broker: \"{url}\", username: me, password: \"${{PW}}\", trust: ca.pem}}"));
        let target = target.expect("a target");
        let login = Some(MetricsLogin::Basic { username: "me".to_owned(), password: "PW".to_owned() });
        let from = MetricsFrom::PerBroker(url.to_owned());
        let expected = MetricsPlan { from, login, trust: Some("dir/ca.pem".into()), mbeans: Vec::new() };
        assert_eq!(target.attached.metrics.as_deref(), Some(&expected));
        assert!(target.secrets.contains_key("PW") && target.notes.is_empty(), "{:?}", target.notes);
        let target = read("{prometheus: \"http://p:9090/prom\", bearer: \"${PW}\"}").expect("a target");
        let metrics = target.attached.metrics.expect("metrics");
        assert_eq!(metrics.from, MetricsFrom::Prometheus("http://p:9090/prom".to_owned()));
        assert_eq!(metrics.login.as_ref().map(MetricsLogin::secret), Some("PW"));
        let mut redacted = *metrics;
        redacted.redact();
        assert!(!format!("{redacted:?}").contains("p:9090"), "{redacted:?}");
        let target = read("{jmx: \"{host}:9999\", username: me, password: \"${PW}\"}").expect("a target");
        let metrics = target.attached.metrics.expect("metrics");
        assert_eq!(metrics.from, MetricsFrom::Jmx("{host}:9999".to_owned()));
        let one = "kafka.server:type=ReplicaManager,name=LeaderCount/Value";
        let target = read(&format!("{{jmx: \"{{host}}:9999\", mbeans: [\"{one}\"]}}")).expect("a target");
        assert_eq!(target.attached.metrics.expect("metrics").mbeans, [one]);
        let target = read("{prometheus: \"http://p\"}").expect("a target");
        assert!(target.notes.iter().any(|note| note.contains("used nowhere")), "{:?}", target.notes);
    }

    #[test]
    fn errors_are_reported_without_the_secret() {
        for (metrics, part) in [
            ("{}", "exactly one"),
            ("{per_broker: \"http://{host}:1/\", prometheus: \"http://p\"}", "exactly one"),
            ("{per_broker: \"http://h:1/metrics\"}", "no `{host}`"),
            ("{per_broker: \"{host}:7071\"}", "is no URL"),
            ("{prometheus: \"http://p/api/v1/query\"}", "more than the URL of the server"),
            ("{prometheus: \"http://me:hunter2@p\"}", "a login is in the URL"),
            ("{prometheus: \"http://p\", bearer: hunter2}", "in plain text"),
            ("{prometheus: \"http://p\", bearer: \"${PV}\"}", "allowed here: `PW`"),
            ("{prometheus: \"http://p\", username: me}", "`username` with `password`"),
            ("{prometheus: \"http://p\", username: \"a:b\", password: \"${PW}\"}", "has no `:`"),
            ("{promtheus: \"http://p\"}", "prometheus"),
            ("{jmx: \"{host}:9999\", prometheus: \"http://p\"}", "exactly one"),
            ("{jmx: \"b:9999\"}", "`{host}:PORT`"),
            ("{jmx: \"{host}:0\"}", "`{host}:PORT`"),
            ("{jmx: \"{host}:9999\", bearer: \"${PW}\"}", "neither `bearer` nor `trust`"),
            ("{prometheus: \"http://p\", mbeans: [\"a:b=c/d\"]}", "over `jmx` alone"),
            (
                "{jmx: \"{host}:9999\", mbeans: [LeaderCount]}",
                "`LeaderCount` names no attribute | write `OBJECT/ATTRIBUTE`",
            ),
            ("{jmx: \"{host}:9999\", mbeans: [\"a:b=c/d\", \"a:b=c/d\"]}", "is there twice"),
            ("{jmx: \"{host}:9999\", trust: a.pem}", "neither `bearer` nor `trust`"),
        ] {
            let reported = read(metrics).expect_err(metrics);
            assert!(
                reported.starts_with("dir/t.yaml:6:") && reported.contains(part),
                "{metrics}: {reported}"
            );
            assert!(!reported.contains("hunter2"), "{reported}");
        }
    }
}
