//! A cluster that Strimzi makes: `strimzi` of a system.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use crate::system::cluster;
use kdyno_model::generator::is_namespace;
use kdyno_model::plan::{
    ClientListener, ClusterPlan, KafkaSource, Mechanism, Mode, Storage, StrimziListener, StrimziPlan,
    StrimziVolume,
};
use kdyno_scenario::file::{ModeFile, StorageFile, StrimziFile, SystemFile};
use kdyno_scenario::input::quoted;
use kdyno_scenario::yaml::{self, Scalar};
use std::ops::RangeInclusive;

/// What each broker may have reserved, processors.
const CPUS: RangeInclusive<f64> = 0.001..=1000.0;
/// What each broker may have of memory, bytes.
const MEMORY_BYTES: RangeInclusive<u64> = (256 << 20)..=(1 << 44);
/// The size of a volume, bytes.
const VOLUME_BYTES: RangeInclusive<u64> = (100 << 20)..=(1 << 50);
/// How long it may be waited for, s.
const WAIT_S: RangeInclusive<u64> = 1..=24 * 3600;
const NS_PER_S: u64 = 1_000_000_000;

/// The cluster that the sections `system` and `strimzi` describe. What Strimzi knows nothing of is refused.
pub(crate) fn strimzi(reader: &CaseReader<'_>, typed: &StrimziFile) -> Result<StrimziPlan, PlanError> {
    let system = &reader.scenario.typed().system;
    let cluster = cluster(reader)?;
    if let Some((typed, what, instead)) = not_there(system, &cluster) {
        let message = format!("a cluster by Strimzi has no {what}");
        return Err(reader.wrong(typed, message).hint(instead));
    }
    let ClientListener { mechanism, client_certificates, .. } = &cluster.listeners.clients;
    let is_known = matches!(mechanism, None | Some(Mechanism::ScramSha512));
    if !is_known || (mechanism.is_some() && *client_certificates) {
        let message = "a listener of Strimzi has one login: SCRAM-SHA-512 or certificates";
        return Err(reader.wrong(&system.listeners.protocol, message));
    }
    let namespace = typed.namespace.as_ref().map(|typed| {
        let name = reader.filled(typed, "namespace")?;
        if is_namespace(&name) {
            return Ok(name);
        }
        let message = format!("`namespace`: {} is no name of a namespace", quoted(&name));
        Err(reader.wrong(typed, message).hint("small letters, digits and `-`"))
    });
    let (cpu_milli, memory_bytes) = resources(reader, typed, &cluster)?;
    Ok(StrimziPlan {
        context: typed.context.as_ref().map(|typed| reader.filled(typed, "context")).transpose()?,
        namespace: namespace.transpose()?,
        listener: reader
            .word(&typed.listener, "listener", StrimziListener::NAMES)?
            .parse()
            .unwrap_or_default(),
        cpu_milli,
        memory_bytes,
        volume: volume(reader, typed)?,
        template: typed.template.as_ref().map_or(Ok(Vec::new()), |file| template(reader, file))?,
        wait_s: reader.ns(&typed.wait, "wait", NS_PER_S..=*WAIT_S.end() * NS_PER_S)? / NS_PER_S,
        cluster,
    })
}

/// Something that is typed and that only brokers of this host have: what it is, and what to do instead.
fn not_there<'s>(
    system: &'s SystemFile,
    cluster: &ClusterPlan,
) -> Option<(&'s Scalar, &'static str, &'static str)> {
    const LEAVE_OUT: &str = "leave it out";
    let home = (!matches!(cluster.kafka, KafkaSource::Release(_))).then_some(&system.kafka.value);
    let zookeeper = matches!(cluster.mode, Mode::Zookeeper { .. }).then_some(match &system.mode {
        ModeFile::Word(typed) | ModeFile::Controllers(typed) | ModeFile::Zookeeper(typed) => typed,
    });
    let storage = match &system.storage {
        StorageFile::Word(word) => Some(word).filter(|_| cluster.storage != Storage::Disk),
        StorageFile::Dirs(dirs) => dirs.first(),
    };
    let acls = cluster.listeners.authorizer.then_some(&system.listeners.authorizer);
    [
        (home, "Kafka of a folder (`kafka`)", "name a release that the operator knows"),
        (zookeeper, "ZooKeeper (`mode`)", "write `mode: kraft` or `{controllers: 3}`"),
        (storage, "storage of this host (`storage`)", "write `storage` in `strimzi`"),
        (system.config.file.as_ref(), "file of a broker (`config.file`)", "write its settings in `config`"),
        (system.jvm.first(), "option of Java by itself (`jvm`)", "put `jvmOptions` into the `template`"),
        (system.racks.first(), "racks (`racks`)", "put `rack` into the `template`"),
        (system.pin.iter().flatten().next(), "CPUs of its own (`pin`)", LEAVE_OUT),
        (system.mbeans.first(), "MBeans that are read (`metrics`)", LEAVE_OUT),
        (system.zones.as_ref().and_then(|zones| zones.brokers.first()), "zones (`zones`)", LEAVE_OUT),
        (
            system.quotas.as_ref().map(|quotas| &quotas.each),
            "quotas of kdyno's (`quotas`)",
            "put `quotas` into the `template`",
        ),
        (acls, "access control lists of kdyno's (`authorizer`)", "write `authorizer: none`"),
    ]
    .into_iter()
    .find_map(|(typed, what, instead)| Some((typed?, what, instead)))
}

/// CPU time in thousandths and memory of each broker, as far as they are typed.
fn resources(
    reader: &CaseReader<'_>,
    typed: &StrimziFile,
    cluster: &ClusterPlan,
) -> Result<(Option<u32>, Option<u64>), PlanError> {
    let cpus = typed.cpu.as_ref().map(|cpu| reader.number(cpu, "cpu", CPUS)).transpose()?;
    let memory =
        typed.memory.as_ref().map(|memory| reader.bytes(memory, "memory", MEMORY_BYTES)).transpose()?;
    if let (Some(place), Some(cpus), Some(limit)) = (&typed.cpu, cpus, cluster.cpu_limit)
        && cpus > limit
    {
        let message = format!("`cpu` reserves {cpus} CPUs, and `limits.cpus` lets a broker have {limit}");
        return Err(reader.wrong(place, message).hint("reserve at most the limit"));
    }
    if let (Some(place), Some(bytes)) = (&typed.memory, memory)
        && bytes <= cluster.heap_bytes
    {
        let message = "`memory` has no room for the heap (`limits.heap`)";
        return Err(reader.wrong(place, message).hint("the page cache needs room next to the heap"));
    }
    Ok((cpus.map(|cpus| (cpus * 1000.0).round() as u32), memory))
}

fn volume(reader: &CaseReader<'_>, typed: &StrimziFile) -> Result<Option<StrimziVolume>, PlanError> {
    let class = typed.class.as_ref().map(|class| reader.filled(class, "class")).transpose()?;
    match (reader.text(&typed.storage)?.as_str(), &typed.class) {
        ("ephemeral", None) => Ok(None),
        ("ephemeral", Some(place)) => {
            let error = reader.wrong(place, "`class` is of volumes, and `storage` asks for none");
            Err(error.hint("write e.g. `storage: 100GiB`"))
        }
        _ => {
            let bytes = reader.bytes(&typed.storage, "storage", VOLUME_BYTES)?;
            Ok(Some(StrimziVolume { bytes, class }))
        }
    }
}

/// The resources of a file: at most one of each kind that is known here.
fn template(reader: &CaseReader<'_>, typed: &Scalar) -> Result<Vec<serde_json::Value>, PlanError> {
    const KINDS: [&str; 2] = ["Kafka", "KafkaNodePool"];
    let name = reader.filled(typed, "template")?;
    let wrong = |what: &str| reader.wrong(typed, format!("the file {} {what}", quoted(&name))).of_value();
    let found = (reader.files.0)(reader.scenario.file_name(), &name).map_err(|why| wrong(&why))?;
    let read = yaml::decode(&found.content, &name).and_then(kdyno_scenario::documents);
    let resources = read.map_err(|error| {
        let at = error.place.map(|place| format!(" in line {}", place.line)).unwrap_or_default();
        wrong(&format!("is wrong{at}: {}", error.message)).maybe_hint(error.hint)
    })?;
    for kind in KINDS {
        if resources.iter().filter(|one| one["kind"] == kind).count() > 1 {
            return Err(wrong(&format!("has more than one {kind}")).hint("all brokers are alike"));
        }
    }
    match resources.iter().find(|one| !KINDS.iter().any(|kind| one["kind"] == *kind)) {
        None => Ok(resources),
        Some(_) => Err(wrong("has a resource that is neither a Kafka nor a KafkaNodePool")
            .hint("users and topics are made by kdyno")),
    }
}
