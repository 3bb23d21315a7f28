//! From the references of a plan to the values of its secrets: resolved once for a run, gone at its end.

use crate::error::LabError;
use crate::generator::exited_within;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use kdyno_kafka::admin::Access;
use kdyno_model::generator::{GeneratorHost, Reach};
use kdyno_model::jaas;
use kdyno_model::plan::{AttachedPlan, CasePlan, Plan};
use kdyno_model::properties::{PROPERTIES_BYTES_MAX, Properties, trim};
use kdyno_model::secret::{SECRET_BYTES_MAX, Secret, SecretRef};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, getegid, geteuid, kill_process_group};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How long a command may take to print a secret: some ask a server for it.
const COMMAND_DEADLINE: Duration = Duration::from_secs(30);

/// Random bytes of a secret that is made for the run.
const MADE_BYTES: usize = 32;

/// Gives the value of an environment variable.
pub(crate) type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Why there is no value: one lowercase clause about the reference, and what can be done.
#[derive(Debug)]
struct NoValue {
    why: String,
    hint: Option<String>,
}

impl From<String> for NoValue {
    fn from(why: String) -> Self {
        Self { why, hint: None }
    }
}

/// The values of a run's secrets. By name and reference: cases may give one name to different ones.
pub(crate) struct RunSecrets {
    values: BTreeMap<(String, SecretRef), Secret>,
    /// Environment variables that hold a secret of the run, those of its generators too.
    variables: Vec<String>,
}

impl RunSecrets {
    /// Resolves each reference of the plan. The tokens of generators are only the lab's: of these it keeps where they are.
    ///
    /// # Errors
    /// One gives no value. The error names it, and nothing of what was read.
    pub(crate) fn resolve(
        plan: &Plan,
        generators: &[GeneratorHost],
        variables: VariableLookup<'_>,
    ) -> Result<Self, LabError> {
        let mut values = BTreeMap::new();
        for (name, reference) in plan.every_case().flat_map(|case| &case.secrets) {
            if let Entry::Vacant(entry) = values.entry((name.clone(), reference.clone())) {
                entry.insert(resolved(name, reference, variables)?);
            }
        }
        let tokens = generators.iter().filter_map(|host| match &host.reach {
            Reach::Tls { token, .. } => Some(token),
            Reach::Ssh { .. } | Reach::Pod { .. } => None,
        });
        let variable = |reference: &SecretRef| match reference {
            SecretRef::Env(name) => Some(name.clone()),
            SecretRef::File(_) | SecretRef::Property { .. } | SecretRef::Exec(_) | SecretRef::Made => None,
        };
        let references = values.keys().map(|(_, reference)| reference);
        let variables = references.chain(tokens).filter_map(variable).collect();
        Ok(Self { values, variables })
    }

    /// Secrets of a case, by name.
    pub(crate) fn of(&self, case: &CasePlan) -> BTreeMap<&str, &Secret> {
        let mine = |((name, reference), _): &(&(String, SecretRef), &Secret)| {
            case.secrets.get(name).is_some_and(|wanted| wanted == reference)
        };
        self.values.iter().filter(mine).map(|((name, _), secret)| (name.as_str(), secret)).collect()
    }

    /// How the brokers of a case's target are reached.
    ///
    /// # Errors
    /// Its certificates and secrets are of no use.
    pub(crate) fn access(&self, target: &AttachedPlan, case: &CasePlan) -> Result<Access, LabError> {
        let values = self.of(case);
        let security = kdyno_credentials::security(&target.security, &|name| values.get(name).copied())?;
        Ok(Access { bootstrap: target.bootstrap.clone(), security })
    }

    /// Environment variables that hold one: a process that is started from here must not inherit them.
    pub(crate) fn variables(&self) -> Vec<String> {
        self.variables.clone()
    }
}

/// Puts a variable in the place of each reference of a plan, for a lab on another host, which gets these variables with it. What is
/// made for a run is made there.
///
/// # Errors
/// One gives no value. The error names it, and nothing of what was read.
pub fn as_variables(
    plan: &mut Plan,
    variables: VariableLookup<'_>,
) -> Result<BTreeMap<String, Secret>, LabError> {
    let mut names: BTreeMap<SecretRef, String> = BTreeMap::new();
    let mut values = BTreeMap::new();
    for (name, reference) in plan.every_case_mut().flat_map(|case| case.secrets.iter_mut()) {
        if *reference == SecretRef::Made {
            continue;
        }
        let number = names.len();
        let variable = match names.entry(reference.clone()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                let variable = format!("KDYNO_SECRET_{number}");
                values.insert(variable.clone(), resolved(name, reference, variables)?);
                new.insert(variable).clone()
            }
        };
        *reference = SecretRef::Env(variable);
    }
    Ok(values)
}

/// How the brokers of a target are reached outside a run.
///
/// # Errors
/// A secret has no value, or certificates are of no use.
pub fn access(
    target: &AttachedPlan,
    secrets: &BTreeMap<String, SecretRef>,
    variables: VariableLookup<'_>,
) -> Result<Access, LabError> {
    let value = |name| resolved(name, &secrets[name], variables);
    let values: BTreeMap<&str, Secret> =
        secrets.keys().map(|name| Ok((name.as_str(), value(name)?))).collect::<Result<_, LabError>>()?;
    let security = kdyno_credentials::security(&target.security, &|name| values.get(name))?;
    Ok(Access { bootstrap: target.bootstrap.clone(), security })
}

pub(crate) fn resolved(
    name: &str,
    reference: &SecretRef,
    variables: VariableLookup<'_>,
) -> Result<Secret, LabError> {
    // Nothing here holds a value, or a part of one.
    value_of(reference, variables).map_err(|NoValue { why, hint }| LabError::Failed {
        message: format!("secret `{name}`: {reference} {why}"),
        hint,
    })
}

/// A file's or command's value now: one that expires.
pub(crate) fn resolve_again(reference: &SecretRef) -> Result<Secret, String> {
    value_of(reference, &|_| None).map_err(|none| none.why)
}

fn value_of(reference: &SecretRef, variables: VariableLookup<'_>) -> Result<Secret, NoValue> {
    kdyno_credentials::close_memory();
    match reference {
        SecretRef::Env(name) => {
            let value = variables(name).ok_or_else(|| "is not set".to_owned())?;
            checked(Secret::new(value.into_vec()))
        }
        SecretRef::File(path) => checked(read_value(private_file(path)?)?),
        SecretRef::Property { file, name, option } => property(file, name, option.as_deref()),
        SecretRef::Exec(command) => output(command, COMMAND_DEADLINE),
        SecretRef::Made => made(),
    }
}

fn checked(secret: Secret) -> Result<Secret, NoValue> {
    match secret.expose().len() {
        0 => Err("is empty".to_owned().into()),
        1..=SECRET_BYTES_MAX => Ok(secret),
        _ => Err(format!("has more than the {SECRET_BYTES_MAX} bytes of a secret").into()),
    }
}

/// Reads just enough to see that it is too much, which [`checked`] reports, and leaves out a newline at the end.
fn read_value(stream: impl Read) -> Result<Secret, NoValue> {
    /// The longest newline, and a byte that is too many.
    const MORE_BYTES: usize = 3;
    // With all its room from the start: bytes that are moved would stay behind.
    let mut bytes = Vec::with_capacity(SECRET_BYTES_MAX + MORE_BYTES);
    stream
        .take((SECRET_BYTES_MAX + MORE_BYTES) as u64)
        .read_to_end(&mut bytes)
        .map_err(|e| format!("could not be read: {e}"))?;
    let newline = [&b"\r\n"[..], b"\n"].into_iter().find(|newline| bytes.ends_with(newline));
    bytes.truncate(bytes.len() - newline.map_or(0, <[u8]>::len));
    Ok(Secret::new(bytes))
}

/// Whether only its owner may read a file; or the group of this process alone, where root gave the file to it: in a pod
/// secrets are such files.
fn is_private(mode: u32, owner: (u32, u32), own: (u32, u32)) -> bool {
    const OTHERS: u32 = 0o077;
    const ALL_BUT_READING_BY_GROUP: u32 = 0o037;
    let is_given = owner.0 == 0 && own.0 != 0 && owner.1 == own.1;
    mode & OTHERS == 0 || (is_given && mode & ALL_BUT_READING_BY_GROUP == 0)
}

/// A file that its owner alone may read.
fn private_file(path: &Path) -> Result<File, NoValue> {
    let failed = |e: std::io::Error| format!("could not be read: {e}");
    // A pipe without a writer is opened at once, and then refused.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err("is no regular file".to_owned().into());
    }
    let mode = metadata.permissions().mode() & 0o777;
    let own = (geteuid().as_raw(), getegid().as_raw());
    if !is_private(mode, (metadata.uid(), metadata.gid()), own) {
        let why = format!("is open to other users (mode {mode:o})");
        return Err(NoValue { why, hint: Some(format!("chmod 600 {}", path.display())) });
    }
    Ok(file)
}

/// A property's value, or that of an option of its login module.
fn property(path: &Path, name: &str, option: Option<&str>) -> Result<Secret, NoValue> {
    let mut bytes = Vec::new();
    private_file(path)?
        .take(PROPERTIES_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| format!("could not be read: {e}"))?;
    let properties = Properties::parse(&bytes).map_err(|error| error.message)?;
    // It was there when the run was planned.
    let gone = || "is there no longer".to_owned();
    let value = properties.get(name).ok_or_else(gone)?;
    let value = match option {
        None => trim(value).to_owned(),
        Some(option) => {
            let module = jaas::parse(value).map_err(|error| error.message)?;
            module.options.get(option).ok_or_else(gone)?.clone()
        }
    };
    checked(Secret::new(value.into_bytes()))
}

/// What a command writes to its standard output. What it writes elsewhere is never shown: it may be the secret.
fn output(command: &[String], deadline: Duration) -> Result<Secret, NoValue> {
    let (program, arguments) = command.split_first().ok_or_else(|| "names no program".to_owned())?;
    let end = Instant::now() + deadline;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|e| format!("could not be started: {e}"))?;
    let (tell, heard) = channel();
    let stdout = child.stdout.take();
    std::thread::spawn(move || tell.send(stdout.map_or(Err("has no output".to_owned().into()), read_value)));
    let value = heard.recv_timeout(deadline);
    // Too much was not read to its end: the command cannot write it all.
    let was_read = matches!(&value, Ok(Ok(secret)) if secret.expose().len() <= SECRET_BYTES_MAX);
    let left = if was_read { end.saturating_duration_since(Instant::now()) } else { Duration::ZERO };
    let ended = exited_within(child.id(), left);
    // Whatever else it started. Fails only when there is nothing left to end.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    let status = child.wait().map_err(|e| format!("could not be waited for: {e}"))?;
    match value {
        Err(_) => Err(format!("did not end within {} s", deadline.as_secs()).into()),
        Ok(_) if was_read && !ended => Err(format!("did not end within {} s", deadline.as_secs()).into()),
        Ok(_) if was_read && !status.success() => Err(format!("ended with {status}").into()),
        Ok(value) => checked(value?),
    }
}

/// Random text that needs no quotes anywhere.
fn made() -> Result<Secret, NoValue> {
    let mut random = vec![0; MADE_BYTES];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut random));
    let random = Secret::new(random);
    read.map_err(|e| format!("could not be made from /dev/urandom: {e}"))?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(random.expose()).into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans;
    use kdyno_model::plan::SystemPlan;
    use std::path::PathBuf;

    const VALUE: &str = "hunter2";

    fn reported(result: Result<Secret, NoValue>) -> String {
        let why = result.err().expect("no value").why;
        assert!(!why.contains(VALUE), "the value is told: {why}");
        why
    }

    fn text(result: Result<Secret, NoValue>) -> String {
        let value = result.map_err(|none| none.why).expect("a value");
        String::from_utf8(value.expose().to_vec()).expect("text")
    }

    fn sh(script: &str) -> Result<Secret, NoValue> {
        output(&["sh", "-c", script].map(str::to_owned), COMMAND_DEADLINE)
    }

    #[test]
    fn a_variable_is_looked_up_where_the_program_says() {
        let variables = |name: &str| match name {
            "PW" => Some(OsString::from(VALUE)),
            "EMPTY" => Some(OsString::new()),
            _ => None,
        };
        let value = |name: &str| value_of(&SecretRef::Env(name.to_owned()), &variables);
        assert_eq!(text(value("PW")), VALUE);
        assert_eq!(
            (reported(value("EMPTY")), reported(value("PWD"))),
            ("is empty".to_owned(), "is not set".to_owned())
        );
    }

    #[test]
    fn a_file_must_be_its_owners_alone() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("pw");
        let file = |path: PathBuf| value_of(&SecretRef::File(path), &|_| None);
        let written = |content: &[u8], mode| {
            std::fs::write(&path, content).expect("written");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("a mode");
            file(path.clone())
        };
        assert_eq!(text(written(b"hunter2\n", 0o600)), VALUE);
        assert_eq!(text(written(b" a\n\r\n", 0o400)), " a\n", "one newline at its end");
        assert_eq!(
            written(&[b'a'; SECRET_BYTES_MAX], 0o600).map(|s| s.expose().len()).ok(),
            Some(SECRET_BYTES_MAX)
        );
        assert!(reported(written(&[b'a'; SECRET_BYTES_MAX + 1], 0o600)).contains("65536 bytes"));
        assert!(reported(written(b"\n", 0o600)).contains("is empty"));
        let open = written(VALUE.as_bytes(), 0o640).err().expect("open to a group");
        assert_eq!(open.why, "is open to other users (mode 640)");
        assert!(open.hint.is_some_and(|hint| hint.starts_with("chmod 600 ")));
        assert_eq!(reported(file(dir.path().to_owned())), "is no regular file");
        assert!(reported(file(dir.path().join("none"))).starts_with("could not be read"));
    }

    #[test]
    fn a_lab_elsewhere_gets_variables_in_place_of_references() {
        let mut case = plans::case(SystemPlan::Local(plans::cluster()));
        let env = SecretRef::Env("PW".to_owned());
        let references = [("a", env.clone()), ("b", SecretRef::Made), ("c", env)];
        case.secrets = references.map(|(name, reference)| (name.to_owned(), reference)).into();
        let mut plan = plans::plan(vec![case.clone(), case]);
        let lookup = |name: &str| (name == "PW").then(|| OsString::from(VALUE));
        let given = as_variables(&mut plan, &lookup).expect("values");
        let given: Vec<(&str, &[u8])> =
            given.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(given, [("KDYNO_SECRET_0", VALUE.as_bytes())]);
        let there = SecretRef::Env("KDYNO_SECRET_0".to_owned());
        for case in &plan.cases {
            assert_eq!((&case.secrets["a"], &case.secrets["c"]), (&there, &there));
            assert_eq!(case.secrets["b"], SecretRef::Made);
        }
        let none = as_variables(&mut plan, &|_| None).err().expect("no value").to_string();
        assert_eq!(none, "secret `a`: environment variable KDYNO_SECRET_0 is not set");
    }

    #[test]
    fn root_may_give_a_file_to_the_group_of_this_process() {
        let (user, root) = ((1000, 1000), (0, 0));
        for (mode, owner, own, wanted) in [
            (0o600, user, user, true),
            (0o440, (0, 1000), user, true),
            (0o640, (0, 1000), user, true),
            (0o640, user, user, false),
            (0o440, (0, 1001), user, false),
            (0o444, (0, 1000), user, false),
            (0o460, (0, 1000), user, false),
            (0o440, root, root, false),
        ] {
            assert_eq!(is_private(mode, owner, own), wanted, "{mode:o} of {owner:?} for {own:?}");
        }
    }

    #[test]
    fn a_property_is_read_as_java_reads_it_from_a_private_file_only() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("client.properties");
        let content = "ssl.key.password = hunter\\u0032 \nssl.keystore.password=\\u0001hunter2\\u00a0 \nsasl.jaas.config=x required \\\n password=\"hunter2\";\nempty=\n";
        std::fs::write(&path, content).expect("written");
        let property = |name: &str, option: Option<&str>| {
            let (name, option) = (name.to_owned(), option.map(str::to_owned));
            value_of(&SecretRef::Property { file: path.clone(), name, option }, &|_| None)
        };
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("a mode");
        mode(0o600);
        assert_eq!(text(property("ssl.key.password", None)), VALUE);
        // Java's `trim` knows control characters, and no space that does not break.
        assert_eq!(text(property("ssl.keystore.password", None)), format!("{VALUE}\u{a0}"));
        assert_eq!(text(property("sasl.jaas.config", Some("password"))), VALUE);
        assert_eq!(reported(property("empty", None)), "is empty");
        for gone in [("other", None), ("sasl.jaas.config", Some("username"))] {
            assert_eq!(reported(property(gone.0, gone.1)), "is there no longer");
        }
        mode(0o644);
        assert_eq!(reported(property("ssl.key.password", None)), "is open to other users (mode 644)");
    }

    #[test]
    fn a_commands_output_is_bounded_and_its_errors_are_not_repeated() {
        assert_eq!(text(sh("echo hunter2")), VALUE);
        assert_eq!(
            text(output(&["echo", "$HOME;"].map(str::to_owned), COMMAND_DEADLINE)),
            "$HOME;",
            "no shell"
        );
        assert_eq!(reported(sh("echo hunter2; echo hunter2 >&2; exit 3")), "ended with exit status: 3");
        assert!(reported(sh("exec yes hunter2")).contains("65536 bytes"));
        assert_eq!(reported(sh("true")), "is empty");
        assert_eq!(reported(sh("echo hunter2 >&2; exit 3")), "ended with exit status: 3");
        assert!(
            reported(output(&["/nonexistent".to_owned()], COMMAND_DEADLINE))
                .starts_with("could not be started")
        );
        assert_eq!(reported(output(&[], COMMAND_DEADLINE)), "names no program");
        let late = |script: &str| {
            reported(output(&["sh", "-c", script].map(str::to_owned), Duration::from_millis(200)))
        };
        // One that says nothing, and one that goes on when it has said it.
        for script in ["sleep 600", "echo hunter2; exec >&-; sleep 600"] {
            assert_eq!(late(script), "did not end within 0 s");
        }
    }

    #[test]
    fn what_is_made_for_the_run_differs_each_time() {
        let (one, other) = (text(made()), text(made()));
        assert!(one.len() == 43 && one != other);
        assert!(one.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "no quotes");
    }
}
