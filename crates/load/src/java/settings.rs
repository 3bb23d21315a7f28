//! With which settings the clients of a Java process run.

use super::body::{BodyReader, FrameError};
use kdyno_model::settings::{SettingInForce, SettingOrigin};

/// A setting of the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JavaSetting<'a> {
    pub(super) name: &'a str,
    pub(super) origin: ValueOrigin,
    pub(super) value: &'a str,
    /// Empty: there is none, or it is empty.
    pub(super) default: &'a str,
}

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueOrigin {
    Default,
    Given,
    Derived,
}

/// Settings are few: what claims to be more is none of a client's.
const SETTINGS_MAX: u32 = 1000;

pub(super) fn read<'a>(body: &mut BodyReader<'a>) -> Result<Vec<JavaSetting<'a>>, FrameError> {
    let count = body.u32()?;
    if count > SETTINGS_MAX {
        return Err(FrameError("more settings than a client has"));
    }
    let mut found = Vec::new();
    for _ in 0..count {
        let name = body.string()?;
        let origin = match body.u8()? {
            0 => ValueOrigin::Default,
            1 => ValueOrigin::Given,
            2 => ValueOrigin::Derived,
            _ => return Err(FrameError("a setting of unknown origin")),
        };
        found.push(JavaSetting { name, origin, value: body.string()?, default: body.string()? });
    }
    Ok(found)
}

/// The name and the setting as a run keeps it.
pub(super) fn in_force(setting: JavaSetting<'_>) -> (String, SettingInForce) {
    let origin = match setting.origin {
        ValueOrigin::Default => SettingOrigin::Default,
        ValueOrigin::Given => SettingOrigin::Client,
        ValueOrigin::Derived => SettingOrigin::Derived,
    };
    // Kafka's producer turns one of these into the other.
    let one_name = |text: &str| if setting.name == "acks" && text == "-1" { "all" } else { text }.to_owned();
    let (value, default) = (one_name(setting.value), one_name(setting.default));
    let origin =
        if origin == SettingOrigin::Derived && value == default { SettingOrigin::Default } else { origin };
    (setting.name.to_owned(), SettingInForce::new(origin, value).with_default(Some(default)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_kafka_calls_by_two_names_has_one() {
        let reported =
            |origin, value, default| in_force(JavaSetting { name: "acks", origin, value, default }).1;
        assert_eq!(
            reported(ValueOrigin::Derived, "-1", "all"),
            SettingInForce::new(SettingOrigin::Default, "all")
        );
        let given = SettingInForce::new(SettingOrigin::Client, "1").with_default(Some("all".to_owned()));
        assert_eq!(reported(ValueOrigin::Given, "1", "all"), given);
    }
}
