//! What must hold while the load of a search is raised.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use kdyno_model::metric::{self, Address, SubjectKind};
use kdyno_model::plan::{CasePlan, ClaimOp, Condition, LimitSide};
use kdyno_scenario::Scenario;
use kdyno_scenario::input::{InputError, quoted};
use kdyno_scenario::judged::{Expr, comparison};
use kdyno_scenario::yaml::Scalar;

/// The conditions of a search that raises the load of an item of a case.
pub(crate) fn conditions(
    scenario: &Scenario,
    typed: &[Scalar],
    reader: &CaseReader<'_>,
    (case, item): (&CasePlan, &str),
) -> Result<Vec<Condition>, PlanError> {
    let one = |typed: &Scalar| {
        let condition = condition(scenario, typed, reader)?;
        if gets_easier(&condition, case, item) {
            let text = quoted(&condition.text);
            let message =
                format!("{text} gets easier to meet the more load there is: no load is the highest");
            let hint = "name what gets worse with the load, e.g. `writers.response.p99 <= 20ms`; `expect` judges \
                        anything at a given rate";
            return Err(reader.wrong(typed, message).hint(hint));
        }
        Ok(condition)
    };
    typed.iter().map(one).collect()
}

fn condition(scenario: &Scenario, typed: &Scalar, reader: &CaseReader<'_>) -> Result<Condition, PlanError> {
    let text = reader.text(typed)?.trim().to_owned();
    let read = comparison(&Scalar { text: text.clone(), ..typed.clone() }, scenario.typed())?;
    let (metric, op, limit) = match (&read.left, read.op, &read.right) {
        (Expr::Metric(metric), op, Expr::Number(limit)) => (metric, op, *limit),
        (Expr::Number(limit), op, Expr::Metric(metric)) => (metric, op.turned(), *limit),
        _ => {
            let message = format!("{} is no condition", quoted(&text));
            return Err(reader
                .wrong(typed, message)
                .hint("one metric and one number, e.g. `writers.response.p99 <= 20ms`"));
        }
    };
    if let Some((name, _)) = metric.case.first() {
        return Err(InputError::at(
            name.place,
            "a condition holds for the case that is searched: it selects none",
        ));
    }
    let must_be = match op {
        ClaimOp::AtMost => LimitSide::AtMost,
        ClaimOp::AtLeast => LimitSide::AtLeast,
        ClaimOp::Less | ClaimOp::Greater => {
            let with_limit = text.replacen('<', "<=", 1).replacen('>', ">=", 1);
            let message = format!("{} leaves its limit out; a condition allows it", quoted(&text));
            return Err(reader.wrong(typed, message).hint(format!("write `{with_limit}`")));
        }
    };
    Ok(Condition { of: metric.of.clone(), must_be, limit, text })
}

/// What holds where this does not.
pub(crate) fn opposite(op: ClaimOp) -> ClaimOp {
    match op {
        ClaimOp::Less => ClaimOp::AtLeast,
        ClaimOp::AtMost => ClaimOp::Greater,
        ClaimOp::Greater => ClaimOp::AtMost,
        ClaimOp::AtLeast => ClaimOp::Less,
    }
}

/// Whether more load makes a condition easier to meet: then its first load fails and the higher ones, which would hold, are
/// never tried.
fn gets_easier(condition: &Condition, case: &CasePlan, item: &str) -> bool {
    match condition.must_be {
        LimitSide::AtMost => falls(&condition.of.metric),
        LimitSide::AtLeast => rises(&condition.of, case, item),
    }
}

/// Whether a metric gets smaller with more load: more records share what batches, requests and idle threads cost.
fn falls(metric: &str) -> bool {
    metric::is_cost(metric) || matches!(metric, "cpu_us_per_record" | "achieved_share" | "target_reached")
}

/// Whether a metric gets larger with more load: all but those that fall, how long batches linger, since they are full
/// sooner, and what other load items carry, since they are crowded out.
fn rises(of: &Address, case: &CasePlan, item: &str) -> bool {
    if falls(&of.metric) || of.metric.starts_with("linger.") {
        return false;
    }
    let Some(load) = case.load.get(&of.subject) else { return true };
    let kind = load.role.kind().subject();
    let is_carried = metric::find(kind, &of.metric).is_some_and(|known| known.unit.is_rate());
    // What reads the records of the load that is raised grows with it.
    let is_read =
        kind == SubjectKind::Consume && case.load.get(item).is_some_and(|own| own.topic == load.topic);
    !is_carried || of.subject == item || is_read
}
