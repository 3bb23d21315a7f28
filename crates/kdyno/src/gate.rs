//! Which exit code an answer is.

use crate::cli::Gate;
use crate::evidence::RunEvidence;
use crate::failure::{CommandResult, Exit};
use crate::out;
use kdyno_lab::RunOutcome;
use kdyno_report::judged::{RunAnswer, claimed, unmet};

/// What the thresholds of a drop-in's run come to, a line each on standard error: the tool itself has none, so without one the
/// run ends as the tool would.
pub(crate) fn by_thresholds(outcome: &RunOutcome, fail_if: &[String]) -> CommandResult {
    if fail_if.is_empty() {
        return Ok(Exit::Done);
    }
    let evidence = RunEvidence::read_judged(&outcome.path)?;
    let input = evidence.input();
    kdyno_report::claim_sentences(&input).iter().for_each(|sentence| out::note(sentence));
    match claimed(&input) {
        RunAnswer::Undecided => {
            out::note("a `fail_if` has no figure to be judged by");
            Ok(Exit::Inconclusive)
        }
        judged => Ok(gated(judged, Gate::default(), &unmet(&input))),
    }
}

/// The exit code of an answer, with a word on standard error where it is not 0; `unmet`: what is not met.
pub(crate) fn gated(judged: RunAnswer, gate: Gate, unmet: &[&str]) -> Exit {
    let gate = kdyno_report::judged::Gate::from(gate);
    match judged {
        RunAnswer::Invalid => {
            out::note("a figure of the answer is invalid, or records were lost: the first lines say which");
            Exit::Invalid
        }
        RunAnswer::NotMet => {
            out::note(&unmet.join("; "));
            Exit::NotMet
        }
        RunAnswer::Worse => {
            out::note("side B is materially worse");
            Exit::Worse
        }
        RunAnswer::Undecided if gate.fails(judged) => {
            out::note("a claim or a `fail_if` has no answer (`--gate worse` ends with 0 then)");
            Exit::Inconclusive
        }
        RunAnswer::Inconclusive if gate.fails(judged) => {
            out::note("there is no answer, and `--gate strict` asks for one");
            Exit::Inconclusive
        }
        RunAnswer::Undecided | RunAnswer::Inconclusive | RunAnswer::Fine => Exit::Done,
    }
}
