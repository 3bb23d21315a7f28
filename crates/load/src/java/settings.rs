//! With which settings the clients of a Java process run.

use super::body::{Body, FrameError};
use kdyno_model::settings::{SettingInForce, SettingOrigin};

/// A setting of the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    pub(super) origin: Origin,
    pub(super) value: &'a str,
    /// Empty: there is none, or it is empty.
    pub(super) default: &'a str,
}

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Default,
    Given,
    Derived,
}

/// Settings are few: what claims to be more is none of a client's.
const SETTINGS_MAX: u32 = 1000;

pub(super) fn read<'a>(body: &mut Body<'a>) -> Result<Vec<Setting<'a>>, FrameError> {
    let count = body.u32()?;
    if count > SETTINGS_MAX {
        return Err(FrameError("more settings than a client has"));
    }
    let mut found = Vec::new();
    for _ in 0..count {
        let name = body.string()?;
        let origin = match body.u8()? {
            0 => Origin::Default,
            1 => Origin::Given,
            2 => Origin::Derived,
            _ => return Err(FrameError("a setting of unknown origin")),
        };
        found.push(Setting { name, origin, value: body.string()?, default: body.string()? });
    }
    Ok(found)
}

/// The name and the setting as a run keeps it.
pub(super) fn in_force(setting: Setting<'_>) -> (String, SettingInForce) {
    let origin = match setting.origin {
        Origin::Default => SettingOrigin::Default,
        Origin::Given => SettingOrigin::Client,
        Origin::Derived => SettingOrigin::Derived,
    };
    // Kafka's producer turns one of these into the other.
    let one_name = |text: &str| if setting.name == "acks" && text == "-1" { "all" } else { text }.to_owned();
    let (value, default) = (one_name(setting.value), one_name(setting.default));
    let origin =
        if origin == SettingOrigin::Derived && value == default { SettingOrigin::Default } else { origin };
    (setting.name.to_owned(), SettingInForce::new(origin, value).beside(Some(default)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_kafka_calls_by_two_names_has_one() {
        let told = |origin, value, default| in_force(Setting { name: "acks", origin, value, default }).1;
        assert_eq!(told(Origin::Derived, "-1", "all"), SettingInForce::new(SettingOrigin::Default, "all"));
        let given = SettingInForce::new(SettingOrigin::Client, "1").beside(Some("all".to_owned()));
        assert_eq!(told(Origin::Given, "1", "all"), given);
    }
}
