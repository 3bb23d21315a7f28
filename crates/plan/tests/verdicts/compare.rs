//! Comparisons of three judged metrics: how often sides that are alike are called different.

use crate::lab::{Lab, comparing};
use crate::row::{allowed, count, percent, show};
use crate::world::{WORLDS, World};
use kdyno_model::conclusion::Says;

/// Looks that are planned when nobody asks for others.
const LOOKS: [u32; 3] = [8, 16, 24];
/// Probability with which alike sides may be called different, all judged metrics and looks together, percent.
const PROMISED: f64 = 5.0;

/// Whether a verdict says that the sides differ.
fn differs(says: &Says) -> bool {
    matches!(says, Says::Different { .. } | Says::MaybeMaterial { .. })
}

#[test]
fn sides_that_are_alike_are_rarely_called_different() {
    let comparisons = count(2_000, 100);
    for (stream, kind) in (1_000..).step_by(100).zip(WORLDS) {
        let mut world = World::new(kind, stream, [0.0; 3]);
        let mut found = 0;
        for seed in 0..comparisons {
            let said = Lab::run(&comparing(&LOOKS, kind.pairs_per_start(), u64::from(seed)), &mut world);
            found += u32::from(said.iter().any(differs));
        }
        let found = percent(found, comparisons);
        show(
            &kind.to_string(),
            "alike: any of three called different, %",
            "≤ 5",
            &format!("{found:.1}"),
            "kept",
        );
        assert!(found <= allowed(PROMISED, comparisons), "{kind}: {found} %");
    }
}
