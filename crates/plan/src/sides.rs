//! The two sides of a comparison: the scenario with the changes of each, planned with the same choices.

use crate::cases::{self, Chosen};
use crate::choices::{Choices, PlanError};
use crate::choices::{SideChange, SideChoices};
use crate::component_address;
use crate::planned::{PlannedCases, plan_cases};
use crate::set_overrides::NOWHERE;
use kdyno_model::plan::{CasePlan, JavaClient, LoadPlan, OnClusters};
use kdyno_model::version::NEWEST;
use kdyno_scenario::Scenario;
use kdyno_scenario::file::SideFile;
use kdyno_scenario::input::{InputError, known_hint, quoted};
use kdyno_scenario::patch::{self, flow};
use kdyno_scenario::target::Target;
use kdyno_scenario::units;
use kdyno_scenario::yaml::{self, Scalar, YamlNode};

/// What a side changes.
pub(crate) struct SideScenario {
    /// What it is called; params may be inserted.
    label: Scalar,
    /// The scenario with its patches.
    scenario: Scenario,
    /// The params it sets.
    params: Vec<(String, Scalar)>,
    /// The paths it touches, params aside.
    touched: Vec<patch::Touched>,
    /// The choices with the target of this side.
    choices: Choices,
    /// Its further targets, whose turn comes after the one of `choices`.
    further: Vec<Target>,
    /// How it was typed, one text for each change: two sides with the same texts are meant to be the same.
    typed: Vec<String>,
}

/// Both sides planned, side A's cases aside.
pub(crate) struct PlannedSides {
    pub labels: [String; 2],
    /// The scenario of side A.
    pub scenario: Scenario,
    pub chosen: Chosen,
    /// The patch of side B.
    pub scenario_b: Scenario,
    pub chosen_b: Chosen,
    pub b: Vec<CasePlan>,
    /// Both sides on further clusters (`clusters::further`).
    pub further: Vec<OnClusters>,
    pub changes: Vec<String>,
}

/// Plans both sides and says what differs; also gives the cases of side A.
pub(crate) fn plan(a: &SideScenario, b: &SideScenario) -> Result<(PlannedSides, PlannedCases), PlanError> {
    let (chosen, planned) = a.plan()?;
    let (chosen_b, other) = b.plan()?;
    comparable(&planned.cases, &other.cases)?;
    component_address::can_differ(&planned.cases, &other.cases)?;
    let [first_a, first_b] = [&planned, &other].map(|planned| planned.cases.first());
    let changes = changes([a, b], [&chosen, &chosen_b], [first_a, first_b])?;
    let same = planned.cases.iter().zip(&other.cases).all(|(a, b)| do_the_same(a, b));
    if same && a.typed != b.typed {
        return Err(without_effect(a, b, &changes));
    }
    let labels = [with_release(a.called(&chosen)?, first_a), with_release(b.called(&chosen_b)?, first_b)];
    let further = Vec::new();
    let [scenario, scenario_b] = [a, b].map(|side| side.scenario.clone());
    let sides =
        PlannedSides { labels, scenario, chosen, scenario_b, chosen_b, b: other.cases, further, changes };
    Ok((sides, planned))
}

/// The side of the scenario's own comparison that a search measures: the one that was named, or either where both do
/// the same; `None`: the scenario compares nothing.
pub(crate) fn searched(
    scenario: &Scenario,
    choices: &Choices,
    named: Option<&str>,
) -> Result<Option<(Scenario, Chosen, PlannedCases)>, PlanError> {
    let Some(file) = &scenario.typed().compare else {
        let refused = InputError::whole("`--side`: the scenario has no `compare`, and so no sides");
        return named.map_or(Ok(None), |_| Err(refused.hint("leave `--side` out")));
    };
    let sides = [
        SideScenario::of_file(scenario, &file.a, "A", choices)?,
        SideScenario::of_file(scenario, &file.b, "B", choices)?,
    ];
    let [(chosen_a, a), (chosen_b, b)] = [sides[0].plan()?, sides[1].plan()?];
    let labels = [sides[0].called(&chosen_a)?, sides[1].called(&chosen_b)?];
    let [side_a, side_b] = sides;
    let same = a.cases.len() == b.cases.len() && a.cases.iter().zip(&b.cases).all(|(a, b)| do_the_same(a, b));
    let which = format!("`--side A` is {}, `--side B` is {}", labels[0], labels[1]);
    match named {
        Some("A") => Ok(Some((side_a.scenario, chosen_a, a))),
        Some("B") => Ok(Some((side_b.scenario, chosen_b, b))),
        Some(other) => Err(InputError::whole(format!("`--side`: {} is no side", quoted(other))).hint(which)),
        None if same => Ok(Some((side_a.scenario, chosen_a, a))),
        None => {
            let message = "the scenario compares two sides, and a search measures one: say which";
            Err(InputError::whole(message).hint(which))
        }
    }
}

impl SideScenario {
    /// A side as the scenario has it.
    pub fn of_file(
        scenario: &Scenario,
        side: &SideFile,
        name: &str,
        choices: &Choices,
    ) -> Result<Self, PlanError> {
        let touched = patch::touched(&side.patch);
        let params = params_of(&side.patch);
        for (param, _) in &params {
            known_param(scenario, param)?;
        }
        let typed = vec![flow(&side.patch)];
        let usual = if touched.is_empty() { name.to_owned() } else { inner(&side.patch) };
        Ok(Self {
            label: side.label.clone().unwrap_or_else(|| Scalar::assumed(&usual, side.patch.place())),
            scenario: scenario.patched(&side.patch)?,
            params: params.into_iter().map(|(name, value)| (name.text, value)).collect(),
            touched: touched.into_iter().filter(|touched| touched.path[0] != "params").collect(),
            choices: choices.clone(),
            further: Vec::new(),
            typed,
        })
    }

    /// A side made by hand; `option` is `--a` or `--b`. Every change is checked with those before it, so that an error
    /// names the one that brought it about.
    pub fn by_hand(
        scenario: &Scenario,
        side: &SideChoices,
        option: &str,
        choices: &Choices,
    ) -> Result<Self, PlanError> {
        let mut made = Self {
            label: Scalar::assumed("unchanged", NOWHERE),
            scenario: scenario.clone(),
            params: Vec::new(),
            touched: Vec::new(),
            // There is nothing to sustain before there is a target.
            choices: Choices { sustain_ns: None, ..choices.clone() },
            further: side.more_targets.clone(),
            typed: Vec::new(),
        };
        // What is wrong without any change is not the doing of one.
        made.plan()?;
        if let Some(target) = &side.target {
            made.choices.target = Some(target.clone());
            made.choices.targets.clear();
            let all = std::iter::once(target).chain(&side.more_targets);
            made.typed.extend(all.map(|target| target.attached.target.clone()));
        }
        made.choices.sustain_ns = choices.sustain_ns;
        for change in &side.changes {
            let text = match change {
                SideChange::Set { name, value } => format!("{name}={value}"),
                SideChange::Patch { file, .. } => format!("@{file}"),
            };
            let reported = |error| attributed(error, scenario.file_name(), &format!("{option} {text}"));
            made.change(change).map_err(reported)?;
            // What the change has made wrong shows when it is planned.
            made.plan().map_err(reported)?;
            made.typed.push(text);
        }
        if !made.typed.is_empty() {
            // A dollar sign in what was typed is part of its name.
            made.label.text = called_by(&made.typed).join(", ").replace('$', "$$");
        }
        Ok(made)
    }

    fn change(&mut self, change: &SideChange) -> Result<(), PlanError> {
        let patch = match change {
            SideChange::Patch { file, text } => {
                let tree = yaml::parse(text).map_err(|error| error.in_file(file))?;
                patch::nowhere(tree)
            }
            SideChange::Set { name, value } => match (self.param(name), name.as_str()) {
                (Some(usual), _) => {
                    let value = units::with_unit_of(value, &usual.text);
                    self.params.push((name.clone(), Scalar::assumed(&value, NOWHERE)));
                    return Ok(());
                }
                (None, "home" | "source") => {
                    self.scenario.patch_of_path(&format!("system.kafka.{name}"), value)?
                }
                (None, _) if name.contains('.') => self.scenario.patch_of_path(name, value)?,
                (None, _) => self.of_system(name, value)?,
            },
        };
        let patched = self.scenario.patched(&patch)?;
        for (name, value) in params_of(&patch) {
            known_param(&self.scenario, &name)?;
            self.params.push((name.text, value));
        }
        let touched = patch::touched(&patch);
        if touched.is_empty() {
            return Err(InputError::at(NOWHERE, "the patch changes nothing"));
        }
        self.touched.extend(touched.into_iter().filter(|touched| touched.path[0] != "params"));
        self.scenario = patched;
        Ok(())
    }

    /// The usual value of a param.
    fn param(&self, name: &str) -> Option<&Scalar> {
        let mut params = self.scenario.typed().params.iter();
        params.find(|(param, _)| param.text == name).map(|(_, value)| value)
    }

    /// A name alone that is no param is a key of `system`.
    fn of_system(&self, name: &str, value: &str) -> Result<YamlNode, PlanError> {
        let keys = kdyno_scenario::keys::SYSTEM.keys.iter().map(|key| key.name);
        if keys.clone().any(|key| key == name) {
            return self.scenario.patch_of_path(&format!("system.{name}"), value);
        }
        let params = self.scenario.typed().params.iter().map(|(param, _)| param.text.as_str());
        let known: Vec<&str> = params.chain(keys).chain(["home", "source"]).collect();
        let message = format!("{} is neither a param nor a key of `system`", quoted(name));
        Err(InputError::at(NOWHERE, message).hint(format!(
            "{}; a path has dots, e.g. `load.writers.client.linger.ms=0`",
            known_hint(name, known)
        )))
    }

    fn called(&self, chosen: &Chosen) -> Result<String, PlanError> {
        match chosen.cases.first() {
            Some(case) => case.values.text(&self.label),
            None => Ok(self.label.text.clone()),
        }
    }

    /// The target of its first cluster.
    pub fn first(&self) -> Option<&Target> {
        self.choices.target.as_ref()
    }

    /// Its further targets.
    pub fn further(&self) -> &[Target] {
        &self.further
    }

    /// Its cases on another target.
    pub fn on(&self, target: &Target) -> Result<PlannedCases, PlanError> {
        let choices = Choices { target: Some(target.clone()), ..self.choices.clone() };
        let chosen = cases::choose(&self.scenario, &choices, &self.params)?;
        plan_cases(&self.scenario, &choices, &chosen)
    }

    /// Its cases.
    fn plan(&self) -> Result<(Chosen, PlannedCases), PlanError> {
        let chosen = cases::choose(&self.scenario, &self.choices, &self.params)?;
        let planned = plan_cases(&self.scenario, &self.choices, &chosen)?;
        Ok((chosen, planned))
    }

    /// What is under a path, with params inserted.
    fn value(&self, touched: &patch::Touched, chosen: &Chosen) -> Result<String, PlanError> {
        let values = chosen.cases.first().map(|case| &case.values);
        match (self.scenario.at(&touched.path), values) {
            (Some(YamlNode::Scalar(typed)), Some(values)) => values.text(typed),
            (Some(node), _) => Ok(flow(node)),
            (None, _) => Ok(touched.default.unwrap_or("not set").to_owned()),
        }
    }
}

/// What changes are called where they head a column: `linger.ms=0` of `load.writers.client.linger.ms=0`, unless two of a
/// side would be called the same.
fn called_by(typed: &[String]) -> Vec<String> {
    let name_of = |text: &str| text.split_once('=').map_or(text.len(), |(name, _)| name.len());
    let short = |text: &str| -> String {
        let (name, rest) = text.split_at(name_of(text));
        let is_path = name.starts_with("load.") || name.starts_with("system.") || name.starts_with("topics.");
        let setting = [".client.", ".config."].iter().find_map(|within| Some(name.split_once(within)?.1));
        let last = || name.rsplit('.').next().unwrap_or(name);
        if is_path { format!("{}{rest}", setting.unwrap_or_else(last)) } else { text.to_owned() }
    };
    let names: Vec<String> = typed.iter().map(|text| short(&text[..name_of(text)])).collect();
    let is_only = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    typed
        .iter()
        .zip(&names)
        .map(|(text, name)| if is_only(name) { short(text) } else { text.clone() })
        .collect()
}

/// The patch's `params`.
fn params_of(patch: &YamlNode) -> Vec<(Scalar, Scalar)> {
    let YamlNode::Map(_, fields) = patch else { return Vec::new() };
    let params = fields.iter().find(|(key, _)| key.text == "params");
    let Some((_, YamlNode::Map(_, params))) = params else { return Vec::new() };
    let scalar = |(name, value): &(Scalar, YamlNode)| match value {
        YamlNode::Scalar(value) => Some((name.clone(), value.clone())),
        _ => None,
    };
    params.iter().filter_map(scalar).collect()
}

fn known_param(scenario: &Scenario, name: &Scalar) -> Result<(), PlanError> {
    let names: Vec<&str> = scenario.typed().params.iter().map(|(name, _)| name.text.as_str()).collect();
    if names.contains(&name.text.as_str()) {
        return Ok(());
    }
    Err(kdyno_scenario::values::unknown_param(name, names))
}

/// A patch without its outer braces.
fn inner(patch: &YamlNode) -> String {
    let text = flow(patch);
    text.trim_start_matches('{').strip_suffix('}').unwrap_or(&text).to_owned()
}

/// An error that a change by hand has brought about, under its name.
fn attributed(error: PlanError, scenario_file: &str, option: &str) -> PlanError {
    if !error.file.is_empty() && error.file != scenario_file {
        return error;
    }
    let used = error.place.filter(|place| *place != NOWHERE);
    let used = used.map(|place| format!(" (used at {scenario_file}:{}:{})", place.line, place.column));
    PlanError {
        file: quoted(option),
        place: None,
        message: error.message + &used.unwrap_or_default(),
        hint: error.hint,
        mistake: error.mistake,
        next: error.next,
    }
}

/// Both sides have the same rows, topics and load items: what differs between them can be set side by side.
fn comparable(a: &[CasePlan], b: &[CasePlan]) -> Result<(), PlanError> {
    if a.len() != b.len() {
        let message = format!("side A has {} cases, side B {}", a.len(), b.len());
        return Err(InputError::whole(message).hint(
            "a param in which cases differ cannot be the one in which the sides differ: set it for both",
        ));
    }
    for (a, b) in a.iter().zip(b) {
        let roles = |case: &CasePlan| {
            case.load.iter().map(|(name, item)| (name.clone(), item.role.kind())).collect::<Vec<_>>()
        };
        let are_alike = a.topics.keys().eq(b.topics.keys()) && a.commands.keys().eq(b.commands.keys());
        if roles(a) != roles(b) || !are_alike {
            return Err(InputError::whole("sides A and B do not have the same topics and load items"));
        }
    }
    Ok(())
}

/// Whether two cases run the same, whatever their params are called.
fn do_the_same(a: &CasePlan, b: &CasePlan) -> bool {
    (&a.system, &a.topics, &a.load, &a.commands, &a.components, a.phases)
        == (&b.system, &b.topics, &b.load, &b.commands, &b.components, b.phases)
}

/// A text in which the release that `newest` means takes its place: a stored verdict speaks of one release.
fn with_release(text: String, case: Option<&CasePlan>) -> String {
    let is_newest = case.is_some_and(|case| case.system.release() == Some(NEWEST));
    let is_newest_client = |item: &LoadPlan| {
        item.driver.as_java().is_some_and(|java| java.client == JavaClient::Version(NEWEST.to_owned()))
    };
    if !is_newest && !case.is_some_and(|case| case.load.values().any(is_newest_client)) {
        return text;
    }
    let words = text.split_inclusive(|c: char| !c.is_alphanumeric());
    let word = |word: &str| match word.strip_prefix("newest") {
        Some(rest) if !rest.starts_with(char::is_alphanumeric) => format!("{NEWEST}{rest}"),
        _ => word.to_owned(),
    };
    words.map(word).collect()
}

fn changes(
    [a, b]: [&SideScenario; 2],
    [chosen_a, chosen_b]: [&Chosen; 2],
    [first_a, first_b]: [Option<&CasePlan>; 2],
) -> Result<Vec<String>, PlanError> {
    let mut found = Vec::new();
    let mut reported = |what: &str, a: &str, b: &str| {
        let (a, b) = (with_release(a.to_owned(), first_a), with_release(b.to_owned(), first_b));
        let text = format!("{what}: {a} → {b}");
        if a != b && !found.contains(&text) {
            found.push(text);
        }
    };
    let target = |side: &SideScenario| match &side.choices.target {
        Some(target) => {
            let all = std::iter::once(target).chain(&side.further);
            all.map(|target| target.attached.target.as_str()).collect::<Vec<_>>().join(", ")
        }
        None => "a cluster made for the run".to_owned(),
    };
    reported("target", &target(a), &target(b));
    let param = |chosen: &Chosen, name: &str| {
        let value = chosen.cases.first().and_then(|case| case.params.get(name));
        value.map_or_else(String::new, ToString::to_string)
    };
    for (name, _) in a.params.iter().chain(&b.params) {
        reported(name, &param(chosen_a, name), &param(chosen_b, name));
    }
    for touched in a.touched.iter().chain(&b.touched) {
        reported(&touched.path.join("."), &a.value(touched, chosen_a)?, &b.value(touched, chosen_b)?);
    }
    Ok(found)
}

/// The error for sides that differ in words only.
fn without_effect(a: &SideScenario, b: &SideScenario, changes: &[String]) -> PlanError {
    let error = InputError::whole("sides A and B do the same");
    let used = |side: &SideScenario| side.scenario.typed().params_in(side.scenario.typed().values());
    let unused = |side: &SideScenario| {
        side.params.iter().map(|(name, _)| name.clone()).find(|name| !used(side).contains(name))
    };
    if let Some(name) = unused(a).or_else(|| unused(b)) {
        return error
            .hint(format!("param `{name}` is used nowhere: insert it with `${name}` where it belongs"));
    }
    match changes.first() {
        Some(change) => error.hint(format!("`{change}` makes no difference")),
        None => error.hint(
            "what they change is the same on both, or is in the scenario already; to see what chance alone does, say the \
             same of both: `--a PATH=VALUE --b PATH=VALUE`",
        ),
    }
}

/// Load items that are offered different loads by the two sides of a case: their latencies say nothing about the
/// sides.
pub(crate) fn different_loads(a: &CasePlan, b: &CasePlan) -> Vec<String> {
    let produce = |case: &CasePlan, name: &String| case.load.get(name)?.role.as_produce().cloned();
    let differs = |name: &&String| match (produce(a, name), produce(b, name)) {
        (Some(a), Some(b)) => a.rate != b.rate || a.value_bytes != b.value_bytes || a.records != b.records,
        _ => false,
    };
    a.load.keys().filter(differs).cloned().collect()
}

/// Whether the processes of its brokers are not seen: they are none of this host's, as far as the plan says.
pub(crate) fn is_elsewhere(case: &CasePlan) -> bool {
    !case.system.runs_here()
}

/// Whether a side has no cluster of its own to start.
pub(crate) fn is_attached(case: &CasePlan) -> bool {
    case.system.target().is_some()
}
