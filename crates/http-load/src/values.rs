//! Values that requests are made of: rows of a file, parts of an answer, the user's number.

use crate::error::HttpLoadError;
use kdyno_model::plan::http_load::{HttpStep, OF_USERS, TemplatePiece, pieces};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// Values by name.
pub(crate) type NamedValues = BTreeMap<String, String>;

/// Where a value is put, which says how it is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escaping {
    /// In an address.
    Url,
    /// In a text of a JSON document.
    Json,
    /// Next to nothing that it could be taken for.
    Plain,
}

/// What is written in an address in another form: all but what RFC 3986 calls unreserved, so that an id stays as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text with its values.
///
/// # Errors
/// A value is not known: one lowercase clause.
pub(crate) fn filled(text: &str, values: &NamedValues, place: Escaping) -> Result<String, String> {
    let mut found = String::with_capacity(text.len());
    for piece in pieces(text)? {
        match piece {
            TemplatePiece::Text(text) => found.push_str(text),
            TemplatePiece::Value(name) => {
                let value = values.get(name).ok_or_else(|| format!("there is no value `{name}`"))?;
                match place {
                    Escaping::Url => found.extend(utf8_percent_encode(value, ENCODED)),
                    Escaping::Json => {
                        let quoted = serde_json::Value::from(value.as_str()).to_string();
                        found.push_str(&quoted[1..quoted.len() - 1]);
                    }
                    Escaping::Plain => found.push_str(value),
                }
            }
        }
    }
    Ok(found)
}

/// A value of a JSON document as text; `None` where there is none, or a whole object or list.
pub(crate) fn text_at(document: &serde_json::Value, pointer: &str) -> Option<String> {
    match document.pointer(pointer)? {
        serde_json::Value::String(text) => Some(text.clone()),
        value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_)) => Some(value.to_string()),
        _ => None,
    }
}

/// Largest file of rows, in bytes and in words.
const DATA_MAX: (u64, &str) = (256 << 20, "256 MiB");

/// The rows of a file, one for each turn.
pub(crate) struct FileRows {
    names: Vec<String>,
    rows: Vec<csv::StringRecord>,
    next: Cell<usize>,
}

impl FileRows {
    /// Reads a CSV with a header.
    pub(crate) fn read(path: &str) -> Result<Self, HttpLoadError> {
        let wrong = |why: String| HttpLoadError(format!("{path}: {why}"));
        if let Some(why) = unreadable(path, DATA_MAX).map_err(|error| HttpLoadError::file(path, &error))? {
            return Err(wrong(format!("it {why}")));
        }
        let mut reader = csv::Reader::from_path(path).map_err(|error| wrong(error.to_string()))?;
        let names = reader.headers().map_err(|error| wrong(error.to_string()))?;
        let names: Vec<String> =
            names.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned()).collect();
        check_names(&names).map_err(wrong)?;
        let rows: Result<Vec<_>, csv::Error> = reader.records().collect();
        let rows = rows.map_err(|error| wrong(error.to_string()))?;
        if rows.is_empty() {
            return Err(wrong("it has no row under its header".to_owned()));
        }
        Ok(Self { names, rows, next: Cell::new(0) })
    }

    /// Whether the values that these steps ask for are there: columns, what a step before keeps, what each turn has.
    pub(crate) fn serve(&self, path: &str, steps: &[HttpStep]) -> Result<(), HttpLoadError> {
        let wrong = |why: String| HttpLoadError(format!("{path}: {why}"));
        let mut known: BTreeSet<&str> = self.names.iter().map(String::as_str).chain(OF_USERS).collect();
        for step in steps {
            for text in step.texts() {
                let pieces = pieces(text).map_err(wrong)?;
                let unknown = pieces.iter().find_map(|piece| match piece {
                    TemplatePiece::Value(name) if !known.contains(name) => Some(*name),
                    TemplatePiece::Value(_) | TemplatePiece::Text(_) => None,
                });
                if let Some(name) = unknown {
                    let (step, columns) = (&step.name, self.names.join(", "));
                    return Err(wrong(format!(
                        "it has no column `{name}`, which the step `{step}` asks for (its columns are {columns})"
                    )));
                }
            }
            known.extend(step.keep.keys().map(String::as_str));
        }
        Ok(())
    }

    /// Puts in the values of the next row.
    pub(crate) fn add_next(&self, values: &mut NamedValues) {
        let at = self.next.get();
        self.next.set((at + 1) % self.rows.len());
        for (name, value) in self.names.iter().zip(self.rows[at].iter()) {
            values.insert(name.clone(), value.to_owned());
        }
    }
}

/// Why what is at a path is not read, in words that follow its name; `None`: it may be. `most` is its largest size, in bytes and in
/// words.
pub(crate) fn unreadable(path: &str, most: (u64, &str)) -> std::io::Result<Option<String>> {
    let about = std::fs::metadata(path)?;
    // A pipe or a device might never end.
    if !about.is_file() {
        return Ok(Some("is no file".to_owned()));
    }
    Ok((about.len() > most.0).then(|| format!("is larger than {}", most.1)))
}

/// Whether each column is the only value of its name.
fn check_names(names: &[String]) -> Result<(), String> {
    let mut before = BTreeSet::from(OF_USERS);
    let Some(taken) = names.iter().find(|name| !before.insert(name.as_str())) else { return Ok(()) };
    let why = match OF_USERS.contains(&taken.as_str()) {
        true => format!("its column `{taken}` has the name of a value that each turn has"),
        false => format!("two of its columns are called `{taken}`"),
    };
    Err(format!("{why}: name it otherwise"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> NamedValues {
        BTreeMap::from([("id".to_owned(), "a b/\"ü".to_owned())])
    }

    #[test]
    fn a_value_is_written_as_its_place_needs_it() {
        let text_at = |text, place| filled(text, &values(), place).expect("filled");
        assert_eq!(text_at("/x/{{id}}", Escaping::Url), "/x/a%20b%2F%22%C3%BC");
        let id = BTreeMap::from([("id".to_owned(), "2fd4-e1c6.7_a~b".to_owned())]);
        assert_eq!(filled("/x/{{id}}", &id, Escaping::Url).as_deref(), Ok("/x/2fd4-e1c6.7_a~b"));
        let body = text_at("{\"id\": \"{{id}}\", \"n\": {{id}}}", Escaping::Json);
        assert_eq!(body, "{\"id\": \"a b/\\\"ü\", \"n\": a b/\\\"ü}");
        assert_eq!(text_at("{{ id }}!", Escaping::Plain), "a b/\"ü!");
        assert!(filled("{{no}}", &values(), Escaping::Plain).unwrap_err().contains("`no`"));
    }

    #[test]
    fn values_of_a_document_are_texts() {
        let document = serde_json::json!({"a": [{"b": 7, "c": true, "d": null, "e": "x"}]});
        let found =
            ["/a/0/b", "/a/0/c", "/a/0/d", "/a/0/e", "/a", "/q"].map(|pointer| text_at(&document, pointer));
        let expected = [Some("7"), Some("true"), None, Some("x"), None, None];
        assert_eq!(found.each_ref().map(Option::as_deref), expected);
    }

    #[test]
    fn rows_come_one_after_the_other_and_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("rows.csv");
        std::fs::write(&path, "\u{feff}id, name\n1,\"a, b\"\n2,c\n").expect("written");
        let rows = FileRows::read(path.to_str().expect("plain path")).expect("rows");
        let mut values = NamedValues::new();
        let mut next = || {
            rows.add_next(&mut values);
            (values["id"].clone(), values["name"].clone())
        };
        let all = [next(), next(), next()].map(|(id, name)| format!("{id} {name}"));
        assert_eq!(all, ["1 a, b", "2 c", "1 a, b"]);
    }

    #[test]
    fn rows_of_no_use_say_why() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("rows.csv");
        for (text, words) in [
            ("id\n", "it has no row under its header"),
            ("id,name\n1\n", "found record with 1 fields"),
            ("id,user\n1,2\n", "`user` has the name of a value that each turn has"),
            ("id,a,id\n1,2,3\n", "two of its columns are called `id`"),
        ] {
            std::fs::write(&path, text).expect("written");
            let error = FileRows::read(path.to_str().expect("plain path")).err().expect(words).to_string();
            assert!(error.contains(words), "{error}");
        }
        let error =
            FileRows::read(dir.path().to_str().expect("plain path")).err().expect("a folder").to_string();
        assert!(error.ends_with("it is no file"), "{error}");
    }
}
