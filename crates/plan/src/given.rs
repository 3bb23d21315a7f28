//! Typed settings of clients with their values read.

use crate::choices::PlanError;
use crate::driver;
use crate::reader::CaseReader;
use kdyno_model::version::Version;
use kdyno_scenario::client::{
    ClientSetting, ClientSide, FoundJava, SettingKind, SupportedSetting, find, find_java, is_set_by_kdyno,
    level, number,
};
use kdyno_scenario::file::ItemClientFile;
use kdyno_scenario::input::not_allowed;
use kdyno_scenario::yaml::Scalar;

/// One typed setting with its value read.
pub(crate) struct TypedSetting<'a> {
    pub(crate) name: &'static str,
    /// Bytes, ms or a number; 0 for levels and words.
    pub(crate) number: u64,
    /// The level of compression; 0 for others.
    pub(crate) level: i32,
    /// The word; empty for numbers.
    pub(crate) word: String,
    pub(crate) typed: &'a Scalar,
}

impl TypedSetting<'_> {
    /// A duration, ns.
    pub(crate) fn ns(&self) -> u64 {
        self.number.saturating_mul(1_000_000)
    }
}

/// Reads them, and whose defaults are taken for the rest.
pub(crate) fn read<'a>(
    reader: &CaseReader<'_>,
    side: ClientSide,
    typed: &'a ItemClientFile,
) -> Result<(Version, Vec<TypedSetting<'a>>), PlanError> {
    if let Some((_, version)) = driver::java(reader, typed)? {
        let given = of_java(reader, side, &typed.settings)?;
        return Ok((version.unwrap_or(Version::newest()), given));
    }
    let mut version = Version::newest();
    let mut given = Vec::new();
    for (name, value) in &typed.settings {
        let text = reader.text(value)?;
        let setting = match find(side, name)? {
            ClientSetting::ActedOn(setting) => setting,
            ClientSetting::Other(row) => {
                if let Some((message, hint)) = row.complaint(&text) {
                    let hint = Some(hint).filter(|hint| !hint.is_empty());
                    let hint = hint.map(|why| match is_set_by_kdyno(row.name) {
                        true => why.to_owned(),
                        false => format!("{why}; Kafka's own client, with `driver: java`, follows it"),
                    });
                    return Err(reader.wrong(value, message).maybe_hint(hint).of_value());
                }
                continue;
            }
        };
        if setting.name == "defaults" {
            version = defaults(reader, value, &text)?;
            continue;
        }
        given.push(one(reader, setting, value, text)?);
    }
    Ok((version, given))
}

/// Settings of a Java client that kdyno's own client has too, as far as it could do what they say: estimates and rules
/// go by them.
fn of_java<'a>(
    reader: &CaseReader<'_>,
    side: ClientSide,
    typed: &'a [(Scalar, Scalar)],
) -> Result<Vec<TypedSetting<'a>>, PlanError> {
    let mut given = Vec::new();
    for (name, value) in typed {
        let text = driver::property(reader, side, name, value)?;
        if let (FoundJava::ActedOn(setting), Some(text)) = (find_java(side, name)?, text)
            && !driver::is_javas_alone(setting.name, &text)
        {
            given.extend(one(reader, setting, value, text).ok());
        }
    }
    Ok(given)
}

fn one<'a>(
    reader: &CaseReader<'_>,
    setting: &'static SupportedSetting,
    typed: &'a Scalar,
    text: String,
) -> Result<TypedSetting<'a>, PlanError> {
    if let SettingKind::Words(words) = setting.kind {
        // Kafka reads these two in any case.
        let text = if words.contains(&"true") { text.trim().to_ascii_lowercase() } else { text };
        if !words.contains(&text.as_str()) {
            let (message, hint) = not_allowed(&text, words);
            let message = format!("`{}`: {message}", setting.name);
            return Err(reader.wrong(typed, message).maybe_hint(hint).of_value());
        }
        return Ok(TypedSetting { name: setting.name, number: 0, level: 0, word: text, typed });
    }
    if setting.kind == SettingKind::Text {
        let (_, most) = setting.range;
        if text.len() as u64 > most {
            let message = format!("`{}`: longer than {most} bytes", setting.name);
            return Err(reader.wrong(typed, message).of_value());
        }
        return Ok(TypedSetting { name: setting.name, number: 0, level: 0, word: text, typed });
    }
    let wrong = |message| reader.wrong(typed, format!("`{}`: {message}", setting.name)).of_value();
    let (number, level) = match setting.kind {
        SettingKind::Level(levels) => (0, level(levels, &text).map_err(wrong)?),
        _ => (number(setting, &text).map_err(wrong)?, 0),
    };
    Ok(TypedSetting { name: setting.name, number, level, word: String::new(), typed })
}

fn defaults(reader: &CaseReader<'_>, typed: &Scalar, text: &str) -> Result<Version, PlanError> {
    Version::of_client(text)
        .map_err(|error| reader.wrong(typed, format!("`defaults`: {}", error.message)).hint(error.hint))
}
