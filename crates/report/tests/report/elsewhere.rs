//! What comes first in a comparison speaks of what was judged or is shown; the rest is summed up after the answers.

use crate::fixture::{ComparisonEnd, RunFixture, caveat, comparison, run};
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Conclusion, MetricRole};
use kdyno_model::plan::Depth;
use kdyno_report::terminal::{TextOptions, run_summary, run_table};
use kdyno_report::{html, markdown};

const WIDE: TextOptions = TextOptions { width: 400, colour: false };

fn late(item: &str, quantile: &str, severity: Severity) -> ScopedCaveat {
    let (item, quantile) = (item.to_owned(), quantile.to_owned());
    let concerns = match quantile.as_str() {
        "mean" => Concern::Mean { item: item.clone() },
        _ => Concern::LatenciesFrom { item: item.clone(), quantile: quantile.clone() },
    };
    let late = Caveat::GeneratorLate { item, quantile, late_ns: 9_000_000, response_ns: 12_000_000 };
    ScopedCaveat { concerns, ..caveat(1, severity, late) }
}

fn few(item: &str, quantile: &str) -> ScopedCaveat {
    let (item, quantile) = (item.to_owned(), quantile.to_owned());
    caveat(1, Severity::Note, Caveat::FewRecords { item, quantile, beyond: 7 })
}

/// The verdicts are about CPU time, writers.response.p99 and, not judged, writers.service.p50.
fn compared(caveats: Vec<ScopedCaveat>) -> RunFixture {
    let mut run = comparison(ComparisonEnd::Alike, Depth::Verdict);
    run.caveats = caveats;
    run
}

#[test]
fn caveats_that_concern_no_verdict_are_summed_up_after_it() {
    let run = compared(vec![
        late("writers", "p99.99", Severity::Warning),
        late("writers", "p99.9", Severity::Invalid),
        late("writers", "mean", Severity::Warning),
        late("audit", "p50", Severity::Warning),
        few("writers", "p99.9"),
        caveat(1, Severity::Warning, Caveat::MemoryStorage),
    ]);
    let reported = "Other metrics with caveats: the load generator was late, in some trials so that they are invalid (audit at \
                p50 and above, writers at p99.9 and above, the mean of writers); too few records (writers at p99.9 and above). The page \
                (`kdyno report`) has each.";
    let text = run_table(&run.input(), &WIDE);
    assert!(text.find("Verdict\n") < text.find(reported) && text.contains(reported), "{text}");
    assert!(!text.contains("own delay") && !text.contains("\ninvalid "), "{text}");
    assert!(text.find("memory-backed") < text.find("Verdict\n"), "{text}");
    let block = markdown::block(&run.input());
    assert!(!block.contains("own delay") && block.contains("the mean of writers"), "{block}");
    assert!(block.find("memory-backed") < block.find("is equivalent"), "{block}");
    // The page has every trial's figures, and so what speaks against them: after that which concerns the verdicts.
    let page = html::page(&run.input());
    assert!(page.find("memory-backed") < page.find("own delay"), "{page}");
    assert!(page.find("own delay") < page.find("<h2 id=\"trials\""), "{page}");
}

#[test]
fn caveats_of_judged_or_shown_figures_come_first() {
    for one in [
        late("writers", "p99", Severity::Invalid),
        late("writers", "p50", Severity::Warning),
        few("writers", "p99"),
        ScopedCaveat {
            concerns: Concern::Latencies { item: "writers".to_owned() },
            ..late("writers", "p99.9", Severity::Warning)
        },
    ] {
        let text = run_table(&compared(vec![one.clone()]).input(), &WIDE);
        assert!(text.contains("Read first") && !text.contains("Other metrics"), "{one:?}: {text}");
    }
}

#[test]
fn what_makes_no_judged_figure_invalid_is_below_the_verdict() {
    let mut run = compared(vec![late("writers", "p99", Severity::Invalid)]);
    let text = run_summary(&run.input(), &WIDE);
    assert!(text.starts_with("INVALID ") || text.contains("\nINVALID "), "p99 is judged: {text}");
    for one in &mut run.conclusions {
        if let Conclusion::Verdict(verdict) = one
            && verdict.of.metric == "response.p99"
        {
            verdict.role = MetricRole::Exploratory;
        }
    }
    let text = run_summary(&run.input(), &WIDE);
    let place = text.find("! not in the answer, and invalid: writers");
    assert!(!text.contains("INVALID") && place > text.find("verdict"), "{text}");
}

#[test]
fn where_nothing_is_judged_every_caveat_is_listed() {
    let mut run = run();
    run.caveats = vec![late("writers", "p99.99", Severity::Warning), few("writers", "p99.99")];
    let text = run_table(&run.input(), &WIDE);
    assert!(
        text.contains("own delay") && text.contains("only 7 records") && !text.contains("Other metrics"),
        "{text}"
    );
    // A comparison that ended before its first verdict has no table either.
    let mut run = compared(run.caveats);
    run.conclusions.clear();
    assert!(run_table(&run.input(), &WIDE).contains("own delay"));
}
