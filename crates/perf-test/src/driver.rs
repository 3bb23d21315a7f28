//! `--driver`, an option of kdyno alone: which client carries the load.

use std::fmt;

/// What was typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DriverChoice {
    /// kdyno's own client.
    #[default]
    Native,
    /// Kafka's Java client, and which one: a release, a folder or a jar, as typed; `None`: the newest release that is known.
    Java(Option<String>),
}

impl DriverChoice {
    /// Reads what follows the option.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse(typed: &str) -> Result<Self, String> {
        match typed.split_once(':') {
            None if typed == "native" => Ok(Self::Native),
            None if typed == "java" => Ok(Self::Java(None)),
            Some(("java", which)) if !which.is_empty() => Ok(Self::Java(Some(which.to_owned()))),
            _ => Err(format!(
                "--driver: `{typed}` is none of native, java, java:VERSION, java:DIR, java:FILE.jar"
            )),
        }
    }
}

/// As it is typed.
impl fmt::Display for DriverChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Java(None) => f.write_str("java"),
            Self::Java(Some(which)) => write!(f, "java:{which}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_driver_or_an_error() {
        for typed in ["native", "java", "java:4.1.1", "java:/opt/a:b", "java:../kafka"] {
            assert_eq!(DriverChoice::parse(typed).map(|driver| driver.to_string()).as_deref(), Ok(typed));
        }
        assert_eq!(DriverChoice::parse("java:4.1.1"), Ok(DriverChoice::Java(Some("4.1.1".to_owned()))));
        for typed in ["", "Java", "java:", "native:1", "4.1.1", ":java"] {
            let reported = DriverChoice::parse(typed).expect_err(typed);
            assert!(
                reported.starts_with(&format!("--driver: `{typed}` is none of native, java, ")),
                "{reported}"
            );
        }
    }
}
