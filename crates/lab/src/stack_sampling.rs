//! What a run samples stacks with, made ready once. That it cannot be had stops no run.

use crate::options::RunProgress;
use kdyno_model::plan::Plan;
use kdyno_model::stacks::FlameKind;
use kdyno_testbed::{Environment, profiler};
use std::cell::RefCell;
use std::path::PathBuf;

/// async-profiler, and what for.
#[derive(Debug)]
pub(crate) struct StackSampling {
    pub(crate) kind: FlameKind,
    /// Its library, or why there is none.
    pub(crate) library: Result<PathBuf, String>,
}

impl StackSampling {
    /// Fetches the profiler where the plan needs it; that it could not is reported.
    pub(crate) fn make_ready(
        plan: &Plan,
        environment: &Environment,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Option<Self> {
        let kind = plan.flame?;
        let library = {
            let progress = RefCell::new(&mut *progress);
            let tell = |step: &str| (progress.borrow_mut())(RunProgress::Step(step.to_owned()));
            profiler::make_ready(environment, &tell).map_err(|error| error.to_string())
        };
        if let Err(why) = &library {
            progress(RunProgress::Warning(format!("no stacks are sampled: {why}")));
        }
        Some(Self { kind, library })
    }
}
