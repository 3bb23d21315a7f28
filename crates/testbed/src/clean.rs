//! Removes topics that our runs left on an attached cluster, and no others.

use crate::attach::{self, run_id_of};
use crate::error::TestbedError;
use kdyno_kafka::admin::Access;
use kdyno_model::plan::AttachedPlan;

/// Lists the topics that our runs left, of one run or of all. Nothing is changed.
///
/// # Errors
/// The cluster does not answer, or is not the target's.
pub fn find(plan: &AttachedPlan, access: &Access, run: Option<u64>) -> Result<Vec<String>, TestbedError> {
    let (mut admin, _) = attach::connect(plan, access)?;
    let topics = admin.topics(None).map_err(|e| attach::failed(&plan.target, &e))?;
    let ours =
        |name: &String| run_id_of(&plan.prefix, name).is_some_and(|id| run.is_none_or(|run| run == id));
    let mut names: Vec<String> = topics.into_iter().map(|topic| topic.name).filter(ours).collect();
    names.sort();
    Ok(names)
}

/// Deletes these topics.
///
/// # Errors
/// A name is not of our form (nothing is then deleted), the cluster is not the target's, or it refuses.
pub fn delete(plan: &AttachedPlan, access: &Access, names: &[String]) -> Result<(), TestbedError> {
    if let Some(name) = names.iter().find(|name| run_id_of(&plan.prefix, name).is_none()) {
        return Err(TestbedError::failed(format!(
            "target {}: topic {name} is not of our runs; nothing was deleted",
            plan.target
        )));
    }
    if names.is_empty() {
        return Ok(());
    }
    let (mut admin, _) = attach::connect(plan, access)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    admin.delete_topics(&names).map_err(|e| attach::failed(&plan.target, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_topics_are_never_deleted() {
        let plan = crate::attach::tests::plan("kdyno-");
        let error =
            delete(&plan, &Access::default(), &["kdyno-00000000000000ab-a-0".into(), "orders".into()])
                .expect_err("not ours");
        assert!(error.to_string().contains("orders is not of our runs"), "{error}");
    }
}
