//! Load over HTTP: users of an application, and jobs that it does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Hidden subcommand that sends requests over HTTP: `EXE http-load FILE`, a file with an [`HttpLoad`] as JSON.
pub const HTTP_LOAD: &str = "http-load";
/// Most users of an item.
pub const USERS_MAX: u32 = 20_000;

/// Values that there are in any turn: the number of its user, and how many turns that one has begun.
pub const OF_USERS: [&str; 2] = ["user", "turn"];

/// What is sent over HTTP, by a process of kdyno's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HttpLoad {
    /// People who use an application.
    Users(Box<UsersPlan>),
    /// Something that an application does for a while.
    Job(Box<JobPlan>),
}

/// People who use an application: each goes through the same steps, again and again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsersPlan {
    /// How they reach it.
    pub target: HttpTarget,
    /// How many there are; with `per_s` the most at once.
    pub users: u32,
    /// Turns that begin per second, by chance; `None`: each user begins the next one when it has thought.
    pub per_s: Option<f64>,
    /// How long a user thinks between two turns, at least and at most, ns.
    pub think_ns: (u64, u64),
    /// They come one after the other within this time, ns.
    pub ramp_ns: u64,
    /// From the start on: what begins in it is not reported, ns.
    pub warmup_ns: u64,
    /// What all steps together are called.
    pub chain: String,
    /// What a user does in one turn, at least one step.
    pub steps: Vec<HttpStep>,
    /// A CSV with a header; each turn has the values of the next row, from the first one again after the last.
    pub data: Option<String>,
    /// Seed of chance: think times and arrivals. 0 in a plan: each trial draws one from its own.
    pub seed: u64,
}

/// Something that is started and polled until it is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobPlan {
    /// How it is reached.
    pub target: HttpTarget,
    /// What starts it.
    pub start: HttpStep,
    /// What reports its progress.
    pub poll: HttpStep,
    /// From the end of one question to the next, ns.
    pub every_ns: u64,
    /// Values of an answer, by JSON pointer, that say that it is done.
    pub done: BTreeMap<String, String>,
    /// Values that say that it failed: one is enough.
    pub failed: BTreeMap<String, String>,
}

/// An application and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpTarget {
    /// What addresses of steps that begin with `/` come after; of a component its name, since its port is not known yet.
    pub address: String,
    /// Whether the address is the name of a component.
    #[serde(default)]
    pub is_component: bool,
    /// Longest time of a request, ns.
    pub timeout_ns: u64,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// A PEM file with the authorities that are trusted; `None`: those of the platform.
    pub trust: Option<String>,
}

/// One request. Texts may hold values: `{{name}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpStep {
    /// What it is called.
    pub name: String,
    /// `GET`, `POST` and so on.
    pub method: String,
    /// Address, or path.
    pub url: String,
    /// What is sent.
    pub body: Option<RequestBody>,
    /// The status that it must have; `None`: any from 200 to 399.
    pub status: Option<u16>,
    /// Values that the answer must have, by JSON pointer.
    pub holds: BTreeMap<String, String>,
    /// Values of the answer that later steps use, by name: the JSON pointer of each.
    pub keep: BTreeMap<String, String>,
}

/// What a request carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestBody {
    /// This text, as JSON.
    Json(String),
    /// A file as it is.
    File(String),
}

impl HttpLoad {
    /// How what it sends to is reached.
    pub fn target(&self) -> &HttpTarget {
        match self {
            Self::Users(users) => &users.target,
            Self::Job(job) => &job.target,
        }
    }

    /// The same, sent to this address.
    #[must_use]
    pub fn at(mut self, address: String) -> Self {
        let target = match &mut self {
            Self::Users(users) => &mut users.target,
            Self::Job(job) => &mut job.target,
        };
        target.address = address;
        self
    }

    /// The same, with chance drawn from this seed; a job leaves nothing to chance.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        if let Self::Users(users) = &mut self {
            users.seed = seed;
        }
        self
    }

    /// All of its requests, in the order in which they are sent first.
    pub fn steps(&self) -> Vec<&HttpStep> {
        match self {
            Self::Users(users) => users.steps.iter().collect(),
            Self::Job(job) => vec![&job.start, &job.poll],
        }
    }
}

/// In a few words: `25 users: find, pay at http://127.0.0.1:80`.
impl fmt::Display for HttpLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Users(users) => {
                let steps: Vec<&str> = users.steps.iter().map(|step| step.name.as_str()).collect();
                let plural = if users.users == 1 { "user" } else { "users" };
                write!(f, "{} {plural}: {} at {}", users.users, steps.join(", "), users.target.address)
            }
            Self::Job(job) => {
                write!(f, "job: {} {} at {}", job.start.method, job.start.url, job.target.address)
            }
        }
    }
}

/// A part of a text into which values are put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplatePiece<'t> {
    /// Unchanged.
    Text(&'t str),
    /// The value of this name.
    Value(&'t str),
}

/// Takes a text apart at its values: `/users/{{id}}`.
///
/// # Errors
/// A `{{` that is not closed, or holds no name, a lowercase clause.
pub fn pieces(text: &str) -> Result<Vec<TemplatePiece<'_>>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        if !before.is_empty() {
            found.push(TemplatePiece::Text(before));
        }
        let Some((name, after)) = behind.split_once("}}") else {
            return Err("a `{{` is not closed by `}}`".to_owned());
        };
        let name = name.trim();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!("`{{{{{name}}}}}` is no name: letters, digits, `-` and `_`"));
        }
        found.push(TemplatePiece::Value(name));
        rest = after;
    }
    if !rest.is_empty() {
        found.push(TemplatePiece::Text(rest));
    }
    Ok(found)
}

impl HttpStep {
    /// The texts that may hold values.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let body = match &self.body {
            Some(RequestBody::Json(text)) => Some(text.as_str()),
            Some(RequestBody::File(_)) | None => None,
        };
        std::iter::once(self.url.as_str()).chain(body).chain(self.holds.values().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_taken_apart_at_their_values() {
        let reported = pieces("/users/{{id}}/{{ loan-1 }}?x={}").expect("two values");
        let expected = [
            TemplatePiece::Text("/users/"),
            TemplatePiece::Value("id"),
            TemplatePiece::Text("/"),
            TemplatePiece::Value("loan-1"),
            TemplatePiece::Text("?x={}"),
        ];
        assert_eq!(reported, expected);
        assert_eq!(pieces(""), Ok(Vec::new()));
        for (wrong, words) in [("{{a", "not closed"), ("{{}}", "no name"), ("{{a b}}", "no name")] {
            assert!(pieces(wrong).expect_err(wrong).contains(words));
        }
    }
}
