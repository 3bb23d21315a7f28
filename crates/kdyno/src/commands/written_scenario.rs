//! What commands share that write their scenario from what was typed: `quick`, `omb`, `producer-perf-test`,
//! `consumer-perf-test`.

use crate::execution::random_u64;
use crate::given_files;
use kdyno_model::plan::{Depth, Plan};
use kdyno_model::properties::{Property, trim};
use kdyno_plan::{Choices, FileReader, PlanQuestion, Remark};
use kdyno_scenario::Scenario;
use kdyno_scenario::input::InputError;
use kdyno_scenario::target::Target;
use kdyno_scenario::with_only_item;
use kdyno_scenario::yaml::literal;

/// A setting of the client.
pub(super) struct WrittenSetting<'p> {
    pub(super) name: &'p str,
    /// Its line in the scenario.
    pub(super) line: String,
    /// Where it comes from, if that is a property that was given.
    pub(super) property: Option<&'p Property>,
}

impl<'p> WrittenSetting<'p> {
    /// A property that was given.
    pub(super) fn given(property: &'p Property) -> Self {
        Self { property: Some(property), ..Self::of_command(&property.name, trim(&property.value)) }
    }

    /// One that the command sets.
    pub(super) fn of_command(name: &'p str, value: &str) -> Self {
        Self { name, line: format!("      {name}: {}", literal(value)), property: None }
    }
}

/// The settings as lines of the scenario.
pub(super) fn lines(settings: &[WrittenSetting<'_>]) -> String {
    settings.iter().map(|setting| setting.line.as_str()).collect::<Vec<_>>().join("\n")
}

/// The setting that a message about the scenario is about: the one whose line it names, or, where something else does not go
/// with it, the one whose name it has.
pub(super) fn setting_meant<'s, 'p>(
    error: &InputError,
    text: &str,
    settings: &'s [WrittenSetting<'p>],
) -> Option<&'s WrittenSetting<'p>> {
    let place = error.place.map_or(0, |place| place.line as usize);
    let line = text.lines().nth(place.saturating_sub(1)).unwrap_or_default();
    let at_line = settings.iter().find(|setting| setting.line == line);
    let is_named = |setting: &&WrittenSetting<'_>| error.message.contains(&format!("`{}`", setting.name));
    at_line.or_else(|| settings.iter().find(is_named))
}

/// Reads and plans the scenario; `fail_if`: thresholds that were typed with it. Where one load item alone has a metric, conditions
/// need not name it. A search is a quick look.
pub(super) fn planned(
    (text, id): (&str, &str),
    target: Option<Target>,
    fail_if: &[String],
    mut ask: PlanQuestion,
) -> Result<(Plan, Vec<Remark>), InputError> {
    let scenario = Scenario::parse(text, id)?;
    let whole = |typed: &String| with_only_item(typed, scenario.typed());
    if let PlanQuestion::Find(find) = &mut ask {
        find.conditions = find.conditions.iter().map(whole).collect();
    }
    let files = FileReader(given_files::next_to);
    let depth = if matches!(ask, PlanQuestion::Find(_)) { Depth::Quick } else { Depth::Verdict };
    let choices = Choices {
        seed: Some(random_u64()),
        target,
        files,
        ask,
        depth,
        fail_if: fail_if.to_vec(),
        ..Choices::default()
    };
    let plan = kdyno_plan::plan(&scenario, &choices)?;
    let remarks = kdyno_plan::remarks(&scenario, &choices, &plan)?;
    Ok((plan, remarks))
}

/// Plans it where nothing is to be printed of the topic: it was typed, and the names that mean it and the cluster were
/// not.
pub(super) fn planned_for_topic(
    scenario: (&str, &str),
    target: Target,
    fail_if: &[String],
) -> Result<(Plan, Vec<Remark>), InputError> {
    let (plan, mut remarks) = planned(scenario, Some(target), fail_if, PlanQuestion::Scenario)?;
    let of_topic = kdyno_plan::of_existing_topics(&plan);
    remarks.retain(|remark| !of_topic.contains(remark));
    Ok((plan, remarks))
}

/// What properties come to, as remarks.
pub(super) fn property_notes(facts: Vec<String>, warnings: Vec<String>) -> impl Iterator<Item = Remark> {
    facts.into_iter().map(Remark::Fact).chain(warnings.into_iter().map(Remark::Warning))
}

/// Settings that Kafka's producer tool has over those of the user, and kdyno's producers too.
pub(super) const SET_BY_PRODUCERS: &[&str] = &["key.serializer", "value.serializer"];
