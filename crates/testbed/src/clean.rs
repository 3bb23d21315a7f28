//! Removes topics that our runs left on an attached cluster, and no others.

use crate::attach;
use crate::error::TestbedError;
use kdyno_model::plan::AttachedPlan;

/// Digits of a run id in a topic's name.
const RUN_ID_DIGITS: usize = 16;

/// The run id in a topic's name of the form `PREFIX RUN-ID - NAME`; `None` for every other name. Only topics with a
/// run id are ever deleted.
#[must_use]
pub fn run_id_of(prefix: &str, topic: &str) -> Option<u64> {
    let (digits, rest) = topic.strip_prefix(prefix)?.split_at_checked(RUN_ID_DIGITS)?;
    let ours = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && rest.len() > 1
        && rest.starts_with('-');
    ours.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// Lists the topics that our runs left, of one run or of all. Nothing is changed.
///
/// # Errors
/// The cluster does not answer, or is not the target's.
pub fn find(plan: &AttachedPlan, run: Option<u64>) -> Result<Vec<String>, TestbedError> {
    let (mut admin, _) = attach::connect(plan)?;
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
pub fn delete(plan: &AttachedPlan, names: &[String]) -> Result<(), TestbedError> {
    if let Some(name) = names.iter().find(|name| run_id_of(&plan.prefix, name).is_none()) {
        return Err(TestbedError::Attach {
            message: format!("target {}: topic {name} is not of our runs; nothing was deleted", plan.target),
            hint: None,
        });
    }
    if names.is_empty() {
        return Ok(());
    }
    let (mut admin, _) = attach::connect(plan)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    admin.delete_topics(&names).map_err(|e| attach::failed(&plan.target, &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_names_with_prefix_and_run_id_are_ours() {
        assert_eq!(run_id_of("kdyno-", "kdyno-00000000000000ab-perf-0"), Some(0xab));
        for name in [
            "kdyno-perf",
            "kdyno-00000000000000AB-perf",
            "kdyno-00000000000000ab",
            "kdyno-00000000000000ab-",
            "kdyno-00000000000000abc-perf",
            "kdyno-0000000000000+ab-perf",
            "xkdyno-00000000000000ab-perf",
            "__consumer_offsets",
        ] {
            assert_eq!(run_id_of("kdyno-", name), None, "{name}");
        }
    }

    #[test]
    fn foreign_topics_are_never_deleted() {
        let plan = crate::attach::tests::plan("kdyno-");
        let error =
            delete(&plan, &["kdyno-00000000000000ab-a-0".into(), "orders".into()]).expect_err("not ours");
        assert!(error.to_string().contains("orders is not of our runs"), "{error}");
    }

    proptest! {
        #[test]
        fn names_made_by_runs_are_found_again(run: u64, name in "[a-zA-Z0-9._-]{1,30}") {
            prop_assert_eq!(run_id_of("p-", &format!("p-{run:016x}-{name}")), Some(run));
        }

        #[test]
        fn no_name_makes_it_panic(prefix in "\\PC{0,5}", name in "\\PC{0,40}") {
            let _ = run_id_of(&prefix, &name);
        }
    }
}
