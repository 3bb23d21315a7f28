//! Stored runs before and after a change, set against each other.

use crate::answer::{Answer, verdict};
use crate::caveats::{self, Worded};
use crate::grid::{TextOptions, Tone};
use crate::input::ReportInput;
use crate::markdown;
use crate::terminal::{answer_text, caveat_text, caveats_in_short, loss_first, loss_text};
use kdyno_model::finding::Scope;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::ComparePlan;

/// What two groups of runs say.
#[derive(Debug)]
pub struct StoredComparison<'a> {
    /// Verdicts, and what such evidence cannot carry.
    pub judgement: &'a Judgement,
    /// The first run before, with the cases to report.
    pub first: &'a ReportInput<'a>,
    /// What the sides are called.
    pub labels: [String; 2],
}

impl StoredComparison<'_> {
    /// For a terminal: loss, if there was any, then the verdicts, then the heaviest of what the evidence cannot support.
    pub fn text(&self, options: &TextOptions) -> String {
        self.text_with(caveats_in_short, options)
    }

    /// The text with every caveat in full.
    pub fn details(&self, options: &TextOptions) -> String {
        self.text_with(caveat_text, options)
    }

    fn text_with(&self, print: fn(&[Worded], &TextOptions) -> String, options: &TextOptions) -> String {
        let head = options.paint(&self.title(), Tone::Strong) + "\n";
        let [loss, others] = loss_first(&self.input());
        let answers = self.answers();
        let before = [loss_text(&loss, options), head].into_iter();
        let parts = before.chain(answers.iter().map(|one| answer_text(one, options)));
        let parts = parts.chain([print(&others, options)]);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// To paste.
    pub fn markdown(&self) -> String {
        let mut out = format!("### {}\n\n", markdown::escaped(&self.title()));
        out.extend(self.answers().iter().map(markdown::answer_block));
        for one in self.caveats() {
            out.push_str(&format!("- **{}**: {}\n", one.label(), markdown::escaped(&one.sentence)));
        }
        out
    }

    /// Sides, caveats and verdicts; the last two as in the document of a run.
    pub fn json(&self) -> serde_json::Value {
        let document = crate::json::run(&self.input());
        serde_json::json!({
            "a": self.labels[0],
            "b": self.labels[1],
            "caveats": document["caveats"],
            "conclusions": document["conclusions"],
        })
    }

    pub(crate) fn caveats(&self) -> Vec<Worded> {
        caveats::worded(&self.input())
    }

    fn side_label(&self, case: u32, side: usize) -> String {
        let case = self.first.case_label(case).to_owned();
        let side = self
            .first
            .sides()
            .map(|labels| format!("side {} of the runs, {}", ComparePlan::SIDES[side], labels[side]));
        let parts = [Some(case).filter(|label| !label.is_empty()), side];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn title(&self) -> String {
        format!("{} (A) against {} (B)", self.labels[0], self.labels[1])
    }

    /// The first run, with what is said of all of them.
    fn input(&self) -> ReportInput<'_> {
        let Judgement { findings, caveats, conclusions } = self.judgement;
        ReportInput {
            findings,
            caveats,
            conclusions,
            trials: &[],
            events: &[],
            noise: &[],
            series: &[],
            stacks: &[],
            ..*self.first
        }
    }

    /// The verdicts, an answer for each case.
    pub(crate) fn answers(&self) -> Vec<Answer> {
        let labels = ["A", "B"].map(str::to_owned);
        let conclusions = &self.judgement.conclusions;
        let answer = |scope| {
            // For runs that compare two sides themselves each side has an answer of its own.
            let label = match scope {
                Scope::Case(case) | Scope::Comparison { case } => self.side_label(case, 0),
                Scope::SideB { case } => self.side_label(case, 1),
                _ => String::new(),
            };
            let mut answer = verdict::answer(conclusions, scope, &label, &labels);
            answer.sentences.extend(verdict::in_short(conclusions, scope));
            answer
        };
        verdict::compared_scopes(conclusions).into_iter().map(answer).collect()
    }
}
