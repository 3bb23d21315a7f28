//! Thresholds, expectations and contrasts: which cases they speak of. Names and units were checked when the scenario was read.

use crate::cases::{Chosen, param_value};
use crate::choices::{Choices, PlanError, PlanQuestion};
use crate::conditions::opposite;
use crate::set_overrides::NOWHERE;
use crate::show;
use kdyno_analysis::REPEATS_MIN;
use kdyno_model::plan::{Better, CasePlan, Claim, ClaimExpr, Contrast, Plan, Strategy};
use kdyno_scenario::Scenario;
use kdyno_scenario::file::{CasesFile, ScenarioFile};
use kdyno_scenario::input::{InputError, known_hint, quoted};
use kdyno_scenario::judged::{Comparison, Expr, MetricOf, Operator, comparison};
use kdyno_scenario::yaml::Scalar;
use kdyno_scenario::{metric_of, with_only_item};

/// What the profile's cases let be judged, and what they do not.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PlannedClaims {
    pub claims: Vec<Claim>,
    pub contrasts: Vec<Contrast>,
    /// What is not tested, and why, a sentence each.
    pub untested: Vec<String>,
    /// Which thresholds are not judged, and why.
    pub not_judged: Vec<String>,
    /// Thresholds that say what must hold, as it seems.
    pub turned_round: Vec<String>,
}

/// Why no case is selected.
enum Miss {
    /// The profile has none: what speaks of it is not tested.
    NotInProfile(String),
    Wrong(PlanError),
}

impl From<PlanError> for Miss {
    fn from(error: PlanError) -> Self {
        Self::Wrong(error)
    }
}

/// Finds the cases that thresholds, expectations and contrasts speak of.
pub(crate) fn judged(
    scenario: &Scenario,
    choices: &Choices,
    chosen: &Chosen,
    cases: &[CasePlan],
) -> Result<PlannedClaims, PlanError> {
    let file = scenario.typed();
    let cases = ClaimCases { file, chosen, cases, unselected: None };
    let mut found = PlannedClaims::default();
    for typed in &file.fail_if {
        cases.thresholds(typed, &mut found)?;
    }
    for text in &choices.fail_if {
        let named = |error: PlanError| PlanError { place: None, ..error }.in_file(&option(text));
        let known = found.not_judged.len();
        let whole = with_only_item(text, file);
        cases.thresholds(&Scalar::assumed(&whole, NOWHERE), &mut found).map_err(named)?;
        if let Some(why) = found.not_judged.get(known) {
            return Err(named(InputError::whole(why)));
        }
    }
    for expect in &file.expect {
        let Comparison { left, op, right } = comparison(&expect.that, file)?;
        let sides = cases.expr(&left).and_then(|left| Ok((left, cases.expr(&right)?)));
        match sides {
            Ok((left, right)) => found.claims.push(Claim {
                text: expect.claim.clone(),
                that: expect.that.text.trim().to_owned(),
                is_threshold: false,
                left,
                op,
                right,
            }),
            Err(Miss::Wrong(error)) => return Err(error),
            Err(Miss::NotInProfile(why)) => {
                found.untested.push(format!("claim {} is not tested: {why}", quoted(&expect.claim)));
            }
        }
    }
    for contrast in &file.contrasts {
        let ends = cases.only(&contrast.from, &contrast.name).and_then(|from| {
            let to = cases.to(&contrast.to, &contrast.from, from, &contrast.name)?;
            Ok((from, to))
        });
        match ends {
            Ok((from, to)) if from == to => {
                let message = format!("contrast {} leads from a case to itself", quoted(&contrast.name.text));
                return Err(InputError::at(contrast.name.place, message));
            }
            Ok((from, to)) => {
                let of = contrast.of.iter().map(|of| metric_of(of, file).map(|(address, _)| address));
                let of = of.collect::<Result<_, _>>()?;
                found.contrasts.push(Contrast { name: contrast.name.text.clone(), from, to, of });
            }
            Err(Miss::Wrong(error)) => return Err(error),
            Err(Miss::NotInProfile(why)) => {
                found.untested.push(format!("contrast {} is not tested: {why}", quoted(&contrast.name.text)));
            }
        }
    }
    Ok(found)
}

impl PlannedClaims {
    /// Adds a threshold that is not there yet, and a warning where it says what must hold, as it seems.
    fn add_threshold(&mut self, claim: Claim, sides: [&Expr; 2]) {
        if self.claims.iter().any(|known| known.is_threshold && is_same(known, &claim)) {
            return;
        }
        let warning = turned_round(&claim, sides).filter(|warning| !self.turned_round.contains(warning));
        self.turned_round.extend(warning);
        self.claims.push(claim);
    }
}

/// Whether two thresholds compare the same, however they were typed.
fn is_same(a: &Claim, b: &Claim) -> bool {
    let is_typed = a.op == b.op && alike(&a.left, &b.left) && alike(&a.right, &b.right);
    is_typed || a.op.turned() == b.op && alike(&a.left, &b.right) && alike(&a.right, &b.left)
}

/// Whether two sides are the same; one number in two units, such as 50 ms and 0.05 s, may differ in its last bits.
fn alike(a: &ClaimExpr, b: &ClaimExpr) -> bool {
    match (a, b) {
        (ClaimExpr::Number(a), ClaimExpr::Number(b)) => (a - b).abs() <= a.abs() * 1e-12,
        _ => a == b,
    }
}

/// That a threshold is true of good figures: other tools' thresholds say what must hold.
fn turned_round(claim: &Claim, sides: [&Expr; 2]) -> Option<String> {
    let unit = sides.into_iter().find_map(|side| match side {
        Expr::Metric(metric) => Some(metric.unit),
        Expr::Number(_) | Expr::Binary(..) => None,
    })?;
    let (of, better) = claim.turned_round(|_| unit)?;
    let (most, op) = match better {
        Better::Lower => ("most", ">"),
        Better::Higher => ("least", "<"),
    };
    Some(format!(
        "fail_if {} fails the run when `{of}` is at {most} that much: did you mean `{op}`? What must hold is a claim (`expect`)",
        quoted(&claim.that),
    ))
}

fn option(fail_if: &str) -> String {
    quoted(&format!("--fail-if {fail_if}"))
}

/// Refuses thresholds where no case is judged by itself: those set by hand, and those of a scenario that is itself a comparison
/// or a search. In one that was made of it by hand they are left out.
pub(crate) fn refuse_thresholds(scenario: &Scenario, choices: &Choices) -> Result<(), PlanError> {
    const HINT: &str = "a comparison has `judge` with margins, a search its conditions";
    let message = |what: &str| format!("{what} is about the figures of a run of cases");
    if let Some(text) = choices.fail_if.first() {
        return Err(InputError::whole(message(&option(text))).hint(HINT));
    }
    match (&choices.ask, scenario.typed().fail_if.first()) {
        (PlanQuestion::Scenario, Some(typed)) => {
            Err(InputError::at(typed.place, message("`fail_if`")).hint(HINT))
        }
        _ => Ok(()),
    }
}

/// What claims and thresholds of a plan will not say, a sentence each.
pub(crate) fn undecided(plan: &Plan, scenario: &Scenario) -> Vec<String> {
    let Strategy::List(trials) = &plan.strategy else {
        let left_out = !scenario.typed().fail_if.is_empty();
        let sentence = "`fail_if` is not judged here: it is about the figures of a run of cases";
        return left_out.then(|| sentence.to_owned()).into_iter().collect();
    };
    let repeats_of = |case: u32| trials.iter().filter(|trial| trial.case == case).count();
    let too_few = |claim: &&Claim| {
        let mut cases = claim.left.metrics().chain(claim.right.metrics()).map(|(_, case)| case);
        !claim.is_threshold && cases.any(|case| repeats_of(case) < REPEATS_MIN as usize)
    };
    let sentence = |claim: &Claim| {
        format!(
            "claim {} cannot hold as planned: it is about the cluster and needs {REPEATS_MIN} repeats at least \
             (`repeat`); with fewer it can only fail, where it is missed by far. `fail_if` judges this run alone",
            quoted(&claim.text)
        )
    };
    plan.claims.iter().filter(too_few).map(sentence).collect()
}

#[derive(Clone, Copy)]
struct ClaimCases<'a> {
    file: &'a ScenarioFile,
    chosen: &'a Chosen,
    cases: &'a [CasePlan],
    /// The case of metrics that select none; else they need one case alone.
    unselected: Option<u32>,
}

impl ClaimCases<'_> {
    /// A threshold, in each case where one of its metrics selects none.
    fn thresholds(self, typed: &Scalar, found: &mut PlannedClaims) -> Result<(), PlanError> {
        let Comparison { left, op, right } = comparison(typed, self.file)?;
        let that = typed.text.trim().to_owned();
        let in_each = self.cases.len() > 1 && !(left.selects_all() && right.selects_all());
        let cases = if in_each { self.cases } else { &self.cases[..1] };
        for (index, case) in (0..).zip(cases) {
            let of = Self { unselected: in_each.then_some(index), ..self };
            let planned = of.expr(&left).and_then(|left| Ok((left, of.expr(&right)?)));
            let text = if in_each { format!("{that} ({})", case.label) } else { that.clone() };
            match planned {
                Ok((planned_left, planned_right)) => {
                    let claim = Claim {
                        text,
                        that: that.clone(),
                        is_threshold: true,
                        left: planned_left,
                        op: opposite(op),
                        right: planned_right,
                    };
                    found.add_threshold(claim, [&left, &right]);
                }
                Err(Miss::Wrong(error)) => return Err(error),
                Err(Miss::NotInProfile(why)) => {
                    found.not_judged.push(format!("fail_if {} is not judged: {why}", quoted(&text)));
                }
            }
        }
        Ok(())
    }

    fn expr(&self, expr: &Expr) -> Result<ClaimExpr, Miss> {
        Ok(match expr {
            Expr::Number(number) => ClaimExpr::Number(*number),
            Expr::Metric(metric) => self.metric(metric)?,
            Expr::Binary(op, left, right) => {
                let (left, right) = (Box::new(self.expr(left)?), Box::new(self.expr(right)?));
                match op {
                    Operator::Sum => ClaimExpr::Sum(left, right),
                    Operator::Difference => ClaimExpr::Difference(left, right),
                    Operator::Product => ClaimExpr::Product(left, right),
                    Operator::Quotient => ClaimExpr::Quotient(left, right),
                }
            }
        })
    }

    fn metric(&self, metric: &MetricOf) -> Result<ClaimExpr, Miss> {
        let typed = Scalar { text: metric.of.to_string(), place: metric.place, quoted: false };
        let case = match self.unselected.filter(|_| metric.case.is_empty()) {
            Some(case) => case,
            None => self.only(&metric.case, &typed)?,
        };
        show::broker_exists(&metric.of.subject, &self.cases[case as usize..=case as usize])
            .map_err(|message| InputError::at(metric.place, message))?;
        Ok(ClaimExpr::Metric { of: metric.of.clone(), case })
    }

    /// The indexes of the cases that have these values.
    fn with(&self, select: &[(Scalar, Scalar)]) -> Result<Vec<u32>, Miss> {
        let mut left: Vec<u32> = (0..).take(self.chosen.cases.len()).collect();
        for (name, value) in select {
            let text = self.chosen.base.text(value)?;
            let wanted = show::as_in_cases(&name.text, param_value(&text, value.quoted), self.chosen);
            let has =
                |index: &u32| self.chosen.cases[*index as usize].params.get(&name.text) == Some(&wanted);
            let fitting: Vec<u32> = left.iter().copied().filter(has).collect();
            if fitting.is_empty() {
                self.known_value(name, value)?;
                let all = select.iter().map(|(name, value)| format!("{}={}", name.text, value.text));
                let all = all.collect::<Vec<_>>().join(", ");
                return Err(Miss::NotInProfile(format!(
                    "profile {} has no case with {all}",
                    self.chosen.profile
                )));
            }
            left = fitting;
        }
        Ok(left)
    }

    /// The only case that has these values.
    fn only(&self, select: &[(Scalar, Scalar)], of: &Scalar) -> Result<u32, Miss> {
        match self.with(select)?.as_slice() {
            [one] => Ok(*one),
            several => Err(self.several(several, select, of).into()),
        }
    }

    /// The case a contrast leads to: of several that fit, the one that is like `from` in what neither end names.
    fn to(
        &self,
        select: &[(Scalar, Scalar)],
        from_select: &[(Scalar, Scalar)],
        from: u32,
        of: &Scalar,
    ) -> Result<u32, Miss> {
        let fitting = self.with(select)?;
        let named = |name: &String| select.iter().chain(from_select).any(|(known, _)| known.text == *name);
        let params = |index: u32| &self.chosen.cases[index as usize].params;
        let like = |index: &u32| {
            let mut others = self.chosen.varying.iter().filter(|name| !named(name));
            others.all(|name| params(*index).get(name) == params(from).get(name))
        };
        let alike: Vec<u32> = fitting.iter().copied().filter(like).collect();
        match (alike.as_slice(), fitting.as_slice()) {
            ([one], _) => Ok(*one),
            ([], _) => {
                let message =
                    format!("contrast {}: its cases differ in more than it names", quoted(&of.text));
                Err(InputError::at(of.place, message)
                    .hint("name every param that differs in `from` and `to`")
                    .into())
            }
            (several, _) => Err(self.several(several, select, of).into()),
        }
    }

    fn several(&self, cases: &[u32], select: &[(Scalar, Scalar)], of: &Scalar) -> PlanError {
        let first = &self.chosen.cases[cases[0] as usize].params;
        let differs = |name: &&String| {
            let selected = select.iter().any(|(known, _)| known.text == **name);
            !selected
                && cases
                    .iter()
                    .any(|index| self.chosen.cases[*index as usize].params.get(*name) != first.get(*name))
        };
        let names: Vec<&str> = self.chosen.varying.iter().filter(differs).map(String::as_str).collect();
        let message = format!("{} could be of {} cases", quoted(&of.text), cases.len());
        let example = names.first().map(|name| {
            let value = first.get(*name).map_or_else(String::new, ToString::to_string);
            format!("[{name}={value}]")
        });
        InputError::at(of.place, message).hint(format!(
            "select one by {}, e.g. `{}`",
            kdyno_scenario::input::listed(names),
            example.unwrap_or_default()
        ))
    }

    /// A value that no profile ever gives the param is a mistake and not a case of another profile.
    fn known_value(&self, name: &Scalar, value: &Scalar) -> Result<(), PlanError> {
        let file = self.file;
        let of_cases = |cases: &CasesFile| {
            let rows = cases.rows.iter().flatten().flat_map(|row| row.values.clone());
            let vary = cases.vary.iter().flatten();
            let vary = vary.flat_map(|(name, list)| list.iter().map(|value| (name.clone(), value.clone())));
            rows.chain(vary).collect::<Vec<_>>()
        };
        let mut pairs = file.params.clone();
        pairs.extend(of_cases(&file.cases));
        for profile in &file.profiles {
            pairs.extend(profile.params.iter().cloned());
            pairs.extend(of_cases(&profile.cases));
        }
        pairs.extend(
            file.published.iter().flat_map(|published| &published.rows).flat_map(|row| row.values.clone()),
        );
        let mut known: Vec<String> = Vec::new();
        for (_, given) in pairs.iter().filter(|(given, _)| given.text == name.text) {
            known.extend(self.chosen.base.text(given).ok().filter(|text| !known.contains(text)));
        }
        let text = self.chosen.base.text(value)?;
        let own = kdyno_scenario::units::parse(&text);
        let alike =
            |known: &String| *known == text || own.is_some() && kdyno_scenario::units::parse(known) == own;
        if known.iter().any(alike) || self.chosen.changed.contains_key(&name.text) {
            return Ok(());
        }
        let message = format!("`{}` is never {}", name.text, quoted(&text));
        Err(InputError::at(value.place, message)
            .hint(known_hint(&text, known.iter().map(String::as_str).collect::<Vec<_>>())))
    }
}
