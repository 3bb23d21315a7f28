//! What there is to say of a kind of caveat: one row for each, in the files of [`super::rows`].

use super::{Caveat, CaveatKind, Severity};
use strum::{EnumIter, IntoEnumIterator};

/// All that is known of one kind of caveat, except for how it is found.
#[derive(Debug, Clone, Copy)]
pub struct CaveatRow {
    /// Which kind.
    pub kind: CaveatKind,
    /// What it is about.
    pub group: CaveatGroup,
    /// The value that names the load item, or topic, that it is of: caveats that differ in this alone are reported
    /// together, with all names. Empty: there is none.
    pub name: &'static str,
    /// When it is reported, and how heavy it is.
    pub usual: Grade,
    /// When it is reported with another weight, if ever.
    pub grave: Option<Grade>,
    /// The caveat in one line, with values in braces as in [`CaveatWords::sentence`], or the highest of several as `{records:count_most}`:
    /// what a summary prints.
    pub short: &'static str,
    /// What speaks against figures, in a few words. Empty: it is summed up with others.
    pub brief: &'static str,
    /// What reports say: the first that fits. The last one always does.
    pub words: &'static [CaveatWords],
    /// What the documentation says in addition: sentences in Markdown, with links from docs/reference. Empty: nothing.
    pub more: &'static str,
}

impl CaveatRow {
    /// What every row begins with.
    pub(super) const PLAIN: Self = Self {
        kind: CaveatKind::Lost,
        group: CaveatGroup::Loss,
        name: "",
        usual: note(""),
        grave: None,
        short: "",
        brief: "",
        words: &[],
        more: "",
    };

    /// How heavy it is; `None`: it is not reported.
    pub fn weight(&self, degree: Degree, question: Question) -> Option<Severity> {
        let grade = match degree {
            Degree::Usual => Some(self.usual),
            Degree::Grave => self.grave,
        };
        grade.and_then(|grade| grade.weight(question))
    }

    /// The words that fit all of several caveats of this kind.
    pub fn words_of(&self, caveats: &[&Caveat]) -> &'static CaveatWords {
        let fits = |words: &&CaveatWords| words.only.is_none_or(|fits| caveats.iter().all(|one| fits(one)));
        self.words.iter().find(fits).unwrap_or(&self.words[0])
    }

    /// Whether words are there, and the last ones fit always.
    pub(super) const fn has_words(&self) -> bool {
        !self.words.is_empty() && self.words[self.words.len() - 1].only.is_none()
    }
}

/// What a caveat is about; also the order in which caveats of one severity are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaveatGroup {
    /// Records that were acknowledged and are gone.
    Loss,
    /// A defect of kdyno's own, or of its evidence.
    Accounting,
    /// The trial did not go as planned, or its cluster changed; a comparison compares more than was asked.
    Trial,
    /// Records and how they fared.
    Records,
    /// Whether the load generator, or a relay, is what was measured.
    Generator,
    /// Who else had the processors.
    Host,
    /// What the plan itself brings with it.
    Plan,
}

impl CaveatGroup {
    /// Its heading in the documentation.
    pub fn title(self) -> &'static str {
        match self {
            Self::Loss => "Lost records",
            Self::Accounting => "Counts that do not add up",
            Self::Trial => "The trial, its cluster, its comparison",
            Self::Records => "Records and how they fared",
            Self::Generator => "The load generator",
            Self::Host => "CPUs and hosts",
            Self::Plan => "What the plan brings with it",
        }
    }
}

/// What a figure is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter)]
pub enum Question {
    /// How the system does at a given rate.
    Open,
    /// How much it carries: `rate: max`.
    Max,
    /// How much it carries while conditions hold.
    Find,
    /// Whether one side differs from the other.
    Compare,
}

impl Question {
    /// All, in the order of a grade's weights.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }
}

/// Which grade of its row a caveat has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Degree {
    /// The usual one.
    Usual,
    /// The other one, which is heavier.
    Grave,
}

/// When a caveat is reported, and how heavy it then is.
#[derive(Debug, Clone, Copy)]
pub struct Grade {
    /// By question, in the order of [`Question`]; `None`: not reported.
    weights: [Option<Severity>; 4],
    /// When: a clause in Markdown.
    pub when: &'static str,
}

impl Grade {
    /// How heavy it is for a question; `None`: it is not reported.
    pub fn weight(&self, question: Question) -> Option<Severity> {
        self.weights[question as usize]
    }
}

use Severity::{Invalid, Note, Warning};

pub(super) const fn note(when: &'static str) -> Grade {
    Grade { weights: [Some(Note); 4], when }
}

pub(super) const fn warning(when: &'static str) -> Grade {
    Grade { weights: [Some(Warning); 4], when }
}

pub(super) const fn invalid(when: &'static str) -> Grade {
    Grade { weights: [Some(Invalid); 4], when }
}

/// The question is about latencies at a given rate: those of a closed loop say nothing about the cluster anyway.
pub(super) const fn latency(heavy: Severity, when: &'static str) -> Grade {
    Grade { weights: [Some(heavy), None, Some(heavy), Some(heavy)], when }
}

/// The question is how much the system sustains.
pub(super) const fn capacity(heavy: Severity, compared: Severity, when: &'static str) -> Grade {
    Grade { weights: [Some(Note), Some(heavy), Some(heavy), Some(compared)], when }
}

/// What comes with a saturated host.
pub(super) const fn saturation(when: &'static str) -> Grade {
    Grade { weights: [Some(Warning), Some(Note), Some(Warning), Some(Warning)], when }
}

/// What both sides of a comparison have alike.
pub(super) const fn alike(when: &'static str) -> Grade {
    Grade { weights: [Some(Warning), Some(Warning), Some(Warning), Some(Note)], when }
}

/// Comparisons alone.
pub(super) const fn compared(heavy: Severity, when: &'static str) -> Grade {
    Grade { weights: [None, None, None, Some(heavy)], when }
}

/// What reports say of caveats of one kind.
///
/// `of` and `sentence` have values of the caveat in braces, by the names that run files have for them: `{records:count}` is the value
/// `records`, printed as a count, and of several caveats its range. `{growth - expected:count}` is a difference, 0 at least.
#[derive(Debug, Clone, Copy)]
pub struct CaveatWords {
    /// Caveats with the same `of` are reported together, with the ranges of their numbers.
    pub of: &'static str,
    /// What happened and what it means: it starts with a lower-case word and has no full stop.
    pub sentence: &'static str,
    /// What to do about it; empty when there is nothing to do.
    pub remedy: &'static str,
    /// Which caveats they fit; `None`: all.
    pub only: Option<fn(&Caveat) -> bool>,
}

pub(super) const fn reported(of: &'static str, sentence: &'static str, remedy: &'static str) -> CaveatWords {
    CaveatWords { of, sentence, remedy, only: None }
}

impl CaveatWords {
    pub(super) const fn only(self, fits: fn(&Caveat) -> bool) -> Self {
        Self { only: Some(fits), ..self }
    }
}
