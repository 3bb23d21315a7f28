//! Load items over HTTP: users of an application, and jobs.

use crate::choices::PlanError;
use crate::component_address;
use crate::phases::PHASE_NS_MAX;
use crate::reader::CaseReader;
use kdyno_model::plan::http_load::{
    HttpLoad, HttpStep, HttpTarget, JobPlan, OF_USERS, RequestBody, TemplatePiece, USERS_MAX, UsersPlan,
    pieces,
};
use kdyno_model::plan::{CsvColumns, OutputFormat, ParsePlan};
use kdyno_scenario::file::{HttpStepFile, HttpTargetFile, JobFile, UsersFile};
use kdyno_scenario::input::quoted;
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::yaml::Scalar;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Turns per second: one in three hours at least.
const TURNS_PER_S: RangeInclusive<f64> = 0.0001..=100_000.0;

/// Statuses that no answer has, since what it refers to is requested instead.
const FOLLOWED: [u32; 5] = [301, 302, 303, 307, 308];

/// Users, and how their output is read.
pub(crate) fn users(reader: &CaseReader<'_>, typed: &UsersFile) -> Result<(HttpLoad, ParsePlan), PlanError> {
    let data = typed.data.as_ref().map(|data| reader.filled(data, "data")).transpose()?;
    let mut known: BTreeSet<String> = OF_USERS.map(str::to_owned).into();
    let mut steps = Vec::new();
    for step_file in &typed.steps {
        let name = step_file.name.as_ref().map(|name| reader.filled(name, "name")).transpose()?;
        let step = step(reader, step_file, name.unwrap_or_default())?;
        // What columns the file has is not known before it is read.
        if data.is_none() {
            all_are_known(reader, step_file, &step, &known)?;
        }
        known.extend(step.keep.keys().cloned());
        steps.push(step);
    }
    let chain = reader.filled(&typed.chain, "chain")?;
    let labels = steps.iter().map(|step| step.name.clone()).chain([chain.clone()]);
    let labels: BTreeMap<String, String> = labels.map(|name| (name.clone(), name)).collect();
    let plan = UsersPlan {
        target: target(reader, &typed.target)?,
        users: reader.small(&typed.users, "users", 1..=USERS_MAX)?,
        per_s: typed.rate.as_ref().map(|rate| per_s(reader, rate)).transpose()?,
        think_ns: think(reader, &typed.think)?,
        ramp_ns: reader.ns(&typed.ramp, "ramp", 0..=PHASE_NS_MAX)?,
        warmup_ns: reader.ns(&typed.warmup, "warmup", 0..=PHASE_NS_MAX)?,
        chain: chain.clone(),
        steps,
        data,
        seed: 0,
    };
    Ok((HttpLoad::Users(Box::new(plan)), parse(labels, Some(chain))))
}

/// A job, and how its output is read.
pub(crate) fn job(
    reader: &CaseReader<'_>,
    item: &str,
    typed: &JobFile,
) -> Result<(HttpLoad, ParsePlan), PlanError> {
    let named = |step_file: &HttpStepFile, what: &str| {
        let name = step_file.name.as_ref().map(|name| reader.filled(name, "name")).transpose()?;
        step(reader, step_file, name.unwrap_or_else(|| format!("{item}-{what}")))
    };
    let (start, poll) = (named(&typed.job, "start")?, named(&typed.poll, "poll")?);
    let mut known = BTreeSet::new();
    all_are_known(reader, &typed.job, &start, &known)?;
    known.extend(start.keep.keys().cloned());
    all_are_known(reader, &typed.poll, &poll, &known)?;
    let plan = JobPlan {
        target: target(reader, &typed.target)?,
        start,
        poll,
        every_ns: reader.ns(&typed.every, "every", 1_000_000..=3_600_000_000_000)?,
        done: pointers(reader, &typed.done, |(pointer, _)| pointer)?,
        failed: pointers(reader, &typed.failed, |(pointer, _)| pointer)?,
    };
    Ok((HttpLoad::Job(Box::new(plan)), parse(BTreeMap::new(), None)))
}

fn parse(labels: BTreeMap<String, String>, apart: Option<String>) -> ParsePlan {
    ParsePlan { format: OutputFormat::Jtl, file: None, columns: CsvColumns::default(), labels, apart }
}

fn target(reader: &CaseReader<'_>, typed: &HttpTargetFile) -> Result<HttpTarget, PlanError> {
    let named = reader.filled(&typed.address, "address")?;
    let component = reader.scenario.typed().components.iter().find(|(name, _)| name.text == named);
    let elsewhere =
        component.map(|(_, file)| component_address::elsewhere(reader, file)).transpose()?.flatten();
    let is_component = component.is_some() && elsewhere.is_none();
    let address = elsewhere.unwrap_or(named);
    if !is_component && !component_address::is_http(&address) {
        let message = format!("`address`: {} is no address of HTTP, nor a component", quoted(&address));
        return Err(reader.wrong(&typed.address, message).hint("e.g. `http://127.0.0.1:8080`"));
    }
    for (name, value) in &typed.headers {
        if reader.text(value)?.contains("{{") {
            let message = format!(
                "`headers`: {} is to hold a value, and headers are of every request",
                quoted(&name.text)
            );
            return Err(reader
                .wrong(value, message)
                .hint("addresses, `json` and `holds` of steps may hold values"));
        }
    }
    Ok(HttpTarget {
        address,
        is_component,
        timeout_ns: reader.ns(&typed.request_timeout, "request_timeout", 1_000_000..=3_600_000_000_000)?,
        headers: texts(reader, &typed.headers)?,
        trust: typed.trust.as_ref().map(|trust| reader.filled(trust, "trust")).transpose()?,
    })
}

fn step(reader: &CaseReader<'_>, typed: &HttpStepFile, name: String) -> Result<HttpStep, PlanError> {
    let url = reader.filled(&typed.url, typed.method)?;
    if !url.starts_with('/') && !url.starts_with("http://") && !url.starts_with("https://") {
        let message = format!("`{}`: {} is neither a path nor an address", typed.method, quoted(&url));
        return Err(reader
            .wrong(&typed.url, message)
            .hint("a path begins with `/` and comes after `address`"));
    }
    let json = typed.json.as_ref().map(|json| reader.text(json).map(RequestBody::Json)).transpose()?;
    let file =
        typed.file.as_ref().map(|file| reader.filled(file, "file").map(RequestBody::File)).transpose()?;
    let status = typed.status.as_ref().map(|status| reader.small(status, "status", 100..=599)).transpose()?;
    if let (Some(status), Some(typed)) = (status, &typed.status)
        && FOLLOWED.contains(&status)
    {
        let message = format!("`status`: redirects are followed, so no answer has {status}");
        return Err(reader.wrong(typed, message).hint("name the status of where it leads to"));
    }
    Ok(HttpStep {
        name,
        method: typed.method.to_uppercase(),
        url,
        body: json.or(file),
        status: status.and_then(|status| u16::try_from(status).ok()),
        holds: pointers(reader, &typed.holds, |(pointer, _)| pointer)?,
        keep: pointers(reader, &typed.keep, |(_, pointer)| pointer)?,
    })
}

/// Pairs with a JSON pointer as one of the two.
fn pointers(
    reader: &CaseReader<'_>,
    typed: &[(Scalar, Scalar)],
    of: impl Fn(&(Scalar, Scalar)) -> &Scalar,
) -> Result<BTreeMap<String, String>, PlanError> {
    for pair in typed {
        let pointer = reader.text(of(pair))?;
        if !pointer.starts_with('/') {
            let message = format!("{} is no JSON pointer", quoted(&pointer));
            return Err(reader
                .wrong(of(pair), message)
                .hint("e.g. `/data/0/id`: the first of the list `data`, its `id`"));
        }
    }
    texts(reader, typed)
}

fn texts(reader: &CaseReader<'_>, typed: &[(Scalar, Scalar)]) -> Result<BTreeMap<String, String>, PlanError> {
    typed.iter().map(|(name, value)| Ok((name.text.clone(), reader.text(value)?))).collect()
}

/// A value that nothing gives is reported before anything is started.
fn all_are_known(
    reader: &CaseReader<'_>,
    typed: &HttpStepFile,
    step: &HttpStep,
    known: &BTreeSet<String>,
) -> Result<(), PlanError> {
    for text in step.texts() {
        let pieces = pieces(text).map_err(|why| reader.wrong(&typed.url, why))?;
        let unknown = pieces.iter().find_map(|piece| match piece {
            TemplatePiece::Value(name) if !known.contains(*name) => Some(*name),
            TemplatePiece::Value(_) | TemplatePiece::Text(_) => None,
        });
        if let Some(name) = unknown {
            let message = format!("there is no value {} here", quoted(name));
            let hint = "values come from `keep` of a step before, and of users from the columns of `data`";
            return Err(reader.wrong(&typed.url, message).hint(hint));
        }
    }
    Ok(())
}

fn per_s(reader: &CaseReader<'_>, typed: &Scalar) -> Result<f64, PlanError> {
    let text = reader.text(typed)?;
    let value = units::parse_as(&text, Dimension::PerS);
    let value = value.map_err(|message| reader.wrong(typed, format!("`rate`: {message}")))?;
    let range = TURNS_PER_S;
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (range.start(), range.end());
    let message = format!("`rate`: {} is outside {least}/s to {most}/s", quoted(&text));
    Err(reader.wrong(typed, message))
}

fn think(reader: &CaseReader<'_>, typed: &Scalar) -> Result<(u64, u64), PlanError> {
    let (least_ns, most_ns) = reader.span(typed, "think", &reader.text(typed)?)?;
    Ok((least_ns, most_ns.unwrap_or(least_ns)))
}
