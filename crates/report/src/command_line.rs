//! The command that made a run, as one types it again.

use crate::grid::clean;
use crate::input::ReportInput;
use kdyno_model::run::Session;

/// The command that does all of it again; `None`: nothing was begun.
pub(crate) fn repeat(input: &ReportInput<'_>) -> Option<String> {
    input.sessions.first().map(|(session, _)| command(session, input.plan().seed))
}

/// The command of a quick look again, as a verdict; `None`: what was typed is no comparison of a scenario.
pub(crate) fn verdict_again(input: &ReportInput<'_>) -> Option<String> {
    let (session, _) = input.sessions.first()?;
    session.command_line.get(1).filter(|name| *name == "compare")?;
    let mut words = Vec::new();
    let mut is_value = false;
    for word in &session.command_line {
        if std::mem::take(&mut is_value) || word == "--quick" || word.starts_with("--budget=") {
            continue;
        }
        is_value = word == "--budget";
        words.extend((!is_value).then(|| word.clone()));
    }
    Some(typed(&words))
}

/// Commands that draw a seed when none is given; what others repeat has its own.
const DRAW_A_SEED: [&str; 3] = ["run", "compare", "find"];

/// The command line as typed, the program by its name, with the seed that was drawn for it.
pub(crate) fn command(session: &Session, seed: u64) -> String {
    let mut words = session.command_line.clone();
    let is_seed = |word: &String| word == "--seed" || word.starts_with("--seed=");
    let draws = words.get(1).is_some_and(|name| DRAW_A_SEED.contains(&name.as_str()));
    if draws && !words.iter().any(is_seed) {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    typed(&words)
}

/// A command line as one types it, the program by its name.
fn typed(command_line: &[String]) -> String {
    let words = command_line.iter().skip(1).map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
        let quoted = || format!("'{}'", word.replace('\'', r"'\''"));
        if !word.is_empty() && word.chars().all(plain) { word.clone() } else { quoted() }
    });
    let words = std::iter::once("kdyno".to_owned()).chain(words);
    // A backtick would end the code.
    clean(&words.collect::<Vec<_>>().join(" ")).replace('`', "'")
}
