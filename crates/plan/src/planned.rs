//! The cases of a scenario, planned one by one.

use crate::cases::{Chosen, UnresolvedCase};
use crate::choices::{CaseTarget, Choices, PlanError};
use crate::reader::CaseReader;
use crate::{
    backlog, command, component, internal_topics, load, phases, proxy, spans, sustained, system, system_kind,
    workers,
};
use kdyno_model::generator::GeneratorsPlan;
use kdyno_model::plan::{CasePlan, Conditioning, Isolation};
use kdyno_scenario::Scenario;
use kdyno_scenario::input::{InputError, known_hint, quoted};
use kdyno_scenario::target::Target;
use kdyno_scenario::units;

/// Most trials of one plan.
pub(crate) const TRIALS_MAX: u64 = 10_000;
/// Most trials per case.
pub(crate) const REPEAT_MAX: u64 = 1_000;

/// The cases of a scenario, planned, and what is the same for all of them.
#[derive(Debug)]
pub(crate) struct PlannedCases {
    pub cases: Vec<CasePlan>,
    pub repeat: u64,
    pub isolation: Isolation,
    pub conditioning: Option<Conditioning>,
}

impl PlannedCases {
    /// A reader of what does not depend on the case.
    pub fn reader<'a>(&self, scenario: &'a Scenario, chosen: &'a Chosen) -> CaseReader<'a> {
        CaseReader::new(scenario, &chosen.cases[0])
    }
}

/// Plans every case.
pub(crate) fn plan_cases(
    scenario: &Scenario,
    choices: &Choices,
    chosen: &Chosen,
) -> Result<PlannedCases, PlanError> {
    let typed = scenario.typed();
    let mut planned: Option<PlannedCases> = None;
    for case in &chosen.cases {
        let Choices { files, schemas, paths, .. } = *choices;
        let reader = CaseReader { files, schemas, paths, ..CaseReader::new(scenario, case) };
        let repeat = reader.whole(&typed.repeat, "repeat", 1..=REPEAT_MAX)?;
        let isolation = read_isolation(&reader)?;
        let conditioning = phases::conditioning(&reader)?;
        let target = target_of(choices, case)?;
        if target.is_some() && isolation == Isolation::Cluster {
            let message = "`isolation: cluster` needs a cluster made for the run";
            return Err(
                InputError::at(typed.isolation.place, message).hint("use `isolation: topic` with a target")
            );
        }
        let mut case = case_plan(&reader, target)?;
        sustained::lengthen(&mut case, choices.sustain_ns)?;
        // Somebody else's cluster is not ours to load without saying so.
        // Nor is there anything to load it with where commands are all of the load.
        let conditioning = conditioning.filter(|_| target.is_none() && !case.load.is_empty());
        let planned =
            planned.get_or_insert(PlannedCases { cases: Vec::new(), repeat, isolation, conditioning });
        if (repeat, isolation) != (planned.repeat, planned.isolation) {
            return Err(reader.wrong(&typed.repeat, "`repeat` and `isolation` must not differ between cases"));
        }
        if target.is_none() && conditioning != planned.conditioning {
            return Err(reader.wrong(&typed.phases.condition, "`condition` must not differ between cases"));
        }
        planned.cases.push(case);
    }
    let planned = planned.ok_or_else(|| InputError::whole("the scenario has no case"))?;
    if planned.cases.len() as u64 * planned.repeat > TRIALS_MAX {
        let (cases, repeat) = (planned.cases.len(), planned.repeat);
        let message = format!("{cases} cases × {repeat} repeats are more than {TRIALS_MAX} trials");
        return Err(InputError::at(typed.repeat.place, message));
    }
    Ok(planned)
}

/// The target of a case: the first that was named for such cases, else the one for all.
fn target_of<'c>(choices: &'c Choices, case: &UnresolvedCase) -> Result<Option<&'c Target>, PlanError> {
    for CaseTarget { cases, target } in &choices.targets {
        let mut fits = true;
        for (name, value) in cases {
            let Some(own) = case.params.get(name) else {
                let known: Vec<&str> = case.params.keys().map(String::as_str).collect();
                let message = format!("target `{}`: {} is not a param", target.attached.target, quoted(name));
                return Err(InputError::whole(message).hint(known_hint(name, known)));
            };
            let quantity = |text: &str| units::parse(text);
            let own = own.to_string();
            fits &= own == *value || quantity(value).is_some() && quantity(value) == quantity(&own);
        }
        if fits {
            return Ok(Some(target));
        }
    }
    if choices.targets.is_empty() || choices.target.is_some() {
        return Ok(choices.target.as_ref());
    }
    let message = format!("no target was named for case {}", quoted(&case.label));
    Err(InputError::whole(message).hint("name one for it, or one without params for all that are left"))
}

fn read_isolation(reader: &CaseReader<'_>) -> Result<Isolation, PlanError> {
    let typed = &reader.scenario.typed().isolation;
    Ok(match reader.word(typed, "isolation", &["topic", "cluster", "none"])?.as_str() {
        "cluster" => Isolation::Cluster,
        "none" => Isolation::None,
        _ => Isolation::Topic,
    })
}

fn case_plan(reader: &CaseReader<'_>, target: Option<&Target>) -> Result<CasePlan, PlanError> {
    let system = system_kind::system(reader, target)?;
    let topics = system::topics(reader, &system)?;
    let mut load = load::load(reader, &system, &topics)?;
    internal_topics::check(reader, &system, &load)?;
    let commands = command::commands(reader)?;
    let phases = phases::phases(reader, &load)?;
    backlog::resolve(reader, &mut load, &phases)?;
    spans::check(reader, &load, &phases)?;
    command::check(reader, &commands, &phases)?;
    let mut components: Vec<_> = proxy::proxy(reader, &system)?.into_iter().collect();
    components.extend(component::components(reader)?);
    Ok(CasePlan {
        label: reader.case.label.clone(),
        params: reader.case.params.clone(),
        system,
        topics,
        workers: workers::workers(&load, &GeneratorsPlan::default()),
        generators: GeneratorsPlan::default(),
        load,
        commands,
        components,
        phases,
        secrets: target.map(|target| target.secrets.clone()).unwrap_or_default(),
    })
}
