//! The client that carries a load item: kdyno's own, or Kafka's Java client with the settings that are passed on to it.

use crate::choices::PlanError;
use crate::kafka;
use crate::reader::CaseReader;
use kdyno_model::plan::{Driver, GroupAssignor, JavaClient, JavaDriver, java_size};
use kdyno_model::version::{NEWEST, Version};
use kdyno_scenario::client::{
    ClientSide, FoundJava, JavaType, SettingKind, SupportedSetting, find_java, nearest_known,
};
use kdyno_scenario::file::{
    ConsumeFile, ItemClientFile, JavaClientFile, LoadFile, PayloadFile, ProduceFile, RoleFile, WorkFile,
};
use kdyno_scenario::input::{TextPosition, not_allowed, quoted};
use kdyno_scenario::keys::DRIVERS;
use kdyno_scenario::values::ParamValues;
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Longest value of a setting that is passed on.
const VALUE_BYTES_MAX: usize = 4096;
/// Most options of a Java process.
pub(crate) const JVM_OPTIONS_MAX: usize = 64;

/// The driver of a load item. What the Java client does not carry is refused.
pub(crate) fn driver(reader: &CaseReader<'_>, item: &LoadFile, clients: u32) -> Result<Driver, PlanError> {
    let Some((client, _)) = java(reader, &item.client)? else { return Ok(Driver::Native) };
    let side = match &item.role {
        RoleFile::Produce(produce) => {
            carries_produced(reader, produce)?;
            ClientSide::Produce
        }
        RoleFile::Consume(consume) => {
            carries_consumed(reader, consume)?;
            ClientSide::Consume
        }
        // A probe has no `client`.
        RoleFile::EndToEnd { .. } => return Ok(Driver::Native),
    };
    let mut properties = BTreeMap::new();
    for (name, value) in &item.client.settings {
        if name.text == "group.instance.id" && clients > 1 {
            let message = "with `driver: java` all clients of an item have the same settings, and \
                           `group.instance.id` must differ";
            return Err(reader.wrong(name, message).hint("one item for each member, or leave it out"));
        }
        if let Some(text) = property(reader, side, name, value)? {
            properties.insert(name.text.clone(), text);
        }
    }
    Ok(Driver::Java(JavaDriver { client, jvm: jvm(reader, &item.client)?, properties }))
}

/// Which Java client carries an item, and its version where that is typed; `None`: kdyno's own does.
pub(crate) fn java(
    reader: &CaseReader<'_>,
    typed: &ItemClientFile,
) -> Result<Option<(JavaClient, Option<Version>)>, PlanError> {
    if reader.word(&typed.driver, "driver", DRIVERS)? == "java" {
        if let Some((name, _)) = typed.settings.iter().find(|(name, _)| name.text == "defaults") {
            let message = "`defaults` has no meaning with `driver: java`: a release has its own defaults";
            return Err(reader.wrong(name, message).hint("leave it out; `version` says which release"));
        }
        return client(reader, typed).map(Some);
    }
    // With a driver that comes from a param they are for the cases that have the other one.
    if typed.driver.text == "native" {
        let version = typed.version.as_ref().map(|version| ("version", version.keyed().1));
        let jvm = typed.jvm.first().map(|option| ("jvm", option));
        if let Some((key, typed)) = version.or(jvm) {
            let message = format!("`{key}` has a meaning only with `driver: java`");
            return Err(reader
                .wrong(typed, message)
                .hint("write `driver: java` next to it; kdyno's own client takes the defaults of a version with `defaults`"));
        }
    }
    Ok(None)
}

fn client(
    reader: &CaseReader<'_>,
    typed: &ItemClientFile,
) -> Result<(JavaClient, Option<Version>), PlanError> {
    let release = match &typed.version {
        None => return Ok((JavaClient::Version(NEWEST.to_owned()), Some(Version::newest()))),
        Some(JavaClientFile::Release(release)) => release,
        Some(JavaClientFile::Home(dir)) => return Ok((JavaClient::Home(path(reader, dir, "home")?), None)),
        Some(JavaClientFile::Source(dir)) => {
            return Ok((JavaClient::Source(path(reader, dir, "source")?), None));
        }
        Some(JavaClientFile::Jar(file)) => return Ok((JavaClient::Jar(path(reader, file, "jar")?), None)),
    };
    let elsewhere = "`{home: DIR}`, `{source: DIR}`, `{jar: FILE}`";
    let text = reader.filled(release, "version")?;
    let version = Version::parse(&text).map_err(|error| {
        let hint = format!("{}; or {elsewhere}", error.hint);
        reader.wrong(release, format!("`version`: {}", error.message)).hint(hint)
    })?;
    if version.text.contains('-') {
        let message = format!("`version`: {} is not a release", quoted(&text));
        return Err(reader
            .wrong(release, message)
            .hint(format!("write e.g. `{NEWEST}`, or for a build {elsewhere}")));
    }
    Ok((JavaClient::Version(version.text.clone()), Some(version)))
}

/// A path counts from the scenario, what was typed by hand from where that was. There has to be something.
fn path(reader: &CaseReader<'_>, typed: &Scalar, key: &str) -> Result<PathBuf, PlanError> {
    let path = PathBuf::from(reader.filled(typed, key)?);
    let (path, from) = if typed.place == TextPosition::default() {
        (path, "what is typed by hand counts from the current folder")
    } else {
        let folder = Path::new(reader.scenario.file_name()).parent().unwrap_or(Path::new(""));
        (folder.join(path), "a path counts from the folder of the scenario")
    };
    if (reader.paths.0)(&path) {
        return Ok(path);
    }
    let what = if key == "jar" { "file" } else { "folder" };
    Err(reader.wrong(typed, format!("`{key}`: there is no {what} {}", path.display())).hint(from))
}

fn jvm(reader: &CaseReader<'_>, typed: &ItemClientFile) -> Result<Vec<String>, PlanError> {
    if let Some(typed) = typed.jvm.get(JVM_OPTIONS_MAX) {
        return Err(reader.wrong(typed, format!("`jvm` has more than {JVM_OPTIONS_MAX} options")));
    }
    let one = |typed: &Scalar| {
        let option = reader.filled(typed, "jvm")?;
        // What does not begin so would be taken for the class to run.
        if option.starts_with('-') {
            has_size(reader, typed, &option)?;
            return Ok(option);
        }
        let message = format!("`jvm`: {} is no option of Java", quoted(&option));
        Err(reader
            .wrong(typed, message)
            .hint("options begin with `-`, e.g. `-Xmx1g`, each an entry of its own"))
    };
    typed.jvm.iter().map(one).collect()
}

/// Options that say a size right behind their name; Java does not start with one that it cannot read.
pub(crate) const SIZES: [&str; 4] = ["-Xmx", "-Xms", "-Xmn", "-Xss"];

/// OpenJ9 has options whose names begin so and go on, e.g. `-Xmns64m`.
fn is_other_option(rest: &str) -> bool {
    rest.starts_with(|char: char| char.is_ascii_alphabetic())
}

/// Refuses an option of a JVM whose size is none.
pub(crate) fn has_size(reader: &CaseReader<'_>, typed: &Scalar, option: &str) -> Result<(), PlanError> {
    match SIZES.iter().find_map(|name| option.strip_prefix(name)) {
        Some(size) if !is_other_option(size) && java_size(size).is_none() => {
            let message = format!("`jvm`: {} says no size that Java takes", quoted(option));
            Err(reader
                .wrong(typed, message)
                .hint("a whole number of bytes, or with k, m, g or t behind it, e.g. `-Xmx1g`"))
        }
        Some(_) | None => Ok(()),
    }
}

fn not_carried(reader: &CaseReader<'_>, typed: &Scalar, what: &str, hint: &str) -> PlanError {
    reader.wrong(typed, format!("`driver: java` does not support {what}")).hint(hint)
}

fn carries_produced(reader: &CaseReader<'_>, typed: &ProduceFile) -> Result<(), PlanError> {
    let pooled = match &typed.payload {
        PayloadFile::Word(word) => (reader.text(word)? == "pooled").then_some(word),
        PayloadFile::Pooled(bytes) => Some(bytes),
    };
    if let Some(typed) = pooled {
        let hint = "leave `payload` out: the Java client encodes every record itself";
        return Err(not_carried(reader, typed, "`payload: pooled`", hint));
    }
    match &typed.fill {
        Some(fill) if reader.text(fill)? == "in-flight" => {
            let hint = "leave `fill` out: the Java client fills its buffer";
            Err(not_carried(reader, fill, "`fill: in-flight`", hint))
        }
        _ => Ok(()),
    }
}

fn carries_consumed(reader: &CaseReader<'_>, typed: &ConsumeFile) -> Result<(), PlanError> {
    let read = reader.text(&typed.read)?;
    if matches!(read.as_str(), "header" | "crc") {
        let hint = "leave `read` out: the Java client decodes every record";
        return Err(not_carried(reader, &typed.read, &format!("`read: {read}`"), hint));
    }
    let work = match &typed.work {
        WorkFile::Constant(time) => (reader.ns(time, "work", 0..=u64::MAX)? > 0).then_some(time),
        WorkFile::Exponential(time) | WorkFile::Zipf { least: time, .. } => Some(time),
    };
    match work {
        Some(time) => Err(not_carried(reader, time, "`work`", "leave it out, or take `driver: native`")),
        None => Ok(()),
    }
}

/// A setting as it is passed on to Java; `None`: it is not, for it is what is done anyway.
pub(crate) fn property(
    reader: &CaseReader<'_>,
    side: ClientSide,
    name: &Scalar,
    value: &Scalar,
) -> Result<Option<String>, PlanError> {
    let text = reader.text(value)?.trim().to_owned();
    let wrong = |message: String| reader.wrong(value, format!("`{}`: {message}", name.text));
    if text.contains(['\n', '\r']) || text.len() > VALUE_BYTES_MAX {
        return Err(wrong(format!("a value has one line of at most {VALUE_BYTES_MAX} bytes")));
    }
    match find_java(side, name)? {
        FoundJava::ActedOn(setting) => acted_on(reader, setting, value, text),
        FoundJava::Own(row) => match row.complaint(&text) {
            Some((message, "")) => Err(reader.wrong(value, message)),
            Some((message, hint)) => Err(reader.wrong(value, message).hint(hint)),
            None => Ok(None),
        },
        FoundJava::Known(row) => {
            let is_number = matches!(row.kind, JavaType::Int | JavaType::Long | JavaType::Short);
            let text = if is_number { kafka::setting(&name.text, &text).map_err(wrong)? } else { text };
            match row.kind.complaint(&text) {
                Some(what) => Err(reader.wrong(value, format!("`{}` {what}", name.text))),
                None => Ok(Some(text)),
            }
        }
        FoundJava::Unknown if kafka::has_unit(&name.text) => {
            kafka::setting(&name.text, &text).map(Some).map_err(wrong)
        }
        FoundJava::Unknown => Ok(Some(text)),
    }
}

/// One that kdyno's own client acts on too, in Java's words. Numbers may lie outside of what kdyno's own takes.
fn acted_on(
    reader: &CaseReader<'_>,
    setting: &SupportedSetting,
    typed: &Scalar,
    text: String,
) -> Result<Option<String>, PlanError> {
    let wrong = |message: String| reader.wrong(typed, format!("`{}`: {message}", setting.name));
    match setting.kind {
        SettingKind::Bytes | SettingKind::Ms => kafka::setting(setting.name, &text).map(Some).map_err(wrong),
        SettingKind::Count if text.parse::<i64>().is_err() => {
            let count = kdyno_scenario::units::whole(&text, kdyno_scenario::units::Dimension::Plain);
            count.map(|count| Some(count.to_string())).map_err(wrong)
        }
        SettingKind::Level(_) if text.parse::<i64>().is_err() => {
            Err(wrong(format!("{} is no whole number", quoted(&text))))
        }
        SettingKind::Words(_) if setting.name == PARTITIONER => {
            Ok(Some(text).filter(|text| text != "sticky"))
        }
        SettingKind::Words(words) => {
            let word = if words.contains(&"true") { text.to_ascii_lowercase() } else { text };
            if words.contains(&word.as_str()) {
                return Ok(Some(word));
            }
            let (message, hint) = not_allowed(&word, words);
            Err(wrong(message).maybe_hint(hint))
        }
        SettingKind::Text if setting.name == ASSIGNORS => {
            let class =
                |name: &str| GroupAssignor::of(name).map_or(name.to_owned(), |one| one.class().to_owned());
            Ok(Some(text.split(',').map(|name| class(name.trim())).collect::<Vec<_>>().join(",")))
        }
        SettingKind::Count | SettingKind::Level(_) | SettingKind::Text => Ok(Some(text)),
    }
}

/// Java's class; kdyno's own client has two of them. `sticky` is what it does where none is named.
const PARTITIONER: &str = "partitioner.class";
const ASSIGNORS: &str = "partition.assignment.strategy";

/// Whether kdyno's own client could not do as this value says, though the Java client may: then its own plan has the default.
pub(crate) fn is_javas_alone(name: &str, text: &str) -> bool {
    name == ASSIGNORS && text.split(',').any(|one| GroupAssignor::of(one.trim()).is_none())
}

/// Whether a Java client carries the item with these values.
pub(crate) fn is_java(values: &ParamValues, item: &LoadFile) -> Result<bool, PlanError> {
    Ok(values.text(&item.client.driver)? == "java")
}

/// The version whose settings the Java client of an item knows; `None`: that of a file or folder is not known.
pub(crate) fn version(values: &ParamValues, item: &LoadFile) -> Result<Option<Version>, PlanError> {
    match &item.client.version {
        None => Ok(Some(Version::newest())),
        Some(JavaClientFile::Release(typed)) => Ok(Version::parse(&values.text(typed)?).ok()),
        Some(_) => Ok(None),
    }
}

/// A sentence for each setting that is passed on to a Java client and that no table has.
pub(crate) fn unknown(values: &ParamValues, name: &str, item: &LoadFile) -> Result<Vec<String>, PlanError> {
    let side = match item.role {
        RoleFile::Produce(_) => ClientSide::Produce,
        RoleFile::Consume(_) => ClientSide::Consume,
        RoleFile::EndToEnd { .. } => return Ok(Vec::new()),
    };
    if !is_java(values, item)? {
        return Ok(Vec::new());
    }
    let is_unknown = |setting: &&Scalar| matches!(find_java(side, setting), Ok(FoundJava::Unknown));
    let reported = |setting: &Scalar| {
        let near = nearest_known(&setting.text);
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!(
            "`{}` of `{name}` is no setting of Kafka's clients that kdyno knows: it is passed on as it is{near}",
            setting.text
        )
    };
    Ok(item.client.settings.iter().map(|(setting, _)| setting).filter(is_unknown).map(reported).collect())
}
