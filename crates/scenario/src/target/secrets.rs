//! `secrets` of a target: where values come from that are in no file of a scenario or target.

use crate::input::{InputError, quoted};
use crate::keys;
use crate::walk::{Fields, entries, scalar, scalars};
use crate::yaml::YamlNode;
use kdyno_model::secret::SecretRef;
use std::collections::BTreeMap;
use std::path::Path;

/// Most secrets of a target.
const SECRETS_MAX: usize = 100;

/// Reads them; the paths of files begin in `folder`.
pub(super) fn secrets(node: &YamlNode, folder: &Path) -> Result<BTreeMap<String, SecretRef>, InputError> {
    let mut found = BTreeMap::new();
    let all = entries(node, "secrets")?;
    if all.len() > SECRETS_MAX {
        return Err(InputError::at(node.place(), format!("there are more than {SECRETS_MAX} secrets")));
    }
    for (name, value) in all {
        let what = format!("secret {}", quoted(&name.text));
        found.insert(name.text.clone(), reference(&what, value, folder)?);
    }
    Ok(found)
}

/// Where one value is, relative to `folder`; `what` it is, for messages.
pub(crate) fn reference(what: &str, node: &YamlNode, folder: &Path) -> Result<SecretRef, InputError> {
    if let YamlNode::Scalar(typed) = node {
        return Err(InputError::at(typed.place, format!("{what} is here in plain text"))
            .hint("refer to it: `{env: NAME}`, `{file: PATH}` or `{exec: [PROGRAM, ARGUMENT]}`"));
    }
    let (kind, source) = Fields::of(node, &keys::SECRET)?.single()?;
    Ok(match kind {
        "env" => SecretRef::Env(scalar(source, kind)?.text),
        "file" => SecretRef::File(folder.join(scalar(source, kind)?.text)),
        _ => SecretRef::Exec(command(source)?),
    })
}

/// A program, alone or with its arguments. There is no shell that would take a text apart.
fn command(node: &YamlNode) -> Result<Vec<String>, InputError> {
    let typed = match node {
        YamlNode::Scalar(_) => vec![scalar(node, "exec")?],
        _ => scalars(node, "exec")?,
    };
    match typed.first() {
        Some(program) if !program.text.is_empty() => Ok(typed.into_iter().map(|part| part.text).collect()),
        _ => Err(InputError::at(node.place(), "`exec` names no program")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn read(text: &str) -> Result<BTreeMap<String, SecretRef>, String> {
        let reported = |error: InputError| format!("{} | {}", error.message, error.hint.unwrap_or_default());
        yaml::parse(text).and_then(|node| secrets(&node, Path::new("/targets"))).map_err(reported)
    }

    #[test]
    fn secrets_come_from_variables_files_and_commands() {
        let text =
            "{A: {env: PW}, B: {file: pw}, C: {file: /run/pw}, D: {exec: token}, E: {exec: [vault, read]}}";
        let found = read(text).expect("secrets");
        assert_eq!(found["A"], SecretRef::Env("PW".to_owned()));
        assert_eq!(found["B"], SecretRef::File("/targets/pw".into()));
        assert_eq!(found["C"], SecretRef::File("/run/pw".into()));
        assert_eq!(found["D"], SecretRef::Exec(vec!["token".to_owned()]));
        assert_eq!(found["E"], SecretRef::Exec(vec!["vault".to_owned(), "read".to_owned()]));
    }

    #[test]
    fn what_is_no_reference_is_refused_without_repeating_it() {
        for (text, why) in [
            ("{A: hunter2}", "in plain text"),
            ("{A: {value: hunter2}}", "is not a key"),
            ("{A: {env: X, file: Y}}", "exactly one"),
            ("{A: {exec: []}}", "names no program"),
            ("{A: [hunter2]}", "is a map"),
        ] {
            let reported = read(text).expect_err(text);
            assert!(reported.contains(why) && !reported.contains("hunter2"), "{text}: {reported}");
        }
    }
}
