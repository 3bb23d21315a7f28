//! A run for a lab in a pod: its plan, and what the plan names on the host where it was made.

use crate::error::LabError;
use kdyno_model::plan::Plan;
use kdyno_model::secret::Secret;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Most bytes of all of it: a plan and some files of keys and values.
pub(super) const REQUEST_BYTES_MAX: usize = 256 << 20;

/// What is read before more is allocated, bytes.
const FIRST_BYTES: usize = 1 << 20;

/// A part is its kind, the length of its name, the name, its length, itself.
const AROUND_BYTES: usize = 9;

const TASK: u8 = 0;
const VARIABLE: u8 = 1;
const FILE: u8 = 2;

/// A run for a lab elsewhere, with all that it reads here.
pub struct LabRequest {
    /// What is no secret.
    pub task: LabTask,
    /// Values of the environment variables that hold the plan's secrets.
    pub variables: BTreeMap<String, Secret>,
    /// Files of keys and values, by the paths that the plan has of them.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// What a lab elsewhere runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabTask {
    /// The plan.
    pub plan: Plan,
    /// The scenario as typed.
    pub scenario_text: String,
    /// Where it was read from.
    pub scenario_path: String,
    /// The program's command line, without secrets.
    pub command_line: Vec<String>,
    /// Commit of the folder in which it was typed.
    pub git_head: Option<String>,
    /// Identifies the run.
    pub run_id: u64,
    /// Name of the run file.
    pub run_file: String,
    /// The file of generators, where they carry the load; `None`: the lab's pod does.
    pub generators: Option<String>,
    /// Warnings alone are said.
    pub no_progress: bool,
}

/// What stopped a lab elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabFailure {
    /// The exit code.
    pub exit: u8,
    /// One lowercase sentence.
    pub message: String,
    /// What can be done.
    pub hint: Option<String>,
}

impl LabRequest {
    /// As bytes.
    ///
    /// # Errors
    /// It is too large.
    pub fn encoded(&self) -> Result<Secret, LabError> {
        let task = serde_json::to_vec(&self.task)
            .map_err(|error| LabError::failed(format!("the plan could not be written: {error}")))?;
        let variables = self.variables.iter();
        let variables = variables.map(|(name, value)| (VARIABLE, name.as_str(), value.expose()));
        let files = self.files.iter().map(|(path, content)| (FILE, path.as_str(), content.as_slice()));
        let parts: Vec<(u8, &str, &[u8])> =
            [(TASK, "", task.as_slice())].into_iter().chain(variables).chain(files).collect();
        let bytes: usize = parts.iter().map(|(_, name, part)| AROUND_BYTES + name.len() + part.len()).sum();
        if bytes > REQUEST_BYTES_MAX {
            let most = REQUEST_BYTES_MAX >> 20;
            return Err(LabError::failed(format!(
                "the plan and its files have {} MiB, and a lab in a pod takes {most}",
                bytes >> 20
            )));
        }
        // A buffer that does not grow leaves no copy behind.
        let mut encoded = Vec::with_capacity(bytes);
        for (kind, name, part) in parts {
            encoded.push(kind);
            for piece in [name.as_bytes(), part] {
                encoded.extend_from_slice(&u32::try_from(piece.len()).unwrap_or(u32::MAX).to_be_bytes());
                encoded.extend_from_slice(piece);
            }
        }
        Ok(Secret::new(encoded))
    }

    /// Reads it to the end of a stream.
    ///
    /// # Errors
    /// The stream fails, or what came is no such request.
    pub fn read(stream: &mut impl Read) -> io::Result<Self> {
        let (mut task, mut variables, mut files) = (None, BTreeMap::new(), BTreeMap::new());
        let mut kind = [0];
        while stream.read(&mut kind)? > 0 {
            let name = String::from_utf8(piece(stream)?).map_err(|error| wrong(&error))?;
            let part = piece(stream)?;
            match kind[0] {
                TASK => task = Some(serde_json::from_slice(&part).map_err(|error| wrong(&error))?),
                VARIABLE => drop(variables.insert(name, Secret::new(part))),
                FILE => drop(files.insert(name, part)),
                other => return Err(wrong(&format!("a part of kind {other}"))),
            }
        }
        let task = task.ok_or_else(|| wrong(&"it has no task"))?;
        Ok(Self { task, variables, files })
    }
}

fn piece(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > REQUEST_BYTES_MAX {
        return Err(wrong(&format!("a part claims {length} bytes")));
    }
    // No more than that before it has come.
    let mut bytes = Vec::with_capacity(length.min(FIRST_BYTES));
    stream.by_ref().take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

fn wrong(why: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the run could not be read: {why}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::plans;

    /// A run of nothing.
    pub(in super::super) fn request() -> LabRequest {
        let task = LabTask {
            plan: plans::plan(Vec::new()),
            scenario_text: "kdyno: 1".to_owned(),
            scenario_path: "small.yaml".to_owned(),
            command_line: vec!["kdyno".to_owned(), "run".to_owned()],
            git_head: None,
            run_id: 0xab,
            run_file: "small.kdyno".to_owned(),
            generators: None,
            no_progress: false,
        };
        let variables = [("PW".to_owned(), Secret::new(b"hunter2".to_vec()))].into();
        LabRequest { task, variables, files: [("/a.txt".to_owned(), vec![0, 255])].into() }
    }

    #[test]
    fn a_request_comes_back_as_it_went() {
        let sent = request();
        let bytes = sent.encoded().expect("small");
        let found = LabRequest::read(&mut bytes.expose()).expect("a request");
        assert!(found.task == sent.task && found.files == sent.files);
        assert_eq!(found.variables["PW"].expose(), b"hunter2");
        assert_eq!(found.variables.len(), 1);
    }

    #[test]
    fn what_is_no_request_is_refused_and_nothing_of_it_repeated() {
        let refused = |bytes: &[u8]| LabRequest::read(&mut &bytes[..]).err().expect("refused").to_string();
        assert!(refused(&[]).contains("it has no task"));
        assert!(refused(&[TASK, 0, 0, 0, 0, 255, 255, 255, 255]).contains("claims 4294967295 bytes"));
        assert!(refused(&[9, 0, 0, 0, 0, 0, 0, 0, 0]).contains("kind 9"));
        let whole = request().encoded().expect("small");
        let cut = refused(&whole.expose()[..whole.expose().len() - 1]);
        assert!(!cut.contains("hunter2"), "{cut}");
    }
}
