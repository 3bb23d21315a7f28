//! Flags as argparse4j 0.7 reads them: `--flag value` and `--flag=value`, any beginning of a long flag that means one flag
//! alone, of one that is given twice the later one, lists up to the next flag, and `-1` as a value.

use super::PROGRAM;
use super::nearest::nearest_flags;

/// Columns of help and usage.
const WIDTH: usize = 75;
/// Where the explanations of flags begin.
const INDENT: usize = 25;
/// Where usage goes on, since the program's name is long.
const USAGE_INDENT: usize = 6;

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlagKind {
    /// Nothing.
    Switch,
    /// A text.
    Text,
    /// Texts up to the next flag, one at least.
    List,
    /// Java's `Long`.
    Long,
    /// Java's `Integer`.
    Integer,
    /// Java's `Double`.
    Double,
}

/// A flag.
#[derive(Debug)]
pub(super) struct Flag {
    pub(super) name: &'static str,
    pub(super) kind: FlagKind,
    /// The placeholder of its value in usage.
    pub(super) metavar: &'static str,
    pub(super) is_required: bool,
    /// One of a group; exactly one of the group is to be given.
    pub(super) is_choice: bool,
    /// Kafka's tool does not have it: it has to be typed whole, and is in the help alone.
    pub(super) is_own: bool,
    /// As help prints it.
    pub(super) default: Option<&'static str>,
    pub(super) help: &'static str,
}

/// What is wrong with what was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) message: String,
    /// Flags that may have been meant.
    pub(super) meant: Vec<&'static str>,
}

impl From<String> for Wrong {
    fn from(message: String) -> Self {
        Self { message, meant: Vec::new() }
    }
}

/// What was typed, flag by flag: texts that their kinds take.
#[derive(Debug)]
pub(super) enum TypedFlags {
    /// Values of the flags that were given, in the order of the table.
    Given(Vec<Option<Vec<String>>>),
    /// Help was requested.
    Help,
}

/// Reads arguments.
///
/// # Errors
/// The first thing that the tool finds wrong, in its words.
pub(super) fn read(flags: &'static [Flag], args: &[String]) -> Result<TypedFlags, Wrong> {
    let mut given: Vec<Option<Vec<String>>> = flags.iter().map(|_| None).collect();
    let mut chosen: Option<usize> = None;
    let mut rest = args;
    while let Some((term, behind)) = rest.split_first() {
        rest = behind;
        if !is_flag(term) {
            let all = std::iter::once(term).chain(behind).map(String::as_str).collect::<Vec<_>>();
            return Err(format!("unrecognized arguments: '{}'", all.join(" ")).into());
        }
        let (name, embedded) = match term.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (term.as_str(), None),
        };
        let Some(place) = resolve(flags, name, term)? else { return Ok(TypedFlags::Help) };
        let flag = &flags[place];
        if flag.is_choice {
            match chosen.filter(|before| *before != place) {
                Some(before) => {
                    let before = flags[before].name;
                    return Err(of(flag, &format!("not allowed with argument {before}")));
                }
                None => chosen = Some(place),
            }
        }
        let mut values = Vec::new();
        match (flag.kind, embedded) {
            (FlagKind::Switch, Some(value)) => {
                return Err(of(flag, &format!("ignore implicit argument '{value}'")));
            }
            (FlagKind::Switch, None) => {}
            (_, Some(value)) => values.push(value.to_owned()),
            (kind, None) => {
                let most = if kind == FlagKind::List { usize::MAX } else { 1 };
                while let Some((value, behind)) = rest.split_first()
                    && values.len() < most
                    && !is_flag(value)
                {
                    values.push(value.clone());
                    rest = behind;
                }
            }
        }
        check(flag, &values)?;
        given[place] = Some(values);
    }
    complete(flags, &given)?;
    Ok(TypedFlags::Given(given))
}

/// Whether it is a flag and no value: negative whole numbers are values.
fn is_flag(term: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    term.strip_prefix('-').is_some_and(|rest| !is_number(rest))
}

/// The place of the flag that is meant by a name or its beginning; none for help. `term` is the name with what it holds.
fn resolve(flags: &'static [Flag], name: &str, term: &str) -> Result<Option<usize>, Wrong> {
    const HELP: [&str; 2] = ["-h", "--help"];
    if HELP.contains(&name) {
        return Ok(None);
    }
    if let Some(place) = flags.iter().position(|flag| flag.name == name) {
        return Ok(Some(place));
    }
    let of_tool = || flags.iter().filter(|flag| !flag.is_own).map(|flag| flag.name);
    let mut found: Vec<&str> = of_tool().chain(HELP).collect();
    found.retain(|flag| flag.starts_with(name));
    found.sort_unstable();
    match found.as_slice() {
        [] => {
            let meant = nearest_flags(term, of_tool().chain([HELP[1]]));
            Err(Wrong { message: format!("unrecognized arguments: '{term}'"), meant })
        }
        [one] => Ok(flags.iter().position(|flag| flag.name == *one)),
        several => Err(format!("ambiguous option: {name} could match {}", several.join(", ")).into()),
    }
}

fn of(flag: &Flag, message: &str) -> Wrong {
    format!("argument {}: {message}", flag.name).into()
}

/// Whether a flag takes these values.
fn check(flag: &Flag, values: &[String]) -> Result<(), Wrong> {
    let Some(value) = values.first() else {
        return match flag.kind {
            FlagKind::Switch => Ok(()),
            FlagKind::List => Err(of(flag, "expected 1 argument(s)")),
            _ => Err(of(flag, "expected one argument")),
        };
    };
    let (is_one, type_name) = match flag.kind {
        FlagKind::Switch | FlagKind::Text | FlagKind::List => return Ok(()),
        FlagKind::Long => (value.parse::<i64>().is_ok(), "Long"),
        FlagKind::Integer => (value.parse::<i32>().is_ok(), "Integer"),
        FlagKind::Double => (double(value).is_some(), "Double"),
    };
    if is_one {
        return Ok(());
    }
    Err(of(flag, &format!("could not convert '{value}' to {type_name} (For input string: \"{value}\")")))
}

/// A number as Java's `Double.valueOf` reads it, but for those in base 16.
pub(super) fn double(text: &str) -> Option<f64> {
    let text = text.trim_matches(|char| char <= ' ');
    let text = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    // Rust also takes words for what is no number or endless.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    text.parse().ok().filter(|_| is_plain)
}

/// Whether all is there that must be: of several that are missing the last one is reported.
fn complete(flags: &'static [Flag], given: &[Option<Vec<String>>]) -> Result<(), Wrong> {
    let missing = |(flag, given): &(&Flag, &Option<Vec<String>>)| flag.is_required && given.is_none();
    if let Some((flag, _)) = flags.iter().zip(given).rfind(missing) {
        return Err(format!("argument {} is required", flag.name).into());
    }
    let choices = || flags.iter().zip(given).filter(|(flag, _)| flag.is_choice);
    if choices().all(|(_, given)| given.is_none()) {
        let names: Vec<&str> = choices().map(|(flag, _)| flag.name).collect();
        return Err(format!("one of the arguments {} is required", names.join(" ")).into());
    }
    Ok(())
}

/// What a wrong line of arguments is answered with: usage, what is wrong, what may have been meant.
pub(super) fn error_text(flags: &[Flag], wrong: &Wrong) -> String {
    let message = wrap(&format!("{PROGRAM}: error: {}", wrong.message), 0, 0);
    let mut text = format!("{}{message}\n", usage(flags));
    if !wrong.meant.is_empty() {
        text.push_str("\nDid you mean:\n");
        wrong.meant.iter().for_each(|flag| text.push_str(&format!("\t{flag}\n")));
    }
    text
}

/// That of the tool.
fn usage(flags: &[Flag]) -> String {
    let flags = || flags.iter().filter(|flag| !flag.is_own);
    let choices: Vec<String> = flags().filter(|flag| flag.is_choice).map(syntax).collect();
    let mut words = vec!["[-h]".to_owned()];
    words.extend(flags().filter(|flag| !flag.is_choice).map(|flag| match flag.is_required {
        true => syntax(flag),
        false => format!("[{}]", syntax(flag)),
    }));
    for (place, choice) in choices.iter().enumerate() {
        let open = if place == 0 { "(" } else { "" };
        let close = if place + 1 == choices.len() { ")" } else { "" };
        words.extend((place > 0).then(|| "|".to_owned()));
        words.push(format!("{open}{choice}{close}"));
    }
    let mut text = format!("usage: {PROGRAM}\n{}", " ".repeat(USAGE_INDENT));
    let mut column = USAGE_INDENT;
    for word in words {
        if column > USAGE_INDENT && column + word.len() + 1 > WIDTH {
            text.push_str(&format!("\n{}", " ".repeat(USAGE_INDENT)));
            column = USAGE_INDENT;
        }
        text.push_str(&format!(" {word}"));
        column += word.len() + 1;
    }
    text.push('\n');
    text
}

/// A flag with the placeholder of its value.
fn syntax(flag: &Flag) -> String {
    let Flag { name, metavar, .. } = flag;
    match flag.kind {
        FlagKind::Switch => (*name).to_owned(),
        FlagKind::List => format!("{name} {metavar} [{metavar} ...]"),
        _ => format!("{name} {metavar}"),
    }
}

/// The whole help.
pub(super) fn help_text(flags: &[Flag], purpose: &str, of_choices: &str) -> String {
    let mut text = format!("{}\n{}\n\noptional arguments:\n", usage(flags), wrap(purpose, 0, 0));
    text.push_str(&entry("-h, --help", "show this help message and exit"));
    let explained = |flag: &Flag| {
        let default = match (flag.default, flag.kind) {
            (Some(default), _) => format!(" (default: {default})"),
            (None, FlagKind::Switch) => " (default: false)".to_owned(),
            (None, _) => String::new(),
        };
        entry(&syntax(flag), &format!("{}{default}", flag.help))
    };
    let (own, of_tool): (Vec<&Flag>, Vec<&Flag>) = flags.iter().partition(|flag| flag.is_own);
    let (choices, others): (Vec<&Flag>, Vec<&Flag>) = of_tool.into_iter().partition(|flag| flag.is_choice);
    others.into_iter().for_each(|flag| text.push_str(&explained(flag)));
    text.push_str(&format!("\n  {}\n\n", wrap(of_choices, 2, 2)));
    choices.into_iter().for_each(|flag| text.push_str(&explained(flag)));
    text.push_str("\n  Not of Kafka's tool but of kdyno alone:\n\n");
    own.into_iter().for_each(|flag| text.push_str(&explained(flag)));
    text
}

/// One flag of the help: its explanation is next to it, or below where there is no room.
fn entry(title: &str, help: &str) -> String {
    let between = match INDENT.checked_sub(title.len() + 2).filter(|room| *room >= 2) {
        Some(room) => " ".repeat(room),
        None => format!("\n{}", " ".repeat(INDENT)),
    };
    format!("  {title}{between}{}\n", wrap(help, INDENT, INDENT))
}

/// Breaks a text into lines; the first one begins at a column, the others are indented.
fn wrap(text: &str, column: usize, indent: usize) -> String {
    let (mut out, mut column) = (String::new(), column);
    for word in text.split(' ') {
        let is_first = out.is_empty();
        if !is_first && column + 1 + word.len() > WIDTH {
            out.push_str(&format!("\n{}", " ".repeat(indent)));
            column = indent;
        } else if !is_first {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out
}
