//! The errors of each bad scenario under `bad/`: file, line, column, the sentence and the hint.

use kdyno_plan::{Choices, FileReader, FoundFile, plan};
use kdyno_scenario::Scenario;
use std::fmt::Write;
use std::path::Path;

/// Files as a scenario may name them.
fn file(_scenario: &str, name: &str) -> Result<FoundFile, String> {
    let content = match name {
        "lines.txt" => b"one\ntwo\n".to_vec(),
        "empty.txt" => b"\n\n".to_vec(),
        "large.bin" => vec![0; (32 << 20) + 1],
        "long.txt" => vec![b'a'; 5_000],
        _ => return Err("could not be read: No such file or directory".to_owned()),
    };
    Ok(FoundFile { path: format!("/here/{name}"), content })
}

#[test]
fn each_bad_scenario_is_refused_with_the_correction() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut reported = String::new();
    let choices = Choices { files: FileReader(file), ..Choices::default() };
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let outcome = Scenario::parse_bytes(&bytes, &name).and_then(|scenario| plan(&scenario, &choices));
        let error = outcome.expect_err(&format!("{name} was taken"));
        assert_eq!(error.file, name);
        assert!(error.place.is_some() || name == "empty.yaml", "{name}: {error}");
        writeln!(reported, "{error}").unwrap();
        if let Some(hint) = &error.hint {
            writeln!(reported, "  hint: {hint}").unwrap();
        }
    }
    insta::assert_snapshot!(reported);
}
