//! The reference of every key, made from the tables.

use super::client::{
    CONSUMER, ClientKind, OTHERS, Other, PRODUCER, REACH, SettingEffect, SettingKind, SupportedSetting, since,
};
use super::keys::{self, Section, ValueKind};
use kdyno_model::metric::{self, SubjectKind};
use kdyno_model::plan::Levels;
use std::fmt::Write;

/// The sections of a scenario, in the order of the reference.
pub(crate) const SECTIONS: &[&Section] = &[
    &keys::SCENARIO,
    &keys::PROFILE,
    &keys::VARY,
    &keys::SYSTEM,
    &keys::KAFKA,
    &keys::MODE,
    &keys::LIMITS,
    &keys::BROKER_CONFIG,
    &keys::LISTENERS,
    &keys::CLIENT_LISTENER,
    &keys::INTERNAL_LISTENER,
    &keys::MBEANS,
    &keys::QUOTAS,
    &keys::ZONES,
    &keys::STRIMZI,
    &keys::TOPIC,
    &keys::LOAD,
    &keys::PRODUCE,
    &keys::BACKLOG,
    &keys::RATE_COURSE,
    &keys::RAMP,
    &keys::STEP,
    &keys::PAYLOAD,
    &keys::TRANSACTIONS,
    &keys::VALUE,
    &keys::UNIFORM,
    &keys::LOGNORMAL,
    &keys::SAMPLE,
    &keys::AVRO,
    &keys::KEY,
    &keys::NUMBERED,
    &keys::ZIPF,
    &keys::GIVEN,
    &keys::CONSUME,
    &keys::WORK,
    &keys::ZIPF_WORK,
    &keys::END_TO_END,
    &keys::COMMAND,
    &keys::COMMAND_PODS,
    &keys::COLUMNS,
    &keys::USERS,
    &keys::JOB,
    &keys::HTTP_STEP,
    &keys::COMPONENT,
    &keys::READY,
    &keys::STOP,
    &keys::POSTGRES,
    &keys::ITEM_CLIENT,
    &keys::JAVA_CLIENT,
    &keys::PHASES,
    &keys::MEASURE,
    &keys::COMPARE,
    &keys::SIDE,
    &keys::JUDGE,
    &keys::FIND,
    &keys::EXPECT,
    &keys::CONTRAST,
    &keys::SHOW,
    &keys::PUBLISHED,
    &keys::SOURCE,
];

/// Sections of a target file.
pub(crate) const TARGET_SECTIONS: &[&Section] = &[
    &keys::TARGET,
    &keys::CLIENT,
    &keys::SECRET,
    &keys::PRICE,
    &keys::METRICS,
    &keys::GUARD,
    &keys::CAPS,
    &keys::GENERATORS,
    &keys::GENERATOR,
    &keys::KUBERNETES,
    &keys::MOUNTED_SECRET,
];

/// The reference of scenarios and targets, as Markdown.
pub fn reference() -> String {
    let mut text = String::from(HEAD);
    for section in SECTIONS {
        section_text(&mut text, section);
    }
    text.push_str("## Client settings\n\n");
    text.push_str(CLIENT_HEAD);
    settings_text(&mut text, "Producers", PRODUCER);
    settings_text(&mut text, "Consumers", CONSUMER);
    text.push_str("All others of Kafka's clients. One without effect is noted; one that is not supported is an error.\n\n");
    let of_load = |row: &&Other| row.of != [ClientKind::Admin];
    others_text(&mut text, OTHERS.iter().filter(of_load));
    text.push_str("\n# The target file\n\n");
    for section in TARGET_SECTIONS {
        section_text(&mut text, section);
    }
    text.push_str("## Its properties file\n\n");
    text.push_str(PROPERTIES_HEAD);
    others_text(&mut text, REACH.iter());
    text.push('\n');
    text.push_str("# Metrics\n\n");
    metrics_text(&mut text);
    text
}

const HEAD: &str = "\
# The scenario file

This page is made from the tables that the reader of scenarios itself uses (`cargo test -p kdyno-scenario` fails
when it differs; `UPDATE_REFERENCE=1 cargo test -p kdyno-scenario` writes it). The JSON Schemas next to it are for
editors.

Everything is strict: an unknown key, a wrong unit, a name that does not resolve is an error with file, line,
column and what is allowed. YAML anchors, aliases, tags and second documents are not allowed.

**Values.** Sizes `128B`, `16KiB`, `1MB` (KB, MB, GB are powers of ten; KiB, MiB, GiB powers of two); durations
`200us`, `5ms`, `30s`, `5m`, `1h`; rates `500/s`, `20k/s`, `1.5M/s`, `600/min`; counts `3`, `20k`, `20M`. A
quantity that has a unit must be written with it. Inside Kafka's own settings (`config`, `client`) a bare number is in
Kafka's unit, and a suffix is accepted where the setting is a size (`.bytes`, `.size`, `.memory`) or a duration
(`.ms`).

**Params.** `$name` anywhere in a value inserts a param (`$$` is a dollar sign). A value that starts with `=` is
arithmetic over params: `+ - * /`, parentheses, `min`, `max`, `ceil`, numbers, sizes and durations; params are in
it without `$`. Params may use other params. The values of a case are, the later winning: `params`, the profile,
the row of `cases`, the combination of `vary`, `--set`. `--set` takes names of params only; a bare number has the unit
of the param (`--set rate=1000` is `1000/s`); cases that it makes equal run once. `--rate`, `--duration` and `--size`
set the params of these names, `--duration` also `dur`. Without `--profile` the profile `laptop` is taken where there
is one (with a target: `attached` before it).

";

const CLIENT_HEAD: &str = "\
Of kdyno's own client (`driver: native`). With `driver: java` every setting of Kafka's is passed on, with its value in Kafka's
unit: also those that have no effect or are not supported below, and, with a warning, names that no table has, which a fork may
know. What kdyno sets itself stays so: ids, groups, serializers, where to begin, and how the cluster is reached. The defaults are
those of the release.

`client: {defaults: \"3.2\", …}` takes the defaults that the Java client of that version has; without it those of the
newest, on both sides of a comparison too: two releases of brokers are then compared under one client. `linger.ms` plus
`request.timeout.ms` must not exceed `delivery.timeout.ms`, as in Java.

";

const PROPERTIES_HEAD: &str = "\
Read byte for byte as `java.util.Properties` reads it: Latin-1, `\\` goes on in the next line and begins escapes. Names
and rules are those of Kafka's clients; passwords, keys and tokens may be in it when its owner alone may read it, or
elsewhere as `${NAME}` (see [secret](#secret)), `${env:NAME}` or `${file:PATH:NAME}`. SASL mechanisms: `PLAIN`,
`SCRAM-SHA-256`, `SCRAM-SHA-512` and `OAUTHBEARER`, whose token comes from a `file:` URL in
`sasl.oauthbearer.token.endpoint.url`, or from the option `token` of its login module. Stores are PEM or PKCS#12.

";

fn section_text(text: &mut String, section: &Section) {
    let _ = writeln!(text, "## {}\n\n{}\n", section.name, section.purpose);
    if section.keys.is_empty() {
        return;
    }
    text.push_str("| key | takes | default | meaning |\n|---|---|---|---|\n");
    for key in section.keys {
        let default = match (key.required, key.default) {
            (true, _) => "required".to_owned(),
            (false, Some("") | None) => "–".to_owned(),
            (false, Some(default)) => format!("`{default}`"),
        };
        let _ = writeln!(text, "| `{}` | {} | {default} | {} |", key.name, kind_text(&key.kind), key.meaning);
    }
    if !section.later.is_empty() {
        let names = crate::input::listed(section.later.iter().map(|(name, _)| *name));
        let _ = writeln!(text, "\nNot in this version yet: {names}.");
    }
    text.push('\n');
}

/// What a heading is linked by where the page is shown: in lower case, without signs.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn kind_text(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Scalar(what, _) => (*what).to_owned(),
        ValueKind::Choice(words) => crate::input::listed(words.iter().copied()).replace(", ", " or "),
        ValueKind::Section(section) => format!("map: [{}](#{})", section.name, anchor(section.name)),
        ValueKind::Named(section) => {
            format!("map of names, each a [{}](#{})", section.name, anchor(section.name))
        }
        ValueKind::Settings(what) => format!("map of {what}"),
        ValueKind::List(inner) => format!("list of {}", kind_text(inner)),
        ValueKind::Either(kinds) => kinds.iter().map(kind_text).collect::<Vec<_>>().join("; or "),
    }
}

fn settings_text(text: &mut String, whose: &str, settings: &[SupportedSetting]) {
    let _ = writeln!(text, "{whose}:\n\n| setting | takes | default |\n|---|---|---|");
    for setting in settings {
        let takes = match setting.kind {
            SettingKind::Bytes => "size, or bytes".to_owned(),
            SettingKind::Ms => "duration, or ms".to_owned(),
            SettingKind::Count => "count".to_owned(),
            SettingKind::Level(levels) => levels_text(levels),
            SettingKind::Text => "text".to_owned(),
            SettingKind::Words([]) => "Kafka version".to_owned(),
            SettingKind::Words(words) => crate::input::listed(words.iter().copied()).replace(", ", " or "),
        };
        let _ = writeln!(text, "| `{}` | {takes} | {} |", setting.name, setting.default);
    }
    text.push('\n');
}

fn levels_text(levels: Levels) -> String {
    let Levels { least, most, default, .. } = levels;
    let or_default =
        if (least..=most).contains(&default) { String::new() } else { format!(", or {default}") };
    format!("{least} to {most}{or_default}")
}

fn others_text<'a>(text: &mut String, rows: impl Iterator<Item = &'a Other>) {
    text.push_str("| setting | clients from | here |\n|---|---|---|\n");
    for row in rows {
        let from = since(row.name).map(|(major, minor)| format!("{major}.{minor}")).unwrap_or_default();
        let here = match row.rule {
            SettingEffect::Used => "taken".to_owned(),
            SettingEffect::WithoutEffect(why) => format!("no effect: {why}"),
            SettingEffect::Always([], why) => format!("not supported: {why}"),
            SettingEffect::Always(values, why) => {
                let values = values.iter().map(|value| if value.is_empty() { "empty" } else { *value });
                format!("always {}: {why}", crate::input::listed(values).replace(", ", " or "))
            }
        };
        let _ = writeln!(text, "| `{}` | {from} | {here} |", row.name);
    }
}

fn metrics_text(text: &mut String) {
    text.push_str(
        "A metric address is `SUBJECT.METRIC`. Subjects are load items, components, `brokers` (all together), `broker-0` … (one), \
         `system` (brokers, dedicated controllers and ZooKeeper nodes together), `relay-0` … (one, with `zones`), `workers` and \
         `host`. Figures of `process-NAME` (what `--probe` named), `group:NAME` (a consumer group) and `imported-NAME` (`kdyno import`) appear in \
         reports and exports; a scenario cannot name them.\n\n| metric | of | unit | meaning |\n|---|---|---|---|\n",
    );
    for known in metric::all() {
        let kinds = known.kinds.iter().map(|kind| kind.described()).collect::<Vec<_>>().join(", ");
        let _ =
            writeln!(text, "| `{}` | {kinds} | {} | {} |", known.name, known.unit.described(), known.meaning);
    }
    let of = |kind| crate::input::listed(metric::timings(kind).iter().map(|timing| timing.into()));
    let (sent, consumed) = (of(SubjectKind::Produce), of(SubjectKind::Consume));
    let parsed = of(SubjectKind::Command);
    let quantiles = crate::input::listed(metric::QUANTILES.iter().map(|(name, _)| *name));
    let _ = write!(
        text,
        "\nLatency metrics are `TIMING.QUANTILE`, in ns. Timings of load items that produce: {sent}; of those that \
         consume: {consumed}; of commands, as their results are parsed: {parsed}. Quantiles: {quantiles}, and `mean` and `max`.\n"
    );
}
