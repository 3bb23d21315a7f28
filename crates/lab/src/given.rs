//! Keys and values that come from files and topics: read once for a run, handed to each worker that needs them.

use crate::error::LabError;
use crate::secrets::RunSecrets;
use crate::worker::Worker;
use kdyno_kafka::admin::{Access, SampleBounds};
use kdyno_model::plan::{
    AttachedPlan, AvroPlan, CasePlan, GIVEN_COUNT_MAX, GivenFile, GivenSource, LoadPlan, Plan, Role,
    SamplePlan, WorkerPlan, pieces,
};
use kdyno_model::worker::GivenContent;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a topic may be read for a sample.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(30);

/// Gives the content of a file that a plan names.
type FileLookup<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// All that is given in a run, by the cluster that it was sampled from, if it was, and by its source.
pub(crate) struct GivenContents(BTreeMap<(Option<String>, GivenSource), GivenContent>);

impl GivenContents {
    /// Reads each file and topic that the plan names.
    ///
    /// # Errors
    /// One cannot be read, is empty, or is a file that is another one than when the plan was made: cases and sides would
    /// not be alike.
    pub(crate) fn read(plan: &Plan, files: FileLookup<'_>, secrets: &RunSecrets) -> Result<Self, LabError> {
        let mut found = BTreeMap::new();
        for case in plan.every_case() {
            for source in case.load.values().flat_map(sources_of) {
                let key = key(case, &source);
                if found.contains_key(&key) {
                    continue;
                }
                let content = match (&source, case.system.target()) {
                    (GivenSource::File(file), _) => of_file(file, files)?,
                    (GivenSource::Avro(avro), _) => of_schema(avro, files)?,
                    (GivenSource::Sample(sample), Some(target)) => {
                        of_topic(sample, target, &secrets.access(target, case)?)?
                    }
                    // Planning refuses it.
                    (GivenSource::Sample(sample), None) => {
                        return Err(failed_topic(&sample.topic)("is made for the run".to_owned()));
                    }
                };
                found.insert(key, content);
            }
        }
        Ok(Self(found))
    }

    /// Hands a worker what its share of a case's load takes.
    ///
    /// # Errors
    /// The worker does not read.
    pub(crate) fn hand_over(
        &self,
        case: &CasePlan,
        planned: &WorkerPlan,
        worker: &mut Worker,
    ) -> Result<(), LabError> {
        let load = planned.shares.iter().filter_map(|share| case.load.get(&share.item));
        self.of(case, load).into_iter().try_for_each(|given| worker.send_given(given))
    }

    /// What any of these load items of a case takes, each once.
    pub(crate) fn of<'p>(
        &self,
        case: &CasePlan,
        load: impl Iterator<Item = &'p LoadPlan>,
    ) -> Vec<&GivenContent> {
        let mut sources: Vec<GivenSource> = load.flat_map(sources_of).collect();
        sources.sort();
        sources.dedup();
        sources.iter().filter_map(|source| self.0.get(&key(case, source))).collect()
    }
}

/// The files that a plan names, by their paths in it.
pub fn given_paths(plan: &Plan) -> BTreeSet<String> {
    let sources = plan.every_case().flat_map(|case| case.load.values().flat_map(sources_of));
    let path = |source: GivenSource| match source {
        GivenSource::File(file) => Some(file.path),
        GivenSource::Avro(avro) => Some(avro.path),
        GivenSource::Sample(_) => None,
    };
    sources.filter_map(path).collect()
}

fn sources_of(item: &LoadPlan) -> Vec<GivenSource> {
    match &item.role {
        Role::Produce(produce) => produce.records.given().collect(),
        Role::Consume(_) | Role::EndToEnd(_) => Vec::new(),
    }
}

fn key(case: &CasePlan, source: &GivenSource) -> (Option<String>, GivenSource) {
    let cluster = match source {
        GivenSource::Sample(_) => case.system.target().map(|target| target.cluster_id.clone()),
        GivenSource::File(_) | GivenSource::Avro(_) => None,
    };
    (cluster, source.clone())
}

fn of_file(file: &GivenFile, files: FileLookup<'_>) -> Result<GivenContent, LabError> {
    let content = planned(("the file", &file.path), file.crc, files)?;
    Ok(GivenContent::new(GivenSource::File(file.clone()), pieces(&content, &file.delimiter)))
}

fn of_schema(avro: &AvroPlan, files: FileLookup<'_>) -> Result<GivenContent, LabError> {
    let what = ("the schema", avro.path.as_str());
    let values = kdyno_avro::values(&planned(what, avro.crc, files)?, avro.id);
    let values = values.map_err(|error| failed_file(what)(error.to_string()))?;
    let largest = values.iter().map(Vec::len).max().unwrap_or(0);
    if (values.len(), largest) != (avro.count as usize, avro.value_bytes_max as usize) {
        return Err(failed_file(what)("gives other values here than where the plan was made".to_owned()));
    }
    Ok(GivenContent::new(GivenSource::Avro(avro.clone()), values.iter().map(Vec::as_slice)))
}

/// The content of a file that has not changed since the plan was made.
fn planned((kind, path): (&str, &str), crc: u32, files: FileLookup<'_>) -> Result<Vec<u8>, LabError> {
    let failed = failed_file((kind, path));
    let content = files(path).map_err(&failed)?;
    if crc32c::crc32c(&content) != crc {
        return Err(failed("has changed since the plan was made".to_owned()));
    }
    Ok(content)
}

fn failed_file((kind, path): (&str, &str)) -> impl Fn(String) -> LabError {
    move |why| LabError::failed(format!("{kind} {path} {why}"))
}

fn failed_topic(topic: &str) -> impl Fn(String) -> LabError {
    move |why| LabError::failed(format!("topic {topic}, which is to be sampled, {why}"))
}

fn of_topic(sample: &SamplePlan, target: &AttachedPlan, access: &Access) -> Result<GivenContent, LabError> {
    let topic = target.topics.get(&sample.topic).unwrap_or(&sample.topic);
    let failed = failed_topic(topic);
    let admin = access.admin(&format!("{}sample", target.prefix), SAMPLE_TIME_MAX);
    let mut admin = admin.map_err(|error| failed(format!("could not be read: {error}")))?;
    let bounds = SampleBounds {
        bytes_max: sample.bytes_max as usize,
        value_bytes_max: sample.value_bytes_max as usize,
    };
    let values = admin.sample(topic, bounds);
    let mut values = values.map_err(|error| failed(format!("could not be read: {error}")))?;
    if values.is_empty() {
        return Err(failed("has no value that can be sent again".to_owned()));
    }
    values.truncate(GIVEN_COUNT_MAX);
    let source = GivenSource::Sample(sample.clone());
    Ok(GivenContent::new(source, values.iter().map(Vec::as_slice)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_must_be_the_one_that_was_planned_with() {
        let schema = br#"{"type": "string", "arg.properties": {"length": 3}}"#;
        let (path, crc) = ("/here/a.avsc".to_owned(), crc32c::crc32c(schema));
        let avro = AvroPlan { path, crc, id: 7, count: 1 << 16, value_bytes_max: 9 };
        let given = |avro: &AvroPlan| of_schema(avro, &|_| Ok(schema.to_vec()));
        let made = given(&avro).expect("the same");
        assert_eq!((made.bytes[..6].to_vec(), made.lengths[0]), (vec![0, 0, 0, 0, 7, 6], 9));
        assert_eq!(made.lengths.len(), 1 << 16);
        let changed = given(&AvroPlan { crc: 1, ..avro.clone() }).expect_err("another one");
        assert_eq!(changed.to_string(), "the schema /here/a.avsc has changed since the plan was made");
        let others = given(&AvroPlan { count: 1, ..avro }).expect_err("other values").to_string();
        assert!(others.ends_with("gives other values here than where the plan was made"), "{others}");
    }

    #[test]
    fn a_file_must_be_the_one_that_was_planned_with() {
        let content = b"a|bc|";
        let file = GivenFile {
            path: "/here/lines.txt".to_owned(),
            delimiter: "|".to_owned(),
            crc: crc32c::crc32c(content),
            pieces: 2,
            piece_bytes_max: 2,
        };
        let given = of_file(&file, &|_| Ok(content.to_vec())).expect("the same");
        assert_eq!((given.bytes, given.lengths), (b"abc".to_vec(), vec![1, 2]));
        for (found, reported) in [
            (Ok(b"a|bd|".to_vec()), "the file /here/lines.txt has changed since the plan was made"),
            (Err("could not be read: gone".to_owned()), "the file /here/lines.txt could not be read: gone"),
        ] {
            let error = of_file(&file, &|_| found.clone()).expect_err("another one");
            assert_eq!(error.to_string(), reported);
        }
    }
}
