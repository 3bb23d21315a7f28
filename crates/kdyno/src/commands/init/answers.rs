//! What `kdyno init` has to know: four questions at a terminal, a flag or a usual value in the place of each.

use crate::cli::{InitArgs, InitLoad};
use crate::failure::Failure;
use crate::out;
use clap::ValueEnum;
use kdyno_model::address::is_address;
use kdyno_scenario::input::quoted;
use kdyno_scenario::target::ADDRESS_FORM;
use kdyno_scenario::units::{self, Dimension};
use std::io::{BufRead, Read};

const LOCAL: &str = "local";
const MAX: &str = "max";
const RATE: &str = "1k/s";
const SIZE: &str = "1KiB";
const DURATION: &str = "30s";

/// Longest line of an answer that is read, bytes: more than a cluster's addresses take.
const ANSWER_BYTES_MAX: u64 = 4096;

/// The answers, each as a scenario takes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answers {
    /// Addresses of the user's own cluster; empty: a local one.
    pub(super) bootstrap: Vec<String>,
    pub(super) load: InitLoad,
    pub(super) rate: String,
    pub(super) size: String,
    pub(super) duration: String,
}

/// What no flag says is asked where there is somebody to answer, at `input`; else it is the usual. `known`: addresses of a
/// properties file.
pub(super) fn answers(
    args: &InitArgs,
    known: &[String],
    input: Option<&mut dyn BufRead>,
) -> Result<Answers, Failure> {
    let mut dialog = Dialog { input };
    let bootstrap = match (args.local, args.bootstrap_server.is_empty(), known) {
        (true, ..) => Vec::new(),
        (false, false, _) => addresses(&args.bootstrap_server).map_err(of_flag("bootstrap-server"))?,
        (false, true, []) => dialog.ask("Where? `local`, or HOST:PORT of your own cluster", LOCAL, place)?,
        (false, true, known) => known.to_vec(),
    };
    let load = match args.load {
        Some(load) => load,
        None => dialog.ask("What? `produce`, `produce-and-consume` or `group`", "produce", load)?,
    };
    let (rate, size) = match (&args.rate, &args.size) {
        (None, None) => {
            let usual = format!("{RATE} {SIZE}");
            dialog.ask("Records per second, and the size of each value?", &usual, rate_and_size)?
        }
        (rate, size) => (
            dialog.given(("rate", rate.as_deref()), "Records per second?", RATE, self::rate)?,
            dialog.given(("size", size.as_deref()), "Size of each value?", SIZE, self::size)?,
        ),
    };
    let duration = args.duration.as_deref();
    let duration =
        dialog.given(("duration", duration), "Length of the measured window?", DURATION, self::duration)?;
    Ok(Answers { bootstrap, load, rate, size, duration })
}

/// Asks, or takes what is usual without a terminal.
struct Dialog<'i> {
    input: Option<&'i mut dyn BufRead>,
}

impl Dialog<'_> {
    /// An empty answer is the usual one; a wrong one is asked for again.
    fn ask<T>(
        &mut self,
        question: &str,
        usual: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        let Some(input) = &mut self.input else { return read(usual).map_err(Failure::usage) };
        loop {
            out::note(&format!("{question} [{usual}]"));
            let mut line = String::new();
            let length = (&mut **input).take(ANSWER_BYTES_MAX).read_line(&mut line);
            if length.map_err(|e| Failure::tool(format!("could not read the answer: {e}")))? == 0 {
                return Err(Failure::usage("the input ended before the last question, nothing was written")
                    .hint("`kdyno init --help` has a flag for each answer"));
            }
            let typed = if line.trim().is_empty() { usual } else { line.trim() };
            match read(typed) {
                Ok(answer) => return Ok(answer),
                Err(why) => out::note(&why),
            }
        }
    }

    /// The value of a flag, or the answer.
    fn given<T>(
        &mut self,
        (flag, value): (&str, Option<&str>),
        question: &str,
        usual: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        match value {
            Some(typed) => read(typed).map_err(of_flag(flag)),
            None => self.ask(question, usual, read),
        }
    }
}

fn of_flag(flag: &str) -> impl FnOnce(String) -> Failure {
    move |why| Failure::usage(format!("--{flag}: {why}"))
}

fn place(typed: &str) -> Result<Vec<String>, String> {
    if typed == LOCAL {
        return Ok(Vec::new());
    }
    let all: Vec<String> = typed.split(',').map(|address| address.trim().to_owned()).collect();
    addresses(&all)
}

fn addresses(typed: &[String]) -> Result<Vec<String>, String> {
    match typed.iter().find(|address| !is_address(address)) {
        Some(wrong) => Err(format!("{} is not {ADDRESS_FORM}", quoted(wrong))),
        None => Ok(typed.to_vec()),
    }
}

fn load(typed: &str) -> Result<InitLoad, String> {
    InitLoad::from_str(typed, true)
        .map_err(|_| format!("{} is none of `produce`, `produce-and-consume`, `group`", quoted(typed)))
}

/// `1k/s 1KiB`, also `1k/s of 1KiB`.
fn rate_and_size(typed: &str) -> Result<(String, String), String> {
    let words: Vec<&str> = typed.split_whitespace().filter(|word| *word != "of").collect();
    let [rate, size] = words[..] else {
        return Err(format!("{} is not a rate and a size, e.g. `{RATE} {SIZE}`", quoted(typed)));
    };
    Ok((self::rate(rate)?, self::size(size)?))
}

fn rate(typed: &str) -> Result<String, String> {
    if typed.trim() == MAX {
        return Ok(MAX.to_owned());
    }
    let typed = units::with_unit(typed.trim(), Dimension::PerS);
    match units::parse_as(&typed, Dimension::PerS)? {
        rate if rate > 0.0 => Ok(typed),
        _ => Err(format!("{} is not above zero", quoted(&typed))),
    }
}

fn size(typed: &str) -> Result<String, String> {
    let typed = units::with_unit(typed.trim(), Dimension::Bytes);
    units::whole(&typed, Dimension::Bytes).map(|_| typed)
}

fn duration(typed: &str) -> Result<String, String> {
    let typed = units::with_unit(typed.trim(), Dimension::Ns);
    units::whole(&typed, Dimension::Ns).map(|_| typed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn answered(flags: &[&str], known: &[&str], input: Option<&str>) -> Result<Answers, Failure> {
        let words = ["kdyno", "init"].into_iter().chain(flags.iter().copied());
        let Command::Init(args) = Cli::parse_from(words).command else { panic!("init") };
        let known: Vec<String> = known.iter().map(|address| (*address).to_owned()).collect();
        let mut bytes = input.map(str::as_bytes);
        answers(&args, &known, bytes.as_mut().map(|bytes| bytes as &mut dyn BufRead))
    }

    fn words(answers: &Answers) -> String {
        let Answers { bootstrap, load, rate, size, duration } = answers;
        format!("{bootstrap:?} {load:?} {rate} {size} {duration}")
    }

    #[test]
    fn four_questions_are_asked_and_wrong_answers_again() {
        let input = "nowhere\nh:9092, [::1]:9093\nread\ngroup\n10MB/s 1KiB\n5k/s\n 20000 of 512 \nsoon\n90\n";
        let answers = answered(&[], &[], Some(input)).expect("answers");
        assert_eq!(words(&answers), "[\"h:9092\", \"[::1]:9093\"] Group 20000/s 512B 90s");
        let usual = answered(&[], &[], Some("\n\n\n\n")).expect("answers");
        assert_eq!(words(&usual), "[] Produce 1k/s 1KiB 30s");
        assert_eq!(answered(&[], &[], None).expect("answers"), usual, "without a terminal");
    }

    #[test]
    fn flags_and_addresses_that_are_known_are_not_asked_for() {
        let flags = ["--load", "produce-and-consume", "--rate", "max", "--size", "100", "--duration", "1m"];
        let answers = answered(&flags, &["h:1"], Some("")).expect("answers");
        assert_eq!(words(&answers), "[\"h:1\"] ProduceAndConsume max 100B 1m");
        let local = answered(&[&flags[..], &["--local"]].concat(), &["h:1"], Some("")).expect("answers");
        assert_eq!(local.bootstrap, Vec::<String>::new());
        let one = answered(&["--local", "--load", "group", "--size", "1MiB"], &[], Some("2k\n10s\n"));
        assert_eq!(words(&one.expect("answers")), "[] Group 2k/s 1MiB 10s");
    }

    #[test]
    fn what_is_wrong_names_its_flag_and_an_early_end_the_flags() {
        for (flag, value) in [
            ("--rate", "0/s"),
            ("--rate", "10MB/s"),
            ("--size", "3s"),
            ("--duration", "soon"),
            ("--bootstrap-server", "host"),
        ] {
            let failure = answered(&[flag, value], &[], None).expect_err(value);
            assert!(failure.message.starts_with(&format!("{flag}: ")), "{failure:?}");
        }
        let failure = answered(&[], &[], Some("local\n")).expect_err("the end");
        assert!(failure.message.contains("nothing was written"), "{failure:?}");
    }
}
