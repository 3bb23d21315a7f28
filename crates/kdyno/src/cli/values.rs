//! How the values of options are read; an error says what is expected in their place.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use kdyno_model::plan::Mode;
use kdyno_model::stacks::FlameKind;
use kdyno_scenario::units::{self, Dimension};
use std::convert::Infallible;
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// A whole number from `least` to `most`. Those of clap report a word that is no number in the words of Rust's library.
pub(super) fn number(least: u32, most: u32) -> impl TypedValueParser<Value = u32> {
    number_up_to(least, most, u32::MAX)
}

/// A number of any type; up to `no_limit` no largest one is named.
pub(super) fn number_up_to<T>(least: T, most: T, no_limit: T) -> impl TypedValueParser<Value = T>
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |typed: &str| {
        let number = typed.parse::<T>().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            if most == no_limit {
                format!("expected a whole number, {least} or more")
            } else {
                format!("expected a whole number from {least} to {most}")
            }
        })
    }
}

/// `NAME=VALUE`; the value may hold further `=`.
pub(super) fn name_and_value(typed: &str) -> Result<(String, String), String> {
    match typed.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Where to listen: an address with a port, or a port of the loopback address alone.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let of_port = text.parse::<u16>().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    of_port.or_else(|_| text.parse()).map_err(|_| {
        "expected a port, or an IP address with one, e.g. `9464`, `0.0.0.0:9464` or `[::1]:9464`".to_owned()
    })
}

/// A time with its unit; ns.
pub(super) fn time(typed: &str) -> Result<u64, String> {
    units::whole(typed, Dimension::Ns)
}

/// A rate as a scenario has it; a bare number is per second.
pub(super) fn rate(typed: &str) -> Result<String, Infallible> {
    Ok(units::with_unit(typed, Dimension::PerS))
}

/// A duration as a scenario has it; a bare number is in seconds.
pub(super) fn duration(typed: &str) -> Result<String, Infallible> {
    Ok(units::with_unit(typed, Dimension::Ns))
}

/// A size as a scenario has it; a bare number is in bytes.
pub(super) fn size(typed: &str) -> Result<String, Infallible> {
    Ok(units::with_unit(typed, Dimension::Bytes))
}

/// A client, and which release of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChosenDriver {
    /// `java` or `native`.
    pub(crate) driver: &'static str,
    pub(crate) version: Option<String>,
}

/// `java`, `java:4.1.0`, `native`.
pub(super) fn driver(typed: &str) -> Result<ChosenDriver, String> {
    match typed.split_once(':') {
        None if typed == "native" => Ok(ChosenDriver { driver: "native", version: None }),
        None if typed == "java" => Ok(ChosenDriver { driver: "java", version: None }),
        Some(("java", version)) if !version.is_empty() => {
            Ok(ChosenDriver { driver: "java", version: Some(version.to_owned()) })
        }
        _ => Err("expected java, java:VERSION or native".to_owned()),
    }
}

/// The name of a target, as target files take it.
pub(super) fn target_name(typed: &str) -> Result<String, String> {
    let fits = (1..=100).contains(&typed.len())
        && typed.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    fits.then(|| typed.to_owned()).ok_or_else(|| "expected letters, digits, `-`, `_` and `.`".to_owned())
}

/// What stacks are sampled for.
pub(super) fn flame_kind() -> impl TypedValueParser<Value = FlameKind> {
    PossibleValuesParser::new(FlameKind::NAMES.iter().copied()).try_map(|word| word.parse::<FlameKind>())
}

/// `kraft`, `controllers=N` or `zookeeper=N`.
pub(super) fn mode(typed: &str) -> Result<Mode, String> {
    let (name, number) = match typed.split_once('=') {
        Some((name, number)) => (name, number.parse::<u32>().ok()),
        None => (typed, Some(1)),
    };
    match (name, number) {
        ("kraft", Some(1)) => Ok(Mode::KraftCombined),
        ("controllers", Some(controllers)) if controllers > 0 => Ok(Mode::KraftControllers { controllers }),
        ("zookeeper", Some(nodes)) if nodes == 1 || nodes == 3 => Ok(Mode::Zookeeper { nodes }),
        _ => Err("expected kraft, controllers=N, zookeeper=1 or zookeeper=3".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    #[test]
    fn a_driver_may_have_a_version() {
        let version = |typed| driver(typed).map(|chosen| (chosen.driver, chosen.version));
        assert_eq!(version("java"), Ok(("java", None)));
        assert_eq!(version("java:4.1.0"), Ok(("java", Some("4.1.0".to_owned()))));
        assert_eq!(version("native"), Ok(("native", None)));
        for wrong in ["", "java:", "native:4.1.0", "rust"] {
            assert!(driver(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_value_may_hold_an_equals_sign() {
        assert_eq!(name_and_value("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(name_and_value("a").is_err());
        assert!(name_and_value("=a").is_err());
    }

    #[test]
    fn modes_are_read_as_printed_in_the_help() {
        assert_eq!(mode("kraft"), Ok(Mode::KraftCombined));
        assert_eq!(mode("controllers=3"), Ok(Mode::KraftControllers { controllers: 3 }));
        assert_eq!(mode("zookeeper=1"), Ok(Mode::Zookeeper { nodes: 1 }));
        assert!(mode("zookeeper=2").is_err());
        assert!(mode("controllers=0").is_err());
        assert!(mode("raft").is_err());
    }

    #[test]
    fn an_invalid_number_is_refused_with_what_is_expected() {
        for typed in ["x", "0", "65", "-1", "1.5"] {
            let words = ["kdyno", "cluster", "up", &format!("--brokers={typed}")].map(str::to_owned);
            let reported = Cli::try_parse_from(words).expect_err(typed).to_string();
            let expected = "for '--brokers <BROKERS>': expected a whole number from 1 to 64";
            assert!(reported.contains(expected), "{reported}");
        }
        assert!(Cli::try_parse_from(["kdyno", "cluster", "up", "--brokers", "64"]).is_ok());
        let words = ["kdyno", "quick", "--bootstrap-server", "host:9092", "--partitions", "x"];
        let reported = Cli::try_parse_from(words).expect_err("no number");
        assert!(reported.to_string().contains("expected a whole number, 1 or more"), "{reported}");
    }
}
