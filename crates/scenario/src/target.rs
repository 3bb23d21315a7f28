//! Target: a private file that says how to reach an existing cluster and what may be done to it.

mod groups;
mod metrics;
mod price;
mod secrets;
mod topics;

pub(crate) use secrets::reference;

use crate::facts::facts;
use crate::file::version;
use crate::formats;
use crate::generators::Generators;
use crate::input::{InputError, known_hint, listed, quoted};
use crate::keys;
use crate::security::{self, ClientProperties, PropertiesFile};
use crate::units::{self, Dimension};
use crate::walk::{Fields, list, scalar, scalars};
use crate::yaml::{self, Scalar, YamlNode};
use kdyno_model::address::{PREFIX_CHARS_MAX, is_address};
use kdyno_model::plan::{AbortIf, AttachedPlan, Beyond, Caps, MetricsLogin, MetricsPlan, Price, WatchedSign};
use kdyno_model::secret::SecretRef;
use std::collections::BTreeMap;
use std::path::Path;

/// Most brokers that are listed to ask first.
const BOOTSTRAP_MAX: usize = 100;

/// A target file as typed: everything but what is in a properties file.
#[derive(Debug, Clone)]
pub struct TargetFile {
    file_name: String,
    name: String,
    cluster_id: String,
    client: ClientFile,
    topics: BTreeMap<String, String>,
    groups: Vec<String>,
    guard: GuardFile,
    facts: BTreeMap<String, String>,
    price: Option<Price>,
    metrics: Option<MetricsPlan>,
    generators: Option<Generators>,
}

#[derive(Debug, Clone)]
struct ClientFile {
    /// Empty where the properties file is to name them.
    bootstrap: Vec<Scalar>,
    properties: Option<Scalar>,
    secrets: BTreeMap<String, SecretRef>,
}

#[derive(Debug, Clone)]
struct GuardFile {
    prefix: String,
    caps: Caps,
    allow: Vec<String>,
    abort_if: Vec<AbortIf>,
}

/// A checked target.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Everything the plan needs of it.
    pub attached: AttachedPlan,
    /// What only its clients may know, by name: where the values come from.
    pub secrets: BTreeMap<String, SecretRef>,
    /// What of its properties file has no effect or may be meant otherwise, each a lowercase sentence.
    pub notes: Vec<String>,
}

impl TargetFile {
    /// Reads a target file. `file_name` is for messages; nothing is opened.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and column.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, InputError> {
        yaml::parse(text)
            .and_then(|root| Self::read(&root, file_name))
            .map_err(|error| formats::recognised(text, "a target", error).in_file(file_name))
    }

    fn read(root: &YamlNode, file_name: &str) -> Result<Self, InputError> {
        let fields = Fields::of(root, &keys::TARGET)?;
        version(&fields)?;
        let name = fields.required("target")?;
        word(&name, "a target's name")?;
        let cluster_id = fields.required("cluster_id")?;
        word(&cluster_id, "a cluster id")?;
        let facts = fields.get("facts").map(|node| facts(node, "facts")).transpose()?.unwrap_or_default();
        let guard = guard(fields.get("guard"), &fields)?;
        let topics = fields
            .get("topics")
            .map(|node| topics::topics(node, &guard.allow))
            .transpose()?
            .unwrap_or_default();
        let client = fields.get("client").map(|node| client(node, Path::new(file_name))).transpose()?;
        let client = client.ok_or_else(|| InputError::at(fields.place, "`client` is missing"))?;
        let folder = Path::new(file_name).parent().unwrap_or(Path::new(""));
        let metrics = |node| metrics::metrics(node, folder, &client.secrets);
        let metrics = fields.get("metrics").map(metrics).transpose()?;
        Ok(Self {
            file_name: file_name.to_owned(),
            name: name.text,
            cluster_id: cluster_id.text,
            client,
            topics,
            groups: fields.get("groups").map(groups::groups).transpose()?.unwrap_or_default(),
            guard,
            facts,
            price: fields.get("price").map(price::price).transpose()?,
            metrics,
            generators: fields.get("generators").map(|node| Generators::read(node, folder)).transpose()?,
        })
    }

    /// The properties file to read, relative to the target file; none when everything is here.
    pub fn properties(&self) -> Option<&str> {
        self.client.properties.as_ref().map(|typed| typed.text.as_str())
    }

    /// The hosts that carry the load of runs on it, where it names some.
    pub fn generators(&self) -> Option<&Generators> {
        self.generators.as_ref()
    }

    /// The checked target; `properties` is the file of [`TargetFile::properties`].
    ///
    /// # Errors
    /// No usable address, or what the properties file says is wrong or not spoken.
    pub fn resolve(self, properties: Option<PropertiesFile<'_>>) -> Result<Target, InputError> {
        let ClientFile { bootstrap: mut typed, properties: path, secrets } = self.client;
        let found = properties
            .map(|file| security::client_properties(file, &secrets))
            .transpose()?
            .unwrap_or_default();
        let mut notes = found.notes_for_target();
        let of_metrics =
            self.metrics.as_ref().and_then(|metrics| metrics.login.as_ref()).map(MetricsLogin::secret);
        let is_used = |name: &String| found.used.contains(name) || of_metrics == Some(name.as_str());
        let unused = secrets.keys().filter(|name| !is_used(name));
        notes.extend(unused.map(|name| format!("secret {} of the target is used nowhere", quoted(name))));
        if let (true, Some(path)) = (typed.is_empty(), path) {
            let one = |text: &String| Scalar { text: text.clone(), ..path.clone() };
            typed = found.bootstrap.iter().map(one).collect();
            if typed.is_empty() || typed.len() > BOOTSTRAP_MAX {
                let message =
                    format!("the properties file {} lacks a usable `bootstrap.servers`", quoted(&path.text));
                let error = InputError::at(path.place, message).hint("or name `bootstrap` next to it");
                return Err(error.in_file(&self.file_name));
            }
        }
        let addresses = typed.iter().map(address).collect::<Result<Vec<_>, _>>();
        let bootstrap = addresses.map_err(|error| error.in_file(&self.file_name))?;
        let of_metrics = of_metrics.and_then(|name| secrets.get_key_value(name));
        let of_metrics = of_metrics.map(|(name, from)| (name.clone(), from.clone()));
        let ClientProperties { security, secrets: mut needed, .. } = found;
        needed.extend(of_metrics);
        Ok(Target {
            attached: AttachedPlan {
                target: self.name,
                bootstrap,
                cluster_id: self.cluster_id,
                security: Box::new(security),
                prefix: self.guard.prefix,
                topics: self.topics,
                groups: self.groups,
                caps: self.guard.caps,
                allow: self.guard.allow,
                abort_if: self.guard.abort_if,
                facts: self.facts,
                price: self.price,
                metrics: self.metrics.map(Box::new),
                sustain_ns: None,
            },
            secrets: needed,
            notes,
        })
    }
}

fn word(typed: &Scalar, what: &str) -> Result<(), InputError> {
    let fits = (1..=100).contains(&typed.text.len())
        && typed.text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if fits {
        return Ok(());
    }
    Err(InputError::at(typed.place, format!("{} cannot be {what}", quoted(&typed.text)))
        .hint("letters, digits, `-`, `_` and `.`"))
}

fn client(node: &YamlNode, file: &Path) -> Result<ClientFile, InputError> {
    let fields = Fields::of(node, &keys::CLIENT)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let secrets =
        fields.get("secrets").map(|node| secrets::secrets(node, folder)).transpose()?.unwrap_or_default();
    let bootstrap = match fields.get("bootstrap") {
        None => Vec::new(),
        Some(node) => {
            let found = scalars(node, "bootstrap")?;
            if found.is_empty() || found.len() > BOOTSTRAP_MAX {
                let message =
                    format!("`bootstrap` takes 1 to {BOOTSTRAP_MAX} addresses, not {}", found.len());
                return Err(InputError::at(node.place(), message));
            }
            found
        }
    };
    let properties = fields.scalar("properties")?;
    if bootstrap.is_empty() && properties.is_none() {
        return Err(InputError::at(fields.place, "`client` takes `bootstrap`, `properties`, or both"));
    }
    Ok(ClientFile { bootstrap, properties, secrets })
}

/// What a broker's address looks like, for hints.
pub const ADDRESS_FORM: &str =
    "HOST:PORT, several with commas; an IPv6 address in brackets, as in `[::1]:9092`";

fn address(typed: &Scalar) -> Result<String, InputError> {
    let text = typed.text.trim();
    match is_address(text) {
        true => Ok(text.to_owned()),
        false => Err(InputError::at(typed.place, format!("{} is not `host:port`", quoted(text)))
            .hint("an IPv6 address needs brackets, as in `[::1]:9092`")),
    }
}

fn guard(node: Option<&YamlNode>, root: &Fields<'_>) -> Result<GuardFile, InputError> {
    let empty = YamlNode::Map(root.place, Vec::new());
    let fields = Fields::of(node.unwrap_or(&empty), &keys::GUARD)?;
    let prefix = fields.required("prefix")?;
    word(&prefix, "a prefix")?;
    if prefix.text.len() > PREFIX_CHARS_MAX || prefix.text.len() < 3 || prefix.text.starts_with('_') {
        let message = format!("{} cannot be a prefix", quoted(&prefix.text));
        return Err(InputError::at(prefix.place, message).hint(format!(
            "3 to {PREFIX_CHARS_MAX} characters, not beginning with `_`, which is Kafka's own"
        )));
    }
    let caps = Fields::of(fields.get("caps").unwrap_or(&empty), &keys::CAPS)?;
    let allow = fields.get("allow").map(allow).transpose()?.unwrap_or_default();
    let abort_if = fields.get("abort_if").map(|node| scalars(node, "abort_if")).transpose()?;
    let abort_if = abort_if.iter().flatten().map(self::abort_if).collect::<Result<_, _>>()?;
    Ok(GuardFile { prefix: prefix.text, caps: read_caps(&caps)?, allow, abort_if })
}

fn read_caps(caps: &Fields<'_>) -> Result<Caps, InputError> {
    let small = |name: &str| -> Result<Option<u32>, InputError> {
        let Some((typed, value)) = amount(caps, name, Dimension::Plain)? else { return Ok(None) };
        u32::try_from(value)
            .map(Some)
            .map_err(|_| InputError::at(typed.place, format!("`{name}` is too large")))
    };
    Ok(Caps {
        produce_bytes_per_s: caps.scalar("produce")?.map(|typed| per_s(&typed)).transpose()?,
        connections: small("connections")?,
        partitions: small("partitions")?,
        disk_bytes: amount(caps, "disk", Dimension::Bytes)?.map(|(_, value)| value),
        time_ns: amount(caps, "time", Dimension::Ns)?.map(|(_, value)| value),
    })
}

fn amount(caps: &Fields<'_>, name: &str, dimension: Dimension) -> Result<Option<(Scalar, u64)>, InputError> {
    let Some(typed) = caps.scalar(name)? else { return Ok(None) };
    match units::whole(&typed.text, dimension) {
        Ok(value) => Ok(Some((typed, value))),
        Err(message) => Err(InputError::at(typed.place, format!("`{name}`: {message}"))),
    }
}

/// `20MiB/s`.
fn per_s(typed: &Scalar) -> Result<u64, InputError> {
    let bytes = typed.text.trim().strip_suffix("/s").map(|size| units::whole(size, Dimension::Bytes));
    match bytes {
        Some(Ok(bytes)) => Ok(bytes),
        _ => Err(InputError::at(typed.place, format!("{} is not a size per second", quoted(&typed.text)))
            .hint("e.g. `20MiB/s`")),
    }
}

fn allow(node: &YamlNode) -> Result<Vec<String>, InputError> {
    let mut found: Vec<String> = Vec::new();
    for node in list(node, "allow")? {
        let typed = scalar(node, "allow")?;
        let name = typed.text.as_str();
        if found.iter().any(|known| known == name) {
            return Err(InputError::at(typed.place, format!("permission `{name}` is here twice")));
        }
        if keys::ALLOW_LATER.contains(&name) {
            let what = format!("permission `{name}`");
            return Err(InputError::later(typed.place, &what, "leave it out: nothing of the kind is done"));
        }
        if !keys::ALLOW.contains(&name) {
            return Err(InputError::at(typed.place, format!("{} is not a permission", quoted(name)))
                .hint(known_hint(name, keys::ALLOW.iter().copied())));
        }
        found.push(typed.text);
    }
    Ok(found)
}

/// `under_replicated > 0 for 10s`.
fn abort_if(typed: &Scalar) -> Result<AbortIf, InputError> {
    let wrong = |message: String| InputError::at(typed.place, message);
    let form = || {
        let names = listed(WATCHED.iter().map(|of| of.into()));
        wrong(format!("{} is no state at which load could end", quoted(&typed.text)))
            .hint(format!("write e.g. `under_replicated > 0 for 10s`; known: {names}"))
    };
    let at = typed.text.find(['<', '>']).ok_or_else(form)?;
    let (name, rest) = typed.text.split_at(at);
    let beyond = if rest.starts_with('<') { Beyond::Below } else { Beyond::Above };
    let (limit, lasting) = match rest[1..].split_once(" for ") {
        Some((limit, lasting)) => (limit.trim(), Some(lasting.trim())),
        None => (rest[1..].trim(), None),
    };
    let of: WatchedSign = name.trim().parse().map_err(|_| {
        let names = WATCHED.iter().map(|of| -> &'static str { of.into() }).collect::<Vec<_>>();
        wrong(format!("{} is nothing that is watched", quoted(name.trim())))
            .hint(known_hint(name.trim(), names))
    })?;
    let dimension = if of == WatchedSign::RateOfOthers { Dimension::PerS } else { Dimension::Plain };
    let limit = units::parse_as(limit, dimension).map_err(|message| wrong(format!("`{of}`: {message}")))?;
    let for_ns = lasting.map(|text| units::whole(text, Dimension::Ns)).transpose();
    let for_ns = for_ns.map_err(|message| wrong(format!("`for`: {message}")))?.unwrap_or(0);
    Ok(AbortIf { of, beyond, limit, for_ns, text: typed.text.trim().to_owned() })
}

const WATCHED: [WatchedSign; 4] = [
    WatchedSign::OfflineBrokers,
    WatchedSign::OfflinePartitions,
    WatchedSign::UnderReplicated,
    WatchedSign::RateOfOthers,
];

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: &str = "\
kdyno: 1
target: staging
cluster_id: aB3x
client: {bootstrap: ['a.example:9092', '[::1]:9092']}
facts: {instance: m7g.2xlarge, disk: {type: gp3, limit: 250MiB/s}}
guard:
  caps: {produce: 20MiB/s, connections: 200, partitions: 60, disk: 50GiB, time: 30m}
  allow: [rate-max]
";

    fn error(text: &str) -> String {
        let error = TargetFile::parse(text, "t.yaml").unwrap_err();
        format!("{error} | {}", error.hint.clone().unwrap_or_default())
    }

    #[test]
    fn reads_a_target() {
        let target = TargetFile::parse(TARGET, "t.yaml").unwrap().resolve(None).unwrap().attached;
        assert_eq!(target.bootstrap, ["a.example:9092", "[::1]:9092"]);
        assert_eq!(target.prefix, "kdyno-");
        assert_eq!(target.facts["disk.type"], "gp3");
        assert_eq!(target.caps.produce_bytes_per_s, Some(20 << 20));
        assert_eq!(target.caps.time_ns, Some(1_800_000_000_000));
    }

    #[test]
    fn a_literal_secret_is_refused_before_anything_else() {
        let text = TARGET.replace("client: {", "client: {secrets: {PW: hunter2}, ");
        let message = error(&text);
        assert!(message.starts_with("t.yaml:4:") && message.contains("in plain text"), "{message}");
        assert!(!message.contains("hunter2"), "the message repeats the secret: {message}");
    }

    #[test]
    fn addresses_stand_here_or_in_properties() {
        let text =
            TARGET.replace("bootstrap: ['a.example:9092', '[::1]:9092']", "properties: staging.properties");
        let file = TargetFile::parse(&text, "t.yaml").unwrap();
        assert_eq!(file.properties(), Some("staging.properties"));
        let read = |file: &TargetFile, java: &str| {
            let properties = PropertiesFile {
                path: Path::new("staging.properties"),
                bytes: java.as_bytes(),
                head: &|_| Err("is not there".to_owned()),
            };
            file.clone().resolve(Some(properties))
        };
        let java =
            "# hi\nbootstrap.servers = b1:9092,\\\n  b2:9092\nsecurity.protocol=PLAINTEXT\nacks: all\n";
        let target = read(&file, java).unwrap();
        assert_eq!(target.attached.bootstrap, ["b1:9092", "b2:9092"]);
        assert!(target.attached.security.is_plaintext());
        assert!(target.notes[0].contains("`acks`") && target.notes.len() == 1, "{:?}", target.notes);
        assert!(read(&file, "").unwrap_err().to_string().contains("lacks a usable"));
        let both = TARGET.replace("client: {", "client: {properties: staging.properties, ");
        let both = TargetFile::parse(&both, "t.yaml").unwrap();
        assert_eq!(
            read(&both, java).unwrap().attached.bootstrap[0],
            "a.example:9092",
            "what stands here counts"
        );
        assert_eq!(read(&both, "").unwrap().attached.bootstrap[0], "a.example:9092");
        assert!(
            error(&TARGET.replace("bootstrap: ['a.example:9092', '[::1]:9092']", "")).contains("or both")
        );
    }

    #[test]
    fn states_that_end_the_load_are_read() {
        let with = |text: &str| TARGET.replace("guard:", &format!("guard:\n  abort_if: [{text}]"));
        let text =
            with("offline_partitions > 0, under_replicated > 2 for 10s, rate_of_others < 1.5k/s for 5s");
        let target = TargetFile::parse(&text, "t.yaml").unwrap().resolve(None).unwrap().attached;
        let read = |of, beyond, limit, for_ns, text: &str| AbortIf {
            of,
            beyond,
            limit,
            for_ns,
            text: text.to_owned(),
        };
        let expected = [
            read(WatchedSign::OfflinePartitions, Beyond::Above, 0.0, 0, "offline_partitions > 0"),
            read(
                WatchedSign::UnderReplicated,
                Beyond::Above,
                2.0,
                10_000_000_000,
                "under_replicated > 2 for 10s",
            ),
            read(
                WatchedSign::RateOfOthers,
                Beyond::Below,
                1500.0,
                5_000_000_000,
                "rate_of_others < 1.5k/s for 5s",
            ),
        ];
        assert_eq!(target.abort_if, expected);
        let cases = [
            ("x", "is no state at which load could end"),
            ("under_replicatd > 0", "did you mean `under_replicated`?"),
            ("rate_of_others < 5", "is a number, not a rate"),
            ("offline_brokers > 1/s", "is a rate, not a number"),
            ("offline_brokers > 0 for 5", "`for`: `5` is a number, not a duration"),
        ];
        for (text, part) in cases {
            let reported = error(&with(text));
            assert!(reported.starts_with("t.yaml:7:") && reported.contains(part), "{text}: {reported}");
        }
    }

    #[test]
    fn topics_that_are_there_need_a_permission() {
        let with = |topics: &str, allow: &str| {
            TARGET.replace("guard:", &format!("topics: {topics}\nguard:")).replace("[rate-max]", allow)
        };
        let text = with("{perf: team-a.load}", "[existing-topics]");
        let target = TargetFile::parse(&text, "t.yaml").unwrap().resolve(None).unwrap().attached;
        assert_eq!(target.topics, BTreeMap::from([("perf".to_owned(), "team-a.load".to_owned())]));
        let reported = error(&with("{perf: team-a.load}", "[rate-max]"));
        assert!(
            reported.starts_with("t.yaml:6:9: ") && reported.contains("name `existing-topics`"),
            "{reported}"
        );
        for name in ["__consumer_offsets", "a b", "\"\""] {
            let reported = error(&with(&format!("{{perf: {name}}}"), "[existing-topics]"));
            assert!(reported.contains("cannot be a topic of load"), "{name}: {reported}");
        }
    }

    #[test]
    fn bad_guards_are_refused() {
        assert!(error(&TARGET.replace("20MiB/s, conn", "20MiB, conn")).contains("size per second"));
        assert!(error(&TARGET.replace("[rate-max]", "[faults]")).contains("not in this version yet"));
        assert!(error(&TARGET.replace("guard:", "guard:\n  prefix: __x")).contains("cannot be a prefix"));
        assert!(error(&TARGET.replace("[rate-max]", "[find, find]")).contains("is here twice"));
        assert!(error(&TARGET.replace("[rate-max]", "[fnd]")).contains("did you mean `find`?"));
        let text = TARGET.replace("a.example:9092", "a.example");
        let error = TargetFile::parse(&text, "t.yaml").unwrap().resolve(None).unwrap_err().to_string();
        assert!(error.contains("is not `host:port`"), "{error}");
    }
}
