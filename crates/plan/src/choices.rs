//! What a plan is made with beside the scenario, and the error when that cannot be.

use kdyno_scenario::input::InputError;
use kdyno_scenario::target::Target;

/// The one error of planning; it names file, line and column, or the option, and what is allowed.
pub type PlanError = InputError;

/// What the user chose beside the scenario.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// Profile by name; none takes `laptop` where there is one (with a target `attached` before it).
    pub profile: Option<String>,
    /// Params set by hand, in order.
    pub set: Vec<(String, String)>,
    /// Seed; none derives one from the scenario's id, so that planning stays a pure function.
    pub seed: Option<u64>,
    /// The existing cluster to use instead of a local one.
    pub target: Option<Target>,
}
