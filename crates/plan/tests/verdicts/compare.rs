//! Comparisons of three judged metrics, as users plan them: how often sides that are alike are called different, how often
//! sides a margin apart are called equivalent, and how often they find the difference that is stated as detectable.

use crate::lab::{Lab, MARGIN, comparing, quick_look};
use crate::row::{allowed, count, percent, show};
use crate::world::{SimulatedHost, Variation, WORLDS};
use kdyno_analysis::statistics::{UnitSpread, look_least, smallest_visible};
use kdyno_model::conclusion::Says;
use kdyno_model::plan::Plan;
use std::f64::consts::SQRT_2;

/// Probability with which alike sides may be called different, all judged metrics and looks together, and sides a margin
/// apart equivalent; percent.
const PROMISED: f64 = 5.0;
/// Percent of comparisons that find their stated smallest detectable difference, and by how much it may be missed.
const POWER: f64 = 80.0;
const POWER_WITHIN: f64 = 5.0;

/// Spread of one run's figure in logarithms, where verdicts are drawn: two runs differ by √2 times as much.
const RUN_SD: f64 = 0.05;
/// Quick looks: two starts that differ as runs do, and a pair on each, then differ by the 6 % that are known of p50
/// (docs/benchmarks.md), half of the variance between the starts.
const QUICK_RUN_SD: f64 = 0.03;

/// What a user asks for.
#[derive(Clone, Copy)]
enum TestedPlan {
    /// A quick look of so many pairs, each side with a cluster of its own.
    Quick(u32),
    /// Differences of sides that share one.
    Shared(u32),
    /// A verdict, with looks after so many starts.
    Verdict(&'static [u32]),
}

use TestedPlan::{Quick, Shared, Verdict};

/// With the name of each group.
const PLANS: [(&str, &[TestedPlan]); 3] = [
    ("quick looks of 3, 4, 5, 6, 8 pairs", &[Quick(3), Quick(4), Quick(5), Quick(6), Quick(8)]),
    (
        "quick looks at one cluster of 3, 4, 5, 6, 8 pairs",
        &[Shared(3), Shared(4), Shared(5), Shared(6), Shared(8)],
    ),
    (
        "verdicts of 6, 7, 8, 8/16/24 starts",
        &[Verdict(&[6]), Verdict(&[7]), Verdict(&[8]), Verdict(&[8, 16, 24])],
    ),
];

impl TestedPlan {
    fn plan(self, kind: Variation) -> Plan {
        match self {
            Quick(pairs) => quick_look(pairs, false),
            Shared(pairs) => quick_look(pairs, true),
            Verdict(looks) => comparing(looks, kind.pairs_per_start()),
        }
    }

    fn run_sd(self) -> f64 {
        if matches!(self, Verdict(_)) { RUN_SD } else { QUICK_RUN_SD }
    }

    /// Worlds that it is held to: what a start of both sides has is in both.
    fn worlds(self) -> impl Iterator<Item = Variation> {
        WORLDS.into_iter().filter(move |kind| !matches!(self, Shared(_)) || *kind != Variation::Starts)
    }

    /// Percent of comparisons about which something is said.
    fn share(
        self,
        kind: Variation,
        effects: [f64; 3],
        stream: u64,
        is_said: impl Fn(&[Says]) -> bool,
    ) -> f64 {
        let comparisons = comparisons();
        let mut world = SimulatedHost::new(kind, self.run_sd(), stream, effects);
        let mut plan = self.plan(kind);
        let said = |seed: u32| {
            plan.seed = u64::from(seed);
            is_said(&Lab::run(&plan, &mut world))
        };
        percent(
            u32::try_from((0..comparisons).map(said).filter(|is_said| *is_said).count()).unwrap(),
            comparisons,
        )
    }
}

fn comparisons() -> u32 {
    count(600, 60)
}

/// Whether a verdict says that the sides differ.
fn differs(says: &Says) -> bool {
    matches!(says, Says::Different { .. } | Says::MaybeMaterial { .. })
}

fn listed(shares: &[f64]) -> String {
    shares.iter().map(|share| format!("{share:.1}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn sides_that_are_alike_are_rarely_called_different() {
    for (stream, (name, plans)) in (1_000..).step_by(1_000).zip(PLANS) {
        for (kind, stream) in plans[0].worlds().zip((stream..).step_by(10)) {
            let found = |(asked, stream): (&TestedPlan, u64)| {
                asked.share(kind, [0.0; 3], stream, |said| said.iter().any(differs))
            };
            let found: Vec<f64> = plans.iter().zip(stream..).map(found).collect();
            let figure = "alike: any of three called different, %";
            show(&format!("{name}, {kind}"), figure, "≤ 5", &listed(&found), "kept");
            let most = allowed(PROMISED, comparisons());
            assert!(found.iter().all(|share| *share <= most), "{name}, {kind}: {found:?} %");
        }
    }
}

#[test]
fn sides_a_margin_apart_are_rarely_called_equivalent() {
    for (stream, (name, plans)) in (5_000..).step_by(1_000).zip(PLANS) {
        let mut worst = vec![0.0_f64; plans.len()];
        for (kind, stream) in plans[0].worlds().zip((stream..).step_by(10)) {
            for ((worst, asked), stream) in worst.iter_mut().zip(plans).zip(stream..) {
                let effects = [MARGIN.ln_1p(), 0.0, 0.0];
                let share = asked.share(kind, effects, stream, |said| said[0] == Says::Equivalent);
                *worst = worst.max(share);
            }
        }
        let figure = "a margin apart: called equivalent, %";
        show(&format!("{name}, the worst of all worlds"), figure, "≤ 5", &listed(&worst), "kept");
        assert!(worst.iter().all(|share| *share <= allowed(PROMISED, comparisons())), "{name}: {worst:?} %");
    }
}

#[test]
fn the_smallest_detectable_change_is_found_four_times_in_five() {
    for (stream, (name, plans)) in (8_000..).step_by(1_000).zip(PLANS) {
        let reported = |asked: &TestedPlan| -> Option<f64> {
            let sd = SQRT_2 * asked.run_sd();
            let (looks, starts_sd): (&[u32], f64) = match asked {
                Quick(pairs) => (std::slice::from_ref(pairs), sd),
                Shared(pairs) => (std::slice::from_ref(pairs), 0.0),
                // No such verdict is planned: it cannot detect a difference in one of three.
                Verdict(looks) if looks[0] < look_least(looks.len(), 3) => return None,
                Verdict(looks) => (looks, 0.0),
            };
            smallest_visible(looks, &[UnitSpread { sd, starts_sd, margin: MARGIN }; 3])[0]
        };
        let found = |((asked, reported), stream): ((&TestedPlan, &Option<f64>), u64)| {
            let kind = if matches!(asked, Quick(_)) { Variation::Starts } else { Variation::Normal };
            let effects = [reported.unwrap_or(3.0).ln_1p(), 0.0, 0.0];
            asked.share(kind, effects, stream, |said| differs(&said[0]))
        };
        let reported: Vec<Option<f64>> = plans.iter().map(reported).collect();
        let found: Vec<f64> = plans.iter().zip(&reported).zip(stream..).map(found).collect();
        let percents = |reported: &Option<f64>| {
            reported.map_or("none".to_owned(), |reported| format!("{:.1} %", 100.0 * reported))
        };
        let each: Vec<String> = reported.iter().map(percents).collect();
        let figure = "the smallest difference found, in one of three: how often, %";
        show(name, figure, "80 ± 5", &listed(&found), &format!("smallest {}", each.join(", ")));
        // Three standard errors of so many simulations are added.
        let within = POWER_WITHIN + allowed(POWER, comparisons()) - POWER;
        for (reported, found) in reported.iter().zip(&found) {
            match reported {
                Some(_) => assert!((found - POWER).abs() <= within, "{name}: {found} % of {reported:?}"),
                None => assert!(*found == 0.0, "{name}: {found} %, and none is planned for"),
            }
        }
    }
}
