//! What an editor says of a file by the JSON Schema: nothing of those that are right, and something of the wrong ones that a
//! schema can judge.

use boon::{Compiler, SchemaIndex, Schemas};
use kdyno_plan::{Choices, plan};
use kdyno_scenario::Scenario;
use kdyno_scenario::target::TargetFile;
use kdyno_scenario::yaml::{self, YamlNode};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A schema as an editor has it.
struct Editor {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Editor {
    fn new(schema: Value) -> Self {
        let id = schema["$id"].as_str().unwrap().to_owned();
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource(&id, schema).unwrap();
        let index = compiler.compile(&id, &mut schemas).unwrap();
        Self { schemas, index }
    }

    /// What is wrong with a text, if anything.
    fn complaint(&self, text: &str) -> Option<String> {
        let document = value(&yaml::parse(text).unwrap());
        self.schemas.validate(&document, self.index).err().map(|error| format!("{error:#}"))
    }
}

/// A document as editors read it: what looks like a number is one, unless it is quoted.
fn value(node: &YamlNode) -> Value {
    match node {
        YamlNode::Scalar(typed) if typed.quoted => typed.text.as_str().into(),
        YamlNode::Scalar(typed) if typed.text.is_empty() => Value::Null,
        YamlNode::Scalar(typed) => {
            serde_json::from_str(&typed.text).unwrap_or_else(|_| typed.text.as_str().into())
        }
        YamlNode::List(_, items) => items.iter().map(value).collect(),
        YamlNode::Map(_, fields) => {
            fields.iter().map(|(key, inner)| (key.text.clone(), value(inner))).collect()
        }
    }
}

/// The YAML files below a folder of the workspace, in their order.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|end| end == "yaml") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

#[test]
fn scenarios_that_are_right_are_right_to_an_editor() {
    let editor = Editor::new(kdyno_scenario::json_schema());
    let right: Vec<PathBuf> = ["scenarios", "apps"].into_iter().flat_map(files).collect();
    assert!(right.len() >= 20, "{right:?}");
    for path in right {
        let complaint = editor.complaint(&std::fs::read_to_string(&path).unwrap());
        assert!(complaint.is_none(), "{}: {}", path.display(), complaint.unwrap_or_default());
    }
}

#[test]
fn wrong_scenarios_are_wrong_to_an_editor_too() {
    let editor = Editor::new(kdyno_scenario::json_schema());
    let text_of = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let is_judged = |path: &PathBuf| {
        let text = text_of(path);
        yaml::parse(&text).is_ok() && editor.complaint(&text).is_some()
    };
    let names: Vec<String> = files("crates/plan/tests/bad")
        .iter()
        .filter(|path| is_judged(path))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(names.len() >= 40, "{}: {names:?}", names.len());
    insta::assert_snapshot!(names.join("\n"));
}

/// A scenario with a value of each form.
const EACH_FORM: &str = "\
kdyno: 1
id: forms
question: Is each form judged?
params: {size: 1KiB, law: zipf}
system: {brokers: 3, mode: kraft, limits: {heap: 1GiB, cpus: 1.5}, listeners: {clients: {protocol: SSL, tls: 1.3}}}
topics: {t: {partitions: 1_000, replicas: 3}}
load:
  writers: {produce: t, clients: = 2 * 3, rate: 20k/s each, value: $size, tombstones: 1%, key: {zipf: {of: 20k, s: 1.1}}}
phases: {warmup: 10s..60s, condition: none, measure: {records: 20M each, within: 1.5h}, drain: auto}
";

#[test]
fn a_value_of_another_form_is_wrong_to_editor_and_reader() {
    let editor = Editor::new(kdyno_scenario::json_schema());
    let is_read = |text: &str| {
        let read = Scenario::parse(text, "s.yaml").and_then(|scenario| plan(&scenario, &Choices::default()));
        read.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!((editor.complaint(EACH_FORM), is_read(EACH_FORM)), (None, Ok(())));
    for (right, wrong) in [
        ("kdyno: 1", "kdyno: 2"),
        ("id: forms", "id: Forms"),
        ("brokers: 3", "brokers: three"),
        ("brokers: 3", "brokers: 2.5"),
        ("mode: kraft", "mode: raft"),
        ("heap: 1GiB", "heap: 1"),
        ("heap: 1GiB", "heap: 1gb"),
        ("cpus: 1.5", "cpus: 1.5s"),
        ("protocol: SSL", "protocol: TLS"),
        ("tls: 1.3", "tls: 1.1"),
        ("partitions: 1_000", "partitions: 1,000/s"),
        ("rate: 20k/s each", "rate: 20k each"),
        ("rate: 20k/s each", "rate: 20000"),
        ("rate: 20k/s each", "rate: most"),
        ("value: $size", "value: 1000"),
        ("tombstones: 1%", "tombstones: 1"),
        ("of: 20k", "of: 20k/s"),
        ("s: 1.1", "s: steep"),
        ("warmup: 10s..60s", "warmup: 10..60"),
        ("warmup: 10s..60s", "warmup: none"),
        ("records: 20M each", "records: 20Mi"),
        ("within: 1.5h", "within: 1h30m"),
        ("drain: auto", "drain: 5"),
        ("drain: auto", "drain: never"),
    ] {
        let text = EACH_FORM.replace(right, wrong);
        assert!(text != EACH_FORM && is_read(&text).is_err(), "{wrong} is taken");
        assert!(editor.complaint(&text).is_some(), "{wrong} is right to an editor");
    }
    // Params and formulas are judged once a case is chosen.
    for right in ["value: $size", "value: = 2 * 512B", "value: {uniform: {from: $size, to: = 2 * size}}"] {
        assert_eq!(editor.complaint(&EACH_FORM.replace("value: $size", right)), None, "{right}");
    }
}

#[test]
fn a_side_of_a_comparison_may_change_and_remove_parts() {
    let editor = Editor::new(kdyno_scenario::json_schema());
    let with = |side: &str| format!("{EACH_FORM}compare: {{A: {{}}, B: {{{side}}}}}\n");
    for right in
        ["system: {limits: null, zones: {delay: 5ms}}", "system: {proxy: kroxylicious}, params: {size: 2KiB}"]
    {
        assert_eq!(editor.complaint(&with(right)), None, "{right}");
    }
    for wrong in ["system: {brokres: 3}", "system: {zones: {delay: 5}}", "system: {mode: raft}", "phases: {}"]
    {
        assert!(editor.complaint(&with(wrong)).is_some(), "{wrong}");
    }
}

#[test]
fn a_target_is_judged_as_well() {
    const TARGET: &str = "\
kdyno: 1
target: staging
cluster_id: aB3x
client: {bootstrap: ['a.example:9092'], secrets: {PW: {env: PASSWORD}}}
facts: {instance: m7g.2xlarge, disk: {type: gp3, limit: 250MiB/s}}
price: {per_hour: 4.32, currency: USD}
groups: [billing]
guard: {caps: {produce: 20MiB/s, connections: 200, disk: 50GiB, time: 30m}, allow: [rate-max]}
";
    let editor = Editor::new(kdyno_scenario::target_json_schema());
    let is_read = |text: &str| TargetFile::parse(text, "t.yaml").and_then(|file| file.resolve(None)).is_ok();
    assert_eq!((editor.complaint(TARGET), is_read(TARGET)), (None, true));
    for (right, wrong) in [
        ("produce: 20MiB/s", "produce: 20MiB"),
        ("connections: 200", "connections: many"),
        ("time: 30m", "time: 30"),
        ("allow: [rate-max]", "allow: [rate]"),
        ("per_hour: 4.32", "per_hour: 4.32 USD"),
        ("target: staging", "targets: staging"),
        ("groups: [billing]", "groups: billing"),
    ] {
        let text = TARGET.replace(right, wrong);
        assert!(text != TARGET && !is_read(&text) && editor.complaint(&text).is_some(), "{wrong} is taken");
    }
}
