//! Generators: the hosts and pods that carry a load, in a target file or in a file of their own.

mod pods;

use crate::input::{InputError, known_hint, quoted};
use crate::keys;
use crate::target::reference;
use crate::walk::{Fields, entries, list_of, opt, scalars};
use crate::yaml::{self, Scalar, YamlNode};
use kdyno_model::address::is_address;
use kdyno_model::generator::{GeneratorHost, GeneratorsPlan, HOSTS_MAX, LostWorkers, Reach};
use std::collections::BTreeMap;
use std::path::Path;

/// Longest name of a host.
const NAME_CHARS_MAX: usize = 100;

/// Checked generators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generators {
    /// Their names, and which load items are on which.
    pub plan: GeneratorsPlan,
    /// How they are reached, in the order of the plan.
    pub hosts: Vec<GeneratorHost>,
}

/// Whether a text can be a generator's name: it has none of the signs that a shell, an option or a file name would act on.
pub fn is_generator_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '[' | ']');
    (1..=NAME_CHARS_MAX).contains(&text.len()) && !text.starts_with('-') && text.chars().all(is_plain)
}

impl Generators {
    /// Reads a file of generators. `file_name` is for messages, and its folder is where relative paths begin; nothing is
    /// opened.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and column.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, InputError> {
        let folder = Path::new(file_name).parent().unwrap_or(Path::new(""));
        let read = yaml::parse(text).and_then(|root| Self::read(&root, folder));
        read.map_err(|error| error.in_file(file_name))
    }

    /// Reads the section; paths begin in `folder`.
    pub(crate) fn read(node: &YamlNode, folder: &Path) -> Result<Self, InputError> {
        let fields = Fields::of(node, &keys::GENERATORS)?;
        let mut hosts = list_of(&fields, "hosts", |node| Ok((node.place(), host(node, folder)?)))?;
        if let Some(pods) = opt(&fields, "kubernetes", pods::pods)? {
            hosts.extend(pods.hosts().into_iter().map(|host| (fields.place, host)));
        }
        if hosts.is_empty() || hosts.len() > HOSTS_MAX {
            let message = format!("generators are 1 to {HOSTS_MAX} hosts and pods, not {}", hosts.len());
            return Err(InputError::at(fields.place, message)
                .hint("`hosts: [{ssh: user@host}]`, or `kubernetes: {image: NAME@sha256:…, pods: 2}`"));
        }
        for (at, (place, found)) in hosts.iter().enumerate() {
            if hosts[..at].iter().any(|(_, known)| known.name == found.name) {
                let message = format!("two generators are called {}", quoted(&found.name));
                return Err(InputError::at(*place, message).hint("give each a `name` of its own"));
            }
        }
        let hosts: Vec<GeneratorHost> = hosts.into_iter().map(|(_, host)| host).collect();
        let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
        let shares = fields.get("share").map(|node| shares(node, &names)).transpose()?.unwrap_or_default();
        let lost_workers = fields.scalar("lost_workers")?.map(|typed| lost_workers(&typed)).transpose()?;
        let lost_workers = lost_workers.unwrap_or_default();
        Ok(Self { plan: GeneratorsPlan { hosts: names, shares, lost_workers }, hosts })
    }
}

fn host(node: &YamlNode, folder: &Path) -> Result<GeneratorHost, InputError> {
    let fields = Fields::of(node, &keys::GENERATOR)?;
    let (own, reach) = match (fields.scalar("ssh")?, fields.scalar("connect")?) {
        (Some(typed), None) => {
            let not_here = ["certificate", "token"].into_iter().find(|name| fields.get(name).is_some());
            if let Some(name) = not_here {
                let message = format!("`{name}` goes with `connect`: ssh checks both sides itself");
                return Err(InputError::at(fields.place, message));
            }
            ssh(&typed, &fields, folder)?
        }
        (None, Some(typed)) => tls(&typed, &fields, folder)?,
        _ => {
            let message = "a generator takes either `ssh` or `connect`";
            return Err(InputError::at(fields.place, message).hint(
                "`{ssh: user@host}`, or `{connect: host:port, certificate: FILE, token: {file: FILE}}`",
            ));
        }
    };
    let name = fields.scalar("name")?.unwrap_or(own);
    if is_generator_name(&name.text) {
        return Ok(GeneratorHost { name: name.text, reach });
    }
    Err(InputError::at(name.place, format!("{} cannot be a generator's name", quoted(&name.text)))
        .hint("letters, digits, `-`, `_` and `.`"))
}

/// What ssh is given, and the host in it. A destination that begins with `-` would be an option.
fn ssh(typed: &Scalar, fields: &Fields<'_>, folder: &Path) -> Result<(Scalar, Reach), InputError> {
    let (user, host) = typed.text.rsplit_once('@').unwrap_or(("", &typed.text));
    let is_user = user.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !is_user || typed.text.starts_with(['-', '@']) || !is_generator_name(host) {
        return Err(InputError::at(typed.place, format!("{} is no host of ssh", quoted(&typed.text))).hint(
            "`host` or `user@host`; a port is in ssh's configuration: the user's own, or `ssh_config`",
        ));
    }
    let program = fields.scalar("program")?;
    // A shell there reads it.
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+');
    let is_no_path = |typed: &&Scalar| typed.text.starts_with('-') || !typed.text.chars().all(is_path);
    if let Some(typed) = program.as_ref().filter(is_no_path) {
        return Err(InputError::at(typed.place, format!("{} is no path of kdyno", quoted(&typed.text)))
            .hint("letters, digits, `-`, `_`, `.`, `+` and `/`"));
    }
    let reach = Reach::Ssh {
        destination: typed.text.clone(),
        config: fields.scalar("ssh_config")?.map(|file| folder.join(file.text)),
        program: program.map(|typed| typed.text),
    };
    Ok((Scalar { text: host.to_owned(), ..typed.clone() }, reach))
}

fn tls(typed: &Scalar, fields: &Fields<'_>, folder: &Path) -> Result<(Scalar, Reach), InputError> {
    if !is_address(&typed.text) {
        return Err(InputError::at(typed.place, format!("{} is not `host:port`", quoted(&typed.text)))
            .hint("an IPv6 address needs brackets, as in `[::1]:7400`"));
    }
    let lacks = |name: &str| {
        InputError::at(fields.place, format!("`connect` takes `{name}`, too"))
            .hint("`kdyno agent --listen` has written both files: `certificate.pem` and `token`")
    };
    if let Some(name) = ["program", "ssh_config"].into_iter().find(|name| fields.get(name).is_some()) {
        let message = format!("`{name}` goes with `ssh`: an agent that listens runs already");
        return Err(InputError::at(fields.place, message));
    }
    let certificate = fields.scalar("certificate")?.ok_or_else(|| lacks("certificate"))?;
    let token = fields.get("token").ok_or_else(|| lacks("token"))?;
    let reach = Reach::Tls {
        address: typed.text.clone(),
        certificate: folder.join(certificate.text),
        token: reference("the token", token, folder)?,
    };
    let (host, _) = typed.text.rsplit_once(':').unwrap_or((&typed.text, ""));
    Ok((Scalar { text: host.to_owned(), ..typed.clone() }, reach))
}

/// `even`, or the hosts of some items.
fn shares(node: &YamlNode, hosts: &[String]) -> Result<BTreeMap<String, Vec<String>>, InputError> {
    if let YamlNode::Scalar(typed) = node {
        return match typed.text.as_str() {
            "even" => Ok(BTreeMap::new()),
            other => Err(InputError::at(typed.place, format!("{} is no way to share", quoted(other)))
                .hint("`even`, or hosts by load item, as in `{readers: [gen-2]}`")),
        };
    }
    let mut found = BTreeMap::new();
    for (item, node) in entries(node, "share")? {
        let named = scalars(node, &item.text)?;
        let known = || hosts.iter().map(String::as_str);
        if let Some(other) = named.iter().find(|one| !hosts.contains(&one.text)) {
            let message = format!("{} is none of the generators", quoted(&other.text));
            return Err(InputError::at(other.place, message)
                .hint(known_hint(&other.text, known().collect::<Vec<_>>())));
        }
        if named.is_empty() {
            return Err(InputError::at(item.place, format!("no host would run {}", quoted(&item.text))));
        }
        found.insert(item.text.clone(), named.into_iter().map(|one| one.text).collect());
    }
    Ok(found)
}

fn lost_workers(typed: &Scalar) -> Result<LostWorkers, InputError> {
    match typed.text.as_str() {
        "end" => Ok(LostWorkers::End),
        "report" => Ok(LostWorkers::Report),
        other => {
            let message = format!("`lost_workers` takes `end` or `report`, not {}", quoted(other));
            Err(InputError::at(typed.place, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::generator::GeneratorPods;
    use kdyno_model::secret::SecretRef;

    fn read(text: &str) -> Result<Generators, String> {
        Generators::parse(text, "/lab/generators.yaml")
            .map_err(|error| format!("{error} | {}", error.hint.clone().unwrap_or_default()))
    }

    const TWO: &str = "hosts:\n- {ssh: load@gen-1}\n\
                       - {connect: 'gen-2:7400', certificate: gen-2.pem, token: {file: gen-2.token}}\n";

    #[test]
    fn hosts_are_reached_by_ssh_or_tls_and_share_evenly() {
        let found = read(TWO).expect("two hosts");
        assert_eq!(found.plan.hosts, ["gen-1", "gen-2"]);
        assert!(found.plan.shares.is_empty());
        let by_ssh = |config: Option<&str>, program: Option<&str>| Reach::Ssh {
            destination: "load@gen-1".to_owned(),
            config: config.map(Into::into),
            program: program.map(ToOwned::to_owned),
        };
        assert_eq!(found.hosts[0].reach, by_ssh(None, None));
        let named = read("hosts: [{ssh: load@gen-1, ssh_config: ci/config, program: /opt/kdyno}]\n");
        let named = named.expect("a host").hosts.remove(0).reach;
        assert_eq!(named, by_ssh(Some("/lab/ci/config"), Some("/opt/kdyno")));
        let token = SecretRef::File("/lab/gen-2.token".into());
        let certificate = "/lab/gen-2.pem".into();
        let wanted = Reach::Tls { address: "gen-2:7400".to_owned(), certificate, token };
        assert_eq!(found.hosts[1].reach, wanted);
        assert_eq!(read(&format!("{TWO}share: even\n")), Ok(found));
        let by_item = read(&format!("{TWO}share: {{readers: [gen-2]}}\n")).expect("shares");
        assert_eq!(by_item.plan.shares["readers"], ["gen-2"]);
        assert_eq!(by_item.plan.lost_workers, LostWorkers::End);
        let goes_on = read(&format!("{TWO}lost_workers: report\n")).expect("a word");
        assert_eq!(goes_on.plan.lost_workers, LostWorkers::Report);
    }

    const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn pods_are_hosts_with_names_of_their_own() {
        let pods =
            format!("kubernetes: {{namespace: kdyno, image: 'r.example/kdyno@sha256:{DIGEST}', pods: 2}}\n");
        let found = read(&pods).expect("two pods");
        assert_eq!(found.plan.hosts, ["pod-0", "pod-1"]);
        let Reach::Pod { pods: of, index: 1 } = &found.hosts[1].reach else { panic!("a pod") };
        assert_eq!(
            (of.cpu_milli, of.memory_bytes, of.spread.as_str()),
            (1000, 1 << 30, "kubernetes.io/hostname")
        );
        let more = pods.replace(
            "pods: 2",
            "pods: 1, cpu: 0.25, memory: 8GiB, node_selector: {pool: clients}, context: lab, secrets: [{secret: ca, at: /certs}]",
        );
        let found =
            read(&format!("hosts: [{{ssh: gen-1}}]\n{more}share: {{readers: [pod-0]}}\n")).expect("both");
        assert_eq!(found.plan.hosts, ["gen-1", "pod-0"]);
        let Reach::Pod { pods: of, .. } = &found.hosts[1].reach else { panic!("a pod") };
        assert_eq!((of.cpu_milli, of.context.as_deref()), (250, Some("lab")));
        assert_eq!((of.node_selector["pool"].as_str(), of.secrets[0].at.as_str()), ("clients", "/certs"));
        assert_eq!((&of.service_account, &of.claim), (&None, &None));
        let lab = read(&pods.replace("pods: 2", "pods: 2, service_account: kdyno, claim: runs.kdyno"));
        let of = GeneratorPods::among(&lab.expect("a lab's keys").hosts).expect("pods");
        let names = (of.service_account.as_deref(), of.claim.as_deref());
        assert_eq!(names, (Some("kdyno"), Some("runs.kdyno")));
        for (from, to, wanted) in [
            ("pods: 2", "pods: 2, claim: ../x", "`claim`: `../x` is no name of an object"),
            ("pods: 2", "pods: 101", "`pods` takes 1 to 100, not `101`"),
            ("pods: 2", "pods: 0", "`pods` takes 1 to 100, not `0`"),
            ("pods: 2", "pods: 2, cpu: 0.0001", "`cpu`: `0.0001` is no number of CPUs"),
            ("pods: 2", "pods: 2, memory: 8", "`memory`: `8` is a number, not a size"),
            ("pods: 2", "pods: 2, memory: 0B", "`memory` is nothing"),
            ("pods: 2", "pods: 2, wait: 10ms", "`wait` is at least 1 s"),
            ("pods: 2", "pods: 2, secrets: [{secret: ca, at: certs}]", "`at`: `certs` is no absolute path"),
            ("@sha256:", ":1@sha256:0", "is no image with its digest"),
            ("namespace: kdyno", "namespace: ../x", "`namespace`: `../x` is no name of a namespace"),
            ("pods: 2", "replicas: 2", "`replicas` is not a key of `kubernetes`"),
        ] {
            let reported = read(&pods.replace(from, to)).expect_err(to);
            assert!(reported.contains(wanted), "{to}: {reported}");
        }
        let twice = read(&format!("hosts: [{{name: pod-1, ssh: a}}]\n{pods}")).expect_err("a name twice");
        assert!(twice.contains("two generators are called `pod-1`"), "{twice}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, wanted) in [
            ("hosts: []\n", "/lab/generators.yaml:1:1: generators are 1 to 100 hosts and pods, not 0"),
            ("share: even\n", "generators are 1 to 100 hosts and pods, not 0"),
            ("hosts: [{name: a}]\n", "either `ssh` or `connect`"),
            (
                "hosts: [{ssh: a}]\nlost_workers: ignore\n",
                "2:15: `lost_workers` takes `end` or `report`, not `ignore`",
            ),
            ("hosts: [{ssh: a, connect: 'a:1'}]\n", "either `ssh` or `connect`"),
            ("hosts: [{ssh: -oProxyCommand=x}]\n", "1:15: `-oProxyCommand=x` is no host of ssh"),
            ("hosts: [{ssh: 'a b'}]\n", "is no host of ssh"),
            ("hosts: [{ssh: a, program: 'kdyno; rm'}]\n", "is no path of kdyno"),
            ("hosts: [{ssh: a, token: {file: t}}]\n", "`token` goes with `connect`"),
            ("hosts: [{connect: 'a:1', ssh_config: c}]\n", "`ssh_config` goes with `ssh`"),
            ("hosts: [{ssh: a}, {ssh: b@a}]\n", "two generators are called `a` | give each a `name`"),
            ("hosts: [{connect: a, certificate: c, token: {file: t}}]\n", "`a` is not `host:port`"),
            ("hosts: [{connect: 'a:1', token: {file: t}}]\n", "`connect` takes `certificate`, too"),
            ("hosts: [{connect: 'a:1', certificate: c}]\n", "`connect` takes `token`, too"),
            (
                "hosts: [{connect: 'a:1', certificate: c, token: hunter2}]\n",
                "the token is here in plain text",
            ),
            ("hosts: [{ssh: a}]\nshare: most\n", "2:8: `most` is no way to share"),
            (
                "hosts: [{ssh: gen-1}]\nshare: {w: [gen-2]}\n",
                "`gen-2` is none of the generators | did you mean `gen-1`?",
            ),
            ("hosts: [{ssh: a}]\nshare: {w: []}\n", "no host would run `w`"),
            ("host: [{ssh: a}]\n", "`host` is not a key of `generators`"),
        ] {
            let reported = read(text).expect_err(text);
            assert!(reported.contains(wanted) && !reported.contains("hunter2"), "{text}: {reported}");
        }
    }
}
