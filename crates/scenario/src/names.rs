//! Names within a scenario: params and metrics, each looked up in what the scenario has.

use crate::file::{ComponentKindFile, RoleFile, ScenarioFile};
use crate::input::{InputError, known_hint, listed, meant, quoted};
use crate::synonyms;
use crate::values::unknown_param;
use crate::yaml::Scalar;
use kdyno_model::imported;
use kdyno_model::metric::{self, Address, SubjectKind, Unit};
use kdyno_model::plan::PROXY;
use kdyno_model::sample::Timing;

fn param_names(file: &ScenarioFile) -> Vec<&str> {
    file.params.iter().map(|(name, _)| name.text.as_str()).collect()
}

/// Whether it is a param of the scenario; the error names the one that was meant.
pub(crate) fn known_param(name: &Scalar, file: &ScenarioFile) -> Result<(), InputError> {
    let names = param_names(file);
    if names.contains(&name.text.as_str()) { Ok(()) } else { Err(unknown_param(name, names)) }
}

/// A metric address with its unit.
///
/// # Errors
/// What is not a metric of this scenario.
pub fn metric_of(typed: &Scalar, file: &ScenarioFile) -> Result<(Address, Unit), InputError> {
    let address = Address::parse(&typed.text).ok_or_else(|| {
        let hint = without_subject(&typed.text, file)
            .unwrap_or_else(|| "a metric address is SUBJECT.METRIC, e.g. `writers.acked_per_s`".to_owned());
        InputError::at(typed.place, format!("{} is not a metric address", quoted(&typed.text)))
            .hint(hint)
            .of_value()
    })?;
    if imported::is_of(&address) {
        let message = format!("{} is imported into a run when it is over", quoted(&address.subject));
        return Err(InputError::at(typed.place, message)
            .hint("a scenario cannot name what is imported: neither its unit nor whether it comes is known; `kdyno show` and comparisons report it"));
    }
    let Some(kind) = subject(&address.subject, file) else {
        let mut names: Vec<&str> = file.item_names().collect();
        names.extend(file.components.iter().map(|(name, _)| name.text.as_str()));
        names.extend(file.system.proxy.name().map(|_| PROXY));
        names.extend(["brokers", "broker-0", "system", "workers", "host"]);
        names.extend((file.load.len() > 1).then_some(metric::SUM));
        let message = format!(
            "{} is neither a load item, nor a component, nor a part of the system",
            quoted(&address.subject)
        );
        let hint = without_subject(&typed.text, file).unwrap_or_else(|| known_hint(&address.subject, names));
        return Err(InputError::at(typed.place, message).hint(hint).of_value());
    };
    if let Some(found) = metric::find(kind, &address.metric) {
        return Ok((address, found.unit));
    }
    let names = metric::names(kind);
    let known = || names.iter().map(String::as_str);
    let hint = match meant_metric(&address.metric, &names) {
        Some(name) => format!("did you mean `{}.{name}`?", address.subject),
        None => format!("metrics of `{}`: {}", address.subject, listed(known())),
    };
    let message = format!("{} is not a metric of `{}`", quoted(&address.metric), address.subject);
    Err(InputError::at(typed.place, message).hint(hint).of_value())
}

/// The metrics that may be meant where their subject was left out: `p99` and `response.p99` are of load items, what none of these
/// has is the brokers'.
fn without_subject(typed: &str, file: &ScenarioFile) -> Option<String> {
    let mut found = of_items(typed, file);
    if found.is_empty() {
        found.extend(named_alone(typed, "brokers", file));
    }
    let (last, others) = found.split_last()?;
    match others {
        [] => Some(format!("did you mean `{last}`?")),
        _ => Some(format!("did you mean {} or `{last}`?", listed(others.iter().map(String::as_str)))),
    }
}

/// The addresses of a metric that is named alone, of each load item that has it.
fn of_items(typed: &str, file: &ScenarioFile) -> Vec<String> {
    file.item_names().filter_map(|name| named_alone(typed, name, file)).collect()
}

/// The address of a metric of this subject that is named alone.
fn named_alone(typed: &str, name: &str, file: &ScenarioFile) -> Option<String> {
    let names = metric::names(subject(name, file)?);
    let found = names.iter().find(|known| *known == typed).cloned().or_else(|| headline(typed, &names))?;
    Some(format!("{name}.{found}"))
}

/// A comparison with the addresses of metrics that are named alone, where one load item alone has them: `p99 > 50ms` is
/// `writers.response.p99 > 50ms`.
pub fn with_only_item(typed: &str, file: &ScenarioFile) -> String {
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let mut out = String::with_capacity(typed.len());
    let mut rest = typed;
    // Params and their values are between brackets.
    let mut selects_case = false;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| in_name(c) != in_name(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let known = if selects_case { Vec::new() } else { of_items(word, file) };
        match known.as_slice() {
            [only] => out.push_str(only),
            _ => out.push_str(word),
        }
        if let Some(bracket) = word.rfind(['[', ']']) {
            selects_case = word[bracket..].starts_with('[');
        }
        rest = after;
    }
    out
}

/// What an expression without a metric lacks, with one that the scenario has.
pub(crate) fn metric_hint(file: &ScenarioFile) -> String {
    let (of, limit) = match file.load.first() {
        None => ("brokers.cpu_percent".to_owned(), "80%"),
        Some((name, item)) => {
            let (metric, limit) = match item.role {
                RoleFile::Produce(_) => ("response.p99", "50ms"),
                RoleFile::EndToEnd { .. } => ("end_to_end.p99", "50ms"),
                RoleFile::Consume(_) => ("fetched_per_s", "50k/s"),
            };
            (format!("{}.{metric}", name.text), limit)
        }
    };
    format!("name a metric, e.g. `{of}`, and a limit such as `{limit}`")
}

/// The latency that is meant by a statistic alone.
fn headline(typed: &str, names: &[String]) -> Option<String> {
    let mut quantiles = metric::QUANTILES.iter().map(|(name, _)| *name);
    let is_one = quantiles.any(|name| name == typed) || matches!(typed, "mean" | "max");
    let timings = ["response", "end_to_end"].map(|timing| format!("{timing}.{typed}"));
    timings.into_iter().find(|name| is_one && names.contains(name))
}

/// The metrics of load items, brokers, workers and host, by their addresses.
pub fn metric_names(file: &ScenarioFile) -> impl Iterator<Item = String> {
    let subjects = file.item_names().chain(["brokers", "system", "workers", "host"]);
    let known = subjects.filter_map(|name| Some((name, subject(name, file)?)));
    known.flat_map(|(name, kind)| {
        metric::names(kind).into_iter().map(move |metric| format!("{name}.{metric}"))
    })
}

/// What a metric's subject is.
fn subject(name: &str, file: &ScenarioFile) -> Option<SubjectKind> {
    let item = file.load.iter().find(|(known, _)| known.text == name).map(|(_, item)| &item.role);
    if file.commands.iter().any(|(known, _)| known.text == name) {
        return Some(SubjectKind::Command);
    }
    if file.labels().any(|(known, _)| known.text == name) {
        return Some(SubjectKind::Label);
    }
    if let Some((_, component)) = file.components.iter().find(|(known, _)| known.text == name) {
        return Some(match &component.kind {
            ComponentKindFile::Command { .. } => SubjectKind::Component,
            ComponentKindFile::Postgres { .. } => SubjectKind::Database,
        });
    }
    let proxy = || file.system.proxy.name().filter(|proxy| proxy.text == name);
    match (name, item) {
        (_, Some(RoleFile::Produce(_))) => Some(SubjectKind::Produce),
        (_, Some(RoleFile::Consume(_))) => Some(SubjectKind::Consume),
        (_, Some(RoleFile::EndToEnd { .. })) => Some(SubjectKind::EndToEnd),
        ("brokers" | "system", _) => Some(SubjectKind::Broker),
        ("workers", _) => Some(SubjectKind::Worker),
        ("host", _) => Some(SubjectKind::Host),
        // For one item it is that item.
        (metric::SUM, _) if file.load.len() > 1 => Some(SubjectKind::Sum),
        _ => {
            let numbered = |prefix: &str| name.strip_prefix(prefix)?.parse::<u16>().ok();
            let relay = || numbered("relay-").filter(|_| file.system.zones.is_some());
            let broker = numbered("broker-").map(|_| SubjectKind::Broker);
            let relay = || relay().map(|_| SubjectKind::Relay);
            broker.or_else(relay).or_else(|| proxy().map(|_| SubjectKind::Proxy))
        }
    }
}

/// The metric that was meant: by what it is called here, also before the dot of `TIMING.QUANTILE` alone; else by
/// what looks like it.
fn meant_metric(typed: &str, names: &[String]) -> Option<String> {
    let known = || names.iter().map(String::as_str);
    let (timing, quantile) = typed.split_once('.').unwrap_or((typed, "p50"));
    let has =
        |timing: &&str| names.iter().any(|name| name.split_once('.').is_some_and(|(own, _)| own == *timing));
    let timings = Timing::ALL.iter().map(|timing| timing.into()).filter(has);
    let timed = synonyms::meant(timing, timings).map(|timing| format!("{timing}.{quantile}"));
    let is_known = |name: &String| names.contains(name);
    let alike = || meant(typed, known()).map(str::to_owned);
    timed.filter(is_known).or_else(|| headline(typed, names)).or_else(alike)
}
