//! Pods that carry a load: `kubernetes` of generators.

use crate::input::{InputError, quoted};
use crate::keys;
use crate::units::{self, Dimension};
use crate::walk::{Fields, list_of, opt, settings};
use crate::yaml::{Scalar, YamlNode};
use kdyno_model::generator::{GeneratorPods, HOSTS_MAX, MountedSecret, is_namespace};

/// Largest number of CPUs of a pod.
const CPUS_MAX: f64 = 1000.0;

/// Longest name of an object that is no namespace.
const NAME_CHARS_MAX: usize = 253;

/// Reads the section.
pub(super) fn pods(node: &YamlNode) -> Result<GeneratorPods, InputError> {
    let fields = Fields::of(node, &keys::KUBERNETES)?;
    let node_selector = opt(&fields, "node_selector", |node| settings(node, "node_selector"))?;
    let text = |(name, value): (Scalar, Scalar)| (name.text, value.text);
    let name = |key: &str| fields.scalar(key)?.map(|typed| object_name(key, typed)).transpose();
    Ok(GeneratorPods {
        context: fields.scalar("context")?.map(|typed| typed.text),
        namespace: name("namespace")?,
        image: image(fields.required("image")?)?,
        count: count(&fields.required("pods")?)?,
        cpu_milli: cpu_milli(&fields.required("cpu")?)?,
        memory_bytes: memory_bytes(&fields.required("memory")?)?,
        spread: fields.required("spread")?.text,
        node_selector: node_selector.into_iter().flatten().map(text).collect(),
        secrets: list_of(&fields, "secrets", mounted)?,
        wait_s: wait_s(&fields.required("wait")?)?,
        service_account: name("service_account")?,
        claim: name("claim")?,
    })
}

/// That of the namespace becomes a part of paths of the API.
fn object_name(key: &str, typed: Scalar) -> Result<String, InputError> {
    // Dots are in names of all objects but namespaces.
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let is_object = |text: &str| (1..=NAME_CHARS_MAX).contains(&text.len()) && text.chars().all(is_plain);
    let (is_name, what) = match key {
        "namespace" => (is_namespace(&typed.text), "a namespace"),
        _ => (is_object(&typed.text), "an object"),
    };
    if is_name {
        return Ok(typed.text);
    }
    Err(InputError::at(typed.place, format!("`{key}`: {} is no name of {what}", quoted(&typed.text)))
        .hint("small letters, digits and `-`"))
}

/// By its digest: nodes, and runs of another day, then have the same program.
fn image(typed: Scalar) -> Result<String, InputError> {
    const DIGITS: usize = 64;
    let is_digest = |text: &str| text.len() == DIGITS && text.chars().all(|c| c.is_ascii_hexdigit());
    let is_one = typed.text.split_once("@sha256:").is_some_and(|(name, digest)| {
        !name.is_empty() && !name.contains(char::is_whitespace) && is_digest(digest)
    });
    if is_one {
        return Ok(typed.text);
    }
    Err(InputError::at(typed.place, format!("`image`: {} is no image with its digest", quoted(&typed.text)))
        .hint("`registry.example/kdyno@sha256:` and 64 hexadecimal digits; a tag may mean another program tomorrow"))
}

fn count(typed: &Scalar) -> Result<u16, InputError> {
    let read = units::whole(&typed.text, Dimension::Plain).ok().and_then(|count| u16::try_from(count).ok());
    let is_allowed = |count: &u16| (1..=HOSTS_MAX).contains(&usize::from(*count));
    read.filter(is_allowed).ok_or_else(|| {
        InputError::at(typed.place, format!("`pods` takes 1 to {HOSTS_MAX}, not {}", quoted(&typed.text)))
    })
}

fn cpu_milli(typed: &Scalar) -> Result<u32, InputError> {
    /// What binary fractions lack of a decimal one.
    const ROUNDING: f64 = 1e-6;
    let read = units::parse_as(&typed.text, Dimension::Plain).ok();
    let milli = read.filter(|cpus| (0.0..=CPUS_MAX).contains(cpus)).map(|cpus| cpus * 1000.0);
    let is_whole = |milli: &f64| *milli >= 1.0 && (milli - milli.round()).abs() < ROUNDING;
    milli.filter(is_whole).map(|milli| milli.round() as u32).ok_or_else(|| {
        InputError::at(typed.place, format!("`cpu`: {} is no number of CPUs", quoted(&typed.text)))
            .hint("such as `2` or `0.5`; a thousandth is the least")
    })
}

fn memory_bytes(typed: &Scalar) -> Result<u64, InputError> {
    let read = units::whole(&typed.text, Dimension::Bytes);
    let bytes = read.map_err(|error| InputError::at(typed.place, format!("`memory`: {error}")))?;
    if bytes == 0 {
        return Err(InputError::at(typed.place, "`memory` is nothing"));
    }
    Ok(bytes)
}

fn wait_s(typed: &Scalar) -> Result<u64, InputError> {
    const NS: f64 = 1e9;
    let ns = units::parse_as(&typed.text, Dimension::Ns)
        .map_err(|error| InputError::at(typed.place, format!("`wait`: {error}")))?;
    if ns < NS {
        return Err(InputError::at(typed.place, "`wait` is at least 1 s"));
    }
    Ok((ns / NS) as u64)
}

fn mounted(node: &YamlNode) -> Result<MountedSecret, InputError> {
    let fields = Fields::of(node, &keys::MOUNTED_SECRET)?;
    let at = fields.required("at")?;
    if !at.text.starts_with('/') {
        return Err(InputError::at(at.place, format!("`at`: {} is no absolute path", quoted(&at.text)))
            .hint("a folder in the pod, as in `/certs`"));
    }
    Ok(MountedSecret { secret: fields.required("secret")?.text, at: at.text })
}
