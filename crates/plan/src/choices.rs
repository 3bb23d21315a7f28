//! What a plan is made with in addition to the scenario, and the error when that cannot be.

use kdyno_model::plan::{Depth, PairDesign};
use kdyno_model::stacks::FlameKind;
use kdyno_scenario::input::InputError;
use kdyno_scenario::target::Target;
use std::path::Path;

/// The one error of planning; it names file, line and column, or the option, and what is allowed.
pub type PlanError = InputError;

/// Reads a file of keys or values: it gets the scenario's own name and the file's as it is typed there. An error is one
/// lowercase clause about the file. Planning itself reads nothing.
#[derive(Debug, Clone, Copy)]
pub struct FileReader(pub fn(&str, &str) -> Result<FoundFile, String>);

/// Says what values a schema gives with an id. Planning itself knows no such schema.
#[derive(Debug, Clone, Copy)]
pub struct Schemas(pub fn(&[u8], u32) -> Result<ValuesOfSchema, UnusableSchema>);

/// The values that are made of an Avro schema, framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValuesOfSchema {
    /// How many they are.
    pub count: u32,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of the largest.
    pub bytes_max: u32,
}

/// Why no values are made by a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableSchema {
    /// One lowercase clause about it.
    pub why: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Default for Schemas {
    /// None are made.
    fn default() -> Self {
        Self(|_, _| Err(UnusableSchema { why: "cannot be used here".to_owned(), hint: None }))
    }
}

/// Says whether a file or folder is there. Planning itself looks at nothing.
#[derive(Debug, Clone, Copy)]
pub struct PathCheck(pub fn(&Path) -> bool);

impl Default for PathCheck {
    /// Nothing is looked up: a plan is made all the same.
    fn default() -> Self {
        Self(|_| true)
    }
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// By which it is found again.
    pub path: String,
    /// All of it, or at least more than may be read.
    pub content: Vec<u8>,
}

impl Default for FileReader {
    /// There are none.
    fn default() -> Self {
        Self(|_, _| Err("is not there".to_owned()))
    }
}

/// What the user chose in addition to the scenario.
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
    /// Existing clusters for some of the cases; the first that fits a case is used.
    pub targets: Vec<CaseTarget>,
    /// What is asked of the scenario.
    pub ask: PlanQuestion,
    /// How deep the answer goes.
    pub depth: Depth,
    /// Least length of the measured windows on targets, ns: past what burst credits and memory carry.
    pub sustain_ns: Option<u64>,
    /// Time the whole run may take, ns; it wins over the scenario's own `budget`.
    pub budget_ns: Option<u64>,
    /// What stacks are sampled for; it wins over the scenario's own `flame`.
    pub flame: Option<FlameKind>,
    /// Thresholds of the run (`fail_if`) in addition to those of the scenario. A metric that one load item alone has needs no
    /// name of it.
    pub fail_if: Vec<String>,
    /// Reads the files that the scenario names.
    pub files: FileReader,
    /// Makes the values of schemas that the scenario names.
    pub schemas: Schemas,
    /// Looks for the Java clients that the scenario names.
    pub paths: PathCheck,
}

impl Choices {
    /// The choices with as much time as there is: whatever the budget, and without the targets' caps on `time`.
    pub(crate) fn with_unlimited_time(&self) -> Self {
        let mut same = Self { budget_ns: Some(u64::MAX), ..self.clone() };
        let sides = match &mut same.ask {
            PlanQuestion::Compare(by_hand) => vec![&mut by_hand.a, &mut by_hand.b],
            PlanQuestion::Scenario | PlanQuestion::Find(_) => Vec::new(),
        };
        let of_sides =
            sides.into_iter().flat_map(|side| side.target.iter_mut().chain(&mut side.more_targets));
        let of_cases = same.targets.iter_mut().map(|of| &mut of.target);
        for target in of_sides.chain(of_cases).chain(&mut same.target) {
            target.attached.caps.time_ns = None;
        }
        same
    }
}

/// The existing cluster of some cases.
#[derive(Debug, Clone)]
pub struct CaseTarget {
    /// Params and values that select the cases.
    pub cases: Vec<(String, String)>,
    /// The cluster.
    pub target: Target,
}

/// What is asked of a scenario.
#[derive(Debug, Clone, Default)]
#[allow(clippy::large_enum_variant, reason = "there is one for each plan")]
pub enum PlanQuestion {
    /// What its own file asks: a comparison, a search, or a table of its cases.
    #[default]
    Scenario,
    /// A comparison.
    Compare(CompareChoices),
    /// A search.
    Find(FindChoices),
}

/// A comparison by hand.
#[derive(Debug, Clone, Default)]
pub struct CompareChoices {
    /// Side A; an empty one is what the scenario's own `compare` says of it, or the scenario unchanged.
    pub a: SideChoices,
    /// Side B.
    pub b: SideChoices,
    /// Metrics to judge, each `METRIC` or `METRIC:MARGIN`; none: those of the scenario, else the usual ones.
    pub judge: Vec<String>,
    /// Settings that may differ, in addition to those of the scenario.
    pub may_differ: Vec<String>,
    /// How the two of a pair run; none: as the scenario says, else both at once where that can be.
    pub design: Option<PairDesign>,
}

/// One side of a comparison by hand: the scenario with these changes.
#[derive(Debug, Clone, Default)]
pub struct SideChoices {
    /// In order, the later winning.
    pub changes: Vec<SideChange>,
    /// The existing cluster of this side.
    pub target: Option<Target>,
    /// Further ones that take turns with it.
    pub more_targets: Vec<Target>,
}

/// A change of a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SideChange {
    /// `NAME=VALUE`: a param; else a key of `system`, `home` or `source` for Kafka's folder; else a path such as
    /// `load.writers.client.linger.ms`.
    Set {
        /// The part before the `=`.
        name: String,
        /// The part behind it.
        value: String,
    },
    /// `@FILE`: a patch in YAML.
    Patch {
        /// Its name, for messages.
        file: String,
        /// Its text.
        text: String,
    },
}

/// A search by hand; what is left out is the scenario's own.
#[derive(Debug, Clone, Default)]
pub struct FindChoices {
    /// `ITEM.rate` or `ITEM.clients`.
    pub highest: Option<String>,
    /// Conditions, each as `writers.response.p99 <= 20ms`; they replace those of the scenario.
    pub conditions: Vec<String>,
    /// First load, e.g. `20k/s`.
    pub from: Option<String>,
    /// Highest load.
    pub to: Option<String>,
    /// How narrow the answer is to be, e.g. `2%`.
    pub within: Option<String>,
    /// Rate of one client, with `ITEM.clients`.
    pub each: Option<String>,
    /// Which side to search, `A` or `B`, of a scenario that compares.
    pub side: Option<String>,
}

impl SideChoices {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.target.is_none()
    }
}
