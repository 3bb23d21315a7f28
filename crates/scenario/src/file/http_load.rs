//! Load items over HTTP, as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::{Fields, list_of, opt, settings};
use crate::yaml::{Scalar, YamlNode};

/// People who use an application.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct UsersFile {
    pub users: Scalar,
    pub rate: Option<Scalar>,
    pub think: Scalar,
    pub ramp: Scalar,
    pub warmup: Scalar,
    pub chain: Scalar,
    pub steps: Vec<HttpStepFile>,
    pub data: Option<Scalar>,
    pub target: HttpTargetFile,
}

/// Something that an application does.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct JobFile {
    pub job: HttpStepFile,
    pub poll: HttpStepFile,
    pub every: Scalar,
    pub done: Vec<(Scalar, Scalar)>,
    pub failed: Vec<(Scalar, Scalar)>,
    pub target: HttpTargetFile,
}

/// An application and how it is spoken to.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct HttpTargetFile {
    pub address: Scalar,
    pub headers: Vec<(Scalar, Scalar)>,
    pub trust: Option<Scalar>,
    pub request_timeout: Scalar,
}

/// A request.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct HttpStepFile {
    pub name: Option<Scalar>,
    /// `get`, `post` and so on, and their value.
    pub method: &'static str,
    pub url: Scalar,
    pub json: Option<Scalar>,
    pub file: Option<Scalar>,
    pub status: Option<Scalar>,
    pub holds: Vec<(Scalar, Scalar)>,
    pub keep: Vec<(Scalar, Scalar)>,
}

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

impl HttpStepFile {
    fn all(&self) -> Vec<(&str, &Scalar)> {
        let mut found = vec![(self.method, &self.url)];
        let others =
            [("name", &self.name), ("json", &self.json), ("file", &self.file), ("status", &self.status)];
        found.extend(others.into_iter().filter_map(|(key, typed)| Some((key, typed.as_ref()?))));
        found.extend(texts(&self.holds).chain(texts(&self.keep)));
        found
    }
}

impl HttpTargetFile {
    fn all(&self) -> impl Iterator<Item = (&str, &Scalar)> {
        let fixed = [("address", &self.address), ("request_timeout", &self.request_timeout)];
        fixed.into_iter().chain(self.trust.iter().map(|trust| ("trust", trust))).chain(texts(&self.headers))
    }
}

impl UsersFile {
    /// The names by which what users do is reported: of each step, and of all together.
    ///
    /// # Errors
    /// A step has none.
    pub(super) fn names(&self) -> Result<Vec<Scalar>, InputError> {
        let name = |step: &HttpStepFile| {
            step.name.clone().ok_or_else(|| {
                let error = InputError::at(step.url.place, "a step of users has no `name`");
                error.hint("metrics are called by it: `{name: find, get: /items}`")
            })
        };
        self.steps.iter().map(name).chain([Ok(self.chain.clone())]).collect()
    }

    /// Every value with its key.
    pub(crate) fn all(&self) -> Vec<(&str, &Scalar)> {
        let mut found = vec![
            ("users", &self.users),
            ("think", &self.think),
            ("ramp", &self.ramp),
            ("warmup", &self.warmup),
            ("chain", &self.chain),
        ];
        found.extend(self.rate.iter().map(|rate| ("rate", rate)));
        found.extend(self.data.iter().map(|data| ("data", data)));
        found.extend(self.steps.iter().flat_map(HttpStepFile::all));
        found.extend(self.target.all());
        found
    }
}

impl JobFile {
    /// Every value with its key.
    pub(crate) fn all(&self) -> Vec<(&str, &Scalar)> {
        let mut found = vec![("every", &self.every)];
        found.extend(self.job.all().into_iter().chain(self.poll.all()));
        found.extend(texts(&self.done).chain(texts(&self.failed)).chain(self.target.all()));
        found
    }
}

fn texts(pairs: &[(Scalar, Scalar)]) -> impl Iterator<Item = (&str, &Scalar)> {
    pairs.iter().map(|(name, value)| (name.text.as_str(), value))
}

/// Reads users from an item's keys.
pub(super) fn users(fields: &Fields<'_>) -> Result<UsersFile, InputError> {
    let steps = list_of(fields, "steps", step)?;
    if steps.is_empty() {
        return Err(InputError::at(fields.place, "`steps` is empty").hint("name what a user does"));
    }
    Ok(UsersFile {
        users: fields.required("users")?,
        rate: fields.scalar("rate")?,
        think: fields.required("think")?,
        ramp: fields.required("ramp")?,
        warmup: fields.required("warmup")?,
        chain: fields.required("chain")?,
        steps,
        data: fields.scalar("data")?,
        target: target(fields)?,
    })
}

/// Reads a job from an item's keys.
pub(super) fn job(fields: &Fields<'_>) -> Result<JobFile, InputError> {
    let pairs = |name: &str| opt(fields, name, |node| settings(node, name)).map(Option::unwrap_or_default);
    let done = pairs("done")?;
    if done.is_empty() {
        return Err(InputError::at(fields.place, "`done` is empty").hint("e.g. `done: {/status: DONE}`"));
    }
    Ok(JobFile {
        job: step(fields.node("job")?)?,
        poll: step(fields.node("poll")?)?,
        every: fields.required("every")?,
        done,
        failed: pairs("failed")?,
        target: target(fields)?,
    })
}

fn target(fields: &Fields<'_>) -> Result<HttpTargetFile, InputError> {
    Ok(HttpTargetFile {
        address: fields.required("address")?,
        headers: opt(fields, "headers", |node| settings(node, "headers"))?.unwrap_or_default(),
        trust: fields.scalar("trust")?,
        request_timeout: fields.required("request_timeout")?,
    })
}

fn step(node: &YamlNode) -> Result<HttpStepFile, InputError> {
    let fields = Fields::of(node, &keys::HTTP_STEP)?;
    let mut methods = METHODS.iter().filter(|method| fields.get(method).is_some());
    let (Some(method), None) = (methods.next(), methods.next()) else {
        let error =
            InputError::at(fields.place, "a request has one of `get`, `post`, `put`, `patch` and `delete`");
        return Err(error.hint("e.g. `get: /items/{{id}}`"));
    };
    let (json, file) = (fields.scalar("json")?, fields.scalar("file")?);
    if let (Some(_), Some(file)) = (&json, &file) {
        let error = InputError::at(file.place, "`json` and `file` both say what is sent");
        return Err(error.hint("leave one of them out"));
    }
    let pairs = |name: &str| opt(&fields, name, |node| settings(node, name)).map(Option::unwrap_or_default);
    Ok(HttpStepFile {
        name: fields.scalar("name")?,
        method,
        url: fields.required(method)?,
        json,
        file,
        status: fields.scalar("status")?,
        holds: pairs("holds")?,
        keep: pairs("keep")?,
    })
}
