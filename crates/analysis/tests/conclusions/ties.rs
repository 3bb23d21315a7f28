//! Pairs with an invalid judged figure.

use crate::fixture::{P99, RunFixture, comparing, late, settings};
use kdyno_model::caveat::{Caveat, PairsTied};
use kdyno_model::conclusion::Says;
use kdyno_model::finding::Value;

#[test]
fn a_pair_with_an_invalid_judged_figure_is_a_tie() {
    let plan = comparing(&[P99], &[8], &[]);
    let mut run = RunFixture::default();
    // Seven of one sign. What made the eighth late depends on how long its responses took.
    run.pairs(P99, &[vec![1.2; 7], vec![0.8]].concat());
    late(&mut run.outcomes[15]);
    let verdict = run.verdicts(&plan).remove(0);
    assert_eq!((verdict.n, verdict.p), (8, Some((2.0 / 128.0, 2.0 / 128.0))), "not 2 of 256");
    let caveats = run.judged(&plan).caveats;
    let first = format!("{P99} of trial 16 is invalid, by the load generator's doing");
    let tied = Caveat::PairsTied(PairsTied { metric: P99.to_owned(), pairs: 1, first: first.clone() });
    assert_eq!(caveats.into_iter().map(|one| one.caveat).collect::<Vec<_>>(), [tied]);
    // What may lie anywhere shows no equivalence.
    let mut run = RunFixture::default();
    run.pairs(P99, &[1.0; 8]);
    assert_eq!(run.verdicts(&plan).remove(0).says, Says::Equivalent);
    late(&mut run.outcomes[3]);
    assert!(matches!(run.verdicts(&plan).remove(0).says, Says::Inconclusive { .. }));
    // Nor is anything said of ties alone: at the last look never, before it not yet.
    run.outcomes[..12].iter_mut().for_each(late);
    let reason = format!("only 2 of 8 starts are not ties; the first tie: {}", first.replace("16", "1"));
    assert_eq!(run.verdicts(&plan).remove(0).says, Says::Invalid { reason });
    let goes_on = run.verdicts(&comparing(&[P99], &[8, 16], &[])).remove(0).says;
    assert_eq!(goes_on, Says::Inconclusive { more_needed: None });
}

#[test]
fn a_start_with_a_tie_among_its_pairs_is_a_tie() {
    let mut plan = comparing(&[P99], &[8], &[]);
    settings(&mut plan).pairs_per_start = 2;
    let mut run = RunFixture::default();
    for pair in 1..=16 {
        run.pair(pair, pair.div_ceil(2), [&[(P99, Value::Is(5.0))], &[(P99, Value::Is(6.0))]]);
    }
    late(&mut run.outcomes[0]);
    let verdict = run.verdicts(&plan).remove(0);
    assert_eq!((verdict.n, verdict.p.map(|(own, _)| own)), (8, Some(2.0 / 128.0)));
}
