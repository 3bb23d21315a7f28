//! The names of enums, spelled once: those that serde writes are printed and read everywhere else too.

use crate::finding::Severity;
use crate::metric::Unit;
use crate::run::RunStatus;
use crate::sample::{Grain, Phase, Timing};
use crate::series::SeriesRole;
use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Why a text is no name of an enum: it says which there are.
pub type NameError = serde::de::value::Error;

macro_rules! named_as_serialized {
    ($($named:ty),+) => {$(
        impl fmt::Display for $named {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.serialize(f)
            }
        }

        impl FromStr for $named {
            type Err = NameError;

            fn from_str(name: &str) -> Result<Self, NameError> {
                Self::deserialize(name.into_deserializer())
            }
        }
    )+};
}

named_as_serialized!(Grain, Phase, RunStatus, SeriesRole, Severity, Timing, Unit);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_formats_and_are_read_again() {
        assert_eq!(Phase::Warmup.to_string(), "warmup");
        assert_eq!(format!("{:>12}|", Grain::FiveSeconds), "five_seconds|");
        assert_eq!(format!("{:<9}|", Severity::Note), "note     |");
        assert_eq!("mib_per_s".parse::<Unit>().expect("a unit"), Unit::MibPerS);
        for timing in [Timing::Response, Timing::ScheduleDelay, Timing::SendWait] {
            assert_eq!(timing.to_string().parse::<Timing>().expect("its own name"), timing);
            assert_eq!(serde_json::json!(timing), timing.to_string());
        }
    }

    #[test]
    fn another_name_is_refused_with_those_there_are() {
        let error = "complete".parse::<RunStatus>().expect_err("it is `completed`").to_string();
        assert!(error.contains("complete") && error.contains("`completed`, `interrupted`"), "{error}");
        assert!("Produce".parse::<SeriesRole>().is_err());
    }
}
